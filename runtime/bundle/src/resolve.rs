//! Looks up the names that a kernel's expressions mention, once.
//!
//! In: a kernel as it was read. Out: the same kernel with its names declared by its layouts and
//! every expression bound to them, or every name that stands for nothing, with its place.

use crate::abi::{LaunchAbi, Param, ParamValue};
use crate::error::{Error, Problems};
use crate::expr::{Expr, MAX_DEPTH, MAX_NAMES, MAX_NODES, MAX_TEXT, NameKind, Names};
use crate::formula;
use crate::manifest::{Assumption, Kernel, Semantics};

/// Declares the kernel's names and resolves every expression, adding what is wrong.
pub(crate) fn kernel(kernel: &mut Kernel, problems: &mut Problems) {
    let id = kernel.id.clone();
    let names = declared(&id, &kernel.semantics, problems);
    let mut refuse = |place: &str, unknown: Vec<String>, is_readable: bool| {
        for word in unknown {
            let known = names.list();
            problems.add(
                &id,
                format!("{place}: unknown name `{word}`; the kernel's names are {known}"),
            );
        }
        if !is_readable {
            let message = format!(
                "{place}: more than {MAX_TEXT} bytes, {MAX_NODES} nodes or {MAX_DEPTH} levels: \
                 give modes and strides shorter names"
            );
            problems.add(&id, message);
        }
    };
    for operand in &mut kernel.semantics.operands {
        let place = format!("the layout of `{}`", operand.name);
        let layout = &mut operand.layout;
        for expr in layout.shape.iter_mut().chain(&mut layout.stride) {
            refuse(&place, expr.resolve(&names), expr.is_readable());
        }
    }
    for_each_expr(kernel, |place, expr| {
        refuse(place, expr.resolve(&names), expr.is_readable());
    });
    for assumption in &mut kernel.assumptions {
        if let Assumption::Expr { expr, .. } = assumption {
            let unknown = expr.resolve(&names);
            let place = match expr.is_readable() {
                true => format!("the assumption {expr}"),
                false => "an assumption".to_owned(),
            };
            refuse(&place, unknown, expr.is_readable());
        }
    }
    kernel.names = names;
    formula::kernel(kernel, problems);
}

impl Kernel {
    /// Declares the names of an entry that was made, not opened, looks up those that its
    /// expressions mention, and checks its formula. Opening and writing a bundle do so by
    /// themselves.
    ///
    /// # Errors
    /// Every name that stands for nothing, or for two things, and what is wrong with the formula.
    pub fn resolve(&mut self) -> Result<(), Error> {
        let mut problems = Problems::default();
        kernel(self, &mut problems);
        problems.into_result()
    }
}

/// The runtime's names, then the extents that stand alone in a layout, then the strides that do.
fn declared(id: &str, semantics: &Semantics, problems: &mut Problems) -> Names {
    let mut names = Names::default();
    let words = |exprs: &[Expr]| -> Vec<String> {
        let single = exprs.iter().filter_map(Expr::single_word);
        single.map(str::to_owned).collect()
    };
    let kinds = [NameKind::Extent, NameKind::Stride];
    for kind in kinds {
        for operand in &semantics.operands {
            let (place, found) = match kind {
                NameKind::Stride => ("stride", words(&operand.layout.stride)),
                _ => ("extent", words(&operand.layout.shape)),
            };
            for word in found {
                // A stride may be an extent: `(m,n):(n,1)`.
                let known = names.find(&word).and_then(|name| names.kind(name));
                if kind == NameKind::Stride && known == Some(NameKind::Extent) {
                    continue;
                }
                if names.declare(&word, kind).is_none() {
                    let operand = &operand.name;
                    let why = match known {
                        Some(_) => "the runtime has a name of its own by that word".to_owned(),
                        None => format!("a kernel has at most {MAX_NAMES} names"),
                    };
                    problems.add(id, format!("{place} `{word}` of `{operand}`: {why}"));
                }
            }
        }
    }
    names
}

/// Calls with every expression of [`Kernel::exprs`] and the key it stands under.
fn for_each_expr(kernel: &mut Kernel, mut visit: impl FnMut(&str, &mut Expr)) {
    let places: Vec<String> = (0..kernel.launches.len())
        .map(|at| kernel.launch_place(at))
        .collect();
    for (launch, place) in kernel.launches.iter_mut().zip(places) {
        for_each_of(launch, |key, expr| visit(&format!("{place}{key}"), expr));
    }
    visit("workspace.bytes", &mut kernel.workspace.bytes);
    let sums = kernel.semantics.sums.as_mut();
    if let Some(expr) = sums.and_then(|sums| sums.splits.as_mut()) {
        visit("semantics.sums.splits", expr);
    }
}

