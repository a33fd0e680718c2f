//! Folds over several modes beside others: each formula with each tile is certified, or refused by
//! its plan with a way out.

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use crate::certify::{certify, guards_of};
use crate::error::Error;
use crate::ir::thread::expr::{add, long};
use crate::ir::thread::program::{Arg, Expr, Stmt};
use crate::{ir, lower, plan, spec};

/// Kernels that are drawn.
const DRAWN: usize = 150;

/// A kernel: its operands, `name type modes` with the contiguous mode last unless another is marked
/// with a star, its formula, constant extents, and the modes that tiles have.
struct Case {
    name: &'static str,
    operands: &'static [&'static str],
    formula: &'static str,
    constant: &'static str,
    tile: [&'static str; 2],
}

const CASES: &[Case] = &[
    Case {
        name: "sum",
        operands: &["x f32 m p q", "d f32 m"],
        formula: "d[m] = sum[p,q] x[m,p,q]",
        constant: "",
        tile: ["p", "q"],
    },
    Case {
        name: "sum_middle",
        operands: &["x bf16 p m q", "d f32 m"],
        formula: "d[m] = sum[p,q] x[p,m,q]",
        constant: "",
        tile: ["p", "q"],
    },
    Case {
        name: "sum_last",
        operands: &["x f32 p q m", "d f32 m"],
        formula: "d[m] = sum[p,q] x[p,q,m]",
        constant: "",
        tile: ["p", "q"],
    },
    Case {
        name: "sum_between",
        operands: &["x f16 m p n q", "d f16 n m"],
        formula: "d[n,m] = sum[p,q] x[m,p,n,q]",
        constant: "",
        tile: ["p", "q"],
    },
    Case {
        name: "sum_all",
        operands: &["x f32 p q", "d f32"],
        formula: "d[] = sum[p,q] x[p,q]",
        constant: "",
        tile: ["p", "q"],
    },
    Case {
        name: "behind",
        operands: &["x f32 m p q", "d f32 m"],
        formula: "t[m,p] = sum[q] x[m,p,q]\nd[m] = max[p] t[m,p]",
        constant: "",
        tile: ["p", "q"],
    },
    Case {
        name: "both_ways",
        operands: &["x f32 m p q", "r f32 m p", "c f32 m q"],
        formula: "r[m,p] = sum[q] x[m,p,q]\nc[m,q] = max[p] x[m,p,q]",
        constant: "",
        tile: ["p", "q"],
    },
    Case {
        name: "group_norm",
        operands: &["x bf16 n g c s", "w f32 g c", "b f32 g c", "d bf16 n g c s"],
        formula: "u[n,g] = mean[c,s] x[n,g,c,s]\n\
            v[n,g] = mean[c,s] (x[n,g,c,s] - u[n,g]) * (x[n,g,c,s] - u[n,g])\n\
            d[n,g,c,s] = (x[n,g,c,s] - u[n,g]) * rsqrt(v[n,g] + 0.00001) * w[g,c] + b[g,c]",
        constant: "",
        tile: ["c", "s"],
    },
    Case {
        name: "batch_statistics",
        operands: &["x f32 n c s", "u f32 c", "v f32 c"],
        formula: "t[c] = mean[n,s] x[n,c,s]\nu[c] = t[c]\n\
            v[c] = mean[n,s] (x[n,c,s] - t[c]) * (x[n,c,s] - t[c])",
        constant: "",
        tile: ["n", "s"],
    },
    Case {
        name: "blocks",
        operands: &["x bf16 i p j q", "s f32 i j", "d e4m3 i p j q"],
        formula: "t[i,j] = max[p,q] abs(x[i,p,j,q])\ns[i,j] = t[i,j] / 448\n\
            d[i,p,j,q] = x[i,p,j,q] / (t[i,j] / 448)",
        constant: "p: 128, q: 128",
        tile: ["p", "q"],
    },
    Case {
        name: "softmax",
        operands: &["x bf16 m p q", "d bf16 m p q"],
        formula: "t[m] = max[p,q] x[m,p,q]\ne[m,p,q] = exp(x[m,p,q] - t[m])\n\
            z[m] = sum[p,q] e[m,p,q]\nd[m,p,q] = e[m,p,q] / z[m]",
        constant: "",
        tile: ["p", "q"],
    },
    Case {
        name: "pooling",
        operands: &["x f32 h r w s c", "d f32 h w c"],
        formula: "d[h,w,c] = max[r,s] x[h,r,w,s,c]",
        constant: "r: 2, s: 2",
        tile: ["r", "s"],
    },
    Case {
        name: "int4_gemv",
        operands: &["w s4 n g j", "s bf16 n g", "x bf16 g j", "y f32 n"],
        formula: "y[n] = sum[g,j] w[n,g,j] * s[n,g] * x[g,j]",
        constant: "",
        tile: ["g", "j"],
    },
    Case {
        name: "decode",
        operands: &["q bf16 h e", "k bf16 h t e", "d f32 h"],
        formula: "s[h,t] = sum[e] q[h,e] * k[h,t,e]\nd[h] = max[t] s[h,t]",
        constant: "",
        tile: ["t", "e"],
    },
    Case {
        name: "one_of_three",
        operands: &["x f32 m p q", "d f32 m q"],
        formula: "d[m,q] = sum[p] x[m,p,q]",
        constant: "",
        tile: ["p", "q"],
    },
    Case {
        name: "argmax",
        operands: &["x f32 m p q", "d s32 m"],
        formula: "t[m,q] = max[p] x[m,p,q]\nd[m] = argmax[q] t[m,q]",
        constant: "",
        tile: ["p", "q"],
    },
];

