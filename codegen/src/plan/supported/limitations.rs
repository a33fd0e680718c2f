//! What kernels of each form do not do yet, as data: every refusal of a formula is a row.
//!
//! Comes in: nothing. Goes out: [`LIMITS`], each with its code, the forms that it holds for, what
//! is not done and what to do instead. The page on limits is made of them, and each has a spec
//! under
//! `ci/data/formulas_refused` that it refuses.

use crate::spec::FormKind;

/// Something that kernels of a form do not do.
#[derive(Debug)]
pub struct Limit {
    /// Code of the refusal.
    pub code: &'static str,
    /// The forms that lack it.
    pub forms: &'static [FormKind],
    /// What is not done.
    pub lacks: &'static str,
    /// What to do.
    pub way_out: &'static str,
}

/// One constant for each row, and the list of all.
macro_rules! limits {
    ($($name:ident: $forms:expr, $code:literal, $lacks:literal, $way_out:literal;)*) => {
        $(pub(super) const $name: Limit = Limit {
            code: $code,
            forms: $forms,
            lacks: $lacks,
            way_out: $way_out,
        };)*

        /// Every limit, form by form.
        pub const LIMITS: &[Limit] = &[$($name),*];
    };
}

const ROWS: &[FormKind] = &[FormKind::Rows];
const PRODUCTS: &[FormKind] = &[FormKind::Contraction];
const CHAINS: &[FormKind] = &[FormKind::Chain];
const ALL: &[FormKind] = &[FormKind::Rows, FormKind::Contraction];

