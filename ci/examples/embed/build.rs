//! Compiles every spec of `kernels/` into a bundle under `OUT_DIR`, and lists its files for
//! `include_bytes!`. Problems in a spec are compiler errors of this crate.

fn main() {
    tilewright_codegen::build::compile("kernels");
}
