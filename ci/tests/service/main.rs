//! The example under `runtime/examples/service`: built as a user builds it, started as a process,
//! asked by many connections, killed and started again, told to end, beset by clients that stall,
//! asked for more than there is memory or time for.
#![allow(clippy::unwrap_used)]

mod bounded;
mod left;
mod scripts;
mod stalled;
mod started;

use std::io::{BufReader, Write};
use std::net::TcpStream;

use serde_json::Value;
use tilewright_fixture::{GEMM, gemm_kernel, writer_of};
use tilewright_runtime::bundle::DType;

use crate::started::{Service, answer, matrix, raw_answer, send, told};

#[test]
fn products_of_many_connections_are_right_also_over_a_kill() {
    let home = tempfile::tempdir().unwrap();
    let cache = home.path().join("ptx");
    let options = ["--eager", "--ptx-cache", cache.to_str().unwrap()];
    let mut service = Service::start(home.path(), GEMM, &options);
    assert_eq!(service.ask("GET /readyz", &[]), (200, "ok\n".to_owned()));
    let (seen, is_content) = told(service.load(&["--connections", "6", "--requests", "60"]));
    assert!(is_content, "{seen}");
    assert_eq!(
        (&seen["wrong"], &seen["connections_made"]),
        (&0.into(), &6.into()),
        "{seen}"
    );
    assert!(seen["right"].as_u64().unwrap() >= 60, "{seen}");
    let launches = "tilewright_service_launches_total{kernel=\"gemm_f32@plain-1\"}";
    // Rows of several clients went together.
    let (launches, rows) = (service.metric(launches), seen["right"].as_f64().unwrap());
    assert!(launches >= 1.0 && launches <= rows, "{launches}");
    // The longest request that the limit lets through has a bucket of the histogram.
    let longest = "tilewright_service_seconds_bucket{le=\"60.0\"}";
    assert!(service.metric(longest) >= rows);

    let load = service.load(&["--connections", "6", "--requests", "400"]);
    service.wait_for_products(rows + 40.0);
    service.child.kill().unwrap();
    service.child.wait().unwrap();
    let address = service.address.to_string();
    let again = Service::start(home.path(), GEMM, &["--listen", &address]);
    let (seen, is_content) = told(load);
    assert!(is_content, "{seen}");
    assert!(seen["connections_made"].as_u64().unwrap() >= 12, "{seen}");
    assert!(seen["weights_put"].as_u64().unwrap() >= 2, "{seen}");
    assert_eq!(again.metric("tilewright_service_context_lost"), 0.0);
}

#[test]
fn a_service_that_is_told_to_end_answers_what_it_has() {
    let home = tempfile::tempdir().unwrap();
    // Rows wait for others to go with: long enough to be told to end meanwhile.
    let mut service = Service::start(home.path(), GEMM, &["--linger-us", "2000000"]);
    let ones: Vec<u8> = (0..6).flat_map(|_| 1f32.to_le_bytes()).collect();
    let (status, text) = service.ask(&format!("PUT /v1/weights/ones{}", matrix(2, 3)), &ones);
    assert_eq!((status, text.as_str()), (204, ""));
    let mut stream = TcpStream::connect(service.address).unwrap();
    send(
        &mut stream,
        &format!("POST /v1/products/ones{}", matrix(1, 3)),
        &ones[..12],
    );
    service.metric_until("tilewright_service_waiting", |value| value >= 1.0);
    service.terminate();
    let threes = 3f32.to_le_bytes().repeat(2);
    assert_eq!(raw_answer(&mut BufReader::new(stream)), (200, threes));
    assert!(service.child.wait().unwrap().success());
    assert!(TcpStream::connect(service.address).is_err());
}

