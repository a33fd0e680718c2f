//! Maps and folds that are wrong for numbers far from normal ones alone: `verify` refuses them
//! without being asked, and passes those that are right.

use tilewright_fixture::{COPY, bundle_of, copy_kernel, layout};
use tilewright_lab::verify::{Data, Inputs, Options, Summary, verify};
use tilewright_runtime::bundle::{DType, Kernel};
use tilewright_runtime::{Device, Runtime};

/// A kernel of what is no product, made of the copy.
struct Made {
    compute: &'static str,
    /// Types of input and output.
    dtypes: [DType; 2],
    /// What a thread does between reading `%value` and writing it.
    body: &'static str,
}

/// A kernel that is wrong.
struct Planted {
    made: Made,
    /// What is taken out of its PTX, and what is put in that place.
    parts: [&'static str; 2],
    /// Whether no other numbers tell.
    alone: bool,
}

const F32: [DType; 2] = [DType::F32; 2];

const EXP: Made = Made {
    compute: "d[m,n] = exp(s[m,n])",
    dtypes: F32,
    body: "mul.rn.f32 %x, %x, 0f3FB8AA3B; ex2.approx.ftz.f32 %y, %x;",
};

const TANH: Made = Made {
    compute: "d[m,n] = tanh(s[m,n])",
    dtypes: F32,
    body: "tanh.approx.f32 %y, %x;",
};

const DOUBLE: Made = Made {
    compute: "d[m,n] = s[m,n] + s[m,n]",
    dtypes: F32,
    body: "add.rn.f32 %y, %x, %x;",
};

const RELU: Made = Made {
    compute: "d[m,n] = relu(s[m,n])",
    dtypes: F32,
    body: "max.NaN.f32 %y, %x, 0f00000000;",
};

const SQUARE: Made = Made {
    compute: "d[m,n] = s[m,n] * s[m,n] + 1",
    dtypes: [DType::S32; 2],
    body: "mul.lo.s32 %value, %value, %value; add.s32 %value, %value, 1; mov.b32 %y, %value;",
};

const BYTES: Made = Made {
    compute: "d[m,n] = s[m,n]",
    dtypes: [DType::F32, DType::S8],
    body: "cvt.rni.s32.f32 %value, %x; cvt.sat.s8.s32 %value, %value; mov.b32 %y, %value;",
};

/// Five numbers a row, which each thread of the row goes through.
const LARGEST: Made = Made {
    compute: "d[m,n] = max[k] s[m,k]",
    dtypes: F32,
    body: "mov.b32 %y, 0fFF800000; max.NaN.f32 %y, %y, %x;
           ld.global.f32 %x, [%from + 4]; max.NaN.f32 %y, %y, %x;
           ld.global.f32 %x, [%from + 8]; max.NaN.f32 %y, %y, %x;
           ld.global.f32 %x, [%from + 12]; max.NaN.f32 %y, %y, %x;
           ld.global.f32 %x, [%from + 16]; max.NaN.f32 %y, %y, %x;",
};

/// What far numbers alone tell.
const fn alone(made: Made, from: &'static str, to: &'static str) -> Planted {
    let parts = [from, to];
    Planted {
        made,
        parts,
        alone: true,
    }
}

/// What infinities, or any numbers, tell as well.
const fn also(made: Made, from: &'static str, to: &'static str) -> Planted {
    Planted {
        alone: false,
        ..alone(made, from, to)
    }
}

const PLANTED: [Planted; 9] = [
    // Beyond 12 it is off by a thousandth and more.
    alone(
        EXP,
        "ex2.approx.ftz.f32 %y, %x;",
        "setp.gt.f32 %below, %x, 0f418A83DD; mul.rn.f32 %y, %x, 0f3F800347; \
         selp.f32 %x, %y, %x, %below; ex2.approx.ftz.f32 %y, %x;",
    ),
    // Beyond 20 it is 0.
    also(
        TANH,
        "%y, %x;",
        "%y, %x; abs.f32 %x, %x; setp.gt.f32 %below, %x, 0f41A00000; \
         selp.f32 %y, 0f00000000, %y, %below;",
    ),
    alone(DOUBLE, "add.rn.f32", "add.rn.ftz.f32"),
    alone(RELU, "max.NaN.f32", "max.ftz.NaN.f32"),
    alone(SQUARE, "mul.lo.s32", "mul24.lo.s32"),
    also(BYTES, "cvt.sat.s8.s32", "cvt.s8.s32"),
    // The least number is not enough, and less so -1e30 or 0.
    alone(LARGEST, "0fFF800000", "0fF149F2CA"),
    alone(LARGEST, "0fFF800000", "0fFF7FFFFF"),
    also(LARGEST, "0fFF800000", "0f00000000"),
];

impl Made {
    fn kernel(&self) -> Kernel {
        let mut kernel = copy_kernel("made_f32@far-1");
        "made".clone_into(&mut kernel.kernel);
        let semantics = &mut kernel.semantics;
        self.compute.clone_into(&mut semantics.compute);
        for (operand, dtype) in semantics.operands.iter_mut().zip(self.dtypes) {
            operand.dtype = dtype;
        }
        if self.is_fold() {
            semantics.operands[0].layout = layout("(m,k):(lds,1)");
            semantics.modes.insert("k".to_owned(), 5);
        }
        kernel
    }

