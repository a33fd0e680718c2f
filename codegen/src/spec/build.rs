//! The tree to the model: every key checked by its row of the table, then what concerns several
//! keys at once.
//!
//! Comes in: a tree and where its file lies. Goes out: a [`Spec`], or every problem. Invariants of
//! a built spec: operands are those of the family in its order; `copy` and `swizzle` have an entry
//! for each operand; extents are positive.

use std::collections::BTreeMap;

use tilewright_layout::Swizzle;

use super::catalogue;
use super::families::{FAMILIES, FamilyFacts};
use super::keys::Kind;
use super::model::{Auto, CopyPath, Family, Own, Spec, paths};
use super::nearest::nearest;
use super::node::{Node, Value};
use super::problems::{Problems, span_of};
use super::read::{Field, Fields, Reader};
use super::valued::Valued;
use super::values::{MAX_TILE_EXTENT, MAX_TILE_SIZE};
use crate::arch::Arch;
use crate::error::shown;

/// Builds the spec of a tree. `None` when the problems say why.
pub(super) fn build(
    path: &str,
    text: &str,
    tree: &Node,
    problems: Problems,
) -> (Option<Spec>, Problems) {
    let mut reader = Reader {
        text,
        tree,
        facts: guess(tree),
        problems,
    };
    let place = match &tree.value {
        Value::Map(entries) => entries.first().map(|entry| entry.key_span.clone()),
        _ => None,
    };
    let place = place.unwrap_or_else(|| span_of(text, 0..0));
    let file = reader.record(tree, Kind::Record(Spec::KEYS), "", &place);
    let spec = reader.spec(path, tree, &file);
    let good = reader.problems.is_empty();
    (spec.filter(|_| good), reader.problems)
}

/// The family to check against: the one named, or the likeliest.
pub(super) fn guess(tree: &Node) -> &'static FamilyFacts {
    let named = match tree.find("kernel").map(|node| &node.value) {
        Some(Value::Scalar { text, .. }) => nearest(text, FAMILIES.iter().map(|facts| facts.name)),
        _ => None,
    };
    if let Some(facts) = FAMILIES.iter().find(|facts| Some(facts.name) == named) {
        return facts;
    }
    if tree.find("operands.s").is_some() {
        Family::Copy.facts()
    } else {
        Family::Gemm.facts()
    }
}