#[test]
fn what_is_wrong_is_told_as_a_problem() {
    let home = tempfile::tempdir().unwrap();
    let limits = ["--most-rows", "4", "--weights", "1", "--body-bytes", "1000"];
    let service = Service::start(home.path(), GEMM, &limits);
    let ones = 1f32.to_le_bytes().repeat(6);
    let put = |name: &str| service.ask(&format!("PUT /v1/weights/{name}{}", matrix(2, 3)), &ones);
    assert_eq!(put("w").0, 204);
    let post = |name: &str, shape: String, body: &[u8]| {
        service.ask(&format!("POST /v1/products/{name}{shape}"), body)
    };
    for ((status, body), wanted, parts) in [
        (
            service.ask("GET /nowhere", &[]),
            404,
            vec!["/nowhere", "/v1/function"],
        ),
        (service.ask("DELETE /v1/weights/w", &[]), 405, vec!["PUT"]),
        (
            post("other", matrix(2, 3), &ones),
            404,
            vec!["no weight \\\"other\\\""],
        ),
        (
            post("w", matrix(2, 3), &ones[1..]),
            400,
            vec!["has 23 bytes", "2 x 3 f32"],
        ),
        (
            post("w", matrix(3, 2), &ones),
            400,
            vec!["2 columns", "have 3"],
        ),
        (
            post("w", "\nx-rows: 5\nx-dtype: f16".to_owned(), &ones),
            400,
            vec![
                "x-rows is 5; 1 to 4",
                "x-columns is not there",
                "x-dtype is f16",
            ],
        ),
        (
            post("w", matrix(2, 300), &[0; 2400]),
            413,
            vec!["1000 bytes"],
        ),
        (put("second"), 507, vec!["1 weights are kept"]),
        (put("a%20name"), 400, vec!["letters, digits"]),
    ] {
        assert_eq!(status, wanted, "{body}");
        let problem: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(problem["status"], wanted, "{body}");
        for part in parts {
            assert!(body.contains(part), "{part:?} is not in {body}");
        }
    }
    // None of it keeps it from working.
    assert_eq!(post("w", matrix(2, 3), &ones).0, 200);
    assert_eq!(put("w").0, 204);
    let (status, text) = service.ask("GET /v1/function", &[]);
    assert_eq!(status, 200);
    assert!(
        text.contains("\"a\":\"f32\"") && text.contains("\"most_rows\":4"),
        "{text}"
    );
}

