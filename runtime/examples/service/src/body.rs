//! Bodies as they come: no more of them than was said, and no more of all together than there is
//! room for.

use std::error::Error;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt;

use crate::problem::Problem;
use crate::room::Room;

/// Reads a body of exactly `wanted` bytes, which is described as `what`.
///
/// # Errors
/// When it has another size, does not come as its headers say, or there is no room for it.
pub async fn read(
    headers: &HeaderMap,
    mut body: Body,
    (wanted, what): (usize, &str),
    room: &Room,
) -> Result<Bytes, Problem> {
    let other = |has: String| Problem::Request(vec![format!("the body has {has}; {what}")]);
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if let Some(has) = length.filter(|has| *has != wanted) {
        return Err(other(format!("{has} bytes")));
    }
    let full = || Problem::NoRoom {
        most: room.most_bytes(),
    };
    let (mut part, mut content) = (room.part(), Vec::new());
    // Memory that nothing is written to yet is none of the machine's.
    content.try_reserve_exact(wanted).map_err(|_| full())?;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Problem::Request(vec![broken(&error)]))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if data.len() > wanted - content.len() {
            return Err(other(format!("more than {wanted} bytes")));
        }
        if !part.grow(content.len() + data.len()) {
            return Err(full());
        }
        content.extend_from_slice(&data);
    }
    match content.len() == wanted {
        true => Ok(part.keep(content)),
        false => Err(other(format!("{} bytes", content.len()))),
    }
}

/// What is wrong with a body that breaks off, down to the cause.
fn broken(error: &axum::Error) -> String {
    let mut text = format!("the body does not come as its headers say: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        let told = error.to_string();
        if !text.ends_with(&told) {
            text.push_str(": ");
            text.push_str(&told);
        }
        cause = error.source();
    }
    text
}
