//! `select`: which kernel a problem gets, for GPUs that are not here as well, and why no other.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tilewright_bundle::{BundleWriter, DType, TunedDevice, TunedPoint};
use tilewright_fixture::{
    COPY, GEMM, SCALED, choice, copy_kernel, gemm_kernel, gemm_semantics, hopper_gemm, opened,
    packed_copy_kernel, picky_gemm, scaled_kernel, table, writer_of,
};
use tilewright_runtime::{Device, Problem, Request, Runtime};

use crate::session::{Run, tilewright};

/// A copy and gemms, the folder of their bundle, and the same tuned on two GPUs of one name.
fn bundles() -> (TempDir, PathBuf, PathBuf) {
    let writer = writer_of([
        (copy_kernel("copy_f32@plain-1"), COPY),
        (picky_gemm("gemm_f32@picky-1"), GEMM),
        (gemm_kernel("gemm_f32@plain-2"), GEMM),
        (hopper_gemm("gemm_f32_tn@hopper-1"), GEMM),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let (plain, tuned) = (folder.path().join("plain"), folder.path().join("tuned"));
    writer.write(&plain).unwrap();
    let bundle = opened(&writer);
    let kernel = |id: &str| bundle.kernel(id).unwrap();
    let timed = [("gemm_f32_tn@hopper-1", 1.5), ("gemm_f32@plain-2", 2.25)];
    let choices = timed.map(|(id, us)| choice(kernel(id), us));
    let extents = kernel("gemm_f32@plain-2").free_extents();
    let extents = extents.map(|(_, name)| if name == "k" { 32 } else { 64 });
    let point = TunedPoint {
        extents: extents.collect(),
        strides: Vec::new(),
        choices: choices.to_vec(),
    };
    let on = |sms| {
        let device = TunedDevice {
            name: "NVIDIA H200".to_owned(),
            sm: Some(90),
            sms,
        };
        table(kernel("gemm_f32@plain-2"), device, vec![point.clone()])
    };
    let (mut both, other) = (on(132), on(66));
    both.tables.extend(other.tables);
    let mut writer = BundleWriter::from_bundle(&bundle).unwrap();
    writer.tune(&both).unwrap();
    writer.write(&tuned).unwrap();
    (folder, plain, tuned)
}

fn select(path: &Path, word: &str, more: &[&str]) -> Run {
    let head = ["select", path.to_str().unwrap(), "--kernel", word];
    tilewright(head.iter().chain(more))
}

const SIZES: [&str; 6] = ["--m", "64", "--n", "64", "--k", "32"];
const EMULATOR: [&str; 2] = ["--device", "emulator"];

#[test]
fn the_kernel_chosen_is_the_whole_answer_unless_more_is_asked() {
    let (_folder, plain, _) = bundles();
    let asked = [&SIZES[..], &EMULATOR].concat();
    let run = select(&plain, "gemm", &asked).expect(0);
    assert_eq!(run.stdout, "gemm_f32@picky-1 (untuned)\n");
    let padded = [&asked[..], &["--lda", "33"]].concat();
    let run = select(&plain, "gemm", &padded).expect(0);
    assert_eq!(run.stdout, "gemm_f32@plain-2 (untuned)\n");
}

#[test]
fn what_is_told_is_what_a_runtime_says() {
    let (_folder, plain, _) = bundles();
    let more = ["--lda", "33", "--explain"];
    let told = select(&plain, "gemm", &[&SIZES[..], &EMULATOR, &more].concat());
    let told = told.expect(0).stdout;
    let runtime = Runtime::open(&plain, Device::emulator()).unwrap();
    let meant = runtime.meant("gemm").unwrap();
    let problem = Problem::new(64, 64, 32).row_major("a", 33);
    let problem = problem.row_major("b", 32).row_major("d", 64);
    let request = Request::of_problem(meant[0], &problem).unwrap();
    let explained = runtime.explain("gemm", &[(meant[0], &request)]);
    assert_eq!(told, explained.to_string());
    let refused = "refused: gemm_f32@picky-1: it assumes lda % 8 == 0, and lda is 33";
    assert!(told.contains(refused), "{told}");
}

#[test]
fn a_gpu_that_is_not_here_is_chosen_for() {
    let (_folder, plain, tuned) = bundles();
    let ampere = [&SIZES[..], &["--arch", "sm_80", "--explain"]].concat();
    let told = select(&plain, "gemm", &ampere).expect(0).stdout;
    assert!(told.contains("on any GPU (sm_80)\n"), "{told}");
    let exact = "refused: gemm_f32_tn@hopper-1: it needs exactly sm_90; the device is sm_80";
    assert!(told.contains(exact), "{told}");

    let name = "NVIDIA H200 (sm_90, 132 SMs)";
    let tuned_on = [&SIZES[..], &["--gpu", name]].concat();
    let told = select(&tuned, "gemm", &tuned_on).expect(0).stdout;
    assert_eq!(told, "gemm_f32_tn@hopper-1 (measured)\n");
    let larger = [
        "--m",
        "128",
        "--n",
        "64",
        "--k",
        "32",
        "--gpu",
        name,
        "--explain",
    ];
    let told = select(&tuned, "gemm", &larger).expect(0).stdout;
    let row = "chosen: gemm_f32_tn@hopper-1 (extrapolated): the fastest of the tuning table's \
               nearest row m=64 k=32 n=64 of NVIDIA H200 (sm_90, 132 SMs), 1.50 us, 1.00 away\n";
    assert!(told.contains(row), "{told}");
    assert!(
        told.contains("fits: gemm_f32@plain-2: 2.25 us in that row\n"),
        "{told}"
    );
    assert!(
        told.contains("fits: gemm_f32@picky-1: that row does not name it\n"),
        "{told}"
    );
    let here = [&SIZES[..], &EMULATOR, &["--explain"]].concat();
    let told = select(&tuned, "gemm", &here).expect(0).stdout;
    let others = "of other devices, NVIDIA H200 (sm_90, 132 SMs); NVIDIA H200 (sm_90, 66 SMs)";
    assert!(told.contains(others), "{told}");

    let both = [&SIZES[..], &["--gpu", "NVIDIA H200"]].concat();
    let several = select(&tuned, "gemm", &both).expect(2).stderr;
    assert!(several.contains("66 SMs)\": say all of it"), "{several}");
    let none = select(&plain, "gemm", &both).expect(2).stderr;
    assert!(
        none.contains("the bundle has no tuning table; say"),
        "{none}"
    );
    let other = [&SIZES[..], &["--gpu", "NVIDIA A100"]].concat();
    let other = select(&tuned, "gemm", &other).expect(2).stderr;
    assert!(
        other.contains("was tuned on \"NVIDIA H200 (sm_90, 132 SMs)\""),
        "{other}"
    );
    let twice = [&ampere[..], &EMULATOR].concat();
    select(&plain, "gemm", &twice).expect(2);
    select(
        &plain,
        "gemm",
        &[&SIZES[..], &["--arch", "ampere"]].concat(),
    )
    .expect(2);
}

#[test]
fn a_problem_that_no_kernel_takes_is_a_negative_verdict() {
    let (_folder, plain, _) = bundles();
    let alone = [&SIZES[..], &["--arch", "90", "--cubin-only"]].concat();
    let run = select(&plain, "gemm", &alone).expect(1);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("machine code alone"), "{}", run.stderr);
    let told = select(&plain, "gemm", &[&alone[..], &["--explain"]].concat());
    let told = told.expect(1).stdout;
    let none = "chosen: none: every kernel of the function refuses\n";
    assert!(told.contains(none), "{told}");
    let json = select(&plain, "gemm", &[&alone[..], &["--json"]].concat());
    let json = json.expect(1).json();
    assert!(
        json["chosen"].is_null() && json["error"].is_string(),
        "{json}"
    );
    assert_eq!(json["others"].as_array().unwrap().len(), 3, "{json}");
    assert_eq!(json["others"][0]["refusals"][0]["kind"], "cubin_only");
    let halves = [&SIZES[..], &EMULATOR, &["--dtype", "a=f16"]].concat();
    let other = select(&plain, "gemm", &halves).expect(1).stderr;
    assert!(other.contains("its a is f32, not f16"), "{other}");
    let short = [&SIZES[..], &EMULATOR, &["--lda", "8"]].concat();
    let overlapping = [&SIZES[..], &EMULATOR, &["--ldd", "8"]].concat();
    // Rows of an input may overlap; those of an output may not.
    select(&plain, "gemm", &short).expect(0);
    select(&plain, "gemm", &overlapping).expect(1);
}

#[test]
fn kernels_that_want_more_workspace_than_is_there_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scaled");
    let writer = writer_of([(scaled_kernel("scaled@x-1"), SCALED)]);
    writer.write(&path).unwrap();
    let sizes = ["--size", "m=512", "--scalar", "alpha=2"];
    let within = |limit: &str| {
        let limit = ["--workspace", limit];
        select(&path, "scaled", &[&sizes[..], &EMULATOR, &limit].concat())
    };
    assert_eq!(within("8KiB").expect(0).stdout, "scaled@x-1 (untuned)\n");
    let refused = within("8191").expect(1).stderr;
    let reason = "it needs 8192 bytes of workspace; 8191 are allowed";
    assert!(refused.contains(reason), "{refused}");
    assert!(within("0").expect(1).stderr.contains("; 0 are allowed"));
    within("8kB").expect(2);
}

