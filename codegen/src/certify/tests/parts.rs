//! Sums of scaled parts: products that are made anew in each step of the main loop, by every
//! schedule, with scales of rows, of columns, of blocks and of each element.

use super::pipeline::{certified, planned};
use crate::plan;
use crate::plan::data::arena::Holds;
use crate::plan::data::values::Every;
use crate::plan::work_tiles::Fate;
use crate::spec;

/// A kernel: its name, its formula behind the product of a part, and the keys that say how.
type Scaled<'t> = (&'t str, &'t str, &'t str);

const COOPERATIVE: &str =
    "cta_tile: { m: 128, j: 32, i: 128 }\npipeline: { schedule: cooperative }";
const PINGPONG: &str = "cta_tile: { m: 64, j: 32, i: 128 }\npipeline: { schedule: pingpong }";

const ALL: [Scaled<'static>; 16] = [
    (
        "blocks of a cluster side by side",
        "d[m,h,j] = sum[g] p[m,h,j,g] * (x[m,g] * s[h,g])",
        "cta_tile: { m: 256, j: 32, i: 128 }\npipeline: { schedule: cooperative }\n\
         cluster: '(1,2,1)'",
    ),
    (
        "rows that boxes bring, of two groups",
        "d[m,h,j] = sum[g] p[m,h,j,g] * (x[m,g] * s[h,g])",
        "cta_tile: { m: 256, j: 32, i: 128 }\npipeline: { schedule: cooperative }\n\
         cluster: '(2,1,1)'",
    ),
    (
        "rows that boxes bring, by turns",
        "d[m,h,j] = sum[g] p[m,h,j,g] * x[m,g] * s[h,g]",
        "cta_tile: { m: 128, j: 32, i: 128 }\npipeline: { schedule: pingpong }",
    ),
    (
        "rows that boxes bring, cut along the parts",
        "d[m,h,j] = sum[g] p[m,h,j,g] * (x[m,g] * s[h,g])",
        "cta_tile: { m: 128, j: 32, i: 128 }\npipeline: { schedule: cooperative }\n\
         scheduler: { kind: stream_k }",
    ),
    (
        "a value for each part of rows that boxes bring",
        "q[m,h,g] = abs(x[m,g]) * s[h,g]; d[m,h,j] = sum[g] p[m,h,j,g] * q[m,h,g]",
        "cta_tile: { m: 192, j: 32, i: 128 }\npipeline: { schedule: cooperative }\n\
         mma: { atoms: '(1,1,1)' }",
    ),
    (
        "rows past shared memory",
        "d[m,h,j] = sum[g] p[m,h,j,g] * (x[m,g] * s[h,g])",
        "cta_tile: { m: 128, j: 32, i: 128 }\npipeline: { stages: 4 }\n\
         copy: { x: { g2r: auto } }",
    ),
    (
        "rows by blocks",
        "d[m,h,j] = sum[g] p[m,h,j,g] * (r[m,g] * s[h,g])",
        COOPERATIVE,
    ),
    (
        "one scale after the other, by turns",
        "d[m,h,j] = sum[g] p[m,h,j,g] * r[m,g] * s[h,g]",
        PINGPONG,
    ),
    (
        "in clusters",
        "d[m,h,j] = sum[g] p[m,h,j,g] * (r[m,g] * s[h,g])",
        "cta_tile: { m: 128, j: 32, i: 128 }\npipeline: { schedule: cooperative }\n\
         cluster: '(2,1,1)'",
    ),
    (
        "two groups of rows, one after the other",
        "d[m,h,j] = sum[g] p[m,h,j,g] * (r[m,g] * s[h,g])",
        "cta_tile: { m: 256, j: 32, i: 128 }\npipeline: { schedule: cooperative }",
    ),
    (
        "two groups of rows, by turns",
        "d[m,h,j] = sum[g] p[m,h,j,g] * (r[m,g] * s[h,g])",
        "cta_tile: { m: 128, j: 32, i: 128 }\npipeline: { schedule: pingpong }",
    ),
    (
        "cut along the parts",
        "d[m,h,j] = sum[g] p[m,h,j,g] * (r[m,g] * s[h,g])",
        "cta_tile: { m: 128, j: 32, i: 128 }\npipeline: { schedule: cooperative }\n\
         scheduler: { kind: stream_k }",
    ),
    (
        "columns and elements",
        "d[m,h,j] = sum[g] p[m,h,j,g] * c[h,j,g] * e[m,h,j,g]",
        COOPERATIVE,
    ),
    (
        "a scale of all parts, made before them, and an epilogue",
        "t[m] = w[m] * 0.5; acc[m,h,j] = sum[g] p[m,h,j,g] * (r[m,g] * t[m]); \
         d[m,h,j] = max(acc[m,h,j] * t[m], 0)",
        COOPERATIVE,
    ),
    (
        "a scale that is computed for each part",
        "q[m,h,g] = abs(r[m,g]) * s[h,g]; d[m,h,j] = sum[g] p[m,h,j,g] * q[m,h,g]",
        PINGPONG,
    ),
    (
        "no scale, on one line",
        "d[m,h,j] = sum[g] sum[i] a[m,g,i] * b[h,j,g,i]",
        PINGPONG,
    ),
];

