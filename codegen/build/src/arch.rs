//! What the name of an architecture stands for.

use tilewright_bundle::Capability;

use crate::error::Error;

/// The devices of an architecture, `sm_80` or `sm_90a`.
///
/// # Errors
/// [`Error::Request`] when the word is no such name.
pub(crate) fn capability(arch: &str) -> Result<Capability, Error> {
    let refused = || {
        format!("{arch:?} is no architecture that this version knows: say sm_80, sm_90, sm_100 …")
    };
    Capability::of_arch(arch).ok_or_else(|| Error::Request(refused()))
}
