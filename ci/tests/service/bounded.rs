//! Requests for much: what they make the service hold is counted before it is taken, and refused
//! where it is too much.

use std::io::{BufReader, Write};
use std::net::TcpStream;

use tilewright_fixture::GEMM;

use crate::started::{Service, answer, matrix, raw_answer, send};

const MEMORY: &str = "tilewright_service_memory_bytes";

/// Ones as the elements of a matrix.
fn ones(rows: usize, columns: usize) -> Vec<u8> {
    1f32.to_le_bytes().repeat(rows * columns)
}

fn put(service: &Service, name: &str, (rows, columns): (usize, usize)) -> (u16, String) {
    let head = format!("PUT /v1/weights/{name}{}", matrix(rows, columns));
    service.ask(&head, &ones(rows, columns))
}

/// Sends so many rows to be multiplied.
fn post(service: &Service, name: &str, (rows, columns): (usize, usize)) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(service.address).unwrap();
    let head = format!("POST /v1/products/{name}{}", matrix(rows, columns));
    send(&mut stream, &head, &ones(rows, columns));
    BufReader::new(stream)
}

/// The product of a row with a matrix of ones that has many rows, or many columns: a service that
/// held as many rows of either as go together at most would hold 256 times as much.
#[test]
fn memory_is_taken_for_the_rows_that_are_asked_and_no_more() {
    let home = tempfile::tempdir().unwrap();
    let service = Service::start(home.path(), GEMM, &[]);
    let weights = [("high", 1 << 18, 1), ("wide", 1, 1 << 16)];
    for (name, rows, columns) in weights {
        assert_eq!(put(&service, name, (rows, columns)), (204, String::new()));
        let sums = (columns as f32).to_le_bytes().repeat(rows);
        let product = raw_answer(&mut post(&service, name, (1, columns)));
        assert!(product == (200, sums), "{name}: {}", product.0);
    }
    let peak = service.metric("tilewright_service_most_resident_bytes");
    assert!(peak < (64 << 20) as f64, "{peak} bytes");
    // Of products nothing is left.
    let kept = weights.map(|(_, rows, columns)| 4 * rows * columns);
    let kept: usize = kept.iter().sum();
    assert_eq!(service.metric(MEMORY), kept as f64);
}

/// A row of 50 elements gives one of 1000, with a weight of 200000 bytes, of which the emulator
/// makes copies.
#[test]
fn what_there_is_no_memory_for_is_refused_before_it_is_taken() {
    let home = tempfile::tempdir().unwrap();
    let bytes = (1 << 20).to_string();
    let limits = ["--memory-bytes", &bytes, "--body-bytes", &bytes];
    let service = Service::start(home.path(), GEMM, &limits);
    // What is never taken is refused by its head.
    let mut stream = TcpStream::connect(service.address).unwrap();
    let headers = matrix(512, 512).replace('\n', "\r\n");
    let head = format!(
        "PUT /v1/weights/w HTTP/1.1\r\nhost: test{headers}\r\ncontent-length: 1048576\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let (status, body) = answer(&mut BufReader::new(stream));
    assert_eq!(status, 413, "{body}");
    assert!(
        body.contains("/problems/memory") && body.contains("of the 1048576"),
        "{body}"
    );
    let shape = (1000, 50);
    assert_eq!(put(&service, "first", shape).0, 204);
    assert_eq!(put(&service, "second", shape).0, 204);
    // A third one would leave no memory for a product with any of them.
    let (status, body) = put(&service, "third", shape);
    assert_eq!(status, 507, "{body}");
    assert!(body.contains("send a smaller weight"), "{body}");
    // One in place of another needs none.
    assert_eq!(put(&service, "first", shape).0, 204);
    for (rows, wanted) in [(1, 200), (20, 507), (50, 413), (1, 200)] {
        let (status, body) = answer(&mut post(&service, "first", (rows, 50)));
        assert_eq!(status, wanted, "{rows} rows: {body}");
        assert!(
            wanted == 200 || body.contains("send a smaller request"),
            "{body}"
        );
    }
    let kept = service.metric(MEMORY);
    assert!((400_000.0..410_000.0).contains(&kept), "{kept}");
}

#[test]
fn rows_that_have_no_memory_together_go_one_after_the_other() {
    let home = tempfile::tempdir().unwrap();
    let bytes = (1 << 20).to_string();
    // They go when all of them are there, and not before.
    let limits = ["--memory-bytes", &bytes, "--body-bytes", &bytes];
    let together = ["--most-rows", "45", "--linger-us", "3600000000"];
    let service = Service::start(home.path(), GEMM, &[limits, together].concat());
    assert_eq!(put(&service, "w", (1000, 50)).0, 204);
    let mut streams: Vec<_> = (0..3).map(|_| post(&service, "w", (15, 50))).collect();
    for stream in &mut streams {
        let product = raw_answer(stream);
        assert!(product == (200, 50f32.to_le_bytes().repeat(15 * 1000)));
    }
    let batches = service.metric("tilewright_service_batch_rows_count");
    assert_eq!(batches, 3.0);
}

#[test]
fn a_product_has_its_part_of_what_is_held_before_it_is_computed() {
    let home = tempfile::tempdir().unwrap();
    let bytes = (1 << 16).to_string();
    let limits = ["--held-bytes", &bytes, "--body-bytes", &bytes];
    let service = Service::start(home.path(), GEMM, &limits);
    assert_eq!(put(&service, "w", (16000, 1)).0, 204);
    let (status, body) = answer(&mut post(&service, "w", (2, 1)));
    assert_eq!(status, 413, "{body}");
    assert!(
        body.contains("/problems/size") && body.contains("128000 bytes"),
        "{body}"
    );
    assert_eq!(service.metric("tilewright_service_batch_rows_count"), 0.0);
    assert_eq!(answer(&mut post(&service, "w", (1, 1))).0, 200);
    let held = service.metric_until("tilewright_service_held_bytes", |held| held == 0.0);
    assert_eq!(held, 0.0);
}
