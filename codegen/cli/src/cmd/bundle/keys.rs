//! Keys as files, who must have signed a bundle, and `bundle keygen` and `bundle sign`.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use tilewright_bundle::{KeyError, Policy, PublicKey, SigningKey};

use super::refusal;
use crate::args::bundle::{Keygen, Sign};
use crate::outcome::{Failure, Outcome, Verdict};
use crate::terminal::{self, GOOD};

/// Longest file of keys.
const MOST_BYTES: u64 = 1 << 20;

/// What bundles must bring to be opened: a signature by one of the keys in these files.
pub fn policy(files: &[PathBuf]) -> Result<Policy, Failure> {
    if files.is_empty() {
        return Ok(Policy::Unsigned);
    }
    let mut keys = Vec::new();
    let mut failures = Vec::new();
    for file in files {
        match public_keys(file) {
            Ok(found) => keys.extend(found),
            Err(failure) => failures.push(failure),
        }
    }
    match Failure::all(failures) {
        Some(failure) => Err(failure),
        None => Ok(Policy::signed_by(keys)),
    }
}

fn public_keys(file: &Path) -> Result<Vec<PublicKey>, Failure> {
    PublicKey::all_from_pem(&text_of(file)?).map_err(|error| no_key(file, &error))
}

fn no_key(file: &Path, error: &KeyError) -> Failure {
    Failure::CouldNotRun(format!("{}: {error}", file.display()))
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Failure::CouldNotRun(format!(
            "{0}: there is no such key: name another file, or make one with `tilewright bundle \
             keygen KEY`, which writes KEY and KEY.pub",
            path.display()
        )),
        _ => Failure::io(path.display(), &error),
    };
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MOST_BYTES)
        .read_to_string(&mut text)
        .map_err(failed)?;
    Ok(text)
}

/// Makes a key, in place of none that is there.
pub fn keygen(args: &Keygen) -> Outcome {
    let mut random = [0; 32];
    getrandom::fill(&mut random)
        .map_err(|error| Failure::CouldNotRun(format!("no random numbers: {error}")))?;
    let key = SigningKey::from_random(&random);
    let mut public = args.output.clone().into_os_string();
    public.push(".pub");
    if Path::new(&public).exists() {
        let public = Path::new(&public).display();
        return Err(Failure::CouldNotRun(there(&public)));
    }
    write_new(&args.output, &key.to_pem(), 0o600)?;
    write_new(Path::new(&public), &key.public().to_pem(), 0o644)?;
    let (good, private) = (terminal::paint(GOOD, "good"), args.output.display());
    let (public, id) = (Path::new(&public).display(), key.public().id());
    terminal::print_line(&format!(
        "{good}: {private} signs, {public} is for those who check, key {id}"
    ))?;
    Ok(Verdict::Good)
}

/// Writes a file that is not there yet, which only those may read that `mode` says.
fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let written = options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::CouldNotRun(there(&path.display())),
        _ => Failure::io(path.display(), &error),
    })
}

/// That a key is there already, which another one does not replace.
fn there(file: &impl Display) -> String {
    format!("{file}: the file is there, and was left as it is: name another key, or remove both")
}

/// Signs a bundle, in place or elsewhere.
pub fn sign(args: &Sign) -> Outcome {
    let key = SigningKey::from_pem(&text_of(&args.key)?);
    let key = key.map_err(|error| no_key(&args.key, &error))?;
    let mut bundle = super::open(&args.source)?;
    bundle.sign(&key);
    let output = args.output.as_ref().unwrap_or(&args.source.bundle);
    bundle
        .save(output)
        .map_err(|error| refusal(output, error))?;
    let (good, path) = (terminal::paint(GOOD, "good"), output.display());
    let (hash, id) = (bundle.hash(), key.public().id());
    terminal::print_line(&format!(
        "{good}: {path}, sha256 {hash}, signed by key {id}"
    ))?;
    Ok(Verdict::Good)
}
