//! Batched products: a product for each coordinate of modes that any operands have, by every kind
//! of main loop, scheduler and epilogue.

use super::pipeline::{certified, planned};

/// A spec: its name, the layouts of a, b and d, its formula, and the keys that say how.
type Batched = (&'static str, [&'static str; 3], &'static str, &'static str);

const BOTH: [&str; 3] = [
    "(z,m,k):(za,lda,1)",
    "(z,n,k):(zb,ldb,1)",
    "(z,m,n):(zd,ldd,1)",
];
const PRODUCT: &str = "d[z,m,n] = sum[k] a[z,m,k] * b[z,n,k]";

const ALL: [Batched; 11] = [
    (
        "threads",
        BOTH,
        PRODUCT,
        "arch: sm_70\ncta_tile: '(16,16,16)'",
    ),
    (
        "multistage",
        BOTH,
        PRODUCT,
        "arch: sm_80\ncta_tile: '(64,64,32)'",
    ),
    (
        "pingpong",
        BOTH,
        PRODUCT,
        "arch: sm_90a\ncta_tile: '(64,64,32)'\npipeline: { schedule: pingpong }",
    ),
    (
        "cooperative in clusters",
        BOTH,
        PRODUCT,
        "arch: sm_90a\ncta_tile: '(128,64,32)'\npipeline: { schedule: cooperative }\n\
         cluster: '(2,1,1)'",
    ),
    (
        "stream-k",
        BOTH,
        PRODUCT,
        "arch: sm_90a\ncta_tile: '(128,64,32)'\npipeline: { schedule: cooperative }\n\
         scheduler: { kind: stream_k }",
    ),
    (
        "one matrix for all of a batch, and the batch not first",
        ["(m,z,k):(ma,za,1)", "(n,k):(ldb,1)", "(z,m,n):(zd,ldd,1)"],
        "d[z,m,n] = sum[k] a[m,z,k] * b[n,k]",
        "arch: sm_90a\ncta_tile: '(64,64,32)'\npipeline: { schedule: pingpong }",
    ),
    (
        "one left matrix",
        ["(m,k):(lda,1)", "(z,n,k):(zb,ldb,1)", "(z,m,n):(zd,ldd,1)"],
        "d[z,m,n] = sum[k] a[m,k] * b[z,n,k]",
        "arch: sm_80\ncta_tile: '(64,64,32)'",
    ),
    (
        "three modes, each operand without one of them",
        [
            "(x,y,m,k):(xa,ya,lda,1)",
            "(y,z,n,k):(yb,zb,ldb,1)",
            "(x,y,z,m,n):(xd,yd,wd,ldd,1)",
        ],
        "d[x,y,z,m,n] = sum[k] a[x,y,m,k] * b[y,z,n,k]",
        "arch: sm_90a\ncta_tile: '(64,64,32)'\npipeline: { schedule: pingpong }",
    ),
    (
        "results the other way round",
        [
            "(z,m,k):(za,lda,1)",
            "(z,k,n):(zb,ldb,1)",
            "(z,n,m):(zd,ldd,1)",
        ],
        "d[z,n,m] = sum[k] a[z,m,k] * b[z,k,n]",
        "arch: sm_80\ncta_tile: '(64,64,32)'",
    ),
    (
        "an epilogue with operands along some modes",
        BOTH,
        "acc[z,m,n] = sum[k] a[z,m,k] * b[z,n,k]; d[z,m,n] = silu(acc[z,m,n] * s[z] + t[z,n]) + \
         r[m,n]",
        "arch: sm_90a\ncta_tile: '(64,64,32)'\npipeline: { schedule: pingpong }",
    ),
    (
        "a coordinate of the batch in the epilogue, by multistage",
        BOTH,
        "acc[z,m,n] = sum[k] a[z,m,k] * b[z,n,k]; d[z,m,n] = acc[z,m,n] * s[z] + z + t[z,n] * \
         r[m,n]",
        "arch: sm_80\ncta_tile: '(64,64,32)'",
    ),
];

fn text((_, [a, b, d], compute, keys): &Batched) -> String {
    let beside = match compute.contains("s[z]") {
        true => {
            "  s: { dtype: f32, layout: '(z):(1)' }\n  \
             t: { dtype: f32, layout: '(z,n):(zt,1)' }\n  \
             r: { dtype: bf16, layout: '(m,n):(ldr,1)' }\n"
        }
        false => "",
    };
    let dtype = match keys.contains("sm_70") {
        true => "f32",
        false => "bf16",
    };
    format!(
        "kernel: bmm\nname: bmm_t\noperands:\n  a: {{ dtype: {dtype}, layout: '{a}' }}\n  \
         b: {{ dtype: {dtype}, layout: '{b}' }}\n{beside}  \
         d: {{ dtype: {dtype}, layout: '{d}' }}\ncompute: \"{compute}\"\n{keys}\n"
    )
}

#[test]
fn products_of_batches_are_certified() {
    for one in &ALL {
        let (plan, certificate) = certified(one.0, &text(one));
        for mode in plan.work.outer() {
            let mut computed = certificate.computed.iter();
            assert!(
                computed.any(|run| run.extents[&mode] > 1),
                "{}: {mode}",
                one.0
            );
        }
    }
}

#[test]
fn batches_are_counted_and_the_slowest() {
    let grids = ALL.map(|one| planned(&text(&one)).0.work.grid().to_string());
    assert!(grids[0].ends_with("* z"), "{}", grids[0]);
    assert!(grids[7].contains("* x * y * z"), "{}", grids[7]);
}