#[test]
fn what_does_not_come_as_its_headers_say_is_the_client_s_fault() {
    let home = tempfile::tempdir().unwrap();
    let service = Service::start(home.path(), GEMM, &[]);
    let ones = 1f32.to_le_bytes().repeat(6);
    let put = |more: &str| {
        let shape = matrix(2, 3);
        service.ask(&format!("PUT /v1/weights/w{shape}{more}"), &ones)
    };
    let (status, body) = put("\nx-rows: 7");
    assert_eq!(status, 400, "{body}");
    assert!(
        body.contains("x-rows is there 2 times; once is allowed"),
        "{body}"
    );
    let chunked = |chunks: &[u8]| {
        let mut stream = TcpStream::connect(service.address).unwrap();
        let headers = matrix(2, 3).replace('\n', "\r\n");
        let head = format!("PUT /v1/weights/w HTTP/1.1\r\nhost: test{headers}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream
            .write_all(b"transfer-encoding: chunked\r\n\r\n")
            .unwrap();
        stream.write_all(chunks).unwrap();
        answer(&mut BufReader::new(stream))
    };
    let (status, body) = chunked(b"ZZ\r\n");
    assert_eq!(status, 400, "{body}");
    assert!(body.contains("chunk"), "{body}");
    let (status, body) = chunked(&[b"1c\r\n", &[0; 28][..], b"\r\n0\r\n\r\n"].concat());
    assert_eq!(status, 400, "{body}");
    assert!(
        body.contains("more than 24 bytes; 2 x 3 f32 are 24"),
        "{body}"
    );
    let whole = [b"18\r\n", &ones[..], b"\r\n0\r\n\r\n"].concat();
    assert_eq!(chunked(&whole).0, 204);
    assert_eq!(put("").0, 204);
}

/// A product of f32, and one whose factors are read as tf32; a copy, which is none.
#[test]
fn functions_of_one_bundle_are_asked_for_by_name() {
    let home = tempfile::tempdir().unwrap();
    let mut rounding = gemm_kernel("gemm_tf32@bits-1");
    for operand in &mut rounding.semantics.operands[..2] {
        operand.dtype = DType::TF32;
    }
    let kernels = [(gemm_kernel("gemm_f32@plain-2"), GEMM), (rounding, GEMM)];
    writer_of(kernels)
        .write(&home.path().join("bundle"))
        .unwrap();
    let service = Service::start(home.path(), GEMM, &[]);
    let (status, text) = service.ask("GET /v1/function", &[]);
    let functions: Value = serde_json::from_str(&text).unwrap();
    let names: Vec<&Value> = functions["functions"].as_array().unwrap().iter().collect();
    let names: Vec<&str> = names
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        (status, names),
        (200, vec!["gemm_f32", "gemm_tf32"]),
        "{text}"
    );
    let ones = 1f32.to_le_bytes().repeat(6);
    let call = |path: &str, dtype: &str, function: &str| {
        let shape = matrix(2, 3).replace("f32", dtype);
        service.ask(&format!("{path}{shape}{function}"), &ones)
    };
    let (status, body) = call("PUT /v1/weights/w", "f32", "");
    assert_eq!(status, 400, "{body}");
    let part = "x-function is not there; it must be one of gemm_f32, gemm_tf32";
    assert!(body.contains(part), "{body}");
    assert_eq!(
        call("PUT /v1/weights/w", "tf32", "\nx-function: gemm_tf32").0,
        204
    );
    // Another function has other weights.
    let product = "POST /v1/products/w";
    assert_eq!(call(product, "f32", "\nx-function: gemm_f32").0, 404);
    let (status, body) = call(product, "f32", "\nx-function: gemm_tf32");
    assert_eq!(status, 400, "{body}");
    assert!(body.contains("x-dtype is f32; it must be tf32"), "{body}");
    assert_eq!(call(product, "tf32", "\nx-function: gemm_tf32").0, 200);
    let (seen, is_content) = told(service.load(&["--function", "gemm_f32", "--requests", "20"]));
    assert!(is_content && seen["function"] == "gemm_f32", "{seen}");
}

#[test]
fn a_kernel_that_faults_ends_the_process_for_another_to_start() {
    let home = tempfile::tempdir().unwrap();
    let mut service = Service::start(home.path(), &faulty(GEMM), &[]);
    let ones = 1f32.to_le_bytes().repeat(6);
    let put = service.ask(&format!("PUT /v1/weights/w{}", matrix(2, 3)), &ones);
    assert_eq!(put.0, 204);
    // Rows of another width are told so, and cost nothing.
    let (status, body) = service.ask(&format!("POST /v1/products/w{}", matrix(1, 2)), &ones[..8]);
    assert_eq!(status, 400, "{body}");
    assert!(body.contains("have 3"), "{body}");
    let path = format!("POST /v1/products/w{}", matrix(1, 3));
    let (status, body) = service.ask(&path, &ones[..12]);
    assert_eq!(status, 500, "{body}");
    assert!(
        body.contains("/problems/faulted") && body.contains("gemm_f32@plain-1"),
        "{body}"
    );
    assert_eq!(service.child.wait().unwrap().code(), Some(3));
    let again = Service::start(home.path(), &faulty(GEMM), &[]);
    assert_eq!(again.ask("GET /readyz", &[]).0, 200);
    assert_eq!(again.metric("tilewright_service_context_lost"), 0.0);
}

/// The product, which loads from address 0 first.
fn faulty(ptx: &str) -> String {
    let at = ptx.find("mov.u32").unwrap();
    let (before, after) = ptx.split_at(at);
    let fault = "mov.u64 %rd1, 0; ld.global.u32 %r4, [%rd1];\n\t";
    format!("{before}{fault}{after}")
}
