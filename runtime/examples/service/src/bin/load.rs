//! Puts load on the service from many connections, compares every result, and prints what it took.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use hdrhistogram::Histogram;
use hyper::Method;
use serde_json::{Value, json};
use service::client::{Client, Connection, Known, Outcome};
use service::matrix::{Shape, Types};
use tilewright_runtime::bundle::DType;

/// Puts load on the service, and compares every result.
///
/// Exit codes: 0 all are right, 1 some are wrong or missing, 2 it could not run.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Where the service listens
    #[arg(long, default_value = "127.0.0.1:8080")]
    service: SocketAddr,
    /// The function, by its name; the first that the service has
    #[arg(long)]
    function: Option<String>,
    /// Connections, each with one request at a time
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    connections: u64,
    /// Requests, of all connections together
    #[arg(long, default_value_t = 1000)]
    requests: u64,
    /// Seconds to go on at least, beyond the requests
    #[arg(long, default_value_t = 0)]
    seconds: u64,
    /// Requests a second at most, of all connections together; 0 is as many as there are
    #[arg(long, default_value_t = 0)]
    rate: u64,
    /// Weights
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    weights: u64,
    /// Rows of a weight
    #[arg(short, long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..))]
    n: u64,
    /// Columns of a weight
    #[arg(short, long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..))]
    k: u64,
    /// Rows of a request at most
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Different requests of a weight
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    products: u64,
    /// Seconds that the service may be away, as when it is started again
    #[arg(long, default_value_t = 20)]
    patience: u64,
}

/// What all connections share.
struct Shared {
    args: Args,
    function: String,
    types: Types,
    known: Vec<Known>,
    given: AtomicU64,
    start: Instant,
    is_stopped: AtomicBool,
}

