//! From a problem and addresses to the numbers of a launch.
#![allow(clippy::unwrap_used)]

mod fixture;

use fixture::*;
use tilewright_runtime::bundle::{
    DType, Kernel, Param, ParamValue, ScalarType, TensorMapAbi, Traits,
};
use tilewright_runtime::{
    Arg, Backend, Device, DeviceInfo, Launch, Problem, Refusal, Runtime, View, fit, prepare,
};

fn device() -> DeviceInfo {
    DeviceInfo {
        backend: Backend::Cuda,
        name: "test".to_owned(),
        sm: Some(90),
        sms: 132,
        driver: Some(13_000),
        max_smem_bytes: 232_448,
        l2_bytes: 60 << 20,
        memory_bytes: 1 << 40,
        cubin_only: false,
    }
}

fn problem() -> Problem {
    Problem::new(3, 70, 1)
        .row_major("s", 72)
        .row_major("d", 1 << 33)
}

fn launch(kernel: &Kernel, problem: &Problem) -> Result<Launch, Vec<Refusal>> {
    let kernel = &resolved(kernel.clone());
    let views = [("s", 0x7f00_0000_1000), ("d", 0x7f10_0000_0010)].map(|(operand, address)| View {
        operand,
        address,
        bytes: 1 << 40,
    });
    prepare(kernel, &fit(kernel, problem, &device())?, &device(), &views)
}

fn kinds(kernel: &Kernel, problem: &Problem) -> Vec<&'static str> {
    launch(kernel, problem)
        .unwrap_err()
        .iter()
        .map(Refusal::kind)
        .collect()
}

#[test]
fn parameters_are_packed_where_the_manifest_says() {
    let mut kernel = copy_kernel("copy_f32@x-1");
    kernel.launches[0].params = Param::pack([
        ("n", ParamValue::scalar(ScalarType::I32, expr("n"))),
        ("s", ParamValue::pointer("s")),
        ("neg", ParamValue::scalar(ScalarType::I32, expr("m - 5"))),
        ("sms", ParamValue::scalar(ScalarType::U32, expr("sms"))),
        ("scratch", ParamValue::Workspace),
        ("d", ParamValue::pointer("d")),
        ("ldd", ParamValue::scalar(ScalarType::I64, expr("ldd"))),
    ]);
    kernel.workspace.bytes = expr("m * n * 4");
    let launch = launch(&kernel, &problem()).unwrap();
    let mut want = Vec::new();
    want.extend(70i32.to_le_bytes());
    want.extend([0; 4]);
    want.extend(0x7f00_0000_1000u64.to_le_bytes());
    want.extend((-2i32).to_le_bytes());
    want.extend(132u32.to_le_bytes());
    want.extend([0; 8]);
    want.extend(0x7f10_0000_0010u64.to_le_bytes());
    want.extend((1i64 << 33).to_le_bytes());
    assert_eq!(launch.parts[0].params, want);
    assert_eq!(launch.parts[0].param_offsets, [0, 8, 16, 20, 24, 32, 40]);
    assert_eq!(
        (launch.parts[0].workspace_at, launch.workspace_bytes),
        (Some(24), 840)
    );
    assert_eq!(
        (launch.parts[0].grid, launch.parts[0].block),
        ([2, 3, 1], [64, 1, 1])
    );
}

/// The tensor map of an operand, and a second one of it, want what the operand does.
#[test]
fn a_buffer_that_is_too_small_is_refused_once() {
    let mut kernel = copy_kernel("copy_f32@x-1");
    let map = TensorMapAbi::new(
        "s",
        DType::F32,
        [expr("n"), expr("m")],
        [expr("lds")],
        [32, 8],
    );
    let map = ParamValue::TensorMap(map);
    kernel.launches[0].params = Param::pack([("first", map.clone()), ("second", map)]);
    let kernel = &resolved(kernel);
    let problem = problem().row_major("d", 72);
    let view = |operand, address, bytes| View {
        operand,
        address,
        bytes,
    };
    let views = [view("s", 0x1000, 64), view("d", 0x8000, 1 << 20)];
    let fits = fit(kernel, &problem, &device()).unwrap();
    let refusals = prepare(kernel, &fits, &device(), &views).unwrap_err();
    let needs = (2 * 72 + 70) * 4;
    let operand = "s".to_owned();
    let wanted = Refusal::BufferTooSmall {
        operand,
        needs,
        has: 64,
    };
    assert_eq!(refusals, [wanted]);
}

#[test]
fn values_outside_their_range_are_refused() {
    let mut wide = copy_kernel("copy_f32@x-1");
    wide.launches[0].params[5].value = ParamValue::scalar(ScalarType::I32, expr("ldd"));
    wide.launches[0].params[5].size = 4;
    assert_eq!(kinds(&wide, &problem()), ["range"]);
    let mut grid = copy_kernel("copy_f32@x-1");
    grid.launches[0].grid[1] = expr("m * 40000");
    assert_eq!(kinds(&grid, &problem()), ["range"]);
    grid.launches[0].grid[1] = expr("m - 3");
    assert_eq!(kinds(&grid, &problem()), ["range"]);
    grid.launches[0].grid[1] = expr("m / (n - 70)");
    assert_eq!(kinds(&grid, &problem()), ["range"]);
    let mut smem = copy_kernel("copy_f32@x-1");
    smem.launches[0].dynamic_smem_bytes = expr("232448");
    assert_eq!(
        launch(&smem, &problem()).unwrap().parts[0].dynamic_smem_bytes,
        232_448
    );
    smem.resources.static_smem_bytes = 16;
    assert_eq!(kinds(&smem, &problem()), ["shared_memory"]);
    // Of another problem it may be less.
    smem.launches[0].dynamic_smem_bytes = expr("m * 80000");
    assert_eq!(kinds(&smem, &problem()), ["range"]);
    let mut cluster = copy_kernel("copy_f32@x-1");
    cluster.launches[0].cluster = Some([2, 1, 1]);
    assert_eq!(
        launch(&cluster, &problem()).unwrap().parts[0].cluster,
        Some([2, 1, 1])
    );
    cluster.launches[0].cluster = Some([1, 2, 1]);
    assert_eq!(kinds(&cluster, &problem()), ["load"]);
}

