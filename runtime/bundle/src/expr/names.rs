//! The quantities that a kernel's expressions mention, and their values for one problem.
//!
//! A kernel declares its names by its layouts: a name that is an extent, `m` of `(m,k):(lda,1)`,
//! and one that is a stride, `lda`. Beside them stand the runtime's own. Names are looked up once,
//! when a bundle is opened; from then on a name is a place in an [`Env`].

/// Most names of a kernel, the runtime's own among them.
pub const MAX_NAMES: usize = 128;

/// The place of a name among those of its kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u8);

impl Name {
    /// `sms`: streaming multiprocessors of the device. Every kernel has it.
    pub const SMS: Name = Name(0);
    /// `max_clusters`: clusters, or CTAs of a kernel without, that fit at once, of the one launch
    /// that [`Kernel::counted_launch`](crate::Kernel::counted_launch) is. Every kernel has it.
    pub const MAX_CLUSTERS: Name = Name(1);

    const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// A quantity of the device, which the runtime gives.
    Runtime,
    /// An extent of operands, which the caller gives.
    Extent,
    /// A stride of operands in elements, which the caller gives.
    Stride,
}

/// The names that the expressions of one kernel may mention.
///
/// ```
/// use tilewright_bundle::{Env, Expr, NameKind, Names};
/// let mut names = Names::default();
/// let m = names.declare("m", NameKind::Extent).unwrap();
/// let mut tiles: Expr = "ceil_div(m, 128)".parse()?;
/// assert!(tiles.resolve(&names).is_empty());
/// assert_eq!(tiles.eval(&Env::new().with(m, 129))?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    list: Vec<(String, NameKind)>,
}

impl Default for Names {
    /// The runtime's own.
    fn default() -> Names {
        // In the order of the constants of `Name`.
        let list = ["sms", "max_clusters"].map(|text| (text.to_owned(), NameKind::Runtime));
        Names {
            list: list.to_vec(),
        }
    }
}

impl Names {
    /// Adds a name and returns its place, which is that of an equal one before; `None` when there
    /// are [`MAX_NAMES`] already, or the name stands for something of another kind.
    pub fn declare(&mut self, text: &str, kind: NameKind) -> Option<Name> {
        if let Some(name) = self.find(text) {
            return (self.kind(name) == Some(kind)).then_some(name);
        }
        let place = u8::try_from(self.list.len()).ok()?;
        (self.list.len() < MAX_NAMES).then(|| self.list.push((text.to_owned(), kind)))?;
        Some(Name(place))
    }

    /// The name spelled `text`.
    pub fn find(&self, text: &str) -> Option<Name> {
        let at = self.list.iter().position(|(name, _)| name == text)?;
        u8::try_from(at).ok().map(Name)
    }

    /// The spelling of a name; empty for a name of another kernel that this one lacks.
    pub fn text(&self, name: Name) -> &str {
        self.list.get(name.index()).map_or("", |(text, _)| text)
    }

    /// What a name stands for.
    pub fn kind(&self, name: Name) -> Option<NameKind> {
        self.list.get(name.index()).map(|(_, kind)| *kind)
    }

    /// The names of a kind with their spelling, in the order in which layouts mention them.
    pub fn of_kind(&self, kind: NameKind) -> impl Iterator<Item = (Name, &str)> {
        let all = (0u8..).map(Name).zip(&self.list);
        all.filter(move |(_, (_, found))| *found == kind)
            .map(|(name, (text, _))| (name, text.as_str()))
    }

    /// The extents with their spelling, in the order in which layouts mention them.
    pub fn extents(&self) -> impl Iterator<Item = (Name, &str)> {
        self.of_kind(NameKind::Extent)
    }

    /// Every spelling, for messages.
    pub(crate) fn list(&self) -> String {
        let all: Vec<&str> = self.list.iter().map(|(text, _)| text.as_str()).collect();
        all.join(" ")
    }
}

/// The values of a kernel's names for one problem on one device; names start unbound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Env {
    values: [i64; MAX_NAMES],
    /// A bit for each name that has a value.
    bound: u128,
}

impl Default for Env {
    fn default() -> Env {
        Env::new()
    }
}

impl Env {
    /// An environment with nothing bound.
    pub const fn new() -> Env {
        Env {
            values: [0; MAX_NAMES],
            bound: 0,
        }
    }

    /// Binds `name` to `value`, replacing an earlier value.
    pub fn set(&mut self, name: Name, value: i64) {
        if let Some(place) = self.values.get_mut(name.index()) {
            *place = value;
            self.bound |= 1 << name.index();
        }
    }

    /// The same environment with `name` bound to `value`.
    #[must_use]
    pub fn with(mut self, name: Name, value: i64) -> Env {
        self.set(name, value);
        self
    }

    /// The value of `name`, if bound.
    pub fn get(&self, name: Name) -> Option<i64> {
        let value = self.values.get(name.index())?;
        (self.bound >> name.index() & 1 == 1).then_some(*value)
    }
}
