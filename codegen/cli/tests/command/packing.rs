//! `pack`: operands from files, in the order that kernels take.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use tilewright_fixture::{COPY, packed_copy_kernel, writer_of};

use crate::session::{Run, tilewright};

/// A folder with a bundle of two kernels that take `s` packed, in tiles of 2 by 2 and of 1 by 4.
fn bundle() -> (TempDir, PathBuf) {
    let kernel = |id: &str, tile| (packed_copy_kernel(id, tile), COPY);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packed");
    let kernels = [
        kernel("copy_f32@square-1", [2, 2]),
        kernel("copy_f32@wide-1", [1, 4]),
    ];
    writer_of(kernels).write(&path).unwrap();
    (folder, path)
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

/// Packs 2x3 elements from 1 to 6.
fn packed(folder: &TempDir, more: &[&str]) -> (Run, PathBuf) {
    let [input, output] = ["s.bin", "s.packed"].map(|name| folder.path().join(name));
    let elements: Vec<u8> = (1..=6u32).flat_map(u32::to_le_bytes).collect();
    fs::write(&input, elements).unwrap();
    let bundle = folder.path().join("packed");
    let [bundle, input, to] = [&bundle, &input, &output].map(|path| path.to_str().unwrap());
    let mut args = vec!["pack", bundle];
    args.extend(&more[..2]);
    args.extend([input, "-o", to]);
    args.extend(&more[2..]);
    (tilewright(args), output)
}

#[test]
fn elements_are_put_where_the_kernel_wants_them() {
    let (folder, _) = bundle();
    let size = "--size=m=2,n=3";
    let (run, output) = packed(&folder, &["copy_f32@square", "s", size]);
    let run = run.expect(0);
    assert!(
        run.stdout
            .ends_with("32 bytes of s, (2,2):(2,1) by (1,0)\n"),
        "{}",
        run.stdout
    );
    let square = [1, 2, 4, 5, 3, 0, 6, 0];
    assert_eq!(words(&fs::read(&output).unwrap()), square);
    // The same again is there already; what is not the same stays, as elements look like anything.
    packed(&folder, &["copy_f32@square", "s", size]).0.expect(0);
    let other = packed(&folder, &["copy_f32@wide", "s", size]).0.expect(2);
    assert!(
        other.stderr.contains("was left as it is"),
        "{}",
        other.stderr
    );
    assert_eq!(words(&fs::read(&output).unwrap()), square);
    fs::remove_file(&output).unwrap();
    let (run, output) = packed(&folder, &["copy_f32@wide", "s", size, "--json"]);
    let report = run.expect(0).json();
    assert_eq!(report["kernel"], "copy_f32@wide-1");
    assert_eq!(
        (&report["bytes_read"], &report["bytes_written"]),
        (&24.into(), &32.into())
    );
    assert_eq!(words(&fs::read(output).unwrap()), [1, 2, 3, 0, 4, 5, 6, 0]);
}

#[test]
fn what_cannot_be_packed_is_told_and_nothing_is_written() {
    let (folder, _) = bundle();
    for (more, part) in [
        (
            ["copy_f32", "s", "--size=m=2,n=3"],
            "take `s` in different orders: name one",
        ),
        (
            ["copy_f32@wide", "d", "--size=m=2,n=3"],
            "`d` of copy_f32@wide-1 is not packed",
        ),
        (
            ["copy_f32@wide", "q", "--size=m=2,n=3"],
            "no operand `q`; its operands are s, d",
        ),
        (
            ["copy_f32@wide", "s", "--size=m=2"],
            "the problem gives no extent `n`",
        ),
        (
            ["copy_f32@wide", "s", "--size=m=2,n=4"],
            "has 2x4 elements of f32, 32 bytes; 24 were",
        ),
        (
            ["copy_f32@wide", "s", "--size=m=2,n=3,k=1"],
            "no extent `k`; its extents are m, n",
        ),
        (
            ["copy_f32@wide", "s", "--size=m=2,n=3,m=2"],
            "--size gives `m` twice",
        ),
    ] {
        let (run, output) = packed(&folder, &more);
        let run = run.expect(2);
        assert!(run.stderr.contains(part), "{}", run.stderr);
        assert!(!output.exists());
    }
}
