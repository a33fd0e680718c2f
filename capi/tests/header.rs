//! The committed header is the one that the source gives, and compiles by itself.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

/// Files of the source in the order of the header: what a program uses first comes first.
const SOURCES: [&str; 8] = [
    "status", "error", "dtype", "problem", "open", "kernels", "select", "launch",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn generated() -> String {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for name in SOURCES {
        builder = builder.with_src(root().join(format!("src/{name}.rs")));
    }
    let mut bytes = Vec::new();
    builder.generate().unwrap().write(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_header_is_what_the_source_says() {
    let path = root().join("include/tilewright.h");
    let made = generated();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == committed,
        "{} is not what the source gives: run this test with BLESS=1",
        path.display()
    );
}
