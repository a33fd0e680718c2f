//! Memory of the host: asked for before it is taken.
//!
//! Linux promises more memory than there is and ends the process that believes it, so what a
//! problem needs is compared with what is free before anything of it is allocated.

use crate::error::Error;

/// Refuses to go on when the host has not that many bytes to give.
///
/// # Errors
/// [`Error::HostMemory`].
pub(crate) fn check(needs: u64) -> Result<(), Error> {
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

/// Bytes that can be taken without swapping; `None` where the system does not say.
fn free_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
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
            text.contains("needs 18446744073709551615 bytes on the host"),
            "{text}"
        );
    }
}
