//! Compiles every spec of `kernels/` into a bundle under `OUT_DIR` and writes a launcher for each
//! function. Problems in a spec are compiler errors of this crate.

fn main() {
    tilewright_build::compile("kernels");
}