fn text((_, compute, keys): &Scaled<'_>) -> String {
    let product = match compute.contains("p[") {
        true => "p[m,h,j,g] = sum[i] a[m,g,i] * b[h,j,g,i]; ",
        false => "",
    };
    let beside = [
        ("r", "r: { dtype: f32, layout: '(m,g):(rr,cr)' }"),
        ("s", "s: { dtype: f32, layout: '(h,g):(rs,cs)' }"),
        ("x", "x: { dtype: f32, layout: '(m,g):(1,cx)' }"),
        ("c", "c: { dtype: f32, layout: '(h,j,g):(rc,1,pc)' }"),
        ("e", "e: { dtype: bf16, layout: '(m,h,j,g):(re,be,1,pe)' }"),
        ("w", "w: { dtype: f32, layout: '(m):(1)' }"),
    ];
    let read = |(name, _): &&(&str, &str)| {
        compute.contains(&format!(" {name}[")) || compute.contains(&format!("({name}["))
    };
    let beside: String = (beside.iter().filter(read))
        .map(|(_, line)| format!("  {line}\n"))
        .collect();
    format!(
        "kernel: scaled\nname: scaled_t\narch: sm_90a\nmodes: {{ i: 128, j: 32 }}\noperands:\n  \
         a: {{ dtype: e4m3, layout: '(m,g,i):(lda,128,1)' }}\n  \
         b: {{ dtype: e4m3, layout: '(h,j,g,i):(zb,ldb,128,1)' }}\n{beside}  \
         d: {{ dtype: bf16, layout: '(m,h,j):(ldd,32,1)' }}\ncompute: \"{product}{compute}\"\n\
         accumulation: fast\n{keys}\n"
    )
}

#[test]
fn sums_of_parts_are_certified() {
    for one in &ALL {
        let (_, certificate) = certified(one.0, &text(one));
        let mut computed = certificate.computed.iter();
        assert!(computed.any(|run| run.extents["g"] > 1), "{}", one.0);
    }
}

/// Blocks of columns are counted beside a batch, in every order.
#[test]
fn batches_of_sums_of_parts_are_certified_in_every_order() {
    for raster in [
        "auto",
        "row",
        "column",
        "grouped_4",
        "grouped_16",
        "hilbert_8",
    ] {
        for kind in ["persistent", "single"] {
            let text = format!(
                "kernel: scaled\nname: scaled_t\narch: sm_90a\nmodes: {{ i: 128, j: 32 }}\n\
                 operands:\n  a: {{ dtype: e4m3, layout: '(z,m,g,i):(za,lda,128,1)' }}\n  \
                 b: {{ dtype: e4m3, layout: '(h,j,g,i):(zb,ldb,128,1)' }}\n  \
                 r: {{ dtype: f32, layout: '(z,m,g):(zr,rr,cr)' }}\n  \
                 s: {{ dtype: f32, layout: '(h,g):(rs,cs)' }}\n  \
                 d: {{ dtype: bf16, layout: '(z,m,h,j):(zd,ldd,32,1)' }}\n\
                 compute: \"p[z,m,h,j,g] = sum[i] a[z,m,g,i] * b[h,j,g,i]; \
                 d[z,m,h,j] = sum[g] p[z,m,h,j,g] * (r[z,m,g] * s[h,g])\"\n\
                 accumulation: fast\ncta_tile: {{ m: 128, j: 32, i: 128 }}\n\
                 scheduler: {{ raster: {raster}, kind: {kind} }}\n"
            );
            let (_, certificate) = certified(&format!("{raster} {kind}"), &text);
            let mut computed = certificate.computed.iter();
            assert!(computed.any(|run| run.extents["z"] > 1), "{raster} {kind}");
        }
    }
}

#[test]
fn a_step_has_one_part_and_all_that_it_sums() {
    for one in &ALL {
        let (plan, _) = planned(&text(one));
        let fates = ["g", "i", "h"].map(|mode| plan.fate(mode));
        let wanted = [Fate::Looped(1), Fate::Whole(128), Fate::One];
        assert_eq!(fates, wanted.map(Some), "{}", one.0);
        let roles = plan.roles.unwrap();
        assert_eq!(roles.in_flight, 0, "{}", one.0);
    }
}

/// The operands that boxes bring for a trip, behind a and b.
#[test]
fn what_is_contiguous_along_a_tile_comes_in_its_slot() {
    for one in &ALL {
        let (plan, _) = planned(&text(one));
        let roles = plan.roles.as_ref().unwrap();
        let beside = roles
            .loads(Every::Trip)
            .skip(2)
            .map(|load| plan.operand(load.operand).name.as_str());
        let wanted: &[&str] = match one {
            ("rows past shared memory", ..) => &[],
            (_, compute, _) if compute.contains("x[") => &["x"],
            (_, compute, _) if compute.contains(" c[") => &["c"],
            _ => &[],
        };
        assert_eq!(beside.collect::<Vec<_>>(), wanted, "{}", one.0);
        let tiles = plan
            .smem
            .iter()
            .filter(|tile| plan.operand(tile.operand).name != "d");
        let bytes = tiles.map(|tile| tile.size_bytes).sum::<u32>();
        assert_eq!(plan.slot_bytes(Holds::Slots(0)), bytes, "{}", one.0);
    }
}

/// Each is refused with what to do instead, where the spec asks for boxes by name.
#[test]
fn what_boxes_do_not_bring_is_refused_where_it_is_asked_for() {
    for (operand, misfit) in [
        ("r", "is not contiguous along m"),
        ("s", "is no row or column of the sums in each part"),
    ] {
        let keys = format!("{COOPERATIVE}\ncopy: {{ {operand}: {{ g2s: auto }} }}");
        let compute = "d[m,h,j] = sum[g] p[m,h,j,g] * (r[m,g] * s[h,g])";
        let file = spec::parse("-", &text(&("refused", compute, &keys))).unwrap();
        let report = plan::plan(&file.points[0]).unwrap_err().report(false);
        assert!(report.contains(misfit), "{report}");
        assert!(
            report.contains(&format!("use copy.{operand}.g2r")),
            "{report}"
        );
    }
}
