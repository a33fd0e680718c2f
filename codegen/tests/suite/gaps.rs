//! What extents must be where operands lie without gaps, of specs that users write.

use tilewright_codegen::plan;
use tilewright_codegen::spec;

/// The conditions that the first point's plan has for such operands.
fn told(text: &str) -> Vec<String> {
    let file = spec::parse("gaps.yaml", text);
    let file = file.unwrap_or_else(|error| panic!("{}", error.report(false)));
    let plan = plan::plan(&file.points[0]).unwrap();
    let conditions = plan.without_gaps();
    conditions.iter().map(ToString::to_string).collect()
}

/// A map of an operand of that layout into one that lies alike, with strides of its own.
fn map(modes: &str, layout: &str, more: &str) -> Vec<String> {
    let own = layout.replace('x', "d");
    told(&format!(
        "kernel: map\nname: gaps\narch: sm_80\noperands:\n  \
         x: {{ dtype: f32, layout: '{layout}' }}\n  d: {{ dtype: f32, layout: '{own}' }}\n{more}\
         compute: 'd[{modes}] = x[{modes}] * 2'\ncta_tile: {{ m: 8, n: 128 }}\n"
    ))
}

#[test]
fn a_stride_without_gaps_is_the_extents_inside_it() {
    assert_eq!(map("m,n", "(m,n):(ldx,1)", ""), ["n % 4 == 0"]);
    assert_eq!(map("m,n", "(m,n)", ""), ["n % 4 == 0"]);
    assert_eq!(map("m,n", "(m,n):(1,ldx)", ""), ["m % 4 == 0"]);
    // The stride of batches is m * n, which follows.
    assert_eq!(map("b,m,n", "(b,m,n):(bx,ldx,1)", ""), ["n % 4 == 0"]);
}

#[test]
fn what_moves_by_elements_asks_for_nothing() {
    assert!(map("m,n", "(m,n):(ldx,sx)", "").is_empty());
}

#[test]
fn extents_that_are_constant_are_reckoned_with() {
    let of = |extent: i64| {
        let modes = format!("modes: {{ n: {extent} }}\n");
        map("m,n", "(m,n):(ldx,1)", &modes)
    };
    assert!(of(768).is_empty());
    assert_eq!(of(777), ["no extents"]);
}

#[test]
fn factors_of_a_product_have_extents_of_their_own() {
    let product = |d: &str| {
        told(&format!(
            "kernel: gemm\nname: gaps\narch: sm_90a\noperands:\n  \
             a: {{ dtype: bf16, layout: '(m,k):(lda,1)' }}\n  \
             b: {{ dtype: bf16, layout: '(n,k):(ldb,1)' }}\n  \
             d: {{ dtype: bf16, layout: '{d}' }}\n\
             compute: 'd[m,n] = sum[k] a[m,k] * b[n,k]'\ncta_tile: '(128,128,64)'\n"
        ))
    };
    let all = product("(m,n):(ldd,1)");
    assert!(all.contains(&"k % 8 == 0".to_owned()), "{all:?}");
    assert!(all.iter().all(|one| !one.starts_with('m')), "{all:?}");
}