impl Reader<'_> {
    fn spec(&mut self, path: &str, tree: &Node, file: &Fields<'_>) -> Option<Spec> {
        let family = file.get("kernel").and_then(|field| self.family(&field));
        let name = file.get("name").and_then(|field| self.name(&field, path));
        let arch = file.get("arch").and_then(|field| self.arch(&field));
        let operands = file
            .get("operands")
            .map(|field| self.operands(&field))
            .unwrap_or_default();
        let accumulator = file.get("accumulator").and_then(|field| self.dtype(&field));
        let accumulator = match self.facts.types {
            [] => operands.first().map(|operand| operand.dtype),
            _ => accumulator,
        };
        self.types(&operands, accumulator, tree);
        let tile = self.facts.tile;
        let cta_tile = file
            .get("cta_tile")
            .and_then(|field| self.tuple(&field, tile, MAX_TILE_EXTENT, MAX_TILE_SIZE));
        let copy = self.paths(file.get("copy"));
        let swizzle = self.swizzles(file.get("swizzle"), tree);
        let epilogue = self.facts.epilogue.to_string();
        if let Some(field) = file.get("epilogue") {
            self.epilogue(&field);
        }
        if let Some(arch) = arch {
            self.arch_has(arch, tree);
        }
        let own = || {
            Some(Own {
                family: family?,
                name: name?,
                arch: arch?,
                operands,
                accumulator: accumulator?,
                cta_tile: cta_tile?,
                copy,
                swizzle,
                epilogue,
            })
        };
        let spec = Spec::read(own(), self, file)?;
        self.cluster(&spec, file);
        Some(spec)
    }

    /// A cluster has CTAs along m and n, none along k.
    fn cluster(&mut self, spec: &Spec, file: &Fields<'_>) {
        let [m, n, k] = spec.cluster;
        let (problem, help) = if k != 1 {
            ("clusters along k are not generated", "use 1 along k")
        } else if spec.cluster != [1; 3] && spec.arch.sm < 90 {
            (
                "clusters need sm_90 or newer",
                "use (1,1,1), or a newer arch",
            )
        } else {
            return;
        };
        let message = format!("`cluster` is ({m},{n},{k}): {problem}");
        if let Some(field) = file.get("cluster") {
            self.problems
                .add("unsupported-cluster", &field.node.span, message, help);
        }
    }

    fn paths(&mut self, field: Option<Field<'_>>) -> BTreeMap<String, CopyPath> {
        let map =
            field.map(|field| self.record(field.node, field.key.kind, &field.path, field.key_span));
        let mut paths = BTreeMap::new();
        for operand in self.facts.operands {
            let field = map.as_ref().and_then(|map| map.get(operand.name));
            let path = field.map(|field| self.path(&field)).unwrap_or_default();
            paths.insert(operand.name.to_string(), path);
        }
        paths
    }

    fn path(&mut self, field: &Field<'_>) -> CopyPath {
        let path = CopyPath::read(self, Some(field.clone()));
        let both = [
            (
                path.g2r.is_some() && (path.g2s.is_some() || path.s2r.is_some()),
                "g2r",
                "g2s and s2r",
            ),
            (
                path.r2g.is_some() && (path.r2s.is_some() || path.s2g.is_some()),
                "r2g",
                "r2s and s2g",
            ),
        ];
        for (_, direct, staged) in both.iter().filter(|(both, ..)| *both) {
            let message = format!(
                "`{}` goes past shared memory by {direct} and through it by {staged}",
                field.path
            );
            let help = format!("keep {direct}, or {staged}");
            self.problems.add("two-ways", field.key_span, message, help);
        }
        path
    }

    fn swizzles(
        &mut self,
        field: Option<Field<'_>>,
        tree: &Node,
    ) -> BTreeMap<String, Auto<Swizzle>> {
        let map =
            field.map(|field| self.record(field.node, field.key.kind, &field.path, field.key_span));
        let mut out = BTreeMap::new();
        for operand in self.facts.operands {
            let field = map.as_ref().and_then(|map| map.get(operand.name));
            let swizzle: Auto<Swizzle> = Auto::read(self, field.clone());
            let direct = if operand.is_written() { "r2g" } else { "g2r" };
            let past = tree
                .find(&format!("copy.{}.{direct}", operand.name))
                .is_some();
            if let (Some(field), Auto::Given(given), true) = (field, &swizzle, past)
                && !given.is_none()
            {
                let message = format!(
                    "`{}` is {given}, but the operand goes past shared memory by {direct}",
                    field.path
                );
                self.problems.add(
                    "swizzle-without-smem",
                    &field.node.span,
                    message,
                    "use `none` or `auto`",
                );
            }
            out.insert(operand.name.to_string(), swizzle);
        }
        out
    }

    fn epilogue(&mut self, field: &Field<'_>) {
        let only = self.facts.epilogue;
        let Some(text) = self.scalar(field, &format!("the expression `{only}`")) else {
            return;
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.join(" ") != only {
            let message = format!(
                "`epilogue` is `{}`; this version generates `{only}` for kernel {} and no other \
                 expression",
                shown(text),
                self.facts.name
            );
            let help = format!("use `{only}`, or delete the line");
            self.problems
                .add("unsupported-epilogue", &field.node.span, message, help);
        }
    }

    /// Checks that the architecture has every atom the spec names.
    fn arch_has(&mut self, arch: Arch, tree: &Node) {
        for (path, key) in paths(self.facts) {
            let (Some(_), Some(node)) = (catalogue::job(key.kind), tree.find(&path)) else {
                continue;
            };
            let Value::Scalar { text, .. } = &node.value else {
                continue;
            };
            let Some(atom) =
                catalogue::atoms().find(|atom| atom.id == text && !atom.atom.runs_on(arch))
            else {
                continue;
            };
            let message = format!(
                "`{path}` is `{text}`, which needs {}; `arch` is {arch}",
                atom.atom.needs()
            );
            let least = if atom.atom.exact { "" } else { "at least " };
            let needs = atom.atom.needs();
            let help = format!("use `auto`, or an `arch` of {least}{needs}");
            self.problems
                .add("atom-needs-arch", &node.span, message, help);
        }
    }
}
