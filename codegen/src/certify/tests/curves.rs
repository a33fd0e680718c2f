//! Bounds that are far to follow: operands of several constant strides, and tiles on a curve.

use super::modes::judged;

/// No access is left unproved because two strides of an operand are constants, or tiles come on a
/// curve.
#[test]
fn constant_strides_and_curves_are_shown_inside() {
    let constant = [
        ["'(m,n,c):(s1x,4,1)'", "'(m,n,c):(s1d,8,2)'", "c: 4"],
        ["'(m,n,c):(12,s2x,1)'", "'(m,n,c):(4,s2d,1)'", "c: 4"],
        ["'(m,n,c):(1,s2x,0)'", "'(m,n,c):(s1d,3,1)'", "c: 3"],
        ["'(m,n,c):(64,1,s3x)'", "'(m,n,c):(s1d,1,512)'", "n: 64"],
    ];
    let tiles = ["m: 8, n: 64", "m: 32, c: 4", "n: 64, c: 2", "c: 1, m: 128"];
    let maps = constant.iter().flat_map(|[x, d, modes]| {
        tiles.map(|tile| {
            format!(
                "kernel: map\nname: map_x\narch: sm_80\nmodes: {{ {modes} }}\noperands:\n  \
                 x: {{ dtype: f32, layout: {x} }}\n  d: {{ dtype: f32, layout: {d} }}\n\
                 compute: d[m,n,c] = 2 * x[m,n,c]\ncta_tile: {{ {tile} }}\n"
            )
        })
    });
    let [certified, refused] = judged(maps);
    assert!(certified > refused, "{certified}, {refused}");
    let rasters = ["hilbert_1", "hilbert_2", "hilbert_16", "hilbert_64"];
    let products = rasters.into_iter().flat_map(|raster| {
        [
            ("f32", "f32", ""),
            ("bf16", "bf16", "pipeline: { stages: 3 }\n"),
        ]
        .map(|(one, d, more)| {
            format!(
                "kernel: gemm\nname: gemm_x\narch: sm_80\noperands:\n  \
                 a: {{ dtype: {one}, layout: '(m,k):(lda,1)' }}\n  \
                 b: {{ dtype: {one}, layout: '(n,k):(ldb,1)' }}\n  \
                 d: {{ dtype: {d}, layout: '(m,n):(ldd,1)' }}\naccumulator: f32\n\
                 cta_tile: '(64,64,32)'\nscheduler: {{ raster: {raster} }}\n{more}"
            )
        })
    });
    let [certified, _] = judged(products);
    assert!(certified > 0);
    let ways = [
        ["f32", "(lds,1)", "(ldd,1)", "(16,64)", ""],
        ["s8", "(rss,css)", "(rsd,csd)", "(512,1)", "threads: 32\n"],
        [
            "s32",
            "(1,lds)",
            "(1,ldd)",
            "(16,8)",
            "threads: 32\ncopy: { s: { g2s: auto } }\n",
        ],
        [
            "tf32",
            "(lds,1)",
            "(ldd,1)",
            "(32,32)",
            "copy: { s: { g2s: auto } }\n",
        ],
    ];
    let copies = rasters.into_iter().flat_map(|raster| {
        ways.map(|[dtype, s, d, tile, more]| {
            format!(
                "kernel: copy\nname: copy_x\narch: sm_80\noperands:\n  \
                 s: {{ dtype: {dtype}, layout: '(m,n):{s}' }}\n  \
                 d: {{ dtype: {dtype}, layout: '(m,n):{d}' }}\ncta_tile: '{tile}'\n\
                 scheduler: {{ raster: {raster} }}\n{more}"
            )
        })
    });
    let [certified, refused] = judged(copies);
    assert!(certified > refused, "{certified}, {refused}");
}

/// Elements that are copied one by one into shared memory, with a constant stride along the mode
/// that tells how many are left.
#[test]
fn elements_of_a_constant_stride_are_shown_inside() {
    let text = "
kernel: permute
name: permute_far
arch: sm_80
operands:
  s: { dtype: tf32, layout: '(a,b,c,e):(s1s,s2s,s3s,1000)' }
  d: { dtype: tf32, layout: '(a,c,b,e):(s1d,s2d,s3d,1)' }
compute: d[a,c,b,e] = s[a,b,c,e]
cta_tile: { e: 16, b: 16 }
copy: { s: { s2r: sm50_ld_shared_4 } }
";
    assert_eq!(judged([text.to_owned()].into_iter()), [1, 0]);
}
