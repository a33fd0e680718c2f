//! The layout algebra: shapes and strides as functions.

mod inline;
mod error;
mod int;
mod tuple;
mod basis;
mod sym;
mod layout;
mod coord;
mod edit;
mod simplify;
mod tiler;
mod composition;
mod complement;
mod divide;
mod product;
mod inverse;
mod recast;
mod tile;
mod swizzle;
mod composed;
mod mma;
mod copy;
mod text;

pub use basis::{Basis, MAX_PATH, Path};
pub use complement::complement;
pub use composed::ComposedLayout;
pub use composition::{SEARCH_LIMIT, composition, composition_by};
pub use coord::{Offsets, Slot, compatible, congruent, crd2idx, idx2crd, slice};
pub use copy::{
    CopyAtom, Side, TiledCopy, make_tiled_copy, make_tiled_copy_a, make_tiled_copy_b,
    make_tiled_copy_c, make_tiled_copy_for,
};
pub use divide::{flat_divide, logical_divide, logical_divide_by, tiled_divide, zipped_divide};
pub use edit::{
    append, concatenate, flatten, group, prepend, replace, select, take, zip, zip_modes,
};
pub use error::{Counterexample, Error, Fact, Reason, Result};
pub use int::{Int, Stride};
pub use inverse::{left_inverse, max_common_vector, right_inverse};
pub use layout::Layout;
pub use mma::{MmaAtom, Operand, TiledMma};
pub use product::{
    blocked_product, flat_product, logical_product, logical_product_by, raked_product,
    tile_to_shape, tiled_product, zipped_product,
};
pub use recast::{downcast, recast, upcast};
pub use simplify::{coalesce, coalesce_by, coalesce_keeping_end, filter, filter_zeros};
pub use swizzle::Swizzle;
pub use sym::{Facts, MAX_DEGREE, MAX_TERMS, Sym};
pub use text::{Leaf, MAX_TEXT_BYTES, Reader};
pub use tile::{local_partition, local_tile};
pub use tiler::Tiler;
pub use tuple::{IntTuple, MAX_DEPTH, MAX_LEAVES, Profile};
