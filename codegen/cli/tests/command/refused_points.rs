//! Points that plan or ptxas refuse: left out where a file has others, by the command and by build
//! steps alike; otherwise told with what builds.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tilewright_build::Config;
use tilewright_codegen::ptx::ptxas;

use crate::session::tilewright;

/// A map that ptxas spills with 64 threads.
const MASKED: &str = r#"kernel: masked
name: masked_softcap
arch: sm_80
operands:
  y: { dtype: s32, layout: "(b,m,n):(s1y,s2y,1)" }
  r: { dtype: ue8m0, layout: "(b,m,n):(s1r,s2r,1)" }
  d: { dtype: bf16, layout: "(b,m,n):(s1d,s2d,1)" }
compute: |
  d[b,m,n] = softcap(where(r[b,m,n] > -1 and r[b,m,n] <= 1, r[b,m,n], y[b,m,n]), 30)
cta_tile: { m: 16, n: 512 }
"#;

/// A folder `masked/` with `softcap.yaml` in it.
fn spec(more: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("masked/softcap.yaml");
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("{MASKED}{more}")).unwrap();
    (folder, path)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn command_and_build_step_leave_out_the_same_points() {
    let (folder, path) = spec("tune:\n  threads: [64, 96, 128]\n");
    let bundle = folder.path().join("command.zip");
    let run = tilewright(["build", text(&path), "-o", text(&bundle)]).expect(0);
    let judged = ptxas::find().is_some();
    let (kernels, left_out) = if judged { (1, 2) } else { (2, 1) };
    let told = match judged {
        true => "1 kernel, 2 points left out (",
        false => "2 kernels, 1 point left out (",
    };
    assert!(run.stdout.contains(told), "{}", run.stdout);
    // `check` says the same beforehand, and writes nothing.
    let checked = tilewright(["check", "--build", text(&path)]).expect(0);
    let told = match judged {
        true => "1 point, form rows, rows without gaps for n % 4 == 0, 2 without a kernel (",
        false => "2 points, form rows, rows without gaps for n % 4 == 0, 1 without a kernel (",
    };
    assert!(checked.stdout.contains(told), "{}", checked.stdout);
    let told = match judged {
        true => "); built by ptxas with ",
        false => "); compiled, judged by no ptxas\n",
    };
    assert!(checked.stdout.contains(told), "{}", checked.stdout);
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let config = Config::new().specs(folder.path().join("masked"));
    let built = config.out_dir(&out).build().unwrap();
    assert_eq!(built.kernels, kernels);
    let lines = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with("left out "));
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let warned = lines(&built.warnings.join("\n"));
    assert_eq!(warned, lines(&run.stderr));
    assert_eq!(warned.len(), left_out);
    assert!(fs::read(&built.bundle).unwrap() == fs::read(&bundle).unwrap());
}

#[test]
fn nothing_left_is_the_same_failure_with_what_builds() {
    let (folder, path) = spec("tune:\n  threads: [64, 96]\n");
    if ptxas::find().is_none() {
        return;
    }
    let bundle = folder.path().join("command.zip");
    let run = tilewright(["build", text(&path), "-o", text(&bundle)]).expect(1);
    let checked = tilewright(["check", "--build", text(&path)]).expect(1);
    tilewright(["check", text(&path)]).expect(0);
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let config = Config::new().specs(folder.path().join("masked"));
    let error = config.out_dir(&out).build().unwrap_err().to_string();
    for told in [&run.stderr, &checked.stderr, &error] {
        assert!(told.contains("error[spill-loads]"), "{told}");
        assert!(told.contains("error[threads-tile]"), "{told}");
        assert!(told.contains("use threads 512, which builds"), "{told}");
        assert!(told.contains("softcap.yaml:12:13"), "{told}");
    }
    // It does what it says.
    let (_folder, path) = spec("threads: 512\n");
    tilewright(["build", text(&path), "-o", text(&bundle)]).expect(0);
}

#[test]
fn a_point_is_counted_by_every_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("first.yaml");
    let spec = "kernel: gemm\nname: first\narch: sm_80\noperands:\n  a: { dtype: bf16, layout: \
                '(m,k):(lda,1)' }\n  b: { dtype: bf16, layout: '(n,k):(ldb,1)' }\n  d: { dtype: \
                bf16, layout: '(m,n):(ldd,1)' }\naccumulator: f32\ncta_tile: '(512,512,64)'\n";
    fs::write(&path, spec).unwrap();
    let run = tilewright(["check", text(&path)]).expect(1);
    let told = "1 without a kernel (1 registers, 1 smem-capacity)";
    assert!(run.stdout.contains(told), "{}", run.stdout);
}
