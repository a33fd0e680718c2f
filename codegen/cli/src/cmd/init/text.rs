//! The text of a first spec.
//!
//! In: what was asked for, and the file that it is to be. Out: YAML with a comment for each part,
//! or why there is none. Nothing is decided that the planner decides.

use std::path::Path;

use tilewright_bundle::DType;
use tilewright_codegen::spec::expected_name;

use crate::args::init::{Arch, Init, Kind, Step};

/// Types of which a product keeps fewer bits of its sums on the tensor cores than f32 has.
const FAST: [DType; 2] = [DType::E4M3, DType::E5M2];

/// The spec.
pub fn spec(args: &Init, arch: Arch, path: &Path) -> Result<String, String> {
    let parts = match args.kind {
        Kind::Gemm => product(args, arch),
        kind => rows(args, kind)?,
    };
    let (kernel, name) = (parts.kernel.as_str(), name(path, &parts.kernel)?);
    let (arch, what) = (word(arch), parts.what);
    let mut text = format!(
        "# {what}\n\
         # `tilewright check FILE` tells what is wrong with it, `tilewright plan FILE` what was \
         decided.\n\
         kernel: {kernel}\n\
         # The name follows from the file's.\n\
         name: {name}\n\
         # The oldest GPU it is for. What is for sm_80 runs on later ones too; sm_90a is Hopper \
         and no other.\n\
         arch: {arch}\n\
         # Element types, and layouts as (extents):(strides) in elements. Names are given at each \
         launch:\n\
         # the stride of rows lda, ldb, … apart from their length, so that rows may be padded.\n\
         operands:\n"
    );
    for (name, dtype, layout) in &parts.operands {
        text += &format!("  {name}: {{ dtype: {dtype}, layout: \"{layout}\" }}\n");
    }
    if !parts.scalars.is_empty() {
        let scalars: Vec<String> = parts
            .scalars
            .iter()
            .map(|one| format!("{one}: f32"))
            .collect();
        text += "# Numbers that are given at each launch, by value.\n";
        text += &format!("scalars: {{ {} }}\n", scalars.join(", "));
    }
    if !parts.compute.is_empty() {
        text += "# What is computed, statement by statement.\ncompute: |\n";
        for line in &parts.compute {
            text += &format!("  {line}\n");
        }
    }
    if let Some(accumulator) = parts.accumulator {
        text += "# What is computed follows from `kernel: gemm`; its sums are held in this type.\n";
        text += &format!("accumulator: {accumulator}\n");
    }
    if parts.is_fast {
        text += "# The tensor cores keep 13 bits of the products of 8-bit floats that they add.\n";
        text += "accumulation: fast\n";
    }
    let [tile, other] = parts.tiles;
    text += &format!(
        "# How it is computed. Of an output, and of what is summed, a CTA takes a tile of these \
         extents.\n\
         cta_tile: \"{tile}\"\n\
         # Several values make a space of kernels, of which `tilewright tune` finds the fastest:\n\
         # tune:\n\
         #   cta_tile: [\"{tile}\", \"{other}\"]\n"
    );
    Ok(text)
}

