//! Names and what they stand for, in nested `{ }` scopes.
//!
//! Registers, variables and labels belong to their scope; inner ones hide outer ones. `%r<5>`
//! declares %r0 to %r4 as one entry: a lookup tries the whole name, then the name without its
//! trailing digits.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::finding::Space;
use crate::inst::{Reg, Special, Src};

/// FNV-1a: names are short, and the default hasher costs more than the rest of the lookup.
#[derive(Clone, Copy)]
pub(crate) struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> NameHasher {
        NameHasher(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// A map keyed by names of the text.
pub(crate) type NameMap<'a, T> = HashMap<&'a str, T, BuildHasherDefault<NameHasher>>;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Named {
    /// A data register.
    Reg(Reg),
    /// A predicate register.
    Pred(u32),
    /// Consecutive registers of a vector register.
    RegVector { first: Reg, len: u32 },
    /// A variable.
    Variable { base: Src, space: Space, bytes: u64 },
    /// A function.
    Function(u32),
}

/// `%r<5>`.
#[derive(Clone, Copy, Debug)]
struct Family {
    first: u32,
    count: u32,
    /// Declared width; 1 means predicates.
    width: u32,
    /// Slots of one register: more than 1 for vectors.
    len: u32,
}

/// One `{ }`.
#[derive(Debug, Default)]
pub(crate) struct Scope<'a> {
    parent: Option<usize>,
    names: NameMap<'a, Named>,
    families: NameMap<'a, Family>,
    labels: NameMap<'a, u32>,
    tables: NameMap<'a, Vec<&'a str>>,
}

/// The scopes of the module and of the current function.
#[derive(Debug)]
pub(crate) struct Scopes<'a> {
    all: Vec<Scope<'a>>,
    current: usize,
}

impl<'a> Scopes<'a> {
    pub(crate) fn new() -> Scopes<'a> {
        Scopes {
            all: vec![Scope::default()],
            current: 0,
        }
    }

    /// Opens a scope inside the current one.
    pub(crate) fn open(&mut self) {
        self.all.push(Scope {
            parent: Some(self.current),
            ..Scope::default()
        });
        self.current = self.all.len() - 1;
    }

    /// Closes the current scope; its labels stay for the end of the function.
    pub(crate) fn close(&mut self) {
        if let Some(parent) = self.scope().and_then(|scope| scope.parent) {
            self.current = parent;
        }
    }

    /// The current scope's number.
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    /// Forgets everything but the module's names.
    pub(crate) fn reset(&mut self) {
        self.all.truncate(1);
        self.current = 0;
    }

    fn scope(&self) -> Option<&Scope<'a>> {
        self.all.get(self.current)
    }

    fn here(&mut self) -> &mut Scope<'a> {
        let last = self.current.min(self.all.len() - 1);
        &mut self.all[last]
    }

    /// Declares a name; an error says that the scope has it already.
    pub(crate) fn declare(&mut self, name: &'a str, named: Named) -> Result<(), String> {
        match self.here().names.insert(name, named) {
            None => Ok(()),
            Some(Named::Function(_)) if matches!(named, Named::Function(_)) => Ok(()),
            Some(_) => Err(format!("{name} is declared twice in one scope")),
        }
    }

    /// Declares a name of the module while a function is open.
    pub(crate) fn declare_at_module(&mut self, name: &'a str, named: Named) {
        if let Some(module) = self.all.first_mut() {
            module.names.insert(name, named);
        }
    }

    /// Declares `name<count>`.
    pub(crate) fn declare_family(
        &mut self,
        name: &'a str,
        first: u32,
        count: u32,
        width: u32,
        len: u32,
    ) {
        self.here().families.insert(
            name,
            Family {
                first,
                count,
                width,
                len,
            },
        );
    }

    /// Defines a label.
    pub(crate) fn define_label(&mut self, name: &'a str, pc: u32) -> Result<(), String> {
        match self.here().labels.insert(name, pc) {
            None => Ok(()),
            Some(_) => Err(format!("label {name} is defined twice in one scope")),
        }
    }

    /// Defines a `.branchtargets` list.
    pub(crate) fn define_table(&mut self, name: &'a str, labels: Vec<&'a str>) {
        self.here().tables.insert(name, labels);
    }

    fn chain(&self, from: usize) -> impl Iterator<Item = &Scope<'a>> {
        let start = self.all.get(from);
        std::iter::successors(start, |scope| {
            scope.parent.and_then(|parent| self.all.get(parent))
        })
    }

    /// The target of a label seen from a scope.
    pub(crate) fn label(&self, from: usize, name: &str) -> Option<u32> {
        self.chain(from)
            .find_map(|scope| scope.labels.get(name).copied())
    }

    /// The labels of a `.branchtargets` list seen from a scope.
    pub(crate) fn table(&self, from: usize, name: &str) -> Option<&[&'a str]> {
        self.chain(from)
            .find_map(|scope| scope.tables.get(name).map(Vec::as_slice))
    }

    /// What a name stands for in the current scope.
    pub(crate) fn lookup(&self, name: &str) -> Option<Named> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        for scope in self.chain(self.current) {
            if let Some(named) = scope.names.get(name) {
                return Some(*named);
            }
            // `%x1<3>` declares %x10 to %x12, so every split of the digits may be the right one.
            for cut in stem.len()..name.len() {
                if let Some(family) = scope.families.get(&name[..cut])
                    && let Some(named) = family.member(&name[cut..])
                {
                    return Some(named);
                }
            }
        }
        None
    }
}

