//! Speed of the generator and of what it ships: spec to PTX for each shipped point, the shares of
//! the stages in that, warp-specialized kernels with the runs of their pipelines, opening the
//! bundle of all points, and picking a kernel from it.
//!
//! `cargo bench --package tilewright-bench --bench codegen`; each line's middle figure is
//! criterion's estimate, its `estimates.json` has the median.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tilewright_bundle::{Bundle, DType, Kernel};
use tilewright_codegen::ptx::ptxas;
use tilewright_codegen::spec::{self, Point, SpecFile};
use tilewright_codegen::{certify, compile, ir, lower, pack, plan, ptx};
use tilewright_runtime::{Device, Problem, Query, Runtime};

/// The shipped specs of both families.
fn shipped() -> Vec<SpecFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = ["specs/copy", "specs/gemm"].map(|folder| root.join(folder));
    let files = folders
        .iter()
        .flat_map(|f| tilewright_build::spec_files(f).unwrap());
    files.map(|file| spec::load(&file).unwrap()).collect()
}

fn briefly(c: &mut Criterion, name: &str, mut work: impl FnMut()) {
    let mut group = c.benchmark_group("codegen");
    group.sample_size(10);
    group.warm_up_time(Duration::from_millis(300));
    group.measurement_time(Duration::from_millis(1500));
    group.bench_function(name, |b| b.iter(&mut work));
    group.finish();
}

/// A text of YAML to the PTX of one of its points.
fn spec_to_ptx(c: &mut Criterion) {
    for file in shipped() {
        for (index, point) in file.points.iter().enumerate() {
            briefly(c, &format!("spec_to_ptx/{}", point.id), || {
                let parsed = spec::parse(&file.path, black_box(&file.text)).unwrap();
                black_box(compile(&parsed.points[index]).unwrap());
            });
        }
    }
}

/// The stages by themselves, for the first point of each spec.
fn stages(c: &mut Criterion) {
    for file in shipped() {
        let point: &Point = &file.points[0];
        let plan = plan::plan(point).unwrap();
        let tile = ir::tile::build::build(&plan).unwrap();
        let program = lower::lower(&plan, &tile).unwrap();
        let name = |stage: &str| format!("{stage}/{}", point.spec.problem.name);
        briefly(c, &name("parse"), || {
            black_box(spec::parse(&file.path, black_box(&file.text)).unwrap());
        });
        briefly(c, &name("plan"), || {
            black_box(plan::plan(black_box(point)).unwrap());
        });
        briefly(c, &name("lower"), || {
            let tile = ir::tile::build::build(black_box(&plan)).unwrap();
            black_box(lower::lower(&plan, &tile).unwrap());
        });
        briefly(c, &name("certify"), || {
            black_box(certify::certify(&plan, &tile, black_box(&program)).unwrap());
        });
        briefly(c, &name("llvm"), || {
            black_box(ptx::emit(black_box(&program), &plan.arch, &plan.id).unwrap());
        });
    }
}

/// The certificates of the largest shipped tile, 128x256x64: wanted within 20 ms.
fn certificates(c: &mut Criterion) {
    let points = shipped().into_iter().flat_map(|file| file.points);
    let largest = points.filter(|point| point.id.contains("128x256x64"));
    for point in largest {
        let plan = plan::plan(&point).unwrap();
        let tile = ir::tile::build::build(&plan).unwrap();
        let program = lower::lower(&plan, &tile).unwrap();
        briefly(c, &format!("certificate/{}", point.id), || {
            black_box(certify::certify(black_box(&plan), &tile, &program).unwrap());
        });
    }
}

/// Warp-specialized points: the rungs of the ladder, and the last in clusters of eight, whose
/// pipeline has the most roles.
fn specialized() -> Vec<Point> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ladder");
    let files = tilewright_build::spec_files(&folder).unwrap().into_iter();
    let files: Vec<SpecFile> = files.map(|file| spec::load(&file).unwrap()).collect();
    let last = &files.last().unwrap().text;
    let crowded = last
        .replace("(2,1,1)", "(4,2,1)")
        .replace("ladder_", "crowd_");
    assert_ne!(*last, crowded);
    let crowded = spec::parse("-", &crowded).unwrap();
    let points = files
        .into_iter()
        .chain([crowded])
        .flat_map(|file| file.points);
    let has_roles = |point: &Point| plan::plan(point).unwrap().roles.is_some();
    points.filter(has_roles).collect()
}

/// Compilation and certificates of warp-specialized kernels; the rate of the latter counts runs of
/// the pipeline, which are part of them. Below, one run by the clock, as `explain` makes it.
fn roles(c: &mut Criterion) {
    for point in specialized() {
        let plan = plan::plan(&point).unwrap();
        let tile = ir::tile::build::build(&plan).unwrap();
        let program = lower::lower(&plan, &tile).unwrap();
        let certificate = certify::certify(&plan, &tile, &program).unwrap();
        let mut group = c.benchmark_group("roles");
        group.sample_size(10);
        group.warm_up_time(Duration::from_millis(300));
        group.measurement_time(Duration::from_millis(1500));
        group.bench_function(format!("compile/{}", point.id), |b| {
            b.iter(|| black_box(compile(black_box(&point)).unwrap()));
        });
        group.bench_function(format!("timeline/{}", point.id), |b| {
            b.iter(|| black_box(certify::timeline(&plan, black_box(&tile), [4, 16]).unwrap()));
        });
        group.throughput(Throughput::Elements(certificate.pipeline_runs.into()));
        group.bench_function(format!("certificate/{}", point.id), |b| {
            b.iter(|| black_box(certify::certify(&plan, &tile, black_box(&program)).unwrap()));
        });
        group.finish();
    }
}

/// The bundle of all shipped points, below `folder`.
fn bundle(folder: &Path) -> PathBuf {
    let artifacts = shipped().into_iter().flat_map(|file| {
        let made = file.points.iter().map(|point| {
            let made = compile(point).unwrap();
            pack::artifact(&made, &[]).unwrap()
        });
        made.collect::<Vec<_>>()
    });
    let path = folder.join("bundle");
    pack::write(
        artifacts.collect(),
        pack::provenance(ptxas::find().as_deref()),
        &path,
    )
    .unwrap();
    path
}

/// Opening checks every hash; picking checks what a launch would, of each kernel in turn.
fn runtime(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let path = bundle(folder.path());
    c.bench_function("bundle/open", |b| {
        b.iter(|| Bundle::open(black_box(&path)).unwrap())
    });
    let runtime = Runtime::open(&path, Device::emulator()).unwrap();
    let kernel: &Kernel = runtime.kernels().last().unwrap();
    let (n, k) = (4096, 4096);
    let problem = |lda: i64| {
        let problem = Problem::new(4096, n, k).row_major("a", lda);
        problem.row_major("b", k).row_major("d", n)
    };
    let query = Query::gemm().with_dtype("a", DType::BF16);
    for (name, lda) in [("pick/tensor_core", k), ("pick/fallback", k + 1)] {
        let problem = problem(lda);
        c.bench_function(name, |b| {
            b.iter(|| {
                let pick = runtime.pick(black_box(&query), black_box(&problem), &[]);
                black_box(pick.unwrap().kernel);
            })
        });
    }
    c.bench_function("find/by_id", |b| {
        b.iter(|| black_box(runtime.find(black_box(&kernel.id), None).unwrap().kernel))
    });
}

criterion_group!(benches, spec_to_ptx, stages, certificates, roles, runtime);
criterion_main!(benches);
