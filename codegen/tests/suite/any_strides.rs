//! What refusals of a launch promise of a spec with any strides: kernels that there are.

use tilewright_bundle::DType;
use tilewright_codegen::spec::{self, FormKind, TypeRule};
use tilewright_codegen::{Making, artifact, plan};

/// A product of those types whose factors have that layout of rows.
fn product(rule: &TypeRule, arch: &str, rows: [&str; 2]) -> spec::SpecFile {
    let ([of_a, of_b], sums) = (rule.factors, rule.accumulator.text());
    let output = rule.outputs[0].text();
    let fast = match rule.is_of_float8() {
        true => "accumulation: fast\n",
        false => "",
    };
    let [a, b] = rows;
    let text = format!(
        "kernel: gemm\nname: gemm_x\narch: {arch}\noperands:\n  \
         a: {{ dtype: {of_a}, layout: '(m,k):{a}' }}\n  \
         b: {{ dtype: {of_b}, layout: '(n,k):{b}' }}\n  \
         d: {{ dtype: {output}, layout: '(m,n):(ldd,1)' }}\naccumulator: {sums}\n{fast}\
         cta_tile: '(64,64,32)'\n"
    );
    spec::parse("gemm_x.yaml", &text).unwrap()
}

/// The runtime says of factors of some types that tensor cores alone multiply them: there is no
/// kernel of theirs with any strides, and there is one of all others.
#[test]
fn types_without_kernels_for_any_strides_are_known_to_the_runtime() {
    let mut seen = [0, 0];
    for rule in FormKind::Contraction.facts().types {
        let by_rows = product(rule, "sm_90a", ["(lda,1)", "(ldb,1)"]);
        let made = artifact(&by_rows, &by_rows.points[0], &Making::default()).unwrap();
        let operands = &made.kernel.semantics.operands;
        let alone = made.kernel.is_of_tensor_cores(&operands[0]);
        let any = product(rule, "sm_90a", ["(lda,sa)", "(ldb,sb)"]);
        let has_kernel = plan::plan(&any.points[0]).is_ok();
        assert_eq!(has_kernel, !alone, "{rule:?}");
        assert!(!made.kernel.is_of_tensor_cores(&operands[2]));
        seen[usize::from(alone)] += 1;
    }
    assert!(seen[0] >= 3 && seen[1] >= 3, "{seen:?}");
}

/// What the runtime names for 16-bit factors is a kernel: `mma.sync` of operands by threads.
#[test]
fn factors_of_16_bits_with_any_strides_have_kernels_of_tensor_cores() {
    let rules = FormKind::Contraction.facts().types.iter();
    let of_16_bits = rules.filter(|rule| {
        let of = [DType::F16, DType::BF16];
        of.contains(&rule.factors[0]) && rule.accumulator == DType::F32
    });
    let mut seen = 0;
    for rule in of_16_bits {
        let dtype = rule.factors[0];
        let any = product(rule, "sm_90a", ["(lda,sa)", "(ldb,sb)"]);
        let atom = format!("mma: {{ atom: sm80_mma_16x8x16_f32_{dtype}_{dtype} }}\n");
        let any = spec::parse("gemm_x.yaml", &(any.text.clone() + &atom)).unwrap();
        let plan = plan::plan(&any.points[0]).unwrap();
        assert!(
            plan.mma
                .is_some_and(|mma| mma.atom.id.starts_with("sm80_mma")),
            "{dtype}"
        );
        seen += 1;
    }
    assert_eq!(seen, 2);
}
