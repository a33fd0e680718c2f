//! Clients that stop in the middle: they cost the service bounded time and memory, and hold up
//! neither others nor its end.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;

use tilewright_fixture::GEMM;

use crate::started::{Service, answer, matrix, raw_answer, send};

/// What bodies and answers may hold together in these tests.
const HELD_BYTES: f64 = (4 << 20) as f64;

/// What a client sends of a body of a megabyte before it stalls.
const PART_OF_A_BODY: usize = 700 << 10;

/// A connection that has sent half a head.
fn half_a_head(service: &Service) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).unwrap();
    stream
        .write_all(b"PUT /v1/weights/w HTTP/1.1\r\nhost: te")
        .unwrap();
    stream
}

/// A connection that has sent a head and so much of a body of a megabyte.
fn part_of_a_body(service: &Service, bytes: usize) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).unwrap();
    let headers = matrix(512, 512).replace('\n', "\r\n");
    let head = format!(
        "PUT /v1/weights/w HTTP/1.1\r\nhost: test{headers}\r\ncontent-length: 1048576\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A service without room closes the connection.
    let _ = stream.write_all(&vec![0; bytes]);
    stream
}

/// Everything that comes until the service closes the connection.
fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // What is behind an answer may be lost with the connection.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn stalled_clients_hold_up_neither_others_nor_the_end() {
    let home = tempfile::tempdir().unwrap();
    // Nothing but the end itself ends them, and whoever waited for them would wait for an hour.
    let held = (HELD_BYTES as usize).to_string();
    let limits = [
        "--time-limit-ms",
        "3600000",
        "--drain-seconds",
        "3600",
        "--linger-us",
        "0",
    ];
    let bytes = ["--body-bytes", "1048576", "--held-bytes", &held];
    let mut service = Service::start(home.path(), GEMM, &[limits.as_slice(), &bytes].concat());
    let ones = 1f32.to_le_bytes().repeat(6);
    assert_eq!(
        service
            .ask(&format!("PUT /v1/weights/ones{}", matrix(2, 3)), &ones)
            .0,
        204
    );
    let heads: Vec<TcpStream> = (0..20).map(|_| half_a_head(&service)).collect();
    // Five bodies fill the room up, one after another, so that none of them takes what the next has
    // begun to; the others are told so.
    let held_bytes = "tilewright_service_held_bytes";
    let room = "tilewright_service_answers_total{path=\"weights\",result=\"room\"}";
    let mut bodies: Vec<TcpStream> = Vec::new();
    for number in 1..=5 {
        bodies.push(part_of_a_body(&service, PART_OF_A_BODY));
        let all = (number * PART_OF_A_BODY) as f64;
        service.metric_until(held_bytes, |held| held >= all);
    }
    assert_eq!(service.metric(room), 0.0);
    bodies.extend((0..3).map(|_| part_of_a_body(&service, PART_OF_A_BODY)));
    service.metric_until(room, |value| value >= 3.0);
    let held = service.metric(held_bytes);
    assert!((3e6..=HELD_BYTES).contains(&held), "{held}");
    let product = format!("POST /v1/products/ones{}", matrix(1, 3));
    for _ in 0..5 {
        assert_eq!(service.ask(&product, &ones[..12]).0, 200);
    }
    service.terminate();
    assert!(service.child.wait().unwrap().success());
    let told: Vec<String> = bodies.into_iter().map(rest).collect();
    let count = |part: &str| told.iter().filter(|text| text.contains(part)).count();
    assert!(
        count("/problems/ending") + count("/problems/room") <= 8,
        "{told:?}"
    );
    assert!(count("HTTP/1.1 2") == 0, "{told:?}");
    for head in heads {
        assert_eq!(rest(head), "");
    }
}

#[test]
fn every_wait_for_a_client_has_an_end() {
    let home = tempfile::tempdir().unwrap();
    let service = Service::start(home.path(), GEMM, &["--time-limit-ms", "300"]);
    // Each of these returns when the service has closed the connection.
    assert_eq!(rest(half_a_head(&service)), "");
    assert_eq!(rest(TcpStream::connect(service.address).unwrap()), "");
    let (status, body) = answer(&mut BufReader::new(part_of_a_body(&service, 1000)));
    assert_eq!(status, 408, "{body}");
    assert!(body.contains("did not come in 300 ms"), "{body}");
    // A client that asks and takes no answer.
    let mut stream = TcpStream::connect(service.address).unwrap();
    while stream
        .write_all(b"GET /metrics HTTP/1.1\r\nhost: test\r\n\r\n")
        .is_ok()
    {}
    // None of it keeps the service from working.
    let mut stream = TcpStream::connect(service.address).unwrap();
    send(&mut stream, "GET /readyz", &[]);
    assert_eq!(
        raw_answer(&mut BufReader::new(stream)),
        (200, b"ok\n".to_vec())
    );
}
