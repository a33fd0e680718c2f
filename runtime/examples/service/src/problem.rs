//! What is wrong with a request, or with the service, as a client reads it (RFC 9457).

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tilewright_runtime::Error;

/// Why a request gets no product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The request makes no sense; each thing that is wrong with it.
    Request(Vec<String>),
    /// Nothing lies at this path.
    NoPath(String),
    /// The path takes another method.
    Method,
    /// No weight has this name.
    NoWeight(String),
    /// The body is larger than the service takes.
    TooLarge {
        /// The most bytes that it takes.
        most: usize,
    },
    /// The product is larger than all that bodies and answers may hold.
    ProductTooLarge {
        /// Its bytes.
        bytes: usize,
        /// The most bytes that they may.
        most: usize,
    },
    /// Weights and products would take more memory than they may.
    NoMemory {
        /// What for, and what to do.
        what: For,
        /// Bytes that are needed.
        needs: usize,
        /// Bytes that weights and products have taken.
        held: usize,
        /// Bytes that they may take together.
        most: usize,
    },
    /// Weights and products may take more memory, but there is no more.
    OutOfMemory(String),
    /// There are as many weights as the service keeps.
    TooManyWeights {
        /// How many.
        most: usize,
    },
    /// The queue is full.
    Busy,
    /// Bodies and answers hold all that is taken together.
    NoRoom {
        /// How many bytes that is.
        most: usize,
    },
    /// The service is about to end.
    Ending,
    /// The request was not there in time.
    Slow(Duration),
    /// The product was not there in time.
    Late(Duration),
    /// No kernel takes the sizes.
    Refused(String),
    /// A kernel faulted under the requests of a batch; the service goes on with a fresh device.
    Faulted(String),
    /// The device or the service failed.
    Failed(String),
}

/// What memory is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// To keep a weight, and to multiply one row with it.
    Weight,
    /// To multiply rows.
    Product,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let text = error.to_string();
        match error {
            // What no request is at fault of, such as a bundle for other GPUs, failed.
            Error::Refused { .. } | Error::NothingFits { .. } if error.is_request() => {
                Problem::Refused(text)
            }
            Error::Fault(_) | Error::ContextLost { .. } => Problem::Faulted(text),
            error if error.is_memory() => Problem::OutOfMemory(text),
            _ => Problem::Failed(text),
        }
    }
}

impl Problem {
    /// The status, a word that programs read, and a sentence.
    fn parts(&self) -> (StatusCode, &'static str, String) {
        match self {
            Problem::Request(wrong) => (StatusCode::BAD_REQUEST, "request", wrong.join("; ")),
            Problem::NoPath(path) => {
                let text = format!(
                    "nothing lies at {path}; there are /v1/function, /v1/weights/NAME, \
                     /v1/products/NAME, /healthz, /readyz and /metrics"
                );
                (StatusCode::NOT_FOUND, "path", text)
            }
            Problem::Method => {
                let text = "weights are PUT, products POSTed, everything else is read by GET";
                (StatusCode::METHOD_NOT_ALLOWED, "method", text.to_owned())
            }
            Problem::NoWeight(name) => {
                let text = format!("there is no weight {name:?}: PUT it to /v1/weights/{name}");
                (StatusCode::NOT_FOUND, "weight", text)
            }
            Problem::TooLarge { most } => {
                let text = format!("the body is larger than the {most} bytes that are taken");
                (StatusCode::PAYLOAD_TOO_LARGE, "size", text)
            }
            Problem::ProductTooLarge { bytes, most } => {
                let text = format!(
                    "the product has {bytes} bytes; bodies and answers hold {most} together: ask \
                     for fewer rows"
                );
                (StatusCode::PAYLOAD_TOO_LARGE, "size", text)
            }
            Problem::NoMemory {
                what,
                needs,
                held,
                most,
            } => {
                let (what, advice) = match what {
                    For::Weight => ("the weight and a row that is multiplied with it", "weight"),
                    For::Product => ("these rows and their product", "request"),
                };
                let text = format!(
                    "{what} need {needs} bytes of memory; of the {most} that are given away {held} \
                     are taken: send a smaller {advice}"
                );
                let status = match needs > most {
                    true => StatusCode::PAYLOAD_TOO_LARGE,
                    false => StatusCode::INSUFFICIENT_STORAGE,
                };
                (status, "memory", text)
            }
            Problem::OutOfMemory(text) => {
                (StatusCode::INSUFFICIENT_STORAGE, "memory", text.clone())
            }
            Problem::TooManyWeights { most } => {
                let text = format!("{most} weights are kept and no more: replace one of them");
                (StatusCode::INSUFFICIENT_STORAGE, "weights", text)
            }
            Problem::Busy => {
                let text = "the queue is full: come again".to_owned();
                (StatusCode::SERVICE_UNAVAILABLE, "busy", text)
            }
            Problem::NoRoom { most } => {
                let text = format!(
                    "bodies and answers hold the {most} bytes that are taken together: come again"
                );
                (StatusCode::SERVICE_UNAVAILABLE, "room", text)
            }
            Problem::Ending => {
                let text = "the service is about to end: come again".to_owned();
                (StatusCode::SERVICE_UNAVAILABLE, "ending", text)
            }
            Problem::Slow(limit) => {
                let text = format!("the request did not come in {} ms", limit.as_millis());
                (StatusCode::REQUEST_TIMEOUT, "slow", text)
            }
            Problem::Late(limit) => {
                let text = format!("the product was not there in {} ms", limit.as_millis());
                (StatusCode::GATEWAY_TIMEOUT, "late", text)
            }
            Problem::Refused(text) => (StatusCode::UNPROCESSABLE_ENTITY, "refused", text.clone()),
            Problem::Faulted(text) => (StatusCode::INTERNAL_SERVER_ERROR, "faulted", text.clone()),
            Problem::Failed(text) => (StatusCode::INTERNAL_SERVER_ERROR, "failed", text.clone()),
        }
    }

    /// The word that programs read, for counting.
    pub fn kind(&self) -> &'static str {
        self.parts().1
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, kind, text) = self.parts();
        let body = serde_json::json!({
            "type": format!("/problems/{kind}"),
            "title": status.canonical_reason(),
            "status": status.as_u16(),
            "detail": text,
        });
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response =
            (status, [(header::CONTENT_TYPE, kind)], body.to_string()).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let second = HeaderValue::from_static("1");
            response.headers_mut().insert(header::RETRY_AFTER, second);
        }
        response
    }
}
