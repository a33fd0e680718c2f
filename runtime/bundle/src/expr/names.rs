//! The quantities that expressions mention, and their values for one problem.

macro_rules! names {
    ($($variant:ident $text:literal $doc:literal),* $(,)?) => {
        /// A quantity that an expression may mention.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Name { $(#[doc = $doc] $variant),* }

        impl Name {
            /// Every name, in the order of [`Name::index`].
            pub const ALL: &'static [Name] = &[$(Name::$variant),*];

            /// The spelling in expressions and layouts.
            pub const fn text(self) -> &'static str {
                match self { $(Name::$variant => $text),* }
            }

            /// The name spelled `text`.
            pub fn from_text(text: &str) -> Option<Name> {
                match text { $($text => Some(Name::$variant),)* _ => None }
            }
        }
    };
}

names! {
    M "m" "Rows of the output.",
    N "n" "Columns of the output.",
    K "k" "The contracted extent.",
    Batch "batch" "Number of problems in a batch.",
    Lda "lda" "Leading dimension of `a`, in elements.",
    Ldb "ldb" "Leading dimension of `b`, in elements.",
    Ldc "ldc" "Leading dimension of `c`, in elements.",
    Ldd "ldd" "Leading dimension of `d`, in elements.",
    Lds "lds" "Leading dimension of a copy's source `s`, in elements.",
    Rsa "rsa" "Row stride of `a`.",
    Csa "csa" "Column stride of `a`.",
    Rsb "rsb" "Row stride of `b`.",
    Csb "csb" "Column stride of `b`.",
    Rsc "rsc" "Row stride of `c`.",
    Csc "csc" "Column stride of `c`.",
    Rsd "rsd" "Row stride of `d`.",
    Csd "csd" "Column stride of `d`.",
    Rss "rss" "Row stride of a copy's source `s`.",
    Css "css" "Column stride of a copy's source `s`.",
    Sms "sms" "Streaming multiprocessors of the device.",
    MaxClusters "max_clusters" "Clusters, or CTAs of a kernel without, that fit at once.",
}

impl Name {
    /// How many names there are.
    pub const COUNT: usize = Name::ALL.len();

    /// Position in [`Name::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The values of the names for one problem on one device; names start unbound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Env {
    values: [Option<i64>; Name::COUNT],
}

impl Env {
    /// An environment with nothing bound.
    pub fn new() -> Env {
        Env::default()
    }

    /// Binds `name` to `value`, replacing an earlier value.
    pub fn set(&mut self, name: Name, value: i64) {
        self.values[name.index()] = Some(value);
    }

    /// The same environment with `name` bound to `value`.
    #[must_use]
    pub fn with(mut self, name: Name, value: i64) -> Env {
        self.set(name, value);
        self
    }

    /// The value of `name`, if bound.
    pub fn get(&self, name: Name) -> Option<i64> {
        self.values[name.index()]
    }
}