limits! {
    MODES: ROWS, "modes",
        "go along more than five modes",
        "make one mode of those that lie behind one another in memory";
    CONSTANT_EXTENTS: ROWS, "constant-extents",
        "have constant extents of more than 1048576 elements together",
        "take a mode out of `modes`, so that a launch says its extent";
    PLACE: ROWS, "place",
        "take an element elsewhere than at its coordinates or where one table says",
        "take each element at its own coordinates; a scalar in memory has `layout: \"()\"` and no \
         coordinates; what lies a constant way off or in one part of a mode is an operand of its \
         own, of which launches give a view (strides are positive: what goes back is a copy), as a \
         diagonal is, `x[m]` of stride ldx + 1; for blocks, `s[m,n/128]`, make two modes of n: \
         `s[m,g]` and `x[m,g,i]` with `modes: { i: 128 }`";
    SEVERAL_PLACES: ROWS, "several-places",
        "read an operand at several places, one of which a table says",
        "name it twice among the operands: a launch may give both one memory";
    SCATTERED_AGAIN: ROWS, "scattered-again",
        "read again what was written where a table says",
        "compute with what is written to it";
    TABLES: ROWS, "tables",
        "look into an operand by several tables",
        "gather along one axis in a kernel before this one";
    TABLE_OF_LOCALS: ROWS, "table-of-locals",
        "look by a table into what they compute themselves",
        "store it, and look into it in a kernel behind this one";
    TABLE_TYPE: ROWS, "table-type",
        "look into operands by tables of other types than s32",
        "use a table of s32";
    TABLE_PLACE: ROWS, "table-place",
        "look a table up elsewhere than at its coordinates",
        "look it up at its own modes";
    COMBINED_MODES: ALL, "combined-modes",
        "combine values (`+=`, `max=`, `min=`) with what an output of two or more modes held",
        "read what was there as an operand r and write `=` of r and the values to an output with \
         `over: r`; values that are folded write by `=` to an output of their own, and combine \
         that with what was there in a kernel behind this one";
    COMBINED_TYPE: ALL, "combined-type",
        "combine values in outputs of other types than f32 and s32, or of another type than theirs",
        "combine values of f32 in an output of f32, those of s32 in one of s32";
    COMBINED_REPEATED: ALL, "combined-repeated",
        "combine a value that is the same for several of the elements that the kernel computes",
        "combine values that have an element for each of the results, or do it in a kernel of its \
         own";
    COMBINED_ALONG: PRODUCTS, "combined-along",
        "combine values along another mode than rows and columns",
        "fold along it with `=` before";
    COMBINED_PLACE: ALL, "combined-place",
        "combine values elsewhere than at their coordinates",
        "combine each element at its own coordinates";
    COMBINED_READ: ALL, "combined-read",
        "read an output that they combine values with",
        "leave it to a kernel behind this one";
    COMBINED_ALONE: PRODUCTS, "combined-alone",
        "write nothing but what is combined with what was there",
        "write the values to an output with `=` as well";
    BATCH: PRODUCTS, "batch",
        "multiply anew along more than three modes (batched products)",
        "make one mode of those that lie behind one another in memory, or launch a product for \
         each";
    PRODUCT_MODES: PRODUCTS, "product-modes",
        "have several modes as rows, as columns or summed",
        "make one mode of them, as the operands lie in memory";
    FACTOR: PRODUCTS, "factor",
        "multiply what is no element of an operand",
        "compute it in a kernel before this one";
    FACTORS: PRODUCTS, "factors",
        "multiply more than two operands inside of a sum",
        "take what has no summed mode out of it, `(sum[k] a[m,k] * b[n,k]) * s[n]`, and compute \
         the rest in a kernel before this one";
    PROLOGUE: PRODUCTS, "prologue",
        "compute a factor before they multiply it",
        "compute it in a kernel before this one";
    SCALED_PARTS: PRODUCTS, "scaled-parts",
        "add parts of a sum, but those of a constant length along one mode of the problem",
        "sum a mode of constant extent first, `modes: { i: 128 }`, and then along one other mode, \
         for one product";
    PRODUCT_EXTENT: PRODUCTS, "product-extent",
        "have constant extents, but of products side by side, of blocks of columns and of parts of \
         a sum",
        "take the mode out of `modes`, so that a launch says its extent";
    GROUPS: ALL, "groups",
        "go along ragged modes (grouped products)",
        "launch a kernel for each group";
    WRITTEN_PLACE: PRODUCTS, "written-place",
        "write elsewhere than at an output's coordinates (scatter)",
        "write each element at its own coordinates";
    READ_PLACE: PRODUCTS, "read-place",
        "read elsewhere than at an operand's coordinates (gather, other strides of a mode)",
        "read each element at its own coordinates; what a table says, `a[t[m],k]`, gather in a \
         kernel before this one, `d[m,n] = s[rows[m],n]`; for blocks of columns, `s[n/128]`, make \
         two modes of n: `s[h]` and `b[h,j,k]` with `modes: { j: 128 }`";
    NO_RESULTS: PRODUCTS, "no-results",
        "fold their results without an output that has all of them",
        "write the results to an output as well";
    FOLD_ROWS: PRODUCTS, "fold-rows",
        "fold their results along other than their columns",
        "fold along the columns, which a tile then has all of (`mma.operands: ba` makes rows of \
         them), or leave it to a kernel behind this one";
    FOLD_BLOCKS: PRODUCTS, "fold-blocks",
        "fold their results across blocks of columns",
        "leave it to a kernel behind this one";
    PLANE_BESIDE: PRODUCTS, "plane-beside",
        "read or write others than the right factor along the mode that tells products side by \
         side apart",
        "let only the factor and the sum have it, or launch a product for each";
    PLANE_ONE: PRODUCTS, "plane-one",
        "have a mode of extent 1 to tell products apart",
        "take it out of `modes` and of the formula";
    PLANE_MODES: PRODUCTS, "plane-modes",
        "tell products side by side apart by several modes",
        "make one of them, as the operands lie in memory";
    PLANE_BOTH: PRODUCTS, "plane-both",
        "have both factors differ between products side by side",
        "let only the right one have the mode, or launch a kernel for each";
    PLANE_LEFT: PRODUCTS, "plane-left",
        "have the left factor differ between products side by side",
        "exchange the output's modes, or let the right factor have the mode";
    PLANES: PRODUCTS, "planes-many",
        "compute more than 32 products side by side",
        "use 32 at most, and a kernel for each part";
    FOLDED_PRODUCT: CHAINS, "folded-product",
        "fold rows of a product between two products",
        "make a kernel of each";
    TWO_PRODUCTS: CHAINS, "two-products",
        "multiply twice (attention)",
        "make a kernel of each";
}