impl Family {
    fn member(&self, digits: &str) -> Option<Named> {
        if digits.is_empty() || digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        let index: u32 = digits.parse().ok().filter(|index| *index < self.count)?;
        let slot = self.first + index * self.len;
        Some(match (self.width, self.len) {
            (1, _) => Named::Pred(slot),
            (width, 1) => Named::Reg(Reg { slot, width }),
            (width, len) => Named::RegVector {
                first: Reg { slot, width },
                len,
            },
        })
    }
}

/// The special register of a name such as `%tid.x`.
pub(crate) fn special(name: &str) -> Option<Special> {
    let name = name.strip_prefix('%')?;
    let (stem, axis) = match name.rsplit_once('.') {
        Some((stem, "x")) => (stem, Some(0)),
        Some((stem, "y")) => (stem, Some(1)),
        Some((stem, "z")) => (stem, Some(2)),
        _ => (name, None),
    };
    if let Some(axis) = axis {
        return Some(match stem {
            "tid" => Special::Tid(axis),
            "ntid" => Special::Ntid(axis),
            "ctaid" => Special::Ctaid(axis),
            "nctaid" => Special::Nctaid(axis),
            "clusterid" => Special::Clusterid(axis),
            "nclusterid" => Special::Nclusterid(axis),
            "cluster_ctaid" => Special::ClusterCtaid(axis),
            "cluster_nctaid" => Special::ClusterNctaid(axis),
            _ => return None,
        });
    }
    Some(match name {
        "tid" => Special::Tid(0),
        "ntid" => Special::Ntid(0),
        "ctaid" => Special::Ctaid(0),
        "nctaid" => Special::Nctaid(0),
        "laneid" => Special::Laneid,
        "warpid" => Special::Warpid,
        "nwarpid" => Special::Nwarpid,
        "smid" => Special::Smid,
        "nsmid" => Special::Nsmid,
        "gridid" => Special::Gridid,
        "lanemask_eq" => Special::LanemaskEq,
        "lanemask_le" => Special::LanemaskLe,
        "lanemask_lt" => Special::LanemaskLt,
        "lanemask_ge" => Special::LanemaskGe,
        "lanemask_gt" => Special::LanemaskGt,
        "clock" => Special::Clock,
        "clock_hi" => Special::ClockHi,
        "clock64" => Special::Clock64,
        "globaltimer" | "globaltimer_lo" => Special::Globaltimer,
        "globaltimer_hi" => Special::ClockHi,
        "dynamic_smem_size" => Special::DynamicSmemSize,
        "total_smem_size" => Special::TotalSmemSize,
        "cluster_ctarank" => Special::ClusterCtarank,
        "cluster_nctarank" => Special::ClusterNctarank,
        "is_explicit_cluster" => Special::IsExplicitCluster,
        _ => return None,
    })
}
