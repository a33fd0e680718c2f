//! The Rust source of hand-written bundles.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use tilewright_build::source;
use tilewright_bundle::{Bundle, DType, Kernel};
use tilewright_fixture::{
    COPY, GEMM, LOOKED_UP, SCALED, bundle_of, copy_kernel, gemm_kernel, hopper_gemm,
    looked_up_kernel, packed_copy_kernel, picky_gemm, scaled_kernel,
};
use tilewright_runtime::typed::{In, Out, Packed};
use tilewright_runtime::{Device, EmulatorSettings, Runtime};

/// The source as it was written, with itself in the place of the bundle's file.
mod written {
    include!("golden/launchers.rs.txt");
}

/// Kernels that make a launcher for each kind of field.
fn kinds() -> Bundle {
    bundle_of([
        (copy_kernel("copy_f32@plain-1"), COPY),
        (gemm_kernel("gemm_f32@plain-2"), GEMM),
        (hopper_gemm("gemm_f32_tn@hopper-1"), GEMM),
        (picky_gemm("gemm_f32@picky-1"), GEMM),
        (packed_copy_kernel("copy_f32_packed@x-1", [1, 4]), COPY),
        (scaled_kernel("scaled@x-1"), SCALED),
        (looked_up_kernel("looked_up@x-1"), LOOKED_UP),
    ])
}

/// `BLESS=1` writes the file.
#[test]
fn launchers_are_as_they_were() {
    let text = source(&kinds(), "launchers.rs.txt").unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/launchers.rs.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&golden).unwrap());
}

/// Every kind of launcher compiles and runs: operands in place, packed and looked up, scalars,
/// promises, other names of a function.
#[test]
fn what_is_written_launches() {
    let runtime = Runtime::new(kinds(), Device::emulator());
    let numbers: Vec<f32> = (0..12).map(|at| at as f32).collect();
    let (mut rows, mut d) = (numbers.clone(), vec![0.0f32; 12]);
    let scaled = written::Scaled {
        s: In::in_place(),
        d: Out::from(&mut rows),
        alpha: 0.5,
        m: 3,
    };
    scaled.launch(&runtime).unwrap();
    assert_eq!(rows[11], 5.5);
    let packed = written::CopyF32Packed {
        s: Packed::from(&numbers),
        d: Out::from(&mut d),
        m: 3,
        n: 4,
    };
    let mut other = vec![0.0f32; 12];
    let told = written::CopyF32Packed {
        s: Packed::from(&numbers),
        d: Out::from(&mut other),
        m: 3,
        n: 4,
    };
    let told = told.call().explain(&runtime).unwrap().to_string();
    assert!(
        told.contains("m=3 n=4") && told.contains("chosen"),
        "{told}"
    );
    packed.launch(&runtime).unwrap();
    assert_eq!(d, numbers);
    let (from, to) = ([2i32, 0], [0i32, 1]);
    let looked_up = written::LookedUp {
        s: In::from(&numbers),
        from: In::from(&from[..]),
        to: In::from(&to[..]),
        d: Out::from(&mut d),
        q: 3,
        m: 2,
        r: 2,
    };
    let promised = looked_up.promise_entries_of_to_are_distinct();
    promised.launch(&runtime).unwrap();
    assert_eq!(d[..8], [8.0, 9.0, 10.0, 11.0, 0.0, 1.0, 2.0, 3.0]);
    let (ones, mut product) = (vec![1.0f32; 8], vec![0.0f32; 4]);
    let gemm = written::GemmF32Tn {
        a: In::from(&ones),
        b: In::from(&ones),
        d: Out::from(&mut product),
        m: 2,
        n: 2,
        k: 4,
    };
    gemm.launch(&runtime).unwrap();
    assert_eq!(product, [4.0; 4]);
    let none = written::open(Device::emulator());
    assert!(none.is_err(), "this text is no bundle");
}

/// What a program launches has to be in the bundle, for the device at hand.
#[test]
fn what_is_written_is_checked() {
    let runtime = Runtime::new(kinds(), Device::emulator());
    assert!(written::check(&runtime).is_ok());
    let other = bundle_of([(copy_kernel("copy_f32@plain-1"), COPY)]);
    let other = Runtime::new(other, Device::emulator());
    let told = written::check(&other).unwrap_err().to_string();
    let lacks = "no kernel of copy_f32_packed (4b04b0c7f6c9), gemm_f32 (530d2c8e1437), looked_up (";
    assert!(told.contains(lacks), "{told}");
    // All of them on a device that runs none of the gemm's.
    let mut all = kinds().kernels().to_vec();
    for kernel in all.iter_mut().filter(|kernel| kernel.kernel == "gemm") {
        kernel.capability.min_sm = 90;
    }
    let bundle = kinds();
    let kernels = all.into_iter().zip(bundle.kernels());
    let kernels = kernels.map(|(kernel, earlier)| (kernel, bundle.ptx(earlier)));
    let settings = EmulatorSettings {
        sm: Some(80),
        ..EmulatorSettings::default()
    };
    let ampere = Runtime::new(bundle_of(kernels), Device::emulator_with(settings));
    let told = written::check(&ampere).unwrap_err();
    let lacks = "can run no kernel of gemm_f32 (530d2c8e1437), whatever the problem: gemm_f32@";
    assert!(
        told.to_string().contains(lacks) && !told.is_request(),
        "{told}"
    );
}

fn of_dtype(id: &str, dtype: DType) -> Kernel {
    let mut kernel = copy_kernel(id);
    for operand in &mut kernel.semantics.operands {
        operand.dtype = dtype;
    }
    kernel
}

#[test]
fn two_functions_of_one_name_are_refused_with_both_places() {
    let kernels = [
        (copy_kernel("copy_f32@plain-1"), COPY),
        (of_dtype("copy__f32@plain-1", DType::S32), COPY),
    ];
    let told = source(&bundle_of(kernels), "kernels.zip")
        .unwrap_err()
        .to_string();
    for part in [
        "copy_f32",
        "copy__f32",
        "both are `CopyF32` in Rust",
        "another name",
    ] {
        assert!(told.contains(part), "{told}");
    }
    // Two specs of one function share it.
    let kernels = [
        (copy_kernel("copy_f32@plain-1"), COPY),
        (copy_kernel("copy__f32@plain-1"), COPY),
    ];
    let text = source(&bundle_of(kernels), "kernels.zip").unwrap();
    assert_eq!(text.matches("CopyF32<'a>").count(), 2, "{text}");
}

#[test]
fn every_element_type_has_a_type_of_rust() {
    for dtype in DType::ALL {
        let bundle = bundle_of([(of_dtype("copy_x@plain-1", *dtype), COPY)]);
        let text = source(&bundle, "kernels.zip").unwrap();
        assert_eq!(text.matches("typed::In<'a, ").count(), 1, "{dtype}");
    }
}

/// A variant whose name comes first in the alphabet takes no name away.
#[test]
fn another_spec_of_a_function_breaks_no_name() {
    let kernels = [
        (copy_kernel("a_copy_wide@plain-1"), COPY),
        (copy_kernel("norm@plain-1"), COPY),
    ];
    let text = source(&bundle_of(kernels), "kernels.zip").unwrap();
    assert!(text.contains("pub struct Norm<'a> {"), "{text}");
    let alias = "pub type ACopyWide<'a> = Norm<'a>;";
    assert!(text.contains(alias), "{text}");
}
