//! What a manifest says of sums is what the plan's instruction does.
#![allow(clippy::unwrap_used, clippy::panic)]

use tilewright_bundle::{SumBasis, SumRounding, SumUnit, Sums};

use crate::{plan, spec};

/// The sums of the gemm with these types of inputs and sums, and these lines more.
fn sums_of(arch: &str, [inputs, accumulator]: [&str; 2], more: &str) -> Sums {
    let text = format!(
        "kernel: gemm\nname: gemm_sums\narch: {arch}\noperands:\n  \
         a: {{ dtype: {inputs}, layout: '(m,k):(lda,1)' }}\n  \
         b: {{ dtype: {inputs}, layout: '(n,k):(ldb,1)' }}\n  \
         d: {{ dtype: {accumulator}, layout: '(m,n):(ldd,1)' }}\n\
         accumulator: {accumulator}\n{more}"
    );
    let file = spec::parse("-", &text).unwrap_or_else(|error| panic!("{}", error.report(false)));
    let plan = plan::plan(&file.points[0]);
    let plan = plan.unwrap_or_else(|error| panic!("{}", error.report(false)));
    super::sums(&plan).unwrap().unwrap()
}

/// Unit, products of an instruction, and bits kept and written by an H200.
fn on_an_h200(sums: &Sums) -> (SumUnit, u32, Option<u32>, Option<u32>) {
    let rule = sums.on(90).unwrap();
    assert_ne!(rule.basis, SumBasis::Model);
    (sums.unit, sums.k, rule.kept_bits, rule.result_bits)
}

#[test]
fn instructions_say_how_they_add() {
    let simt = "cta_tile: '(64,64,16)'\nmma: { atom: sm50_fma_1x1x1_f32_f32_f32 }\n";
    let simt = sums_of("sm_70", ["bf16", "f32"], simt);
    assert_eq!(on_an_h200(&simt), (SumUnit::Fma, 1, None, Some(23)));
    let fma = Sums {
        block: Some(16),
        ..Sums::fma(23)
    };
    assert_eq!(simt, fma);

    let warps = sums_of("sm_80", ["bf16", "f32"], "cta_tile: '(64,64,32)'\n");
    assert_eq!(
        on_an_h200(&warps),
        (SumUnit::MmaSync, 16, Some(25), Some(23))
    );
    let before = warps.on(89).unwrap();
    assert_eq!((before.alignments, before.basis), (2, SumBasis::Model));

    for (types, k, kept, written) in [
        (["bf16", "f32"], 64, Some(25), Some(23)),
        (["tf32", "f32"], 32, Some(25), Some(23)),
        (["e4m3", "f32"], 128, Some(13), Some(13)),
        (["e5m2", "f32"], 128, Some(13), Some(13)),
        (["s8", "s32"], 128, None, None),
    ] {
        let fast = match kept {
            Some(13) => "accumulation: fast\n",
            _ => "",
        };
        let more = format!("{fast}cta_tile: '(64,64,{k})'\n");
        let sums = sums_of("sm_90a", types, &more);
        assert_eq!(on_an_h200(&sums), (SumUnit::Wgmma, k / 4, kept, written));
        assert_eq!(sums.splits, None);
        let rounding = sums.on(90).unwrap().rounding;
        assert_eq!(rounding, kept.map(|_| SumRounding::Zero));
    }
}

#[test]
fn tiles_cut_along_k_are_added_in_parts() {
    let more = "cta_tile: '(128,64,64)'\nscheduler: { kind: stream_k }\n";
    let sums = sums_of("sm_90a", ["bf16", "f32"], more);
    let splits = sums.splits.unwrap();
    assert!(
        splits.text().starts_with("min(ceil_div(k, 64), "),
        "{}",
        splits.text()
    );
}
