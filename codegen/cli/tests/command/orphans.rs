//! A command that is killed leaves nothing behind: neither its children nor the lock of a tuner's
//! records.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tilewright_fixture::{COPY, copy_kernel, writer_of};

use crate::session::{command, tilewright};

/// What no machine takes for a signal to arrive.
const LIMIT: Duration = Duration::from_secs(30);

/// The copy behind a loop that takes an emulator hours at the problem below.
fn endless() -> String {
    let load = "ld.global.b32 %value, [%from];";
    COPY.replace(
        load,
        &format!(
            "mov.u32 %value, 0;\nAGAIN:\nadd.u32 %value, %value, 1;\n\
             setp.lt.u32 %right, %value, 2000000;\n@%right bra AGAIN;\n{load}"
        ),
    )
}

fn args<'p>(folder: &'p Path, names: &'p mut Vec<String>) -> Vec<&'p str> {
    *names = ["points", "records.jsonl", "tuned"]
        .map(|name| folder.join(name).to_str().unwrap().to_owned())
        .to_vec();
    let [bundle, records, output] = [&names[0], &names[1], &names[2]];
    let problem = ["--device", "emulator", "--problem", "4096x64x1"];
    ["tune", bundle, "--records", records, "-o", output]
        .into_iter()
        .chain(problem)
        .collect()
}

/// The process that holds the lock of a file, once there is one.
fn holder(records: &Path) -> Pid {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        let inode = std::fs::metadata(records).map(|meta| format!(":{}", meta.ino()));
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        let held = inode.ok().and_then(|inode| {
            let line = locks
                .lines()
                .find(|l| l.contains("FLOCK") && l.contains(&inode))?;
            line.split_whitespace().nth(4)?.parse().ok()
        });
        if let Some(id) = held {
            return Pid::from_raw(id).unwrap();
        }
        std::thread::yield_now();
    }
    panic!("nobody locked {}", records.display());
}

/// Whether the lock of a file is free within the limit.
fn is_freed(records: &Path) -> bool {
    let file = File::open(records).unwrap();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(file.lock().is_ok()));
    receive.recv_timeout(LIMIT) == Ok(true)
}

