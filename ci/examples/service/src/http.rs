//! The paths of the service.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use prometheus_client::registry::Registry;
use tilewright_runtime::bundle::DType;
use tokio::sync::oneshot;

use crate::matrix::{COLUMNS, DTYPE, ROWS, Shape};
use crate::metrics::{Metrics, text_of};
use crate::problem::Problem;
use crate::worker::{Job, Task, Worker};

/// Most characters of a weight's name.
const MOST_NAME: usize = 64;

/// What every path needs.
#[derive(Clone)]
pub struct Service {
    /// The engine.
    pub worker: Worker,
    /// The service's own counts.
    pub metrics: Metrics,
    /// All that a scraper reads.
    pub registry: Arc<Registry>,
    /// Whether the service is about to end.
    pub is_ending: Arc<AtomicBool>,
    /// How long a request may take.
    pub time_limit: Duration,
}

impl Service {
    /// The service's paths.
    pub fn router(self) -> Router {
        Router::new()
            .route("/v1/function", get(function))
            .route("/v1/weights/{name}", put(put_weight))
            .route("/v1/products/{name}", post(multiply))
            .route("/healthz", get(health))
            .route("/readyz", get(ready))
            .route("/metrics", get(metrics))
            .fallback(|uri: Uri| async move { Problem::NoPath(uri.path().to_owned()) })
            .method_not_allowed_fallback(|| async { Problem::Method })
            .with_state(self)
    }

    /// Waits for the engine's answer to a task.
    async fn ask(
        &self,
        weight: String,
        headers: &HeaderMap,
        body: Body,
        is_put: bool,
    ) -> Result<(Shape, Bytes), Problem> {
        if self.is_ending.load(Ordering::Acquire) {
            return Err(Problem::Ending);
        }
        let (types, limits) = (self.worker.types, self.worker.limits);
        let dtype = if is_put { types.b } else { types.a };
        let most_rows = (!is_put).then_some(limits.most_rows);
        let shape = shape_of(headers, dtype, most_rows, &weight)?;
        let most = limits.body_bytes;
        let content = to_bytes(body, most).await;
        let content = content.map_err(|_| Problem::TooLarge { most })?;
        if shape.bytes(dtype) != Some(content.len()) {
            let (has, Shape { rows, columns }) = (content.len(), shape);
            let text = format!("the body has {has} bytes; {rows} x {columns} {dtype} are others");
            return Err(Problem::Request(vec![text]));
        }
        let (reply, answer) = oneshot::channel();
        let task = match is_put {
            true => Task::Put(shape),
            false => Task::Multiply(shape),
        };
        self.worker.give(Job {
            weight,
            task,
            content,
            arrived: Instant::now(),
            reply,
        })?;
        match tokio::time::timeout(self.time_limit, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Problem::Ending),
            Err(_) => Err(Problem::Late(self.time_limit)),
        }
    }

    /// The answer to a task, counted.
    fn told(&self, path: &'static str, result: Result<Response, Problem>) -> Response {
        match result {
            Ok(response) => {
                self.metrics.answer(path, "ok");
                response
            }
            Err(problem) => {
                self.metrics.answer(path, problem.kind());
                problem.into_response()
            }
        }
    }
}

/// The shape that headers tell, and everything that is wrong with them.
fn shape_of(
    headers: &HeaderMap,
    dtype: DType,
    most_rows: Option<usize>,
    weight: &str,
) -> Result<Shape, Problem> {
    let mut wrong = Vec::new();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let mut number = |name: &str, most: usize| {
        let value = text(name).and_then(|text| text.parse::<usize>().ok());
        match value {
            Some(value) if (1..=most).contains(&value) => value,
            _ => {
                let has = text(name).unwrap_or("not there");
                wrong.push(format!("{name} is {has}; 1 to {most} is allowed"));
                0
            }
        }
    };
    let most = i32::MAX as usize;
    let (rows, columns) = (
        number(ROWS, most_rows.unwrap_or(most)),
        number(COLUMNS, most),
    );
    if text(DTYPE) != Some(dtype.text()) {
        let has = text(DTYPE).unwrap_or("not there");
        wrong.push(format!("{DTYPE} is {has}; it must be {dtype}"));
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    if weight.len() > MOST_NAME || !weight.chars().all(is_plain) {
        wrong.push(format!(
            "the weight's name has letters, digits, `-`, `_` and `.`, {MOST_NAME} at most"
        ));
    }
    match wrong.is_empty() {
        true => Ok(Shape { rows, columns }),
        false => Err(Problem::Request(wrong)),
    }
}

async fn put_weight(
    State(service): State<Service>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let put = service.ask(name, &headers, body, true).await;
    service.told(
        "weights",
        put.map(|_| StatusCode::NO_CONTENT.into_response()),
    )
}

async fn multiply(
    State(service): State<Service>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let product = service.ask(name, &headers, body, false).await;
    let dtype = service.worker.types.d.text();
    let response = product.map(|(shape, content)| {
        let headers = [
            (
                header::CONTENT_TYPE.as_str(),
                "application/octet-stream".to_owned(),
            ),
            (ROWS, shape.rows.to_string()),
            (COLUMNS, shape.columns.to_string()),
            (DTYPE, dtype.to_owned()),
        ];
        (headers, content).into_response()
    });
    service.told("products", response)
}

async fn function(State(service): State<Service>) -> Response {
    let (types, limits) = (service.worker.types, service.worker.limits);
    let body = serde_json::json!({
        "a": types.a.text(),
        "b": types.b.text(),
        "d": types.d.text(),
        "most_rows": limits.most_rows,
        "most_weights": limits.weights,
        "most_body_bytes": limits.body_bytes,
    });
    (
        [(header::CONTENT_TYPE, "application/json")],
        body.to_string(),
    )
        .into_response()
}

/// Of use as long as it has its device.
async fn health(State(service): State<Service>) -> Response {
    match service.worker.is_lost() {
        true => Problem::Failed("the device is lost to this process".to_owned()).into_response(),
        false => "ok\n".into_response(),
    }
}

/// Whether new work should be sent here.
async fn ready(State(service): State<Service>) -> Response {
    match service.worker.is_lost() || service.is_ending.load(Ordering::Acquire) {
        true => Problem::Ending.into_response(),
        false => "ok\n".into_response(),
    }
}

async fn metrics(State(service): State<Service>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match text_of(&service.registry) {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(error) => Problem::Failed(error.to_string()).into_response(),
    }
}
