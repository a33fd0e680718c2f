//! Outputs in the place of an input: what is read there is read as memory that is written.

use super::arch;
use crate::{ir, lower, plan, ptx, spec};

/// Two inputs, and an output that may lie over the first where it says so.
fn text(over: &str) -> String {
    let spec = format!(
        "
kernel: add
name: add_over
arch: sm_80
operands:
  r: {{ dtype: f32, layout: '(m,n):(ldr,1)' }}
  x: {{ dtype: f32, layout: '(m,n):(ldx,1)' }}
  d: {{ dtype: f32, layout: '(m,n):(ldd,1)'{over} }}
compute: d[m,n] = r[m,n] + x[m,n]
cta_tile: '(1,512)'
threads: 128
"
    );
    let file = spec::parse("-", &spec).unwrap();
    let plan = plan::plan(&file.points[0]).unwrap();
    let kernel = ir::tile::build::build(&plan).unwrap();
    let program = lower::lower(&plan, &kernel).unwrap();
    ptx::emit(&program, &arch("sm_80"), "over").unwrap().text
}

#[test]
fn what_may_be_written_is_not_read_as_what_nobody_writes() {
    let counts = |text: &str| {
        let loads = || text.lines().filter(|line| line.contains("ld.global"));
        [
            loads().count(),
            loads().filter(|line| line.contains(".nc")).count(),
        ]
    };
    let [all, unwritten] = counts(&text(""));
    assert_eq!(all, unwritten);
    let [all, unwritten] = counts(&text(", over: r"));
    assert_eq!(all, 2 * unwritten);
}