const TILES: &[[i64; 2]] = &[
    [8, 128],
    [128, 128],
    [4, 32],
    [1, 256],
    [2, 512],
    [16, 16],
    [64, 8],
    [2, 2],
    [32, 1],
    [256, 2],
    [4, 1024],
    [24, 96],
];

/// Strides that are constants.
const CONSTANT: [i64; 4] = [4096, 64, 12, 0];

/// What a drawn kernel has besides; much of it is refused.
const MORE: &[&str] = &[
    "",
    "",
    "threads: 64\n",
    "threads: 256\n",
    "threads_along: 8\n",
    "cluster: '(1,2,1)'\n",
    "scheduler: { passes: many }\n",
    "scheduler: { raster: hilbert_4 }\n",
    "scheduler: { raster: column }\n",
];

/// The line of an operand, contiguous along its last axis, or its first where it is turned; other
/// strides have names, or are constants.
fn operand(text: &str, (transposed, constant): (bool, usize)) -> String {
    let mut words = text.split(' ');
    let (name, dtype) = (words.next().unwrap(), words.next().unwrap());
    let modes: Vec<&str> = words.collect();
    let contiguous = match transposed && dtype != "s4" && dtype != "e4m3" {
        true => 0,
        false => modes.len().saturating_sub(1),
    };
    let stride = |at: usize| match at {
        _ if at == contiguous => "1".to_owned(),
        _ if constant > 0 => CONSTANT[(at + constant) % CONSTANT.len()].to_string(),
        _ if modes.len() == 2 => format!("ld{name}"),
        _ => format!("s{}{name}", at + 1),
    };
    let strides: Vec<String> = (0..modes.len()).map(stride).collect();
    format!(
        "  {name}: {{ dtype: {dtype}, layout: '({}):({})' }}\n",
        modes.join(","),
        strides.join(",")
    )
}

/// How the operands of a drawn kernel lie.
#[derive(Clone, Copy, Default)]
struct Lie {
    /// Operands that are turned, by bits.
    transposed: u32,
    /// Where the strides of the first operand begin among the constant ones; 0 for names.
    constant: usize,
}

/// A spec of a case.
fn text(case: &Case, arch: &str, ([rows, columns], lie): ([i64; 2], Lie), more: &str) -> String {
    let operands = case.operands.iter().enumerate();
    let operands: String = operands
        .map(|(at, one)| {
            let constant = if at == 0 { lie.constant } else { 0 };
            operand(one, (lie.transposed >> at & 1 == 1, constant))
        })
        .collect();
    let modes = match case.constant {
        "" => String::new(),
        constant => format!("modes: {{ {constant} }}\n"),
    };
    let formula = case.formula.replace('\n', "\n  ");
    let [p, q] = case.tile;
    format!(
        "kernel: {0}\nname: {0}_x\narch: {arch}\n{modes}operands:\n{operands}compute: |\n  \
         {formula}\ncta_tile: {{ {p}: {rows}, {q}: {columns} }}\n{more}",
        case.name
    )
}

