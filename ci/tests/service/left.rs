//! Products that take too long, and ends that do not wait for them: a launch of the emulator of
//! these sizes takes minutes.

use std::io::{BufReader, ErrorKind, Write};
use std::net::TcpStream;
use std::time::Duration;

use tilewright_fixture::GEMM;

use crate::started::{Service, answer, matrix, send};

/// Rows and columns of a weight with which 256 rows take minutes.
const LARGE: usize = 2048;

/// A weight that it takes long to multiply with.
fn put_large(service: &Service) {
    let head = format!("PUT /v1/weights/large{}", matrix(LARGE, LARGE));
    assert_eq!(service.ask(&head, &vec![0; 4 * LARGE * LARGE]).0, 204);
}

/// Asks for a product that takes long.
fn post_large(service: &Service) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(service.address).unwrap();
    let head = format!("POST /v1/products/large{}", matrix(256, LARGE));
    send(&mut stream, &head, &vec![0; 4 * 256 * LARGE]);
    BufReader::new(stream)
}

#[test]
fn what_nobody_waits_for_is_not_computed_and_holds_up_no_end() {
    let home = tempfile::tempdir().unwrap();
    let limits = ["--time-limit-ms", "5000", "--linger-us", "0"];
    let mut service = Service::start(home.path(), GEMM, &limits);
    put_large(&service);
    let mut streams: Vec<_> = (0..4).map(|_| post_large(&service)).collect();
    for stream in &mut streams {
        let (status, body) = answer(stream);
        assert_eq!(status, 504, "{body}");
    }
    // The engine is at one of them; the others hold nothing any more.
    assert_eq!(service.metric("tilewright_service_left_total"), 3.0);
    assert_eq!(service.metric("tilewright_service_waiting"), 1.0);
    let held = service.metric("tilewright_service_held_bytes");
    assert_eq!(held, 2.0 * (4 * 256 * LARGE) as f64);
    // A client that goes before its time is over is not waited for either.
    let goes = post_large(&service);
    service.metric_until("tilewright_service_waiting", |waiting| waiting >= 2.0);
    drop(goes);
    service.metric_until("tilewright_service_left_total", |left| left >= 4.0);
    service.terminate();
    assert_eq!(service.exit_code(), Some(0));
}

#[test]
fn a_drain_that_is_over_ends_the_process_and_says_that_somebody_waited() {
    let home = tempfile::tempdir().unwrap();
    let limits = ["--time-limit-ms", "3600000", "--drain-seconds", "1"];
    let mut service = Service::start(home.path(), GEMM, &limits);
    put_large(&service);
    let _waits = post_large(&service);
    service.metric_until("tilewright_service_waiting", |value| value >= 1.0);
    service.terminate();
    assert_eq!(service.exit_code(), Some(1));
}

#[test]
fn a_client_that_is_at_its_answer_when_the_drain_is_over_is_left_over() {
    let home = tempfile::tempdir().unwrap();
    let mut service = Service::start(home.path(), GEMM, &["--drain-seconds", "0"]);
    let mut stream = TcpStream::connect(service.address).unwrap();
    // Until the service waits for its answers to be taken, and reads no more.
    let patience = Some(Duration::from_secs(1));
    stream.set_write_timeout(patience).unwrap();
    let refused = loop {
        if let Err(error) = stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: test\r\n\r\n") {
            break error.kind();
        }
    };
    assert!(
        matches!(refused, ErrorKind::WouldBlock | ErrorKind::TimedOut),
        "{refused}"
    );
    service.terminate();
    assert_eq!(service.exit_code(), Some(1));
}
