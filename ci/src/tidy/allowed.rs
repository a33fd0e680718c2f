//! What may break a rule, and why. An entry that no longer breaks its rule is itself a complaint,
//! so these lists only shrink by themselves.

/// A file that may be longer than the limit.
#[derive(Debug, Clone, Copy)]
pub struct LongFile {
    /// Its path from the root.
    pub path: &'static str,
    /// The most lines it may have.
    pub lines: usize,
    /// Why it reads better whole.
    pub reason: &'static str,
}

/// A function that may be longer than the limit.
#[derive(Debug, Clone, Copy)]
pub struct LongFunction {
    /// The path of its file from the root.
    pub path: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Why it reads better whole.
    pub reason: &'static str,
}

/// Files longer than the limit.
pub const LONG_FILES: &[LongFile] = &[];

/// Functions longer than the limit.
pub const LONG_FUNCTIONS: &[LongFunction] = &[];
