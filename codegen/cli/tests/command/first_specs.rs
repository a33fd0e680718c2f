//! `init`: every form that it writes is a spec with a kernel.

use std::fs;

use crate::session::tilewright;

/// What is asked, form by form: every layout, type, architecture, step and kind at least once.
const FORMS: [&str; 16] = [
    "gemm",
    "gemm --a bf16 --epilogue bias,silu",
    "gemm --a f16 --arch sm_90a --layout NT --epilogue bias,silu",
    "gemm --a bf16 --arch sm_90a --layout NN --epilogue scale,residual,relu",
    "gemm --a f32 --arch sm_70 --layout TT --epilogue gelu",
    "gemm --a f32 --layout NT",
    "gemm --a bf16 --arch sm_70 --epilogue bias,gelu_tanh,residual",
    "gemm --a f16 --epilogue bias,sigmoid --d f32",
    "gemm --a e4m3 --arch sm_90a --epilogue scale",
    "gemm --a e5m2 --arch sm_90a --d f16",
    "gemm --a s8 --arch sm_90a",
    "gemm --a tf32 --arch sm_90a",
    "map --a f16 --d f32",
    "softmax --a f32",
    "layernorm",
    "rmsnorm",
];

#[test]
fn every_form_compiles() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (number, form) in FORMS.iter().enumerate() {
        let path = at(&format!("specs/form_{number}.yaml"));
        let mut args: Vec<&str> = vec!["init"];
        args.extend(form.split(' '));
        args.extend(["-o", &path]);
        let run = tilewright(&args).expect(0);
        assert!(
            run.stderr.contains("next: tilewright build"),
            "{}",
            run.stderr
        );
        let again = tilewright(&args).expect(2);
        assert!(again.stderr.contains("remove that one"), "{}", again.stderr);
    }
    // Each part of a spec has its comment.
    let text = fs::read_to_string(at("specs/form_2.yaml")).unwrap();
    for key in ["arch:", "operands:", "compute:", "cta_tile:"] {
        let line = text.lines().position(|line| line.starts_with(key)).unwrap();
        assert!(
            text.lines().nth(line - 1).unwrap().starts_with('#'),
            "{key}: {text}"
        );
    }
    assert!(
        text.contains("d[m,n] = silu(acc[m,n] + bias[n])\n"),
        "{text}"
    );
    let scaled = fs::read_to_string(at("specs/form_3.yaml")).unwrap();
    let wanted = "d[m,n] = relu(acc[m,n] * scale + r[m,n])\n";
    assert!(scaled.contains(wanted), "{scaled}");
    // What is to be uncommented is a space of several kernels as it stands.
    fs::create_dir(folder.path().join("spaces")).unwrap();
    for number in 0..FORMS.len() {
        let text = fs::read_to_string(at(&format!("specs/form_{number}.yaml"))).unwrap();
        let space = text
            .replace("# tune:", "tune:")
            .replace("#   cta_tile", "  cta_tile");
        fs::write(at(&format!("spaces/form_{number}.yaml")), space).unwrap();
    }
    let spaces = tilewright(["check", "--dropped", &at("spaces")]).expect(0);
    let told = spaces.stdout + &spaces.stderr;
    assert!(!told.contains("left out"), "{told}");
    // Judged by ptxas where there is one.
    let built = tilewright(["build", &at("specs"), "-o", &at("out.zip")]).expect(0);
    let count = format!("{} kernels", FORMS.len());
    assert!(built.stdout.contains(&count), "{}", built.stdout);
    // A newcomer's spec is no cause for a note.
    let unjudged = |line: &&str| !line.contains("without ptxas no kernel was judged");
    assert_eq!(
        built.stderr.lines().find(unjudged),
        None,
        "{}",
        built.stderr
    );
}

#[test]
fn kernels_that_nobody_judged_are_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    tilewright(["init", "gemm", "-o", &at("first.yaml")]).expect(0);
    let (spec, output) = (at("first.yaml"), at("out.zip"));
    let build = ["build", &spec, "-o", &output, "--ptxas", "never"];
    let built = tilewright(build).expect(0);
    let line = "note: without ptxas no kernel was judged (spills, local memory, warnings): run \
                ci/setup.sh of a clone, pip install nvidia-cuda-nvcc==13.0.88 where pip \
                installed tilewright, or set TILEWRIGHT_PTXAS\n";
    assert_eq!(built.stderr.matches(line).count(), 1, "{}", built.stderr);
    assert_eq!(built.stderr.lines().last(), line.lines().last());
}

#[test]
fn what_has_no_kernel_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("first.yaml");
    let output = ["-o", path.to_str().unwrap()];
    let init = |args: &[&str]| tilewright(["init"].iter().chain(args).chain(&output));
    let none = init(&["gemm", "--a", "s8", "--arch", "sm_70"]).expect(1);
    assert!(
        none.stderr.contains("no mma of s8 and s8"),
        "{}",
        none.stderr
    );
    let major = init(&["gemm", "--a", "s8", "--arch", "sm_90a", "--layout", "NN"]).expect(1);
    assert!(
        major.stderr.contains("contiguous along k only"),
        "{}",
        major.stderr
    );
    init(&["gemm", "--a", "f33"]).expect(2);
    let rows = init(&["softmax", "--epilogue", "bias"]).expect(2);
    assert!(rows.stderr.contains("leave it out"), "{}", rows.stderr);
    assert!(!path.exists());
    let odd = tilewright(["init", "gemm", "-o", "first.txt"]).expect(2);
    assert!(odd.stderr.contains("ends in .yaml"), "{}", odd.stderr);
    // Where no architecture is written it is the first that has such products.
    for (dtype, arch) in [("s8", "arch: sm_80\n"), ("e4m3", "arch: sm_90a\n")] {
        let eighths = tilewright(["init", "gemm", "--a", dtype]).expect(0).stdout;
        assert!(eighths.contains(arch), "{eighths}");
    }
    // Without a file it is printed.
    let printed = tilewright(["init", "gemm", "--epilogue", "bias"])
        .expect(0)
        .stdout;
    assert!(
        printed.contains("kernel: bias\nname:") || printed.contains("name: first"),
        "{printed}"
    );
}
