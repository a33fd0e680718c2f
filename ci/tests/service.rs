//! The example under `ci/examples/service`: built as a user builds it, started as a process, asked
//! by many connections, killed and started again, told to end.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tilewright_ci::source_tree;
use tilewright_fixture::{GEMM, gemm_kernel, writer_of};

/// Builds the crate, into the tests' target folder, where its macros are compiled already.
fn program(name: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let output = Command::new(cargo)
        .current_dir(source_tree::root().join("ci/examples/service"))
        .args(["build", "--offline", "--locked", "--quiet"])
        .env("CARGO_TARGET_DIR", target)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    target.join("debug").join(name)
}

/// A running service; it ends with the value.
struct Service {
    child: Child,
    address: SocketAddr,
    /// Kept open, as the service writes to it.
    _stdout: BufReader<std::process::ChildStdout>,
}

impl Service {
    /// Starts one on the emulator with a hand-written product of f32.
    fn start(home: &Path, ptx: &str, more: &[&str]) -> Service {
        let bundle = home.join("bundle");
        if !bundle.exists() {
            let writer = writer_of([(gemm_kernel("gemm_f32@plain-1"), ptx)]);
            writer.write(&bundle).unwrap();
        }
        let listen: &[&str] = match more.contains(&"--listen") {
            true => &[],
            false => &["--listen", "127.0.0.1:0"],
        };
        let mut child = Command::new(program("service"))
            .arg(&bundle)
            .args(listen)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap();
        Service {
            address: address.parse().unwrap(),
            child,
            _stdout: stdout,
        }
    }

    /// Puts load on it.
    fn load(&self, more: &[&str]) -> Child {
        Command::new(program("load"))
            .args(["--service", &self.address.to_string()])
            .args([
                "-n",
                "12",
                "-k",
                "20",
                "--rows",
                "3",
                "--products",
                "8",
                "--weights",
                "2",
            ])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// One call by a connection of its own: the status and the body.
    fn ask(&self, head: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        send(&mut stream, head, body);
        answer(&mut BufReader::new(stream))
    }

    /// The value of one of its metrics; 0 before it is there.
    fn metric(&self, line: &str) -> f64 {
        self.metric_until(line, |_| true)
    }

    /// The same, asked by one connection until it is as wanted.
    fn metric_until(&self, line: &str, is_wanted: impl Fn(f64) -> bool) -> f64 {
        let mut stream = BufReader::new(TcpStream::connect(self.address).unwrap());
        loop {
            send(stream.get_mut(), "GET /metrics", &[]);
            let (status, text) = answer(&mut stream);
            assert_eq!(status, 200, "{text}");
            let found = text.lines().find_map(|told| told.strip_prefix(line));
            let value = found.map_or(0.0, |value| value.trim().parse().unwrap());
            if is_wanted(value) {
                return value;
            }
        }
    }

    /// Returns when so many products have been given out.
    fn wait_for_products(&self, count: f64) {
        let name = "tilewright_service_answers_total{path=\"products\",result=\"ok\"}";
        self.metric_until(name, |value| value >= count);
    }

    fn terminate(&self) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends `METHOD PATH` with further headers behind it.
fn send(stream: &mut TcpStream, head: &str, body: &[u8]) {
    let (first, headers) = head.split_once('\n').unwrap_or((head, ""));
    let mut text = format!("{first} HTTP/1.1\r\nhost: test\r\n");
    for header in headers.lines() {
        text.push_str(&format!("{}\r\n", header.trim()));
    }
    text.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    stream.write_all(text.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
}

/// The status and the body of the next answer.
fn answer(stream: &mut BufReader<TcpStream>) -> (u16, String) {
    let (status, body) = raw_answer(stream);
    (status, String::from_utf8_lossy(&body).into_owned())
}

fn raw_answer(stream: &mut BufReader<TcpStream>) -> (u16, Vec<u8>) {
    let (mut status, mut length) = (0, 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        match line.trim_end().split_once(' ') {
            None => break,
            Some(("content-length:", value)) => length = value.parse().unwrap(),
            Some(("HTTP/1.1", value)) => status = value[..3].parse().unwrap(),
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (status, body)
}

fn matrix(rows: usize, columns: usize) -> String {
    format!("\nx-rows: {rows}\nx-columns: {columns}\nx-dtype: f32")
}

/// What the client printed, and whether it was content.
fn told(load: Child) -> (Value, bool) {
    let output = load.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (
        serde_json::from_str(&text).unwrap(),
        output.status.success(),
    )
}

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
