//! The tree to the model: every key checked by its row of the table, then what concerns several
//! keys at once.
//!
//! Comes in: a tree and where its file lies. Goes out: a [`Spec`], or every problem. Invariants of
//! a built spec: operands are those of the shape in its order; `copy` and `swizzle` have an entry
//! for each operand; extents are positive.

use std::collections::BTreeMap;
use std::sync::Arc;

use tilewright_formula::form::{Form, Recognized};
use tilewright_layout::{Int, Swizzle};

use super::model::{Auto, CopyPath, Operand, Own, Spec, paths};
use super::names::{expected_name, is_identifier};
use super::read::{Field, Fields, Reader};
use super::valued::Valued;
use super::values::{MAX_TILE_EXTENT, MAX_TILE_SIZE};
use super::{compute, signature, slips};
use crate::arch::Arch;
use crate::dtype::DType;
use crate::error::shown;
use crate::spec::kernel::forms::FormKind;
use crate::spec::kernel::resolved::{Computes, TILE_MODES};
use crate::spec::kernel::shape::defaults;
use crate::spec::kernel::tile;
use crate::spec::keys::atoms;
use crate::spec::keys::key::{Kind, int};
use crate::spec::words::notation;
use crate::spec::yaml::embedded::Embedded;
use crate::spec::yaml::nearest::{all_of, nearest, one_of, suggestion};
use crate::spec::yaml::node::{Entry, Node, Value};
use crate::spec::yaml::problems::{Problems, span_of};

