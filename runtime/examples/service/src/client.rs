//! The client: connections that are kept, requests whose answers are known beforehand.
//!
//! Matrices hold -1, 0 and 1, so that every product is a small integer that each type holds: a
//! result is right when its bytes are.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HOST;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tilewright_runtime::bundle::DType;
use tokio::net::TcpStream;

use crate::matrix::{COLUMNS, DTYPE, FUNCTION, ROWS, Shape, Types, element, largest_integer};

/// Numbers that look drawn, the same for the same seed (SplitMix64).
#[derive(Debug, Clone)]
pub struct Draw(pub u64);

impl Draw {
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// A matrix of -1, 0 and 1.
    pub fn matrix(&mut self, shape: Shape) -> Vec<i32> {
        let elements = 0..shape.rows * shape.columns;
        elements.map(|_| (self.number() % 3) as i32 - 1).collect()
    }
}

/// Integers as the elements of a matrix.
///
/// # Errors
/// When the client draws no elements of this type.
pub fn encoded(dtype: DType, values: &[i32]) -> Result<Bytes, String> {
    let mut bytes = Vec::new();
    for value in values {
        let element = element(dtype, *value);
        bytes.extend(element.ok_or_else(|| format!("there are no numbers of {dtype} to draw"))?);
    }
    Ok(Bytes::from(bytes))
}

/// A weight with products that are known.
#[derive(Debug)]
pub struct Known {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// Its elements.
    pub content: Bytes,
    /// Rows, and what comes of them.
    pub products: Vec<(Shape, Bytes, Bytes)>,
}

impl Known {
    /// Draws a weight and `count` products of 1 to `most_rows` rows.
    ///
    /// # Errors
    /// When a sum could be one that the type of the results does not hold.
    pub fn draw(
        name: String,
        types: Types,
        shape: Shape,
        most_rows: usize,
        count: usize,
    ) -> Result<Known, String> {
        let most = largest_integer(types.d);
        if shape.columns as i64 > i64::from(most) {
            let (k, d) = (shape.columns, types.d);
            return Err(format!(
                "sums of {k} products may pass {most}, up to which {d} has all \
                                integers: choose a k of at most {most}"
            ));
        }
        let seed = name
            .bytes()
            .fold(7, |seed: u64, byte| seed * 31 + u64::from(byte));
        let mut draw = Draw(seed);
        let b = draw.matrix(shape);
        let mut products = Vec::new();
        for _ in 0..count {
            let rows = 1 + draw.number() as usize % most_rows;
            let columns = shape.columns;
            let a_shape = Shape { rows, columns };
            let a = draw.matrix(a_shape);
            let sums = a.chunks_exact(columns).flat_map(|row| {
                let sum = move |of: &[i32]| of.iter().zip(row).map(|(x, y)| x * y).sum::<i32>();
                b.chunks_exact(columns).map(sum)
            });
            let d: Vec<i32> = sums.collect();
            products.push((a_shape, encoded(types.a, &a)?, encoded(types.d, &d)?));
        }
        let content = encoded(types.b, &b)?;
        Ok(Known {
            name,
            shape,
            content,
            products,
        })
    }
}

/// An answer as the client reads it.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its body.
    pub body: Bytes,
}

/// A connection that is kept, and made anew when it breaks.
#[derive(Debug)]
pub struct Connection {
    address: SocketAddr,
    sender: Option<SendRequest<Full<Bytes>>>,
    /// The function to name.
    pub function: Option<String>,
    /// How often it was made.
    pub made: u64,
}

impl Connection {
    /// One that is made at the first request.
    pub fn new(address: SocketAddr) -> Connection {
        Connection {
            address,
            sender: None,
            function: None,
            made: 0,
        }
    }

    /// Sends a request and reads its answer. After a failure the next one goes by a fresh
    /// connection.
    ///
    /// # Errors
    /// When the connection cannot be made or breaks.
    pub async fn ask(
        &mut self,
        method: Method,
        path: &str,
        matrix: Option<(Shape, DType, Bytes)>,
    ) -> Result<Answer, String> {
        let answer = self.attempt(method, path, matrix).await;
        if answer.is_err() {
            self.sender = None;
        }
        answer
    }