/// Nothing where it is certified, else why there is no kernel: by its plan, or as a bug.
fn outcome(text: &str) -> Result<(), Error> {
    let file = spec::parse("-", text)?;
    let plan = plan::plan(&file.points[0])?;
    let kernel = ir::tile::build::build(&plan)?;
    let program = lower::lower(&plan, &kernel)?;
    certify(&plan, &kernel, &program).map(|_| ())
}

/// Certified specs and refused ones, of those; all others are reported.
pub(super) fn judged(texts: impl Iterator<Item = String>) -> [usize; 2] {
    let (mut counts, mut wrong) = ([0; 2], Vec::new());
    for text in texts {
        match outcome(&text) {
            Ok(()) => counts[0] += 1,
            Err(Error::Plan { violations, .. }) => {
                let way_out = |message: &str| message.contains(": ");
                assert!(violations.iter().all(|one| way_out(&one.message)), "{text}");
                counts[1] += 1;
            }
            Err(Error::Spec { .. }) => counts[1] += 1,
            Err(error) => wrong.push(format!("{text}\n{}", error.report(false))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    counts
}

#[test]
fn folds_over_several_modes_are_certified_or_refused() {
    let arches = ["sm_70", "sm_80", "sm_90a"];
    let of_case = |(number, case): (usize, &'static Case)| {
        let tiles = TILES.iter().enumerate();
        tiles.map(move |(at, tile)| {
            text(case, arches[(at + number) % 3], (*tile, Lie::default()), "")
        })
    };
    let [certified, refused] = judged(CASES.iter().enumerate().flat_map(of_case));
    assert!(certified > 2 * refused, "{certified}, {refused}");
}

#[test]
fn drawn_folds_over_several_modes_are_certified_or_refused() {
    let mut runner = TestRunner::deterministic();
    let lies = (0..16u32, 0..2 * CONSTANT.len());
    let any = (
        0..CASES.len(),
        0..3usize,
        0..9u32,
        0..9u32,
        lies,
        0..MORE.len(),
    );
    let texts = (0..DRAWN).map(|_| {
        let drawn = any.new_tree(&mut runner).unwrap().current();
        let (case, arch, rows, columns, (transposed, constant), more) = drawn;
        let tile = [1 << rows, (1 << columns) * if more == 3 { 3 } else { 1 }];
        let constant = constant.saturating_sub(CONSTANT.len());
        let arch = ["sm_75", "sm_86", "sm_90"][arch];
        text(
            &CASES[case],
            arch,
            (
                tile,
                Lie {
                    transposed,
                    constant,
                },
            ),
            MORE[more],
        )
    });
    let [certified, refused] = judged(texts);
    assert!(certified > DRAWN / 4, "{certified}, {refused}");
}

/// An access that says another element than that of its address is refused.
#[test]
fn coordinates_that_do_not_give_the_address_are_refused() {
    let text = text(&CASES[0], "sm_80", ([8, 128], Lie::default()), "");
    let file = spec::parse("-", &text).unwrap();
    let plan = plan::plan(&file.points[0]).unwrap();
    let program = lower::lower(&plan, &ir::tile::build::build(&plan).unwrap()).unwrap();
    guards_of(&plan, &program).unwrap();
    let axes = plan.operands[0].axes.len();
    let mut tried = 0;
    for axis in 0..axes {
        let mut changed = program.clone();
        tried += usize::from(change_first(&mut changed.body, &mut |coords| {
            let coord = coords.get_mut(axis)?;
            *coord = add(coord.clone(), long(1));
            Some(())
        }));
        let error = guards_of(&plan, &changed).unwrap_err().to_string();
        assert!(error.contains("whose coordinates it carries"), "{error}");
    }
    let mut without = program.clone();
    change_first(&mut without.body, &mut |coords| coords.pop().map(|_| ()));
    let error = guards_of(&plan, &without).unwrap_err().to_string();
    assert!(error.contains("carries 2 coordinates"), "{error}");
    assert_eq!(tried, 3);
}

/// Changes the coordinates of the first access to global memory that has some.
fn change_first(body: &mut [Stmt], by: &mut dyn FnMut(&mut Vec<Expr>) -> Option<()>) -> bool {
    body.iter_mut().any(|statement| match statement {
        Stmt::Atom { args, .. } => args.iter_mut().any(|arg| match arg {
            Arg::Address(address) => by(&mut address.coords).is_some(),
            _ => false,
        }),
        Stmt::For { body, .. } => change_first(body, by),
        Stmt::If {
            then, otherwise, ..
        } => change_first(then, by) || change_first(otherwise, by),
        _ => false,
    })
}