/// What `fit` says of copies of so many elements by a persistent kernel of such a grid.
fn counted(kernel: &Kernel, [m, n]: [i64; 2]) -> Vec<String> {
    let problem = Problem::new(m, n, 1).row_major("s", n).row_major("d", n);
    let fits = fit(&resolved(kernel.clone()), &problem, &device());
    let refusals = fits.err().unwrap_or_default();
    refusals.iter().map(Refusal::to_string).collect()
}

/// CTAs of a persistent kernel count the work tiles that the grid is far less than.
#[test]
fn work_tiles_that_a_kernel_cannot_count_are_refused() {
    let mut kernel = copy_kernel("copy_f32@x-1");
    kernel.launches[0].grid = ["min(ceil_div(m, 64) * n, max_clusters)", "1", "1"].map(expr);
    let rows = 64 * 65_536;
    assert_eq!(
        counted(&kernel, [rows, 32_768]),
        [
            "it has 2147483648 work tiles; kernels count to 2147483383 of them: build a kernel of \
             a larger cta_tile, or split the problem, such as its batch, into several launches"
        ]
    );
    assert!(counted(&kernel, [rows, 32_767]).is_empty());
    // A limit of the spec's own is no part of the count, nor are the CTAs of a cluster.
    kernel.launches[0].grid[0] = expr("min(min(ceil_div(m, 64) * n, max_clusters), 100) * 2");
    kernel.launches[0].cluster = Some([2, 1, 1]);
    let told = counted(&kernel, [rows, 32_768]).concat();
    assert!(told.starts_with("it has 2147483648 work tiles; kernels count to 2147483515 of them"));
    assert!(counted(&kernel, [rows, 32_767]).is_empty());
    // Clusters that make one each go on by all clusters, to see that there are no more.
    kernel.launches[0].grid[0] = expr("ceil_div(m, 64) * n * 2");
    let told = counted(&kernel, [rows, 16_000]).concat();
    assert!(told.starts_with("it has 1048576000 work tiles; kernels count to 715827882 of them"));
    assert!(counted(&kernel, [rows, 10_000]).is_empty());
}

/// Where tiles are cut along k, the steps of those that are shared are counted in a row, and those
/// of a cluster's own; all of them are not.
#[test]
fn steps_that_a_kernel_cannot_count_are_refused() {
    let mut kernel = copy_kernel("copy_f32@x-1");
    let tiles = "min(min(ceil_div(m, 8) * ceil_div(n, 64), max_clusters), 1024)";
    kernel.launches[0].grid = [tiles, "1", "1"].map(expr);
    kernel.launches[0].params = Param::pack([("partials", ParamValue::Workspace)]);
    let step = [("n".to_owned(), 64)].into();
    let tile = [("m".to_owned(), 8)].into();
    kernel.traits = Some(Traits {
        tile,
        step,
        ..Traits::default()
    });
    // 2^17 tiles of 2^16 steps: 2^33 steps, of which none counts more than 2^26.
    assert!(counted(&kernel, [1 << 20, 1 << 22]).is_empty());
    let told = counted(&kernel, [8 * 132 * 7, i64::from(i32::MAX)]).concat();
    let wanted = "it has 8992588304 steps along k in one row at most; kernels count to 2147483647 \
                  of them: build a kernel of a larger cta_tile or of `scheduler: { kind: \
                  persistent }`, or split the problem along k";
    assert_eq!(told, wanted);
    assert!(counted(&kernel, [8, i64::from(i32::MAX)]).is_empty());
}

#[test]
fn devices_that_cannot_run_a_kernel_are_named() {
    let mut kernel = copy_kernel("copy_f32@x-1");
    kernel.capability.min_sm = 100;
    kernel.min_driver = 13_010;
    let refusals = launch(&kernel, &problem()).unwrap_err();
    let text: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "it needs sm_100 or newer; the device is sm_90",
            "it needs a driver for CUDA 13.1; this one is for 13.0: update it",
        ]
    );
}

#[test]
fn names_and_extents_are_refused_by_what_is_wrong_with_them() {
    let bundle = bundle_of([(copy_kernel("copy_f32@plain-1"), COPY)]);
    let runtime = Runtime::new(bundle, Device::emulator());
    let kernel = &runtime.kernels()[0];
    let memory = runtime.device().alloc_with(&[1; 16]).unwrap();
    let told = |problem: &Problem, names: &[&str]| {
        let args: Vec<_> = names.iter().map(|name| Arg::new(name, &memory)).collect();
        let refused = runtime.launch(kernel, problem, &args);
        refused.unwrap_err().to_string()
    };
    let problem = Problem::new(2, 2, 1).row_major("s", 2).row_major("d", 2);
    let twice = told(&problem, &["s", "s", "d"]);
    assert!(
        twice.contains("`s` is given twice: leave one out"),
        "{twice}"
    );
    let unknown = told(&problem, &["s", "d", "x"]);
    let wanted = "`x` is no operand of the kernel, which has s, d";
    assert!(unknown.contains(wanted), "{unknown}");
    let below = problem.with_extent("m", -1);
    let below = told(&below, &["s", "d"]);
    assert!(
        below.contains("m is -1; 0 to 2147483647 is allowed"),
        "{below}"
    );
}