/// Calls with every expression of one launch and the key it stands under.
fn for_each_of(launch: &mut LaunchAbi, mut visit: impl FnMut(&str, &mut Expr)) {
    for Param { name, value, .. } in &mut launch.params {
        match value {
            ParamValue::Scalar { expr, .. } => visit(&format!("params.{name}"), expr),
            ParamValue::TensorMap(map) => {
                for (key, list) in [("dims", &mut map.dims), ("strides", &mut map.strides)] {
                    for (at, expr) in list.iter_mut().enumerate() {
                        visit(&format!("params.{name}.{key}.{at}"), expr);
                    }
                }
                if let Some(at) = &mut map.in_workspace {
                    visit(&format!("params.{name}.in_workspace"), at);
                }
            }
            ParamValue::InWorkspace { at } => visit(&format!("params.{name}.at"), at),
            ParamValue::Pointer { .. } | ParamValue::Given(_) | ParamValue::Workspace => {}
        }
    }
    for (key, expr) in ["grid.x", "grid.y", "grid.z"].iter().zip(&mut launch.grid) {
        visit(key, expr);
    }
    visit("dynamic_smem_bytes", &mut launch.dynamic_smem_bytes);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::abi::ScalarType;
    use crate::manifest::{Operand, Role};
    use crate::tensor_map::TensorMapAbi;
    use tilewright_formula::DType;

    fn kernel() -> Kernel {
        let operand = |name: &str, role, layout: &str| {
            Operand::new(name, role, DType::F32, layout.parse().unwrap())
        };
        let map = TensorMapAbi::new(
            "s",
            DType::F32,
            ["n".parse().unwrap(), "m".parse().unwrap()],
            ["lds".parse().unwrap()],
            [4, 4],
        );
        Kernel {
            semantics: Semantics {
                operands: vec![
                    operand("s", Role::In, "(m,n):(lds,1)"),
                    operand("d", Role::Out, "(m,n):(n,1)"),
                ],
                compute: "d[m,n] = s[m,n]".to_owned(),
                ..Semantics::default()
            },
            launches: vec![LaunchAbi {
                entry: "copy".to_owned(),
                params: Param::pack([
                    ("map", ParamValue::TensorMap(map)),
                    ("d", ParamValue::pointer("d")),
                    (
                        "ld",
                        ParamValue::scalar(ScalarType::I64, "lds".parse().unwrap()),
                    ),
                ]),
                grid: [
                    "min(ceil_div(n, 64), max_clusters)".parse().unwrap(),
                    "m".parse().unwrap(),
                    Expr::constant(1),
                ],
                ..LaunchAbi::default()
            }],
            ..Kernel::new("copy_f32@x", "copy")
        }
    }

    #[test]
    fn every_expression_is_resolved() {
        let mut kernel = kernel();
        kernel.resolve().unwrap();
        let names: Vec<&str> = kernel.names.extents().map(|(_, text)| text).collect();
        assert_eq!(names, ["m", "n"]);
        let strides = kernel.names.of_kind(NameKind::Stride);
        assert_eq!(strides.map(|(_, text)| text).collect::<Vec<_>>(), ["lds"]);
        let mut visited = Vec::new();
        for_each_expr(&mut kernel, |place, expr| {
            visited.push(place.to_owned());
            assert_eq!(expr.names().count(), expr.words().len(), "{place}");
        });
        let listed: Vec<String> = kernel.exprs().map(|(place, _)| place).collect();
        assert_eq!(visited, listed);
    }

    #[test]
    fn names_that_stand_for_nothing_have_their_places() {
        let refused = |edit: &dyn Fn(&mut Kernel)| {
            let mut kernel = kernel();
            edit(&mut kernel);
            kernel.resolve().unwrap_err().to_string()
        };
        let grid = refused(&|kernel| {
            kernel.launches[0].grid[1] = "k".parse().unwrap();
            kernel.workspace.bytes = "k * ldq".parse().unwrap();
        });
        for part in [
            "copy_f32@x: grid.y: unknown name `k`; the kernel's names are sms max_clusters m n lds",
            "workspace.bytes: unknown name `ldq`",
        ] {
            assert!(grid.contains(part), "{grid}");
        }
        let layout = |text: &'static str| {
            refused(&move |kernel| {
                kernel.semantics.operands[0].layout = text.parse().unwrap();
            })
        };
        let text = layout("(m,ceil_div(q,8)):(lds,1)");
        assert!(
            text.contains("the layout of `s`: unknown name `q`"),
            "{text}"
        );
        let text = layout("(m,sms):(lds,1)");
        assert!(
            text.contains("extent `sms` of `s`: the runtime has a name"),
            "{text}"
        );
        let text = layout("(m,n):(max_clusters,1)");
        assert!(
            text.contains("stride `max_clusters` of `s`: the runtime"),
            "{text}"
        );
        let text = refused(&|kernel| {
            let long = (0..60).map(|_| Expr::named("m").ceil_div(128));
            kernel.launches[0].grid[1] = Expr::product(long);
        });
        assert!(text.contains("grid.y: more than 512 bytes"), "{text}");
        let text = refused(&|kernel| {
            let expr = "lda % 8 == 0".parse().unwrap();
            let reason = String::new();
            kernel.assumptions = vec![Assumption::Expr { expr, reason }];
        });
        assert!(
            text.contains("the assumption lda % 8 == 0: unknown name `lda`"),
            "{text}"
        );
    }
}
