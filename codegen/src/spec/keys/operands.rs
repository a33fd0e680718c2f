//! Operands: element types and layouts, against what the formula takes.

use tilewright_formula as formula;

use super::read::{Field, Fields, Reader};
use crate::dtype::DType;
use crate::error::{Span, shown};
use crate::spec::kernel::forms::{Role, TypeRule};
use crate::spec::kernel::operand::{Axis, Operand, OperandId, Stride};
use crate::spec::kernel::shape::OperandShape;
use crate::spec::words::notation;
use crate::spec::yaml::nearest::all_of;
use crate::spec::yaml::node::Node;

/// Names that every kernel has: `sms` and `max_clusters`.
const RUNTIME_NAMES: usize = 2;
/// Most modes of a packed operand.
const MOST_PACKED: usize = 2;

impl Reader<'_> {
    /// All operands in the order of the shape. Those with problems are left out, and no spec comes
    /// of the others: where there is one, an operand's number is its place in the list.
    pub(in crate::spec) fn operands(&mut self, field: &Field<'_>) -> Vec<Operand> {
        let map = self.record(field.node, field.key.kind, &field.path, field.key_span);
        let shapes = self.shape.operands.clone();
        let operands = shapes.iter().enumerate();
        let operands =
            operands.filter_map(|(at, shape)| self.operand(&map, (OperandId(at), shape)));
        let operands: Vec<Operand> = operands.collect();
        self.names(&map, &operands);
        operands
    }

    /// Checks that a launch has places for the extents and strides that callers give, at the first
    /// operand that has one too many.
    fn names(&mut self, map: &Fields<'_>, operands: &[Operand]) {
        const MOST: usize = tilewright_bundle::MAX_NAMES - RUNTIME_NAMES;
        let mut names: Vec<&str> = Vec::new();
        let mut first = None;
        for operand in operands {
            for axis in operand.formula_axes() {
                let stride = match &axis.stride {
                    Stride::Named(name) => Some(name.as_str()),
                    Stride::Const(_) | Stride::Product { .. } => None,
                };
                for name in stride.into_iter().chain([axis.mode.as_str()]) {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
            if names.len() > MOST {
                first = first.or(Some(operand));
            }
        }
        let Some(field) = first.and_then(|operand| map.get(&operand.name)) else {
            return;
        };
        let message = format!(
            "the operands have {} extents and strides by name; at most {MOST} are allowed",
            names.len()
        );
        let help = "leave strides of tensors without gaps out, as in `(m,n)`, or compute it in \
                    two kernels";
        self.problems
            .add("too-many-names", &field.node.span, message, help);
    }

    fn operand(
        &mut self,
        map: &Fields<'_>,
        (id, shape): (OperandId, &OperandShape),
    ) -> Option<Operand> {
        let field = map.get(&shape.name)?;
        let record = self.record(field.node, field.key.kind, &field.path, field.key_span);
        let dtype = record.get("dtype").and_then(|field| self.dtype(&field));
        let strides = record
            .get("layout")
            .and_then(|field| self.layout(&field, shape));
        let over = record.get("over");
        let over = over.and_then(|field| self.scalar(&field, "the name of an operand"));
        let over = over.map(str::to_owned);
        let tables = shape.tables.iter().copied().chain(std::iter::repeat(None));
        let (strides, packed) = strides?;
        if let (true, Some(dtype), Some(field)) = (packed, dtype, record.get("layout"))
            && dtype.per_byte() > 1
        {
            let (path, name, example) = (&field.path, &shape.name, self.example(shape));
            let message = format!(
                "`{path}` is packed; operand {name} has elements of {dtype}, two of which share a \
                 byte"
            );
            let help = format!("write its strides: \"{example}\"");
            self.problems
                .add("packed-operand", &field.node.span, message, help);
        }
        let axes = shape.modes.iter().zip(strides).zip(tables);
        let axes = axes.map(|((mode, stride), table)| Axis {
            mode: mode.clone(),
            table,
            stride,
        });
        let mut axes: Vec<Axis> = axes.collect();
        let apart = shape.apart.iter();
        let apart = apart.filter_map(|at| Some((*at, axes.get(*at)?.clone())));
        let apart: Vec<(usize, Axis)> = apart.collect();
        let mut number = 0..;
        axes.retain(|_| number.next().is_some_and(|at| !shape.apart.contains(&at)));
        if shape.transposed {
            axes.reverse();
        }
        Some(Operand {
            id,
            name: shape.name.clone(),
            dtype: dtype?,
            role: shape.role,
            axes,
            packed,
            transposed: shape.transposed,
            over,
            apart,
        })
    }

    /// The strides of an operand, and whether it is packed.
    fn layout(&mut self, field: &Field<'_>, shape: &OperandShape) -> Option<(Vec<Stride>, bool)> {
        let example = self.example(shape);
        let text = self.scalar(field, &format!("a layout such as \"{example}\""))?;
        let (extents, strides) = match notation::layout(text) {
            Ok(parts) => parts,
            Err(misfit) => {
                let message = format!("`{}` is no layout: {}", field.path, misfit.message);
                let meant = match self.shape.is_written {
                    true => self.meant(text, shape),
                    false => example,
                };
                let help = format!("write extents and strides in the form \"{meant}\"");
                let span = self.part(field.node, misfit.at);
                self.problems.add("layout-syntax", &span, message, help);
                return None;
            }
        };
        let actual: Vec<String> = extents
            .iter()
            .map(|entry| entry.value.to_string())
            .collect();
        // The modes of a formula's operands are read off their layouts.
        if actual != shape.modes && !self.shape.is_written {
            let message = format!(
                "extents of `{}` are ({}); operand {} of kernel {} has ({})",
                field.path,
                shown(&actual.join(",")),
                shape.name,
                self.shape.kernel,
                shape.modes.join(",")
            );
            let at =
                extents.first().map_or(0, |e| e.at.start)..extents.last().map_or(0, |e| e.at.end);
            let example = moved(&actual, &strides, shape).unwrap_or_else(|| example.clone());
            let help = format!("write it in the form \"{example}\"");
            self.problems
                .add("wrong-extents", &self.part(field.node, at), message, help);
        }
        let strides = match strides {
            notation::Strides::Packed => return Some((self.packed(field, shape)?, true)),
            notation::Strides::Contiguous => return Some((self.contiguous(shape), false)),
            notation::Strides::Written(strides) => strides,
        };
        if strides.len() != shape.modes.len() {
            let (path, actual, rank) = (&field.path, strides.len(), shape.modes.len());
            let needed = match rank {
                2 => "two are needed".to_owned(),
                _ => format!("{rank} are needed"),
            };
            let noun = if actual == 1 { "stride" } else { "strides" };
            let message = format!("`{path}` has {actual} {noun}; {needed}");
            let meant = match rank {
                0 => self.meant(text, shape),
                _ => example,
            };
            let help = format!("write it in the form \"{meant}\"");
            self.problems
                .add("wrong-rank", &field.node.span, message, help);
            return None;
        }
        let strides = strides.iter().enumerate();
        let read = |(mode, entry)| self.stride(field, shape, entry, mode);
        let strides: Vec<Option<Stride>> = strides.map(read).collect();
        let strides: Vec<Stride> = strides.into_iter().collect::<Option<_>>()?;
        self.overlap(field, shape, &strides);
        Some((strides, false))
    }

    /// The strides of an operand whose order is the plan's: those of rows one after another, along
    /// the axis that the kernel has last.
    fn packed(&mut self, field: &Field<'_>, shape: &OperandShape) -> Option<Vec<Stride>> {
        let rank = shape.modes.len();
        let (what, help) = if shape.is_written() {
            (
                "is an output, which is stored by its strides",
                self.example(shape),
            )
        } else if !(1..=MOST_PACKED).contains(&rank) {
            ("has no one or two modes", self.example(shape))
        } else {
            let rows = Stride::Named(self.value_name(format!("ld{}", shape.name)));
            let strides = [rows, Stride::Const(1)];
            let mut strides = strides[MOST_PACKED - rank..].to_vec();
            if shape.transposed {
                strides.reverse();
            }
            return Some(strides);
        };
        let message = format!("`{}` is packed; operand {} {what}", field.path, shape.name);
        let help = format!("write its strides: \"{help}\"");
        self.problems
            .add("packed-operand", &field.node.span, message, help);
        None
    }

    fn overlap(&mut self, field: &Field<'_>, shape: &OperandShape, strides: &[Stride]) {
        let same = |one: &Stride, other: &Stride| one.to_string() == other.to_string();
        let twice =
            |(at, stride): (usize, &Stride)| strides[..at].iter().any(|one| same(one, stride));
        if shape.is_written() && strides.iter().enumerate().any(twice) {
            let message = format!(
                "`{}` gives both extents one stride: elements of the output overlap",
                field.path
            );
            let help = format!("use \"{}\"", self.example(shape));
            self.problems
                .add("overlapping-output", &field.node.span, message, help);
        }
        let again = strides.iter().enumerate().find_map(|one| match one {
            (_, Stride::Const(_)) => None,
            (_, stride) => twice(one).then_some(stride),
        });
        if let (false, Some(name)) = (shape.is_written(), again) {
            let message = format!(
                "`{}` gives two extents the stride `{name}`: elements that differ along both lie \
                 at one address, and no kernel is proved to stay inside such an operand",
                field.path
            );
            let help = format!("use \"{}\"", self.example(shape));
            self.problems
                .add("one-stride", &field.node.span, message, help);
        }
    }

    /// The layout that a text is likely meant as which is none: of the modes that stand in it.
    fn meant(&self, text: &str, shape: &OperandShape) -> String {
        let extents = text.split(':').next().unwrap_or(text);
        let words = extents.split(|c: char| !c.is_ascii_alphanumeric() && !"_/+".contains(c));
        // A factor of an extent is no mode.
        let is_factor = |word: &&str| extents.contains('*') && word.parse::<i64>().is_ok();
        let words = words.filter(|word| formula::Axis::parse(word).is_some() && !is_factor(word));
        let mut modes: Vec<String> = words.map(str::to_owned).collect();
        if modes.is_empty() && self.shape.is_written && is_blank(text) {
            return "():()".to_owned();
        }
        if modes.is_empty() {
            modes.clone_from(&shape.modes);
        }
        if modes.is_empty() {
            modes = ["m", "n"].map(str::to_owned).to_vec();
        }
        self.example(&OperandShape {
            modes,
            ..shape.clone()
        })
    }

    /// Checks that a product of matrices, or a copy, is generated of these element types together.
    pub(in crate::spec) fn types(
        &mut self,
        operands: &[Operand],
        accumulator: Option<DType>,
        tree: &Node,
    ) {
        if operands.len() != self.shape.operands.len() || !self.shape.is_plain {
            return;
        }
        // The type of a written sum is part of its formula.
        let span = |path: &str| {
            let node = tree.find(path).or_else(|| tree.find("compute"));
            node.map(|node| node.span.clone()).unwrap_or_default()
        };
        let types = self.shape.types();
        if types.is_empty() {
            self.one_type(operands, span);
            return;
        }
        let Some(accumulator) = accumulator else {
            return;
        };
        let misfits = |rule: &TypeRule| {
            let mut paths: Vec<String> = operands
                .iter()
                .filter(|operand| !rule.takes(operand.role, operand.dtype))
                .map(|operand| format!("operands.{}.dtype", operand.name))
                .collect();
            paths.extend((rule.accumulator != accumulator).then(|| "accumulator".to_string()));
            paths
        };
        // Of those that differ as much, the one whose factors are most alike.
        let factors = operands.iter().filter(|one| !one.is_written());
        let factors: Vec<DType> = factors.map(|one| one.dtype).collect();
        let apart = |rule: &TypeRule| -> u32 {
            let both = factors.iter().zip(&rule.factors);
            both.map(|(one, wanted)| one.bits().abs_diff(wanted.bits()))
                .sum()
        };
        let Some(best) = types
            .iter()
            .min_by_key(|rule| (misfits(rule).len(), apart(rule)))
        else {
            return;
        };
        let Some(path) = misfits(best).into_iter().next() else {
            return;
        };
        let both = types.iter().filter_map(TypeRule::both);
        let both: Vec<&str> = both.map(|dtype| dtype.text()).collect();
        let mixed = mixed(types);
        let message = format!(
            "element types are {}, accumulator {accumulator}; products are of {} in both factors, \
             {mixed}with sums and results that fit",
            list(operands),
            all_of(&both)
        );
        let mut help = format!("use {}", self.rule(best));
        let is_fast = tree.find("accumulation").is_some();
        if best.is_of_float8() && !is_fast {
            help.push_str(", and accumulation: fast on arch sm_90a");
        }
        if let [only] = misfits(best).as_slice()
            && let Some(scaled) = self.scaled(operands, only)
        {
            help.push_str(&scaled);
        }
        self.problems
            .add("dtype-combination", &span(&path), message, help);
    }

    /// That a formula which does more than multiply stores what a product alone does not, where the
    /// one type that does not fit is that of its output.
    fn scaled(&self, operands: &[Operand], path: &str) -> Option<String> {
        let of_output =
            |one: &&Operand| one.is_written() && path.split('.').nth(1) == Some(one.name.as_str());
        let dtype = operands.iter().find(of_output)?.dtype;
        let since = match dtype {
            DType::E4M3 | DType::E5M2 => " of sm_89 or newer",
            dtype if dtype.per_byte() > 1 => return None,
            _ => "",
        };
        let element = |role| {
            let mut shapes = self.shape.operands.iter();
            let shape = shapes.find(|one| one.role == role)?;
            Some(format!("{}[{}]", shape.name, shape.modes.join(",")))
        };
        let (a, b, d) = (element(Role::A)?, element(Role::B)?, element(Role::Output)?);
        let summed = self.shape.tile.get(2)?;
        Some(format!(
            "; or scale the sums, `{d} = 0.5 * (sum[{summed}] {a} * {b})`: what is computed of \
             them is stored in {dtype} as well, by kernels{since}"
        ))
    }

    /// Checks that the operands of a copy have one type.
    fn one_type(&mut self, operands: &[Operand], span: impl Fn(&str) -> Span) {
        let first = operands.first().map(|operand| operand.dtype);
        let Some(other) = operands.iter().find(|operand| Some(operand.dtype) != first) else {
            return;
        };
        let span = span(&format!("operands.{}.dtype", other.name));
        let message = format!(
            "element types are {}; kernel {} converts nothing",
            list(operands),
            self.shape.kernel
        );
        let help = "give all operands one element type";
        self.problems.add("dtype-combination", &span, message, help);
    }

    /// `a f16, b f16, d f16 or f32, accumulator f32`.
    fn rule(&self, rule: &TypeRule) -> String {
        let outputs: Vec<&str> = rule.outputs.iter().map(|dtype| dtype.text()).collect();
        let outputs = outputs.join(" or ");
        let [a, b] = rule.factors;
        let part = |operand: &OperandShape| match operand.role {
            Role::Output => format!("{} {outputs}", operand.name),
            Role::B => format!("{} {b}", operand.name),
            Role::A | Role::Source | Role::Extra => format!("{} {a}", operand.name),
        };
        let parts: Vec<String> = self.shape.operands.iter().map(part).collect();
        format!("{}, accumulator {}", parts.join(", "), rule.accumulator)
    }
}

/// A layout of the same memory with the extents in the order of the kernel, where they are the
/// kernel's in another order.
fn moved(actual: &[String], strides: &notation::Strides, shape: &OperandShape) -> Option<String> {
    let places = shape.modes.iter();
    let places = places.map(|mode| actual.iter().position(|other| other == mode));
    let places: Vec<usize> = places.collect::<Option<_>>()?;
    if actual.len() != places.len() {
        return None;
    }
    let inner = |at: usize| match actual.get(at + 1..) {
        None | Some([]) => "1".to_owned(),
        Some(inner) => inner.join("*"),
    };
    let stride = |at: &usize| match strides {
        notation::Strides::Written(all) => all.get(*at).map(|one| one.value.to_string()),
        notation::Strides::Contiguous => Some(inner(*at)),
        notation::Strides::Packed => None,
    };
    let strides: Vec<String> = places.iter().map(stride).collect::<Option<_>>()?;
    Some(format!(
        "({}):({})",
        shape.modes.join(","),
        strides.join(",")
    ))
}

/// Whether a layout's text has neither extents nor strides.
fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_whitespace() || "():,".contains(c))
}

fn list(operands: &[Operand]) -> String {
    let parts: Vec<String> = operands
        .iter()
        .map(|operand| format!("{} {}", operand.name, operand.dtype))
        .collect();
    parts.join(", ")
}

/// The types that differ in the factors of a product: `or of `e4m3` and `e5m2`, `.
fn mixed(types: &[TypeRule]) -> String {
    let mut pairs: Vec<String> = Vec::new();
    for [a, b] in types.iter().map(|rule| rule.factors) {
        let (here, back) = (format!("`{a}` and `{b}`"), format!("`{b}` and `{a}`"));
        if a != b && !pairs.contains(&here) && !pairs.contains(&back) {
            pairs.push(here);
        }
    }
    let pairs = pairs.iter().map(|pair| format!("or of {pair}, "));
    pairs.collect()
}