    async fn attempt(
        &mut self,
        method: Method,
        path: &str,
        matrix: Option<(Shape, DType, Bytes)>,
    ) -> Result<Answer, String> {
        let sender = match &mut self.sender {
            Some(sender) => sender,
            none => {
                let stream = TcpStream::connect(self.address).await;
                let stream = stream.map_err(|error| error.to_string())?;
                stream
                    .set_nodelay(true)
                    .map_err(|error| error.to_string())?;
                let made = handshake(TokioIo::new(stream)).await;
                let (sender, connection) = made.map_err(|error| error.to_string())?;
                tokio::spawn(connection);
                self.made += 1;
                none.insert(sender)
            }
        };
        let mut request = Request::builder().method(method).uri(path);
        request = request.header(HOST, self.address.to_string());
        let mut body = Bytes::new();
        if let Some((Shape { rows, columns }, dtype, content)) = matrix {
            request = request.header(ROWS, rows).header(COLUMNS, columns);
            request = request.header(DTYPE, dtype.text());
            if let Some(function) = &self.function {
                request = request.header(FUNCTION, function);
            }
            body = content;
        }
        let request = request
            .body(Full::new(body))
            .map_err(|error| error.to_string())?;
        sender.ready().await.map_err(|error| error.to_string())?;
        let response = sender.send_request(request).await;
        let response = response.map_err(|error| error.to_string())?;
        let status = response.status();
        let body = response.into_body().collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        Ok(Answer { status, body })
    }
}

/// What came of one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is right, after so long.
    Right(Duration),
    /// It is wrong.
    Wrong,
}

/// What one connection does: products of a weight, each compared.
#[derive(Debug)]
pub struct Client<'k> {
    /// Its connection.
    pub connection: Connection,
    known: &'k Known,
    types: Types,
    draw: Draw,
    /// How long a service may be away before that is a failure.
    patience: Duration,
    /// Answers that said to come again.
    pub told_to_wait: u64,
    /// Weights that were put.
    pub puts: u64,
}

impl<'k> Client<'k> {
    /// A client of a weight.
    pub fn new(
        address: SocketAddr,
        known: &'k Known,
        types: Types,
        seed: u64,
        patience: Duration,
    ) -> Client<'k> {
        Client {
            connection: Connection::new(address),
            known,
            types,
            draw: Draw(seed),
            patience,
            told_to_wait: 0,
            puts: 0,
        }
    }

    /// Gets one product, however long the service is away up to the client's patience: comes again
    /// when told to, and puts the weight where the service has it no more.
    ///
    /// # Errors
    /// When the service is away too long, or answers what it should not.
    pub async fn product(&mut self) -> Result<Outcome, String> {
        let known = self.known;
        let at = self.draw.number() as usize % known.products.len();
        let Some((shape, a, d)) = known.products.get(at) else {
            return Err("there are no products to ask for".to_owned());
        };
        let path = format!("/v1/products/{}", known.name);
        let mut away_since: Option<Instant> = None;
        loop {
            let start = Instant::now();
            let matrix = Some((*shape, self.types.a, a.clone()));
            let why = match self.connection.ask(Method::POST, &path, matrix).await {
                Ok(Answer { status, body }) => match status {
                    StatusCode::OK if body == d => return Ok(Outcome::Right(start.elapsed())),
                    StatusCode::OK => return Ok(Outcome::Wrong),
                    StatusCode::SERVICE_UNAVAILABLE => {
                        self.told_to_wait += 1;
                        "it is busy".to_owned()
                    }
                    StatusCode::NOT_FOUND => match self.put().await {
                        Ok(()) => continue,
                        Err(why) => why,
                    },
                    other => {
                        let text = String::from_utf8_lossy(&body);
                        return Err(format!("{path} answers {other}: {text}"));
                    }
                },
                Err(why) => why,
            };
            let since = *away_since.get_or_insert(start);
            if since.elapsed() > self.patience {
                return Err(format!(
                    "no product for {} s: {why}",
                    self.patience.as_secs()
                ));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Puts the weight.
    async fn put(&mut self) -> Result<(), String> {
        let known = self.known;
        let path = format!("/v1/weights/{}", known.name);
        let matrix = Some((known.shape, self.types.b, known.content.clone()));
        let answer = self.connection.ask(Method::PUT, &path, matrix).await?;
        self.puts += 1;
        match answer.status {
            StatusCode::NO_CONTENT => Ok(()),
            other => Err(format!(
                "{path} answers {other}: {}",
                String::from_utf8_lossy(&answer.body)
            )),
        }
    }
}
