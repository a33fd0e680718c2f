//! What the records of atoms say of sums is what the emulator computes, for every architecture: the
//! facts of a record and the rules of `tensor_core` are written down apart from one another.

use tilewright_bundle::{SumBasis, SumRounding, SumUnit};
use tilewright_codegen::arch::ARCHES;
use tilewright_codegen::atoms::catalogue;
use tilewright_codegen::dtype::DType;
use tilewright_emulator::tensor_core::{Element, Rules, Step, Sum, Way};

fn element(dtype: DType) -> Element {
    match dtype {
        DType::F16 => Element::F16,
        DType::BF16 => Element::Bf16,
        DType::TF32 => Element::Tf32,
        DType::F32 => Element::F32,
        DType::F64 => Element::F64,
        DType::E4M3 => Element::E4m3,
        DType::E5M2 => Element::E5m2,
        DType::S8 => Element::S8,
        DType::U8 => Element::U8,
        other => panic!("no factor is of {other}"),
    }
}

fn sum(dtype: DType) -> Sum {
    match dtype {
        DType::F16 => Sum::F16,
        DType::F32 => Sum::F32,
        DType::F64 => Sum::F64,
        DType::S32 => Sum::S32 { saturate: false },
        other => panic!("no sum is of {other}"),
    }
}

#[test]
fn records_and_the_emulator_add_alike() {
    let mut compared = 0;
    for atom in catalogue().unwrap().iter() {
        let Some(mma) = &atom.mma else { continue };
        let [d, a, b, _] = mma.types;
        let way = match mma.sums.unit {
            SumUnit::Fma => Way::Fma,
            SumUnit::MmaSync => Way::Mma,
            SumUnit::Wgmma => Way::Wgmma,
        };
        for arch in ARCHES.iter().filter(|arch| atom.runs_on(**arch)) {
            let rules = Rules::of(arch.name);
            let k = mma.sums.k as usize;
            let step = Step::new(rules, way, (element(a), element(b)), sum(d), k);
            let step = step.unwrap_or_else(|_| panic!("{} on {}", atom.id, arch.name));
            let there = step.precision();
            let here = mma.sums.on(arch.sm).unwrap();
            let name = format!("{} on {}", atom.id, arch.name);
            assert_eq!(here.kept_bits, there.kept_bits, "{name}");
            assert_eq!(here.result_bits, there.result_bits, "{name}");
            let nearest = here.rounding == Some(SumRounding::Nearest);
            assert_eq!(nearest, there.nearest, "{name}");
            assert_eq!(here.alignments, there.sums, "{name}");
            let known = here.basis == SumBasis::Defined || rules.proved();
            assert_eq!(here.basis != SumBasis::Model, known, "{name}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}