/// What differs from spec to spec.
struct Parts {
    what: String,
    kernel: String,
    operands: Vec<(&'static str, DType, String)>,
    scalars: Vec<&'static str>,
    compute: Vec<String>,
    /// Type of the sums of a formula that is not written out.
    accumulator: Option<DType>,
    is_fast: bool,
    /// A tile, and another one to compare it with.
    tiles: [&'static str; 2],
}

fn product(args: &Init, arch: Arch) -> Parts {
    let a = args.a;
    let out = args.d.unwrap_or(match (a, args.epilogue.is_empty()) {
        (DType::S8 | DType::U8, true) => DType::S32,
        (DType::S8 | DType::U8, false) | (DType::TF32, _) => DType::F32,
        (DType::E4M3 | DType::E5M2, _) => DType::BF16,
        _ => a,
    });
    let strides = |is_along_k: bool, lead: &str| match is_along_k {
        true => format!("({lead},1)"),
        false => format!("(1,{lead})"),
    };
    let [of_a, of_b] = args.layout.along_k();
    let mut operands = vec![
        ("a", a, format!("(m,k):{}", strides(of_a, "lda"))),
        ("b", a, format!("(n,k):{}", strides(of_b, "ldb"))),
    ];
    let (mut scalars, mut value) = (Vec::new(), "acc[m,n]".to_owned());
    // Whether it is a sum, which a factor wants in brackets.
    let mut is_sum = false;
    for step in &args.epilogue {
        match step {
            Step::Bias => {
                operands.push(("bias", out, "(n):(1)".to_owned()));
                (value, is_sum) = (format!("{value} + bias[n]"), true);
            }
            Step::Residual => {
                operands.push(("r", out, "(m,n):(ldr,1)".to_owned()));
                (value, is_sum) = (format!("{value} + r[m,n]"), true);
            }
            Step::Scale => {
                scalars.push("scale");
                let factor = match is_sum {
                    true => format!("({value})"),
                    false => value,
                };
                (value, is_sum) = (format!("{factor} * scale"), false);
            }
            function => (value, is_sum) = (format!("{}({value})", word(*function)), false),
        }
    }
    operands.push(("d", out, "(m,n):(ldd,1)".to_owned()));
    let words: Vec<String> = args.epilogue.iter().map(|step| word(*step)).collect();
    let (kernel, with) = match words.is_empty() {
        true => ("gemm".to_owned(), String::new()),
        false => (words.join("_"), format!(", then {}", words.join(", "))),
    };
    let compute = match words.is_empty() {
        true => Vec::new(),
        false => vec![
            "acc[m,n] = sum[k] a[m,k] * b[n,k]".to_owned(),
            format!("d[m,n] = {value}"),
        ],
    };
    Parts {
        what: format!("A product of matrices, d = a·bᵀ{with}."),
        kernel,
        operands,
        scalars,
        accumulator: words.is_empty().then_some(match a {
            DType::S8 | DType::U8 => DType::S32,
            _ => DType::F32,
        }),
        compute,
        is_fast: FAST.contains(&a),
        tiles: tiles(arch, a),
    }
}

fn rows(args: &Init, kind: Kind) -> Result<Parts, String> {
    if !args.epilogue.is_empty() {
        return Err("--epilogue is for `init gemm`: leave it out".to_owned());
    }
    let x = args.a;
    let d = args.d.unwrap_or(x);
    let rows = |name: &str| format!("(m,n):(ld{name},1)");
    let mut operands = vec![("x", x, rows("x"))];
    let (mut scalars, mut tiles) = (Vec::new(), ["(1,1024)", "(1,2048)"]);
    let (what, compute) = match kind {
        Kind::Softmax => (
            "Softmax of rows that one CTA holds.",
            vec![
                "t[m] = max[n] x[m,n]",
                "e[m,n] = exp(x[m,n] - t[m])",
                "z[m] = sum[n] e[m,n]",
                "d[m,n] = e[m,n] / z[m]",
            ],
        ),
        Kind::Layernorm => {
            operands.push(("g", x, "(n):(1)".to_owned()));
            operands.push(("b", x, "(n):(1)".to_owned()));
            scalars.push("eps");
            (
                "LayerNorm of rows that one CTA holds.",
                vec![
                    "u[m] = mean[n] x[m,n]",
                    "c[m,n] = x[m,n] - u[m]",
                    "v[m] = mean[n] c[m,n] * c[m,n]",
                    "d[m,n] = c[m,n] * rsqrt(v[m] + eps) * g[n] + b[n]",
                ],
            )
        }
        Kind::Rmsnorm => {
            operands.push(("g", x, "(n):(1)".to_owned()));
            scalars.push("eps");
            (
                "RMSNorm of rows that one CTA holds.",
                vec![
                    "q[m] = sum[n] x[m,n] * x[m,n]",
                    "d[m,n] = x[m,n] * rsqrt(q[m] / size(n) + eps) * g[n]",
                ],
            )
        }
        Kind::Map | Kind::Gemm => {
            tiles = ["(16,256)", "(8,256)"];
            (
                "Element by element: another function goes into the formula.",
                vec!["d[m,n] = silu(x[m,n])"],
            )
        }
    };
    operands.push(("d", d, rows("d")));
    Ok(Parts {
        what: what.to_owned(),
        kernel: word(kind),
        operands,
        scalars,
        compute: compute.into_iter().map(str::to_owned).collect(),
        accumulator: None,
        is_fast: false,
        tiles,
    })
}

/// Tiles of a product that every way of computing it takes, the better one first: rows of 128
/// bytes along k where tensor cores read them through the swizzle of that width.
fn tiles(arch: Arch, a: DType) -> [&'static str; 2] {
    match (arch, a.bits()) {
        (Arch::Sm70, _) | (Arch::Sm80, 32) => ["(64,64,16)", "(64,32,16)"],
        (Arch::Sm80, 8) => ["(128,128,64)", "(64,128,64)"],
        (Arch::Sm80, _) => ["(128,128,32)", "(64,128,32)"],
        (Arch::Sm90a, 32) => ["(128,128,32)", "(128,64,32)"],
        (Arch::Sm90a, 16) => ["(128,128,64)", "(128,64,64)"],
        (Arch::Sm90a, _) => ["(128,128,128)", "(128,64,128)"],
    }
}

/// The name of a spec in that file.
fn name(path: &Path, kernel: &str) -> Result<String, String> {
    let shown = path.display().to_string();
    expected_name(&shown, kernel)
        .ok_or_else(|| format!("{shown}: a spec's file ends in .yaml: say -o {kernel}/first.yaml"))
}

/// A value as the command line spells it.
fn word(value: impl clap::ValueEnum) -> String {
    let possible = value.to_possible_value();
    possible.map_or_else(String::new, |value| value.get_name().to_owned())
}
