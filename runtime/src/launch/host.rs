//! Memory of the host: asked for before it is taken.
//!
//! Linux promises more memory than there is and ends the process that believes it, so what a
//! problem needs is compared with what is free before anything of it is allocated.

use std::path::Path;

use crate::error::Error;

/// Refuses to go on when the host has not that many bytes to give.
///
/// # Errors
/// [`Error::HostMemory`].
pub fn check(needs: u64) -> Result<(), Error> {
    /// Smaller needs are not worth the question.
    const ALWAYS: u64 = 1 << 20;
    if needs <= ALWAYS {
        return Ok(());
    }
    match free_bytes() {
        Some(free) if needs > free => Err(Error::HostMemory { needs, free }),
        _ if needs > isize::MAX as u64 => Err(Error::HostMemory {
            needs,
            free: isize::MAX as u64,
        }),
        _ => Ok(()),
    }
}

/// Bytes that can be taken: what is free without swapping, what the group of processes may still
/// have, what is left of the process's own address space; `None` where the system says nothing.
fn free_bytes() -> Option<u64> {
    [unswapped(), group(), address_space()]
        .into_iter()
        .flatten()
        .min()
}

fn unswapped() -> Option<u64> {
    kibibytes(&read("/proc/meminfo")?, "MemAvailable:")
}

/// What is left below the limit of address space (`ulimit -v`).
fn address_space() -> Option<u64> {
    let limits = read("/proc/self/limits")?;
    let limit = behind(&limits, "Max address space")?;
    // A process without a limit has the word `unlimited` here.
    let most: u64 = limit.split_whitespace().next()?.parse().ok()?;
    let taken = kibibytes(&read("/proc/self/status")?, "VmSize:")?;
    Some(most.saturating_sub(taken))
}

/// What is left below the limits of the process's control group (version 2) and those around it.
fn group() -> Option<u64> {
    let path = read("/proc/self/cgroup")?;
    let path = behind(&path, "0::")?.trim_start_matches('/').to_owned();
    let root = Path::new("/sys/fs/cgroup");
    let inside = root.join(path);
    let folders = inside.ancestors().take_while(|at| at.starts_with(root));
    folders.filter_map(headroom).min()
}

/// What is left below the limit of one control group; files that are cached count as free.
fn headroom(folder: &Path) -> Option<u64> {
    let number = |name: &str| read(folder.join(name))?.trim().parse::<u64>().ok();
    let (most, used) = (number("memory.max")?, number("memory.current")?);
    let stat = read(folder.join("memory.stat")).unwrap_or_default();
    let cached = behind(&stat, "inactive_file ").and_then(|bytes| bytes.parse().ok());
    Some(most.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The rest of the first line that begins so.
fn behind<'t>(text: &'t str, head: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(head))
}

/// A size of a line such as `MemAvailable:   123 kB`.
fn kibibytes(text: &str, head: &str) -> Option<u64> {
    let number = behind(text, head)?.trim().strip_suffix("kB")?;
    let kibibytes: u64 = number.trim().parse().ok()?;
    Some(kibibytes.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_is_refused() {
        assert!(check(1 << 20).is_ok());
        let refused = check(u64::MAX).map_err(|error| error.to_string());
        let text = refused.err().unwrap_or_default();
        assert!(
            text.contains("needs more bytes than 64 bits count on the host"),
            "{text}"
        );
    }
    #[test]
    fn a_control_group_has_what_it_does_not_use() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| unreachable!("{error}"));
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        assert_eq!(headroom(folder.path()), None);
        assert!(write("memory.max", "1000\n").is_ok() && write("memory.current", "900\n").is_ok());
        assert_eq!(headroom(folder.path()), Some(100));
        assert!(write("memory.stat", "file 500\ninactive_file 300\n").is_ok());
        assert_eq!(headroom(folder.path()), Some(400));
        assert!(write("memory.max", "max\n").is_ok());
        assert_eq!(headroom(folder.path()), None);
    }
}