/// Runs a tuner until its child is at work, ends the tuner by `signal` and looks at what is left.
#[track_caller]
fn end_by(signal: Signal) {
    let folder = tempfile::tempdir().unwrap();
    let kernel = copy_kernel("copy_f32@endless-1");
    let writer = writer_of([(kernel, endless())]);
    writer.write(&folder.path().join("points")).unwrap();
    let (mut names, records) = (Vec::new(), folder.path().join("records.jsonl"));
    let args = args(folder.path(), &mut names);
    let mut parent: Child = command()
        .args(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let child = holder(&records);
    assert_ne!(child, Pid::from_child(&parent));
    let second = tilewright(&args).expect(2);
    let told = format!("another tuner (process {child}) is writing to it");
    assert!(second.stderr.contains(&told), "{}", second.stderr);

    kill_process(Pid::from_child(&parent), signal).unwrap();
    assert!(parent.wait().unwrap().code().is_none());
    let freed = is_freed(&records);
    if !freed {
        kill_process(child, Signal::KILL).unwrap();
    }
    assert!(freed, "process {child} still holds the records");
    // What is left of it may wait for whoever adopted it, and has no memory any more.
    let left = std::fs::read_to_string(format!("/proc/{child}/statm")).unwrap_or_default();
    let gone = test_kill_process(child).is_err() || left.starts_with("0 ");
    assert!(gone, "process {child}: {left}");
}

#[test]
fn a_killed_tuner_takes_its_child_along() {
    end_by(Signal::KILL);
}

#[test]
fn a_tuner_that_is_asked_to_end_takes_its_child_along() {
    end_by(Signal::TERM);
}

#[test]
fn a_tuner_whose_terminal_closes_takes_its_child_along() {
    end_by(Signal::HUP);
}

/// A build whose assembler waits for ever.
#[cfg(feature = "codegen")]
mod builds {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const SPEC: &str = "kernel: copy\nname: endless\narch: sm_80\noperands:\n  \
        s: { dtype: f32, layout: \"(m,n):(lds,1)\" }\n  \
        d: { dtype: f32, layout: \"(m,n):(ldd,1)\" }\ncta_tile: \"(16,256)\"\n";

    /// A folder with a spec, and an assembler that writes the process it works for into a file; it
    /// is a script that has another process do the work, and writes that down too.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("endless.yaml"), SPEC).unwrap();
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo 'x, V1' && exit\n\
             sleep 600 &\n\
             echo $$ $! > {1} && echo $PPID > {0}.new && mv {0}.new {0}\n\
             wait\n",
            at("worker").display(),
            at("assembler").display()
        );
        fs::write(at("ptxas"), script).unwrap();
        fs::set_permissions(at("ptxas"), fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    fn build(folder: &Path) -> std::process::Command {
        let mut command = command();
        command
            .env("TILEWRIGHT_PTXAS", folder.join("ptxas"))
            .env("TMPDIR", folder)
            .arg("build")
            .arg(folder.join("endless.yaml"))
            .arg("-o")
            .arg(folder.join("bundle"));
        command
    }

    /// The worker that the assembler works for, once there is one.
    fn worker(folder: &Path) -> Pid {
        let start = Instant::now();
        while start.elapsed() < LIMIT {
            if let Ok(id) = fs::read_to_string(folder.join("worker")) {
                return Pid::from_raw(id.trim().parse().unwrap()).unwrap();
            }
            std::thread::yield_now();
        }
        panic!("no worker came to assemble")
    }

    /// Wants that of an assembler, and of what it started, nothing is left.
    #[track_caller]
    fn nothing_is_left(folder: &Path) {
        let told = fs::read_to_string(folder.join("assembler")).unwrap();
        for id in told.split_whitespace() {
            let process = Pid::from_raw(id.parse().unwrap()).unwrap();
            let gone = is_gone(process);
            if !gone {
                kill_process(process, Signal::KILL).unwrap();
            }
            assert!(gone, "process {id} of {told} is still there");
        }
    }

    fn is_gone(process: Pid) -> bool {
        let start = Instant::now();
        while start.elapsed() < LIMIT {
            let left = fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
            if test_kill_process(process).is_err() || left.starts_with("0 ") {
                return true;
            }
            std::thread::yield_now();
        }
        false
    }

    /// Ends a build by `signal` while its assembler is at work.
    #[track_caller]
    fn end_by(signal: Signal) -> tempfile::TempDir {
        let folder = folder();
        let mut parent = build(folder.path()).stderr(Stdio::null()).spawn().unwrap();
        let worker = worker(folder.path());
        kill_process(Pid::from_child(&parent), signal).unwrap();
        parent.wait().unwrap();
        assert!(is_gone(worker), "process {worker} is still there");
        nothing_is_left(folder.path());
        folder
    }

    #[test]
    fn a_build_that_is_asked_to_end_takes_its_assembler_along() {
        end_by(Signal::TERM);
    }

    #[test]
    fn a_killed_build_takes_its_workers_along_and_leaves_no_files() {
        let folder = end_by(Signal::KILL);
        let mut names: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["assembler", "endless.yaml", "ptxas", "worker"]);
    }

    #[test]
    fn a_kernel_that_compiles_too_long_is_named() {
        let folder = folder();
        let run = build(folder.path()).args(["--time-limit", "1"]).output();
        let run = crate::session::finish(run.unwrap()).expect(1);
        for words in ["endless@16x256", "1 s", "--time-limit"] {
            assert!(run.stderr.contains(words), "{}", run.stderr);
        }
        assert!(is_gone(worker(folder.path())));
        nothing_is_left(folder.path());
    }

    #[test]
    fn a_worker_that_is_killed_is_no_bug() {
        let folder = folder();
        let parent = build(folder.path())
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        kill_process(worker(folder.path()), Signal::KILL).unwrap();
        let run = crate::session::finish(parent.wait_with_output().unwrap()).expect(2);
        assert!(run.stderr.contains("endless@16x256"), "{}", run.stderr);
        assert!(run.stderr.contains("memory"), "{}", run.stderr);
        nothing_is_left(folder.path());
    }
}
