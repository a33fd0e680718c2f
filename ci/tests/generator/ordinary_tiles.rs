//! Tiles that anybody writes first, with all else left to the plan, have kernels: every one a plan,
//! and a sample of them kernels that ptxas has nothing against. What it refuses has a way out that
//! was tried.

use tilewright_ci::source_tree;
use tilewright_codegen::error::Error;
use tilewright_codegen::first_good::first_good;
use tilewright_codegen::ptx::ptxas;
use tilewright_codegen::spec::{self, Point, SpecFile};
use tilewright_codegen::{Making, plan, with_way_out};

use crate::sample;

const ARCHES: [&str; 7] = [
    "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a",
];
const TYPES: [&str; 2] = ["f16", "f32"];
const TILES: [&str; 11] = [
    "(64,64,64)",
    "(128,128,64)",
    "(96,96,32)",
    "(64,64,32)",
    "(128,64,32)",
    "(64,128,32)",
    "(128,128,32)",
    "(128,256,32)",
    "(256,64,32)",
    "(32,64,32)",
    "(16,128,32)",
];
/// Tiles whose sums and elements on their way only tensor cores leave registers or shared memory
/// for.
const LARGE: [&str; 2] = ["(128,128,64)", "(128,256,32)"];
const EPILOGUES: [&str; 4] = [
    "acc[m,n]",
    "silu(acc[m,n] + bias[n])",
    "gelu(acc[m,n] + bias[n])",
    "min(bias[n], acc[m,n])",
];

/// A product, with these lines besides.
fn product([arch, dtype, tile, epilogue]: [&str; 4], more: &str) -> SpecFile {
    let bias = match epilogue.contains("bias") {
        true => format!("  bias: {{ dtype: {dtype}, layout: '(n):(1)' }}\n"),
        false => String::new(),
    };
    let text = format!(
        "kernel: product\nname: product_first\narch: {arch}\noperands:\n  a: {{ dtype: {dtype}, \
         layout: '(m,k):(lda,1)' }}\n  b: {{ dtype: {dtype}, layout: '(n,k):(ldb,1)' }}\n{bias}  \
         d: {{ dtype: {dtype}, layout: '(m,n):(ldd,1)' }}\ncompute: |\n  acc[m,n] = sum[k] \
         a[m,k] * b[n,k]\n  d[m,n] = {epilogue}\ncta_tile: \"{tile}\"\n{more}"
    );
    let file = spec::parse("-", &text);
    file.unwrap_or_else(|error| panic!("{}", error.report(false)))
}

/// Whether a product is made element by element, by fma.
fn by_element(arch: &str, dtype: &str) -> bool {
    dtype == "f32" || ["sm_70", "sm_75"].contains(&arch)
}

/// Every combination but tiles that only tensor cores hold.
fn all() -> Vec<[&'static str; 4]> {
    let mut all = Vec::new();
    for arch in ARCHES {
        for dtype in TYPES {
            let is_held = |tile: &&str| !by_element(arch, dtype) || !LARGE.contains(tile);
            for tile in TILES.into_iter().filter(is_held) {
                all.extend(EPILOGUES.map(|epilogue| [arch, dtype, tile, epilogue]));
            }
        }
    }
    all
}

fn judged() -> Option<Making> {
    let ptxas = ptxas::find()?;
    Some(Making {
        ptxas: Some(ptxas),
        ..Making::default()
    })
}

#[test]
fn ordinary_tiles_have_plans() {
    for of in all() {
        let plan = plan::plan(&product(of, "").points[0]);
        assert!(plan.is_ok(), "{of:?}: {}", plan.unwrap_err().report(false));
    }
}

/// `threads` decides on the warps side by side, where they are left to the plan.
#[test]
fn threads_decide_on_the_atoms_side_by_side() {
    for arch in ["sm_75", "sm_80", "sm_90"] {
        for threads in [64, 128, 256] {
            let of = [arch, "f16", "(128,128,32)", EPILOGUES[0]];
            let file = product(of, &format!("threads: {threads}\n"));
            let found = plan::plan(&file.points[0]);
            match found {
                Ok(plan) => assert_eq!(plan.cta_threads(), threads, "{plan}"),
                // 64 threads have no registers for so many sums.
                Err(error) => assert!(threads == 64, "{}", error.report(false)),
            }
        }
    }
}

/// The plan of a point that plans by itself is that of before: other atoms are for what does not.
#[test]
fn what_has_a_plan_by_itself_takes_nothing_else() {
    for point in crate::shipped::points() {
        let plan = plan::plan(&point).unwrap();
        assert!(plan.taken.is_empty(), "{plan}");
    }
}

#[test]
fn a_sample_of_ordinary_tiles_spills_nothing() {
    const KERNELS: usize = 8;
    let Some(making) = judged() else { return };
    let mut sample = sample::shuffled(all(), |of| of.join(" "));
    sample.truncate(KERNELS);
    // What README tells to begin with, and what was found to spill.
    sample.push(["sm_80", "f16", "(64,64,64)", EPILOGUES[2]]);
    // More rows on their way than there are registers for their addresses.
    sample.push(["sm_70", "f32", "(128,128,64)", EPILOGUES[0]]);
    for of in sample {
        let point = &product(of, "").points[0];
        let found = first_good(point, &making, |_| {});
        let found = found.unwrap_or_else(|error| panic!("{of:?}: {}", error.report(false)));
        assert!(ptxas::gate(&found.reports[0]).is_empty());
    }
}

/// Some of the points that ptxas spills by their first plan, of another sample with each `SEED`:
/// what is taken instead is in the certificate.
#[test]
fn what_spills_takes_other_values_for_auto() {
    const SPILLS: usize = 4;
    let Some(making) = judged() else { return };
    let names = [
        "column_mean",
        "min_of_product",
        "two_maps",
        "three_folds",
        "strided_rows",
        "two_outputs",
        "half_the_threads",
    ];
    let mut names = sample::shuffled(names.to_vec(), |name| (*name).to_owned());
    names.truncate(SPILLS);
    for name in names {
        let path = source_tree::root().join(format!("ci/data/spills/{name}.yaml"));
        let file = spec::parse("-", &std::fs::read_to_string(&path).unwrap()).unwrap();
        let point = &file.points[0];
        let found = first_good(point, &making, |_| {});
        if let Ok(found) = found {
            let plan = &found.made.plan;
            assert!(!plan.taken.is_empty(), "{name}: {plan}");
            assert_eq!(found.made.certificate.taken.len(), plan.taken.len());
            continue;
        }
        // Its threads are written, and too few: the way out does what it says.
        let refused = with_way_out(point, &making, found.unwrap_err());
        let Error::Plan { violations, .. } = file.place(refused) else {
            panic!("{name}")
        };
        let first = &violations[0];
        assert_eq!(first.keys, ["threads"], "{first}");
        assert_eq!(first.span.as_ref().unwrap().line, 10, "{first}");
        let threads = first.message.split("use threads ").nth(1).unwrap();
        let threads = threads.split(',').next().unwrap();
        let text = file
            .text
            .replace("threads: 64", &format!("threads: {threads}"));
        let mended = spec::parse("-", &text).unwrap();
        let point: &Point = &mended.points[0];
        assert!(first_good(point, &making, |_| {}).is_ok(), "{text}");
    }
}