    fn is_fold(&self) -> bool {
        self.compute.contains("[k]")
    }

    fn ptx(&self) -> String {
        let registers = ".reg .pred %right, %below;";
        let load = "ld.global.b32 %value, [%from];";
        let store = "st.global.b32 [%to], %value;";
        let place = "mad.lo.u64 %offset, %wide_row, %stride, %wide_column;";
        let shift = "shl.b64 %offset, %offset, 2;\n    add.u64 %to";
        assert!([registers, load, store, place, shift].map(|one| COPY.contains(one)) == [true; 5]);
        let body = format!("{load} mov.b32 %x, %value; {}", self.body);
        let mut ptx = COPY.replace(registers, &format!("{registers} .reg .f32 %x, %y;"));
        ptx = ptx.replace(load, &body);
        ptx = ptx.replace(store, &format!("mov.b32 %value, %y; {store}"));
        if self.is_fold() {
            ptx = ptx.replacen(place, "mul.lo.u64 %offset, %wide_row, %stride;", 1);
        }
        if self.dtypes[1] == DType::S8 {
            ptx = ptx
                .replace(shift, "add.u64 %to")
                .replace("st.global.b32", "st.global.b8");
        }
        ptx
    }
}

fn verified(made: &Made, ptx: &str, inputs: Inputs, seed: u64) -> Summary {
    let runtime = Runtime::new(bundle_of([(made.kernel(), ptx)]), Device::emulator());
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let options = Options {
        problems: 8,
        seed,
        inputs,
        volume: Some(20_000),
        further: 0,
    };
    verify(&runtime, &kernels, options, |_| {}).unwrap()
}

/// Kinds of inputs of the problems that failed.
fn failed(summary: &Summary) -> Vec<&str> {
    let outcomes = summary.outcomes.iter();
    let failed = outcomes.filter(|outcome| outcome.failure.is_some());
    failed.map(|outcome| outcome.data).collect()
}

#[test]
fn what_is_wrong_far_from_normal_numbers_is_refused() {
    for planted in PLANTED {
        let Planted { made, parts, alone } = planted;
        let [from, to] = parts;
        let right = made.ptx();
        assert!(right.contains(from), "{from}");
        let wrong = right.replacen(from, to, 1);
        for seed in [1, 4] {
            let summary = verified(&made, &right, Inputs::Mixed, seed);
            let failures = summary
                .outcomes
                .iter()
                .filter_map(|one| one.failure.as_ref());
            assert_eq!(failures.collect::<Vec<_>>(), [""; 0], "{}", made.compute);
            let summary = verified(&made, &wrong, Inputs::Mixed, seed);
            let failed = failed(&summary);
            assert!(
                failed.contains(&"far"),
                "{} with {to}: {failed:?}",
                made.compute
            );
            let is_far = |one: &&str| *one == "far";
            assert_eq!(failed.iter().all(is_far), alone, "{to}: {failed:?}");
        }
    }
}

/// Turns of what is no product, and the kind by its own name.
#[test]
fn every_fourth_problem_has_far_numbers() {
    let of = |inputs| {
        let summary = verified(&EXP, &EXP.ptx(), inputs, 1);
        let kinds = summary.outcomes.iter().map(|one| one.data);
        kinds.collect::<Vec<&str>>()
    };
    let mixed = of(Inputs::Mixed);
    let far: Vec<usize> = (0..8).filter(|at| mixed[*at] == "far").collect();
    assert_eq!(far, [2, 6], "{mixed:?}");
    assert_eq!([0, 4].map(|at| mixed[at]), ["integers"; 2]);
    assert!(of(Inputs::All).contains(&"far"));
    assert!(
        of(Inputs::Random(Data::Far))
            .iter()
            .all(|kind| *kind == "far")
    );
    assert_eq!(Data::from_text("far"), Some(Data::Far));
}

/// Products have wide numbers in their place, and their turns are as they were.
#[test]
fn products_have_wide_numbers_in_the_place_of_far_ones() {
    let kernel = tilewright_fixture::gemm_kernel("gemm_f32@far-1");
    let bundle = bundle_of([(kernel, tilewright_fixture::GEMM)]);
    let runtime = Runtime::new(bundle, Device::emulator());
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let kinds = |inputs| {
        let options = Options {
            problems: 4,
            seed: 1,
            inputs,
            further: 0,
            volume: Some(20_000),
        };
        let summary = verify(&runtime, &kernels, options, |_| {}).unwrap();
        assert_eq!(failed(&summary), [""; 0]);
        let kinds = summary.outcomes.iter().map(|one| one.data);
        kinds.collect::<Vec<&str>>()
    };
    let mixed = ["integers", "normals", "integers", "normals"];
    assert_eq!(kinds(Inputs::Mixed), mixed);
    assert_eq!(kinds(Inputs::Random(Data::Far)), ["wide"; 4]);
}