/// What one connection saw.
struct Seen {
    latencies_us: Histogram<u64>,
    wrong: u64,
    told_to_wait: u64,
    connections: u64,
    puts: u64,
    failure: Option<String>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let pool = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let run = pool
        .map_err(|error| error.to_string())
        .and_then(|pool| pool.block_on(load(args)));
    match run {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

async fn load(args: Args) -> Result<bool, String> {
    let mut connection = Connection::new(args.service);
    let (function, types) = function(&mut connection, args.function.as_deref()).await?;
    let shape = Shape {
        rows: args.n as usize,
        columns: args.k as usize,
    };
    let known = (0..args.weights).map(|at| {
        let (rows, products) = (args.rows as usize, args.products as usize);
        Known::draw(format!("w{at}"), types, shape, rows, products)
    });
    let shared = Arc::new(Shared {
        known: known.collect::<Result<_, _>>()?,
        function,
        types,
        given: AtomicU64::new(0),
        start: Instant::now(),
        is_stopped: AtomicBool::new(false),
        args,
    });
    let before = resident_bytes(&mut connection).await;
    let tasks = (0..shared.args.connections).map(|at| tokio::spawn(work(shared.clone(), at)));
    let tasks: Vec<_> = tasks.collect();
    let mut all: Vec<Seen> = Vec::new();
    for task in tasks {
        all.push(task.await.map_err(|error| error.to_string())?);
    }
    let seconds = shared.start.elapsed().as_secs_f64();
    // By a connection of its own: the first may be one of a service that was killed meanwhile.
    let after = resident_bytes(&mut Connection::new(shared.args.service)).await;
    report(&shared, &all, seconds, [before, after])
}

/// A function that the service has, the first where none is named, with its types.
async fn function(
    connection: &mut Connection,
    wanted: Option<&str>,
) -> Result<(String, Types), String> {
    let answer = connection.ask(Method::GET, "/v1/function", None).await?;
    let told: Value = serde_json::from_slice(&answer.body).map_err(|error| error.to_string())?;
    let all = told.get("functions").and_then(Value::as_array);
    let all = all.map(Vec::as_slice).unwrap_or_default();
    let names = |one: &Value| one.get("names").cloned().unwrap_or_default();
    let is_wanted = |one: &&Value| match wanted {
        None => true,
        Some(name) => names(one)
            .as_array()
            .is_some_and(|names| names.contains(&name.into())),
    };
    let Some(found) = all.iter().find(is_wanted) else {
        let all: Vec<Value> = all.iter().map(names).collect();
        return Err(format!(
            "the service has no {}: {}",
            wanted.unwrap_or("function"),
            json!(all)
        ));
    };
    let text = |key: &str| found.get(key).and_then(Value::as_str).unwrap_or_default();
    let dtype = |name: &str| {
        let text = text(name);
        let named = DType::ALL.iter().find(|dtype| dtype.text() == text);
        named
            .copied()
            .ok_or_else(|| format!("{name} is {text:?}, which is no type"))
    };
    let types = Types {
        a: dtype("a")?,
        b: dtype("b")?,
        d: dtype("d")?,
    };
    Ok((text("name").to_owned(), types))
}

/// Memory of the service on the host, as its metrics tell.
async fn resident_bytes(connection: &mut Connection) -> Option<u64> {
    let answer = connection.ask(Method::GET, "/metrics", None).await.ok()?;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let name = "tilewright_service_resident_bytes ";
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.parse().ok())
}

async fn work(shared: Arc<Shared>, at: u64) -> Seen {
    let mut seen = Seen {
        // To a minute in microseconds, by three digits: this cannot fail.
        latencies_us: Histogram::new_with_max(60_000_000, 3).unwrap_or_else(|_| unreachable!()),
        wrong: 0,
        told_to_wait: 0,
        connections: 0,
        puts: 0,
        failure: None,
    };
    let args = &shared.args;
    let known = &shared.known[(at % args.weights) as usize];
    let patience = Duration::from_secs(args.patience);
    let mut client = Client::new(args.service, known, shared.types, at, patience);
    client.connection.function = Some(shared.function.clone());
    let least = Duration::from_secs(args.seconds);
    while !shared.is_stopped.load(Ordering::Relaxed) {
        let number = shared.given.fetch_add(1, Ordering::Relaxed);
        if number >= args.requests && shared.start.elapsed() >= least {
            break;
        }
        if let Some(due) = (number * 1_000_000).checked_div(args.rate) {
            let due = shared.start + Duration::from_micros(due);
            tokio::time::sleep_until(due.into()).await;
        }
        match client.product().await {
            Ok(Outcome::Right(taken)) => {
                let taken_us = u64::try_from(taken.as_micros()).unwrap_or(u64::MAX);
                seen.latencies_us.saturating_record(taken_us);
            }
            Ok(Outcome::Wrong) => seen.wrong += 1,
            Err(failure) => {
                shared.is_stopped.store(true, Ordering::Relaxed);
                seen.failure = Some(failure);
            }
        }
    }
    seen.told_to_wait = client.told_to_wait;
    seen.connections = client.connection.made;
    seen.puts = client.puts;
    seen
}

/// Prints what was seen as one JSON object; whether all is well.
fn report(
    shared: &Shared,
    all: &[Seen],
    seconds: f64,
    resident: [Option<u64>; 2],
) -> Result<bool, String> {
    let mut latencies: Histogram<u64> =
        Histogram::new_with_max(60_000_000, 3).map_err(|error| error.to_string())?;
    for seen in all {
        latencies
            .add(&seen.latencies_us)
            .map_err(|error| error.to_string())?;
    }
    let sum = |of: fn(&Seen) -> u64| all.iter().map(of).sum::<u64>();
    let failures: Vec<&String> = all
        .iter()
        .filter_map(|seen| seen.failure.as_ref())
        .collect();
    let wrong = sum(|seen| seen.wrong);
    let right = latencies.len();
    let at = |quantile: f64| latencies.value_at_quantile(quantile);
    let told = json!({
        "right": right,
        "wrong": wrong,
        "failures": failures,
        "seconds": seconds,
        "requests_per_second": right as f64 / seconds,
        "connections": shared.args.connections,
        "connections_made": sum(|seen| seen.connections),
        "told_to_wait": sum(|seen| seen.told_to_wait),
        "weights_put": sum(|seen| seen.puts),
        "function": shared.function,
        "n": shared.args.n,
        "k": shared.args.k,
        "dtypes": [shared.types.a.text(), shared.types.b.text(), shared.types.d.text()],
        "latency_us": {
            "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "p999": at(0.999),
            "most": latencies.max(),
        },
        "resident_bytes": resident,
    });
    println!("{told}");
    Ok(wrong == 0 && failures.is_empty() && right >= shared.args.requests)
}
