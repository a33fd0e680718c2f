//! Serves products of matrices over HTTP; see the library's documentation.

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use service::connections::{self, Limits as Connections};
use service::ending::{End as Ends, Ending, STANDSTILL};
use service::engine::{Config, Engine};
use service::http::Service;
use service::metrics::{Metrics, Rooms};
use service::room::Room;
use service::worker::{Limits, Worker};
use tilewright_runtime::{Load, Options, PtxCache};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

const EXIT_CODES: &str = "\
Exit codes: 0 ended as asked, every request that had come in whole answered; 1 requests were left
over; 2 it could not start; 3 a kernel faulted and took the GPU from the process: start another";

/// How serving ended.
enum End {
    /// Asked to, every request answered.
    Drained,
    /// With requests left over.
    LeftOver,
    /// A kernel took the device with it.
    Lost,
}

/// Serves products of matrices over HTTP.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
struct Args {
    /// The bundle: a folder or a zip file
    bundle: PathBuf,
    /// A product: a word, a spec's name or the beginning of a function's hash; may be given several
    /// times, and of a word that means several all plain products are there, by header `x-function`
    #[arg(long = "function", default_value = "gemm")]
    functions: Vec<String>,
    /// The GPU; without one the emulator works, slowly
    #[arg(long)]
    gpu: Option<usize>,
    /// Where to listen; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Load every kernel before the first request
    #[arg(long)]
    eager: bool,
    /// Keep compiled PTX in this folder
    #[arg(long)]
    ptx_cache: Option<PathBuf>,
    /// Run the machine code of the bundle alone, and never have its PTX compiled
    #[arg(long)]
    cubin_only: bool,
    /// Requests that may wait
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    queue: u32,
    /// Rows that go through the device together at most
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65536))]
    most_rows: u32,
    /// Microseconds that rows wait for others to go with
    #[arg(long, default_value_t = 100)]
    linger_us: u64,
    /// Weights that are kept
    #[arg(long, default_value_t = 16)]
    weights: usize,
    /// Largest body in bytes
    #[arg(long, default_value_t = 64 << 20)]
    body_bytes: usize,
    /// Bytes that bodies and answers hold together at most, of all connections
    #[arg(long, default_value_t = 256 << 20)]
    held_bytes: usize,
    /// Bytes that weights, and the products that are computed with them, take together at most: on
    /// the GPU and beside it, or in the process where the emulator works
    #[arg(long, default_value_t = 2 << 30)]
    memory_bytes: usize,
    /// Connections that are open at a time
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// Milliseconds that a request's head may take to come, the request from there to its answer,
    /// and the answer to be taken
    #[arg(long, default_value_t = 30_000)]
    time_limit_ms: u64,
    /// Seconds that requests have to end after SIGTERM
    #[arg(long, default_value_t = 30)]
    drain_seconds: u64,
    /// What is told on stderr: error, warn, info, debug or trace
    #[arg(long, default_value = "info")]
    log: tracing::Level,
}

fn main() -> ExitCode {
    let args = Args::parse();
    tracing_subscriber::fmt()
        .with_max_level(args.log)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    match serve(&args) {
        Ok(End::Drained) => ExitCode::SUCCESS,
        Ok(End::LeftOver) => ExitCode::FAILURE,
        Ok(End::Lost) => ExitCode::from(3),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn config(args: &Args) -> Result<Config, tilewright_runtime::Error> {
    let options = Options {
        load: if args.eager { Load::Eager } else { Load::Lazy },
        ptx_cache: args.ptx_cache.as_deref().map(PtxCache::open).transpose()?,
        cubin_only: args.cubin_only,
    };
    Ok(Config {
        bundle: args.bundle.clone(),
        functions: args.functions.clone(),
        gpu: args.gpu,
        options,
        memory_bytes: args.memory_bytes,
    })
}

/// Serves until a signal, or until the device is lost.
fn serve(args: &Args) -> Result<End, Box<dyn Error>> {
    let (body, held) = (args.body_bytes, args.held_bytes);
    if body > held {
        let text = format!("--body-bytes is {body}; --held-bytes allows {held}: give it as many");
        return Err(text.into());
    }
    let engine = Engine::open(config(args)?)?;
    let (metrics, runtime) = (Metrics::default(), engine.runtime());
    let limits = Limits {
        queue: args.queue as usize,
        most_rows: args.most_rows as usize,
        linger: Duration::from_micros(args.linger_us),
        weights: args.weights,
        body_bytes: args.body_bytes,
    };
    let room = Room::new(args.held_bytes);
    let (worker, thread) = Worker::start(engine, limits, room.clone(), metrics.clone())?;
    let (ends, ending) = Ending::new();
    let rooms = Rooms {
        held: room.clone(),
        memory: worker.memory.clone(),
    };
    let service = Service {
        registry: Arc::new(metrics.registry(runtime, rooms)),
        worker: worker.clone(),
        metrics,
        room,
        ending,
        time_limit: Duration::from_millis(args.time_limit_ms),
    };
    let pool = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let left_over = pool.block_on(listen(args, service, ends))?;
    let drained = left_over == 0;
    let is_lost = worker.is_lost();
    worker.end();
    pool.shutdown_timeout(STANDSTILL);
    // Whoever waited for the engine has been given all the time that there is. What it may still be
    // at can take minutes, and ends with the process.
    match thread.end_within(STANDSTILL) {
        Some(ended) => ended.map_err(|_| "the engine's thread panicked")?,
        None => warn!("the engine is let go in the middle of a launch"),
    }
    Ok(match (is_lost, drained) {
        (true, _) => End::Lost,
        (false, true) => End::Drained,
        (false, false) => End::LeftOver,
    })
}

/// Listens until a signal, or until the device is lost; how many requests were left over.
async fn listen(args: &Args, service: Service, ends: Ends) -> Result<usize, Box<dyn Error>> {
    let (mut terminated, mut interrupted) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    let listener = TcpListener::bind(args.listen).await?;
    // For whoever started it with port 0.
    println!("listening on {}", listener.local_addr()?);
    let worker = service.worker.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
            () = worker.lost() => {}
        }
        info!("no new work is taken");
        ends.begin();
    });
    let limits = Connections {
        most: args.connections,
        time: service.time_limit,
        drain: Duration::from_secs(args.drain_seconds),
    };
    let ending = service.ending.clone();
    let left_over = connections::serve(listener, service.router(), limits, ending).await;
    match left_over {
        0 => info!("every request had its answer"),
        _ => warn!(left_over, "requests are left over"),
    }
    Ok(left_over)
}