/// Builds the spec of a tree. `None` when the problems say why.
pub(in crate::spec) fn build(
    path: &str,
    text: &str,
    tree: &Node,
    mut problems: Problems,
) -> (Option<Spec>, Problems) {
    let meant = slips::meant(tree, &mut problems);
    let tree = meant.as_ref().unwrap_or(tree);
    let shape = compute::shape(tree, text, &mut problems);
    let named = expected_name(path, &shape.kernel).map(|name| name.replace('-', "_"));
    let mut reader = Reader {
        named: named.filter(|name| is_identifier(name)),
        text,
        tree,
        shape,
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

impl Reader<'_> {
    fn spec(&mut self, path: &str, tree: &Node, file: &Fields<'_>) -> Option<Spec> {
        let kernel = file.get("kernel").and_then(|field| self.kernel(&field));
        let name = file.get("name").and_then(|field| self.name(&field, path));
        let arch = file.get("arch").and_then(|field| self.arch(&field));
        let operands = file
            .get("operands")
            .map(|field| self.operands(&field))
            .unwrap_or_default();
        let accumulator = file.get("accumulator").and_then(|field| self.dtype(&field));
        let accumulator = match self.shape.accumulator {
            None => operands.first().map(|operand| operand.dtype),
            Some(sum) if self.shape.is_written => crate::dtype::named(sum.text()),
            Some(_) => accumulator,
        };
        self.types(&operands, accumulator, tree);
        let (modes, cta_tile) = file
            .get("cta_tile")
            .and_then(|field| self.tile(&field))
            .or_else(|| self.any_tile())
            .unzip();
        let copy = self.paths(file.get("copy"));
        let swizzle = self.swizzles(file.get("swizzle"), tree);
        if let Some(arch) = arch {
            self.arch_has(arch, tree);
        }
        let compute = match (&kernel, accumulator, modes) {
            (Some(word), Some(sums), Some(modes)) => self.computes(word, &operands, sums, modes),
            _ => None,
        };
        let own = || {
            Some(Own {
                kernel: kernel?,
                compute: compute?,
                name: name?,
                arch: arch?,
                operands,
                accumulator: accumulator?,
                cta_tile: cta_tile?,
                copy,
                swizzle,
            })
        };
        let spec = Spec::read(own(), self, file)?;
        self.cluster(&spec, file);
        Some(spec)
    }

    /// What the kernel computes.
    fn computes(
        &mut self,
        word: &str,
        operands: &[Operand],
        accumulator: DType,
        modes: Vec<String>,
    ) -> Option<Arc<Computes>> {
        if !self.problems.is_empty() {
            return None;
        }
        let accumulation = signature::accumulation(self.tree);
        let sums = (accumulator, accumulation);
        match Computes::new(&self.shape, word, operands, modes, sums) {
            Ok(computes) => Some(Arc::new(computes)),
            Err(found) => {
                let span = self
                    .tree
                    .entry("kernel")
                    .map(|entry| entry.key_span.clone());
                for problem in found {
                    let span = span.clone().unwrap_or_default();
                    let help = problem.help.unwrap_or_else(|| "write `compute`".into());
                    self.problems
                        .add(problem.code, &span, problem.message, help);
                }
                None
            }
        }
    }

    /// The word of the kernel: that of a default formula, or any where `compute` is written.
    fn kernel(&mut self, field: &Field<'_>) -> Option<String> {
        let words: Vec<&str> = defaults().iter().map(|one| one.kernel.as_str()).collect();
        let expected = match self.shape.is_written {
            true => "a word".to_owned(),
            false => format!("{}, or another word beside `compute`", one_of(&words)),
        };
        let text = self.scalar(field, &expected)?;
        let (code, message, help) = if !is_identifier(text) {
            let message = format!(
                "`kernel` is `{}`; allowed are 1 to 64 letters, digits and `_`, no digit first",
                shown(text)
            );
            (
                "bad-identifier",
                message,
                "use a word such as `gemm`".into(),
            )
        } else if !self.shape.is_written && !words.contains(&text) {
            let message = format!(
                "`kernel` is `{}`; only {} have a default formula",
                shown(text),
                all_of(&words)
            );
            let help = match nearest(text, words.iter().copied()) {
                Some(word) => format!("use `{word}`; any other word needs `compute`"),
                None => "any other word needs `compute`: write the formula there".into(),
            };
            ("unknown-kernel", message, help)
        } else {
            return Some(text.to_owned());
        };
        self.problems.add(code, &field.node.span, message, help);
        None
    }

    /// The modes that a tile cuts with its extents along them: by position, or by mode.
    fn tile(&mut self, field: &Field<'_>) -> Option<(Vec<String>, Vec<i64>)> {
        // Of a formula that is refused nobody knows its modes.
        let found = self.shape.formula.clone()?;
        let tile = tile::positional(&found.0, &found.1.form);
        let names: Vec<&str> = tile.iter().map(String::as_str).collect();
        let Value::Map(entries) = &field.node.value else {
            if matches!(&field.node.value, Value::Scalar { text, .. } if text == "auto") {
                let message = "`cta_tile` is `auto`; it decides on the kernel, and is written";
                let help = self.first_tile();
                let help = help.unwrap_or_else(|| "write its extents".to_owned());
                let span = &field.node.span;
                self.problems
                    .add("tile-auto", span, message.to_owned(), help);
                return None;
            }
            if let (Some(any), Value::Scalar { text, .. }) = (self.any_tile(), &field.node.value)
                && notation::tuple(text).is_ok_and(|extents| extents.len() != names.len())
            {
                return Some(any);
            }
            if self.is_by_position(field, names.len()) {
                return None;
            }
            let extents = self.tuple(field, &names, MAX_TILE_EXTENT, MAX_TILE_SIZE);
            if extents.is_none() {
                self.no_product(field, &found.1);
            }
            return extents.map(|extents| (tile, extents));
        };
        let modes = found.0.modes.iter().map(|mode| mode.name.as_str());
        let others = modes.filter(|mode| !names.contains(mode));
        let all: Vec<&str> = names.iter().copied().chain(others).collect();
        let unknown = |entry: &&Entry| !all.contains(&entry.key.as_str());
        for entry in entries.iter().filter(unknown) {
            let message = format!(
                "`cta_tile.{}` is no mode of the kernel; its modes are {}",
                shown(&entry.key),
                all_of(&all)
            );
            let there = |mode: &&str| field.node.entry(mode).is_some();
            let free: Vec<&str> = all.iter().copied().filter(|mode| !there(mode)).collect();
            let help = match free.is_empty() {
                true => "take it out".to_owned(),
                false => suggestion(&entry.key, &free),
            };
            self.problems
                .add("unknown-mode", &entry.key_span, message, help);
        }
        let cut = all.iter().filter_map(|mode| field.node.entry(mode));
        let cut: Vec<&Entry> = cut.collect();
        let extents = cut.iter().map(|entry| self.extent_of(entry));
        let extents: Vec<Option<i64>> = extents.collect();
        let extents: Vec<i64> = extents.into_iter().collect::<Option<_>>()?;
        let size = extents
            .iter()
            .try_fold(1i64, |size, extent| size.checked_mul(*extent));
        if size.is_none_or(|size| size > MAX_TILE_SIZE) {
            let message = format!("`cta_tile` has more than {MAX_TILE_SIZE} elements");
            self.problems.add(
                "too-many-elements",
                &field.node.span,
                message,
                "use smaller extents",
            );
            return None;
        }
        Some((cut.iter().map(|entry| entry.key.clone()).collect(), extents))
    }

    /// Refuses extents without names of rows of more modes than a tile cuts, where they are not as
    /// many as these.
    fn is_by_position(&mut self, field: &Field<'_>, modes: usize) -> bool {
        let (Some(found), Value::Scalar { text, .. }) = (&self.shape.formula, &field.node.value)
        else {
            return false;
        };
        let written = notation::tuple(text).unwrap_or_default();
        let extents: Vec<i64> = written
            .iter()
            .filter_map(|one| one.value.as_i64())
            .collect();
        if extents.is_empty() || extents.len() != written.len() || extents.len() == modes {
            return false;
        }
        let Some(named) = tile::by_mode(&found.0, &found.1.form, &extents) else {
            return false;
        };
        let message = format!(
            "`cta_tile` has {} entries by position; kernel {} has {modes} modes, of which a tile \
             cuts {TILE_MODES}",
            extents.len(),
            self.shape.kernel
        );
        let named = format!("name them: `{named}`");
        let help = match self.repeated() {
            Some(doubt) => format!("{doubt}; else {named}"),
            None => named,
        };
        self.problems
            .add("wrong-rank", &field.node.span, message, help);
        true
    }

    /// Says why a formula is no product, where its tile is given the three extents of one.
    fn no_product(&mut self, field: &Field<'_>, found: &Recognized) {
        const EXTENTS: usize = 3;
        let Value::Scalar { text, .. } = &field.node.value else {
            return;
        };
        let written = notation::tuple(text).map_or(0, |extents| extents.len());
        let (Form::Rows(_), EXTENTS) = (&found.form, written) else {
            return;
        };
        let name = FormKind::Contraction.facts().name;
        let Some((_, why, part)) = found.others.iter().find(|(form, ..)| *form == name) else {
            return;
        };
        if let Some(compute) = self.tree.find("compute") {
            let span = Embedded::of(self.text, compute).span(part.clone());
            let message = format!("this is no product, whose tiles have three extents: {why}");
            let help = "a sum of products of two factors, alone in its body, is one";
            self.problems.add("no-product", &span, message, help);
        }
    }

    /// The extent of a tile along one mode.
    fn extent_of(&mut self, entry: &Entry) -> Option<i64> {
        self.int(&Field {
            key: int(1, MAX_TILE_EXTENT, 1),
            name: entry.key.clone(),
            path: format!("cta_tile.{}", entry.key),
            key_span: &entry.key_span,
            node: &entry.value,
        })
    }

    /// Clusters are of newer architectures, and along k of products alone.
    fn cluster(&mut self, spec: &Spec, file: &Fields<'_>) {
        let [m, n, k] = spec.schedule.cluster;
        let is_product = spec.problem.form() == FormKind::Contraction;
        let (problem, help) = if k != 1 && !is_product {
            ("clusters along k are of products", "use 1 along k")
        } else if spec.schedule.cluster != [1; 3] && spec.problem.arch.sm < 90 {
            ("clusters need sm_90 or newer", "use (1,1,1)")
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
        for operand in self.shape.operands.clone() {
            let field = map.as_ref().and_then(|map| map.get(&operand.name));
            let path = field.map(|field| self.path(&field)).unwrap_or_default();
            paths.insert(operand.name.to_string(), path);
        }
        paths
    }

    fn path(&mut self, field: &Field<'_>) -> CopyPath {
        let path = CopyPath::read(self, Some(field.clone()));
        let both = [
            (path.g2r.is_some() && path.g2s.is_some(), "g2r", "g2s"),
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
        for operand in self.shape.operands.clone() {
            let field = map.as_ref().and_then(|map| map.get(&operand.name));
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

    /// Checks that the architecture has every atom the spec names.
    fn arch_has(&mut self, arch: Arch, tree: &Node) {
        for (path, key) in paths(&self.shape) {
            let (Some(_), Some(node)) = (atoms::job(key.kind), tree.find(&path)) else {
                continue;
            };
            let Value::Scalar { text, .. } = &node.value else {
                continue;
            };
            let Some(atom) =
                atoms::atoms().find(|atom| atom.id == text && !atom.atom.runs_on(arch))
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
