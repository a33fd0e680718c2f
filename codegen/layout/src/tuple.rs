//! Nested tuples and their shapes as trees.
//!
//! In: leaves and a profile. Out: rank, depth, children. Invariants: the profile lists the tree in
//! preorder, one token a node (a leaf, or a tuple with its number of children), and has as many
//! leaves as the tuple has values; trees are at most [`MAX_DEPTH`] deep.

use std::fmt;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::inline::Inline;

/// Deepest nesting of a tuple.
pub const MAX_DEPTH: usize = 16;
/// Most leaves of a tuple.
pub const MAX_LEAVES: usize = 4096;

const LEAF: u16 = u16::MAX;

/// The nesting of a tuple without its values: `(2,(3,4))` and `(8,(1,2))` have the same profile.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Profile(Inline<u16, 14>);

/// A subtree of a [`Profile`]: its tokens and the leaves it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub tokens: Range<usize>,
    pub leaves: Range<usize>,
}

impl Profile {
    /// The profile of a single value.
    pub fn leaf() -> Self {
        Self(std::iter::once(LEAF).collect())
    }

    /// The profile of a flat tuple of `rank` values.
    pub fn flat(rank: usize) -> Self {
        Self::tuple((0..rank).map(|_| Self::leaf()))
    }

    /// The profile of a tuple of the given parts.
    pub fn tuple(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut tokens = Inline::new();
        tokens.push(0u16);
        let mut arity = 0u16;
        for part in parts {
            arity = arity.saturating_add(1).min(LEAF - 1);
            tokens.extend(part.0.iter().copied());
        }
        tokens[0] = arity;
        Self(tokens)
    }

    /// Whether this is a single value and no tuple.
    pub fn is_leaf(&self) -> bool {
        self.0[0] == LEAF
    }

    /// Number of top-level entries; 1 for a single value.
    pub fn rank(&self) -> usize {
        if self.is_leaf() {
            1
        } else {
            self.0[0] as usize
        }
    }

    /// Number of values.
    pub fn leaves(&self) -> usize {
        self.0.iter().filter(|&&t| t == LEAF).count()
    }

    /// Nesting depth: 0 for a single value, 1 for a flat tuple.
    pub fn depth(&self) -> usize {
        let (mut deepest, mut open) = (0, Vec::new());
        for &token in self.0.iter() {
            if token != LEAF {
                open.push(token);
                deepest = deepest.max(open.len());
            }
            close(&mut open, token != LEAF && token > 0, &mut || {});
        }
        deepest
    }

    pub(crate) fn root(&self) -> Node {
        Node {
            tokens: 0..self.0.len(),
            leaves: 0..self.leaves(),
        }
    }

    pub(crate) fn node_is_leaf(&self, node: &Node) -> bool {
        self.0[node.tokens.start] == LEAF
    }

    /// The children of a node; a leaf has none.
    pub(crate) fn children(&self, node: &Node) -> Children<'_> {
        let arity = if self.node_is_leaf(node) {
            0
        } else {
            self.0[node.tokens.start]
        };
        Children {
            profile: self,
            left: arity,
            token: node.tokens.start + 1,
            leaf: node.leaves.start,
        }
    }

    /// The top-level modes; a single value is its own only mode.
    pub(crate) fn modes(&self) -> Children<'_> {
        let root = self.root();
        if self.is_leaf() {
            Children {
                profile: self,
                left: 1,
                token: 0,
                leaf: 0,
            }
        } else {
            self.children(&root)
        }
    }

    /// The profile of a subtree.
    pub(crate) fn sub(&self, node: &Node) -> Self {
        Self(self.0[node.tokens.clone()].iter().copied().collect())
    }

    /// The profile that results when every leaf is replaced by the next profile of `parts`.
    pub(crate) fn graft(&self, mut parts: impl Iterator<Item = Self>) -> Self {
        let mut tokens = Inline::new();
        for &token in self.0.iter() {
            if token == LEAF {
                match parts.next() {
                    Some(part) => tokens.extend(part.0.iter().copied()),
                    None => tokens.push(LEAF),
                }
            } else {
                tokens.push(token);
            }
        }
        Self(tokens)
    }

    /// The profile in which each leaf is split into as many leaves as `counts` says.
    pub(crate) fn split(&self, counts: &[usize]) -> Self {
        let mut tokens = Inline::new();
        let mut counts = counts.iter().peekable();
        for &token in self.0.iter() {
            let leaves = counts.next_if(|_| token == LEAF).copied().unwrap_or(1);
            if leaves != 1 {
                tokens.push(leaves.min(usize::from(LEAF - 1)) as u16);
            }
            tokens.extend(std::iter::repeat_n(token, leaves));
        }
        Self(tokens)
    }

    /// Refuses trees beyond the limits of this crate.
    pub(crate) fn check(&self) -> Result<()> {
        let (leaves, depth) = (self.leaves(), self.depth());
        if leaves > MAX_LEAVES {
            return Err(Error::domain(format!(
                "{leaves} leaves; at most {MAX_LEAVES} are allowed"
            )));
        }
        if depth > MAX_DEPTH {
            return Err(Error::domain(format!(
                "nested {depth} deep; at most {MAX_DEPTH} is allowed"
            )));
        }
        Ok(())
    }

    /// Writes the tree with `leaf(i)` in place of the `i`-th value.
    pub(crate) fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        leaf: &mut dyn FnMut(&mut fmt::Formatter<'_>, usize) -> fmt::Result,
    ) -> fmt::Result {
        let (mut open, mut next) = (Vec::new(), 0);
        for (i, &token) in self.0.iter().enumerate() {
            if token == LEAF {
                leaf(f, next)?;
                next += 1;
            } else {
                f.write_str("(")?;
                open.push(token);
            }
            let mut ends = 0;
            close(&mut open, token != LEAF && token > 0, &mut || ends += 1);
            for _ in 0..ends {
                f.write_str(")")?;
            }
            if (token == LEAF || token == 0) && i + 1 < self.0.len() {
                f.write_str(",")?;
            }
        }
        Ok(())
    }
}

