//! Values that name no operand, stored in every type: constants, coordinates, scalars, extents, and
//! sums of them.

use tilewright_ci::random_specs::judge::{End, JudgeOptions, judge};
use tilewright_codegen::dtype::DTYPES;

const VALUES: [&str; 14] = [
    "n",
    "m",
    "0",
    "1",
    "100",
    "-3",
    "2.5",
    "-inf",
    "1e9",
    "alpha",
    "count",
    "size(n)",
    "2 * n + m",
    "1.94 + alpha * n",
];

/// A kernel that stores every value in a type.
fn spec(dtype: &str) -> String {
    let outputs = (0..VALUES.len()).map(|at| {
        let layout = format!("(m,n):(ldd{at},1)");
        format!("  d{at}: {{ dtype: {dtype}, layout: \"{layout}\" }}\n")
    });
    let statements = VALUES.iter().enumerate();
    let statements = statements.map(|(at, value)| format!("  d{at}[m,n] = {value}\n"));
    format!(
        "kernel: stored\nname: stored_{dtype}\narch: sm_90\noperands:\n{}scalars: {{ alpha: f32, \
         count: s32 }}\ncompute: |\n{}cta_tile: {{ m: 8, n: 64 }}\n",
        outputs.collect::<String>(),
        statements.collect::<String>()
    )
}

#[test]
fn every_value_is_stored_in_every_type() {
    let how = JudgeOptions {
        problems: 3,
        seed: 2026,
        assemble: false,
    };
    for dtype in DTYPES {
        let text = spec(dtype.text());
        let verdict = judge(&text, how);
        assert_eq!(verdict.end, End::Right, "{text}\n{}", verdict.text);
    }
}

/// A sum of so many operands less one, each with strides of its own.
fn many(count: usize, [modes, strides]: [&str; 2]) -> String {
    let inputs = 0..count - 1;
    let operands = inputs
        .clone()
        .map(|at| format!("x{at}"))
        .chain(["d".to_owned()]);
    let operands = operands.map(|name| {
        let strides = strides.replace('_', &name);
        format!("  {name}: {{ dtype: f32, layout: \"({modes}):({strides})\" }}\n")
    });
    let terms: Vec<String> = inputs.map(|at| format!("x{at}[{modes}]")).collect();
    format!(
        "kernel: many\nname: many_{count}\narch: sm_80\noperands:\n{}compute: d[{modes}] = {}\n\
         cta_tile: {{ m: 1, n: 64 }}\n",
        operands.collect::<String>(),
        terms.join(" + ")
    )
}

#[test]
fn as_many_operands_are_taken_as_are_said() {
    let how = JudgeOptions {
        problems: 2,
        seed: 1,
        assemble: false,
    };
    let rows = ["m,n", "ld_,1"];
    let verdict = judge(&many(64, rows), how);
    assert_eq!(verdict.end, End::Right, "{}", verdict.text);
    let refused = [
        (65, rows, "65 operands; at most 64 are allowed", ":69:3"),
        // Each has two strides that callers give.
        (
            64,
            ["b,m,n", "s1_,s2_,1"],
            "131 extents and strides by name; at most 126",
            ":66:",
        ),
    ];
    for (count, layout, message, place) in refused {
        let verdict = judge(&many(count, layout), how);
        assert_eq!(verdict.end, End::RefusedByParse, "{}", verdict.text);
        for part in [message, place] {
            assert!(verdict.text.contains(part), "{part}: {}", verdict.text);
        }
    }
}