#[test]
fn a_program_reads_all_of_it() {
    let (_folder, _, tuned) = bundles();
    let name = "NVIDIA H200 (sm_90, 66 SMs)";
    let asked = [&SIZES[..], &["--gpu", name, "--json"]].concat();
    let json = select(&tuned, "gemm_f32", &asked).expect(0).json();
    assert_eq!(json["device"], name);
    assert_eq!(json["chosen"]["kernel"], "gemm_f32_tn@hopper-1");
    assert_eq!(
        (&json["chosen"]["source"], &json["chosen"]["us"]),
        (&"measured".into(), &1.5.into())
    );
    assert_eq!(json["tuned"]["row"]["device"], name);
    assert_eq!(json["tuned"]["row"]["distance"], 0.0);
    assert_eq!(json["problem"], "64x64x32 a:(32,1) b:(32,1) d:(64,1)");
    let others = &json["others"];
    assert_eq!(
        (&others[0]["why"], &others[0]["us"]),
        (&"slower".into(), &2.25.into())
    );
    assert_eq!(others[1]["why"], "not_in_row", "{json}");
}

#[test]
fn functions_of_one_word_are_told_by_what_differs() {
    let halves = |id: &str, d: DType| {
        let mut kernel = gemm_kernel(id);
        kernel.semantics = gemm_semantics(DType::BF16, ["(rsa,csa)", "(rsb,csb)", "(rsd,csd)"]);
        kernel.semantics.operands[2].dtype = d;
        kernel
    };
    let writer = writer_of([
        (copy_kernel("copy_f32@plain-1"), COPY),
        (packed_copy_kernel("copy_packed@plain-1", [1, 64]), COPY),
        (halves("gemm_wide@plain-2", DType::F32), GEMM),
        (halves("gemm_half@plain-2", DType::BF16), GEMM),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernels");
    writer.write(&path).unwrap();
    let told = |word: &str, sizes: &[&str], more: &[&str]| {
        select(&path, word, &[sizes, &EMULATOR, more].concat())
    };
    let said = told("gemm", &SIZES, &["--dtype", "a=bf16"])
        .expect(2)
        .stderr;
    for part in [
        "means 2 functions that take these tensors: gemm a=bf16 b=bf16 d=",
        "gemm a=bf16 b=bf16 d=f32 sums=f32 (gemm_wide, ",
        "gemm a=bf16 b=bf16 d=bf16 sums=f32 (gemm_half, ",
        "; or say an element type more: --dtype d=",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("--dtype a"), "{said}");
    let wide = told("gemm", &SIZES, &["--dtype", "a=bf16,d=f32"])
        .expect(0)
        .stdout;
    assert_eq!(wide, "gemm_wide@plain-2 (untuned)\n");
    // Of the same types: no word on types helps.
    let packed = told("copy", &SIZES[..4], &[]).expect(2).stderr;
    for part in [
        "copy s=f32 d=f32, s: f32 (m,n) packed ",
        "copy s=f32 d=f32, s: f32 (m,n) (",
    ] {
        assert!(packed.contains(part), "{part}: {packed}");
    }
    assert!(!packed.contains("--dtype"), "{packed}");
    let one = told("copy_packed", &SIZES[..4], &[]).expect(0).stdout;
    assert_eq!(one, "copy_packed@plain-1 (untuned)\n");
}

#[test]
fn questions_that_make_no_sense_are_told() {
    let (_folder, plain, _) = bundles();
    let unknown = select(&plain, "softmax", &EMULATOR).expect(2).stderr;
    assert!(unknown.contains("it has copy, gemm"), "{unknown}");
    let missing = select(&plain, "gemm", &EMULATOR).expect(2).stderr;
    assert!(missing.contains("a gemm needs --m, --k, --n"), "{missing}");
    let foreign = [&SIZES[..], &EMULATOR].concat();
    let foreign = select(&plain, "copy", &foreign).expect(2).stderr;
    assert!(
        foreign.contains("a copy has no --k: leave it out"),
        "{foreign}"
    );
    for (dtype, told) in [
        ("q=f32", "has no operand `q`: leave --dtype q=… out"),
        ("a=float", "`float` is no element type"),
        ("a", "write an operand and a type as a=bf16"),
    ] {
        let asked = [&SIZES[..], &EMULATOR, &["--dtype", dtype]].concat();
        let run = select(&plain, "gemm", &asked).expect(2);
        assert!(run.stderr.contains(told), "{}", run.stderr);
    }
    tilewright(["select", plain.to_str().unwrap()]).expect(2);
}