/// Ends a node: counts it in its parent, and ends every parent that is complete. A tuple that still
/// waits for children (`waits`) ends nothing.
fn close(open: &mut Vec<u16>, waits: bool, end: &mut dyn FnMut()) {
    if waits {
        return;
    }
    if open.last() == Some(&0) {
        open.pop();
        end();
    }
    while let Some(left) = open.last_mut() {
        *left -= 1;
        if *left > 0 {
            return;
        }
        open.pop();
        end();
    }
}

/// Iterator over the children of a node.
pub(crate) struct Children<'a> {
    profile: &'a Profile,
    left: u16,
    token: usize,
    leaf: usize,
}

impl Iterator for Children<'_> {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        self.left = self.left.checked_sub(1)?;
        let (token, leaf) = (self.token, self.leaf);
        let mut open = 1usize;
        while open > 0 {
            let t = self.profile.0[self.token];
            self.token += 1;
            open -= 1;
            if t == LEAF {
                self.leaf += 1;
            } else {
                open += t as usize;
            }
        }
        Some(Node {
            tokens: token..self.token,
            leaves: leaf..self.leaf,
        })
    }
}

/// A nested tuple: one value, or a tuple of nested tuples. `(2,(3,4))`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IntTuple<T> {
    pub(crate) profile: Profile,
    pub(crate) leaves: Inline<T, 8>,
}

impl<T: Clone + Default> IntTuple<T> {
    /// A single value.
    pub fn leaf(value: T) -> Self {
        Self {
            profile: Profile::leaf(),
            leaves: std::iter::once(value).collect(),
        }
    }

    /// A flat tuple.
    pub fn flat(values: impl IntoIterator<Item = T>) -> Self {
        let leaves: Inline<T, 8> = values.into_iter().collect();
        Self {
            profile: Profile::flat(leaves.len()),
            leaves,
        }
    }

    /// A tuple of nested tuples.
    pub fn tuple(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut leaves = Inline::new();
        let mut profiles: Inline<Option<Profile>, 4> = Inline::new();
        for part in parts {
            leaves.extend(part.leaves.iter().cloned());
            profiles.push(Some(part.profile));
        }
        Self {
            profile: Profile::tuple(profiles.iter().flatten().cloned()),
            leaves,
        }
    }

    /// A tuple with the given profile and values.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when their numbers differ.
    pub fn with_profile(profile: Profile, values: impl IntoIterator<Item = T>) -> Result<Self> {
        let leaves: Inline<T, 8> = values.into_iter().collect();
        if profile.leaves() != leaves.len() {
            return Err(Error::mismatch(format!(
                "{} values for a profile of {} leaves",
                leaves.len(),
                profile.leaves()
            )));
        }
        Ok(Self { profile, leaves })
    }

    /// The nesting without the values.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The values, first to last.
    pub fn leaves(&self) -> &[T] {
        &self.leaves
    }

    /// Number of top-level entries; 1 for a single value.
    pub fn rank(&self) -> usize {
        self.profile.rank()
    }

    /// Nesting depth: 0 for a single value.
    pub fn depth(&self) -> usize {
        self.profile.depth()
    }

    /// The single value, when this is one.
    pub fn as_leaf(&self) -> Option<&T> {
        if self.profile.is_leaf() {
            self.leaves.first()
        } else {
            None
        }
    }

    /// The top-level entries; a single value is its own only entry.
    pub fn modes(&self) -> impl Iterator<Item = Self> + '_ {
        self.profile.modes().map(|node| self.sub(&node))
    }

    /// The `i`-th top-level entry.
    pub fn mode(&self, i: usize) -> Option<Self> {
        self.modes().nth(i)
    }

    pub(crate) fn sub(&self, node: &Node) -> Self {
        Self {
            profile: self.profile.sub(node),
            leaves: self.leaves[node.leaves.clone()].iter().cloned().collect(),
        }
    }

    /// The same tree over other values.
    pub fn map<U: Default>(&self, f: impl FnMut(&T) -> U) -> IntTuple<U> {
        IntTuple {
            profile: self.profile.clone(),
            leaves: self.leaves.iter().map(f).collect(),
        }
    }
}

impl<T: fmt::Display> fmt::Display for IntTuple<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.profile.write(f, &mut |f, i| self.leaves[i].fmt(f))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn trees_print_and_measure() {
        for (text, rank, depth) in [
            ("7", 1, 0),
            ("()", 0, 1),
            ("(7)", 1, 1),
            ("((),3)", 2, 2),
            ("(((1,2),3),4,(5))", 3, 3),
            ("(1,(2,()),((3)))", 3, 3),
        ] {
            let tuple: IntTuple<i64> = text.parse().unwrap();
            assert_eq!(
                (tuple.to_string().as_str(), tuple.rank(), tuple.depth()),
                (text, rank, depth)
            );
            let again = IntTuple::tuple(tuple.modes());
            assert!(again == tuple || tuple.as_leaf().is_some());
        }
    }
}
