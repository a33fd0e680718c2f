//! Random expressions against the interpreter of formulas.

use proptest::prelude::*;

use super::*;

fn expressions() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => Just("x[i]".to_owned()),
        3 => Just("y[i]".to_owned()),
        1 => Just("alpha".to_owned()),
        1 => Just("i".to_owned()),
        1 => prop::sample::select(vec!["0.0", "1.0", "0.5", "3", "0.1", "1e20", "1e-30"])
            .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 24, 4, |inner| {
        let ones = vec![
            "-",
            "abs",
            "exp",
            "log",
            "sqrt",
            "rsqrt",
            "tanh",
            "erf",
            "sin",
            "floor",
            "round",
            "relu",
            "bf16",
            "f16",
            "s8",
            "silu",
            "gelu",
            "gelu_tanh",
            "sigmoid",
        ];
        let twos = vec!["+", "-", "*", "/"];
        let pairs = vec!["min", "max", "softcap"];
        prop_oneof![
            (prop::sample::select(ones), inner.clone()).prop_map(|(op, a)| format!("({op}({a}))")),
            (prop::sample::select(twos), inner.clone(), inner.clone())
                .prop_map(|(op, a, b)| format!("({a} {op} {b})")),
            (prop::sample::select(pairs), inner.clone(), inner.clone())
                .prop_map(|(op, a, b)| format!("{op}({a}, {b})")),
            (inner.clone(), inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c, d)| format!("where({a} < {b}, {c}, {d})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]
    #[test]
    fn random_expressions_are_within_bounds(
        text in expressions(),
        seed in any::<u64>(),
        arch in prop::sample::select(vec!["sm_70", "sm_80", "sm_90a"]),
        out in prop::sample::select(vec![F32, packing(DType::BF16, RegType::B32), S32]),
    ) {
        let inputs = [F32, packing(DType::BF16, RegType::B32)];
        let text = format!("({text}) + 0 * x[i] * y[i] * alpha");
        let case = Case { scalars: &[("alpha", DType::F32)], ..Case::new(&text, &inputs, out) };
        let kernel = case.compiled(arch).unwrap();
        let mut codes = Codes(seed);
        let data = inputs.map(|packing| codes.of(packing.dtype, 512));
        kernel.judge(arch, &data, &[0.7]);
    }
}
