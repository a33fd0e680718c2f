//! The paths of the service.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::body;
use crate::ending::Ending;
use crate::engine::Offered;
use crate::job::{Job, Task};
use crate::matrix::{COLUMNS, DTYPE, FUNCTION, ROWS, Shape};
use crate::metrics::{Metrics, text_of};
use crate::problem::Problem;
use crate::room::Room;
use crate::worker::Worker;

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
    /// What bodies and answers are held in.
    pub room: Room,
    /// Whether the service is about to end.
    pub ending: Ending,
    /// How long a request may take, from its head to its answer.
    pub time_limit: Duration,
}

/// What a request's headers say.
struct Head {
    function: usize,
    shape: Shape,
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

    /// Waits for the engine's answer to a task: of which function, and what.
    async fn ask(
        &self,
        weight: String,
        headers: &HeaderMap,
        body: Body,
        is_put: bool,
    ) -> Result<(usize, Shape, Bytes), Problem> {
        let deadline = Instant::now() + self.time_limit;
        if self.ending.has_begun() {
            return Err(Problem::Ending);
        }
        let limits = self.worker.limits;
        let most_rows = (!is_put).then_some(limits.most_rows);
        let Head { function, shape } = head_of(
            headers,
            &self.worker.functions,
            (is_put, most_rows),
            &weight,
        )?;
        let content = tokio::select! {
            content = self.content(headers, body, (function, shape), is_put) => content?,
            () = sleep_until(deadline) => return Err(Problem::Slow(self.time_limit)),
            () = self.ending.stands_still() => return Err(Problem::Ending),
        };
        // Whatever ends the waiting drops the receiving end first.
        let (reply, answer) = oneshot::channel();
        let task = match is_put {
            true => Task::Put(shape),
            false => Task::Multiply(shape),
        };
        let waiting = self.worker.give(Job {
            function,
            weight,
            task,
            content,
            arrived: std::time::Instant::now(),
            reply,
        })?;
        let answer = timeout_at(deadline, answer).await;
        drop(waiting);
        let (shape, product) = match answer {
            Ok(Ok(result)) => result?,
            Ok(Err(_)) => return Err(Problem::Ending),
            Err(_) => return Err(Problem::Late(self.time_limit)),
        };
        Ok((function, shape, product))
    }

    /// A request's body: the elements of a matrix.
    async fn content(
        &self,
        headers: &HeaderMap,
        body: Body,
        (function, shape): (usize, Shape),
        is_put: bool,
    ) -> Result<Bytes, Problem> {
        let types = self.worker.functions[function].types;
        let (dtype, most) = (
            if is_put { types.b } else { types.a },
            self.worker.limits.body_bytes,
        );
        let Some(wanted) = shape.bytes(dtype).filter(|wanted| *wanted <= most) else {
            return Err(Problem::TooLarge { most });
        };
        if is_put {
            self.worker.admit(types, shape)?;
        }
        let Shape { rows, columns } = shape;
        let what = format!("{rows} x {columns} {dtype} are {wanted}");
        body::read(headers, body, (wanted, &what), &self.room).await
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

/// The function and the shape that headers tell, or everything that is wrong with them.
fn head_of(
    headers: &HeaderMap,
    functions: &[Offered],
    (is_put, most_rows): (bool, Option<usize>),
    weight: &str,
) -> Result<Head, Problem> {
    let mut wrong = Vec::new();
    for name in [ROWS, COLUMNS, DTYPE, FUNCTION] {
        let count = headers.get_all(name).iter().count();
        if count > 1 {
            wrong.push(format!("{name} is there {count} times; once is allowed"));
        }
    }
    let text = |name: &str| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or("no text"))
    };
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
    let function = match (text(FUNCTION), functions) {
        (None, [_]) => Some(0),
        (name, _) => functions
            .iter()
            .position(|one| name.is_some_and(|name| one.is(name))),
    };
    match function.and_then(|at| functions.get(at)) {
        Some(Offered { types, .. }) => {
            let dtype = if is_put { types.b } else { types.a };
            if text(DTYPE) != Some(dtype.text()) {
                let has = text(DTYPE).unwrap_or("not there");
                wrong.push(format!("{DTYPE} is {has}; it must be {dtype}"));
            }
        }
        None => {
            let all: Vec<&str> = functions.iter().map(|one| one.name.as_str()).collect();
            let (has, all) = (text(FUNCTION).unwrap_or("not there"), all.join(", "));
            wrong.push(format!("{FUNCTION} is {has}; it must be one of {all}"));
        }
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    if weight.len() > MOST_NAME || !weight.chars().all(is_plain) {
        wrong.push(format!(
            "the weight's name has letters, digits, `-`, `_` and `.`, {MOST_NAME} at most"
        ));
    }
    match (function, wrong.is_empty()) {
        (Some(function), true) => Ok(Head {
            function,
            shape: Shape { rows, columns },
        }),
        _ => Err(Problem::Request(wrong)),
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
    let response = product.map(|(function, shape, content)| {
        let offered = &service.worker.functions[function];
        let headers = [
            (
                header::CONTENT_TYPE.as_str(),
                "application/octet-stream".to_owned(),
            ),
            (ROWS, shape.rows.to_string()),
            (COLUMNS, shape.columns.to_string()),
            (DTYPE, offered.types.d.text().to_owned()),
            (FUNCTION, offered.name.clone()),
        ];
        (headers, content).into_response()
    });
    service.told("products", response)
}

async fn function(State(service): State<Service>) -> Response {
    let limits = service.worker.limits;
    let told = |one: &Offered| {
        let (a, b, d) = (one.types.a.text(), one.types.b.text(), one.types.d.text());
        json!({ "name": one.name, "names": one.names, "a": a, "b": b, "d": d })
    };
    let functions: Vec<Value> = service.worker.functions.iter().map(told).collect();
    let body = json!({
        "functions": functions,
        "most_rows": limits.most_rows,
        "most_weights": limits.weights,
        "most_body_bytes": limits.body_bytes,
        "most_held_bytes": service.room.most_bytes(),
        "most_memory_bytes": service.worker.memory.most_bytes(),
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
    match service.worker.is_lost() || service.ending.has_begun() {
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
