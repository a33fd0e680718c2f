//! A service that runs, and requests as bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tilewright_ci::{outside, source_tree};
use tilewright_fixture::{gemm_kernel, writer_of};

/// Longer than anything is waited for that comes, and shorter than what a service does not wait
/// for: whatever has not come by then does not.
const PATIENCE: Duration = Duration::from_secs(60);

/// The crate's folder.
pub fn home() -> PathBuf {
    source_tree::root().join("runtime/examples/service")
}

/// Runs cargo on the crate, into the tests' target folder, where most of what it links is compiled
/// already. Returns the folder of the programs.
pub fn cargo(args: &[&str]) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let output = Command::new(outside::cargo())
        .current_dir(home())
        .args(args)
        .args(["--offline", "--locked", "--quiet", "--config"])
        .arg(outside::profile(target).unwrap())
        .env("CARGO_TARGET_DIR", target)
        .output()
        .unwrap();
    let [out, told] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{out}{told}");
    target.join("debug")
}

/// One of the crate's programs, built.
fn program(name: &str) -> PathBuf {
    cargo(&["build"]).join(name)
}

/// A bundle with a hand-written product of f32, made where it is not there.
pub fn bundle(home: &Path, ptx: &str) -> PathBuf {
    let bundle = home.join("bundle");
    if !bundle.exists() {
        let writer = writer_of([(gemm_kernel("gemm_f32@plain-1"), ptx)]);
        writer.write(&bundle).unwrap();
    }
    bundle
}

/// A running service; it ends with the value.
pub struct Service {
    pub child: Child,
    pub address: SocketAddr,
    /// Kept open, as the service writes to it.
    stdout: Option<BufReader<ChildStdout>>,
}

impl Service {
    /// Starts one on the emulator with a hand-written product of f32.
    pub fn start(home: &Path, ptx: &str, more: &[&str]) -> Service {
        let bundle = bundle(home, ptx);
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
            stdout: Some(stdout),
        }
    }

    /// Puts load on it.
    pub fn load(&self, more: &[&str]) -> Child {
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
    pub fn ask(&self, head: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        send(&mut stream, head, body);
        answer(&mut BufReader::new(stream))
    }

    /// The value of one of its metrics; 0 before it is there.
    pub fn metric(&self, line: &str) -> f64 {
        self.metric_until(line, |_| true)
    }

    /// The same, asked by one connection until it is as wanted.
    #[track_caller]
    pub fn metric_until(&self, line: &str, is_wanted: impl Fn(f64) -> bool) -> f64 {
        let mut stream = BufReader::new(TcpStream::connect(self.address).unwrap());
        let began = Instant::now();
        loop {
            send(stream.get_mut(), "GET /metrics", &[]);
            let (status, text) = answer(&mut stream);
            assert_eq!(status, 200, "{text}");
            let found = text.lines().find_map(|told| told.strip_prefix(line));
            let value = found.map_or(0.0, |value| value.trim().parse().unwrap());
            if is_wanted(value) {
                return value;
            }
            assert!(began.elapsed() < PATIENCE, "{line} is {value}");
        }
    }

    /// Returns when so many products have been given out.
    pub fn wait_for_products(&self, count: f64) {
        let name = "tilewright_service_answers_total{path=\"products\",result=\"ok\"}";
        self.metric_until(name, |value| value >= count);
    }

    pub fn terminate(&self) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(status.success());
    }

    /// The exit code of a service that has been told to end.
    #[track_caller]
    pub fn exit_code(&mut self) -> Option<i32> {
        let mut stdout = self.stdout.take().unwrap();
        let (tells, ended) = mpsc::channel();
        // The end of what it prints is its own.
        thread::spawn(move || {
            let end = stdout.read_to_end(&mut Vec::new());
            let _ = tells.send(end.is_ok());
        });
        let ended = ended.recv_timeout(PATIENCE);
        assert_eq!(ended, Ok(true), "the service goes on");
        self.child.wait().unwrap().code()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends `METHOD PATH` with further headers behind it.
pub fn send(stream: &mut TcpStream, head: &str, body: &[u8]) {
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
pub fn answer(stream: &mut BufReader<TcpStream>) -> (u16, String) {
    let (status, body) = raw_answer(stream);
    (status, String::from_utf8_lossy(&body).into_owned())
}

pub fn raw_answer(stream: &mut BufReader<TcpStream>) -> (u16, Vec<u8>) {
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

pub fn matrix(rows: usize, columns: usize) -> String {
    format!("\nx-rows: {rows}\nx-columns: {columns}\nx-dtype: f32")
}

/// What the client printed, and whether it was content.
pub fn told(load: Child) -> (Value, bool) {
    let output = load.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (
        serde_json::from_str(&text).unwrap(),
        output.status.success(),
    )
}
