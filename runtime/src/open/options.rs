//! How a runtime comes by its kernels' code.

use crate::ptx_cache::PtxCache;

/// When kernels are loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Load {
    /// Each when it is first used.
    #[default]
    Lazy,
    /// All that the device runs, when the runtime is made: no launch waits for a compiler. Where
    /// it runs not one that is an error.
    Eager,
}

/// How a runtime comes by its kernels' code.
///
/// ```
/// use tilewright_runtime::{Load, Options, PtxCache};
/// # let home = std::env::temp_dir().join(format!("tilewright-options-{}", std::process::id()));
/// let options = Options {
///     load: Load::Eager,
///     ptx_cache: Some(PtxCache::open(&home)?),
///     cubin_only: false,
/// };
/// # std::fs::remove_dir(&home).ok();
/// # assert_ne!(options, Options::default());
/// # Ok::<(), tilewright_runtime::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// When kernels are loaded.
    pub load: Load,
    /// Where the machine code is kept that the driver makes of PTX, so that later starts need no
    /// compiler: the first compiles twice, to see that what can be kept is as good as what it
    /// runs, and kernels of which it is not are compiled at every start. None leaves it to the
    /// driver, whose own cache is often off in containers. The emulator has no use for it.
    pub ptx_cache: Option<PtxCache>,
    /// Whether the bundle's machine code alone is run: no start waits for a compiler, and what runs
    /// is what was shipped. Kernels without machine code for the device are refused. The emulator
    /// has no use for it.
    pub cubin_only: bool,
}
