//! The layout algebra: shapes and strides as functions, exact and checked.
//!
//! A layout `shape:stride` maps coordinates to offsets. Every operation is defined by the function
//! its result is, and answers with that layout or with a typed refusal: 64-bit overflow, a tile
//! that does not divide, a composition that no layout can express, a fact about symbols that is
//! missing. The crate has no dependencies and knows no GPU.
//!
//! # One tile, from its layout to the share of a thread
//!
//! A row-major tile of 128 rows and 64 columns, and its value at row 2, column 3:
//!
//! ```
//! use tilewright_layout::*;
//! let tile: Layout = "(128,64):(64,1)".parse()?;
//! assert_eq!(tile.size()?, 8192);
//! assert_eq!(tile.at_coord(&"(2,3)".parse()?)?, 131);
//!
//! // Composition applies one layout after another: every second column of the first eight rows.
//! let picked = composition_by(&tile, &"<8:1,32:2>".parse()?)?;
//! assert_eq!(picked.to_string(), "(8,32):(64,2)");
//!
//! // A divide is a composition with a tile and its complement: 16x16 blocks, and where they lie.
//! let blocks = zipped_divide(&tile, &"<16,16>".parse()?)?;
//! assert_eq!(blocks.to_string(), "((16,16),(8,4)):((64,1),(1024,16))");
//!
//! // In shared memory the same tile is swizzled, on elements.
//! let smem: ComposedLayout = "Sw<3,3,3> o 0 o (128,64):(64,1)".parse()?;
//! assert_eq!(smem.at_coord(&"(1,0)".parse()?)?, 72);
//! # Ok::<(), Error>(())
//! ```
//!
//! 256 threads copy it, eight elements each at a time. Mode 0 of a partition takes the thread
//! index, so that code can evaluate it at run time; the other modes are enumerated statically.
//!
//! ```
//! # use tilewright_layout::*;
//! let (threads, values) = ("(32,8):(8,1)".parse()?, "(1,8):(0,1)".parse()?);
//! let copy = make_tiled_copy(CopyAtom::vector(8)?, &threads, &values)?;
//! let global: Layout<Sym> = "(128,64):(lda,1)".parse()?;
//! let share = copy.partition_s(&global)?;
//! assert_eq!(share.to_string(), "((8,32),(8,1),4,1):((8,lda),(1,0),32*lda,0)");
//!
//! // The same partition of the identity gives the coordinates that a predicate compares.
//! let coords = copy.partition_s(&Layout::<i64, _>::identity("(128,64)".parse()?)?)?;
//! assert_eq!(coords.to_string(), "((8,32),(8,1),4,1):((8@1,1@0),(1@1,0),32@0,0)");
//! # Ok::<(), Error>(())
//! ```
//!
//! Four warps multiply it. Warps that differ along n read the same rows of A: a stride of 0.
//!
//! ```
//! # use tilewright_layout::*;
//! let atom = MmaAtom {
//!     mnk: [16, 8, 16],
//!     thr_id: "32:1".parse()?,
//!     a_tv: "((4,8),(2,2,2)):((32,1),(16,8,128))".parse()?,
//!     b_tv: "((4,8),(2,2)):((16,1),(8,64))".parse()?,
//!     c_tv: "((4,8),(2,2)):((32,1),(16,8))".parse()?,
//! };
//! let keep = [Tiler::Keep, Tiler::Keep, Tiler::Keep];
//! let mma = TiledMma::new(atom, &"(2,2,1):(1,2,0)".parse()?, keep)?;
//! assert_eq!((mma.thread_count()?, mma.tile_mnk()?), (128, [32, 16, 16]));
//! let tile: Layout = "(128,64):(64,1)".parse()?;
//! let share = mma.partition(Operand::A, &tile)?;
//! assert_eq!(
//!     share.to_string(),
//!     "((4,8,2,2),(2,2,2),4,4):((2,64,1024,0),(1,512,8),2048,16)"
//! );
//! # Ok::<(), Error>(())
//! ```
//!
//! What no layout can express is refused with the smallest counterexample:
//!
//! ```
//! # use tilewright_layout::*;
//! let (a, b): (Layout, Layout) = ("(36,18):(1,72)".parse()?, "(9,4):(4,9)".parse()?);
//! assert_eq!(
//!     composition(&a, &b).unwrap_err().to_string(),
//!     "(36,18):(1,72) o (9,4):(4,9) is no layout: at 16 it must be 73, its modes give 37 \
//!      (the sum carries into the next digit)"
//! );
//! # Ok::<(), Error>(())
//! ```
//!
//! # What a layout is made of
//!
//! | type | what it is | text |
//! |---|---|---|
//! | [`Layout<I, D>`](Layout) | shape and stride of one profile | `(4,(2,3)):(1,(4,8))` |
//! | [`IntTuple<T>`](IntTuple), [`Profile`] | a nested tuple, and its nesting alone | `(4,(2,3))` |
//! | `i64`, [`Sym`] | the integer `I`: checked, or symbolic | `8`, `2*m*k+1`, `ceil_div(m,128)` |
//! | [`Basis<I>`](Basis) | a stride `D` that is a coordinate | `1@0`, `2@1@0+1@1` |
//! | [`Tiler<I>`](Tiler) | a layout, or one for each mode | `<4:1,_,(2,2):(1,8)>` |
//! | [`Slot<I>`](Slot) | an entry of a slicing coordinate | `_`, `3` |
//! | [`Swizzle`] | XOR of one bit field of an offset onto another | `Sw<3,3,3>` |
//! | [`ComposedLayout`] | swizzle, offset, layout | `Sw<3,3,3> o 0 o (8,64):(64,1)` |
//!
//! The first leaf of a layout runs fastest and the last has no upper limit, so values past the end
//! are defined; divides by a tile that does not divide use them, tiled copies and MMAs refuse.
//!
//! The modules stand below in their layering, lowest first: a module uses only those above it.

mod inline;
mod lattice;
mod error;
mod int;
mod tuple;
mod basis;
mod sym;
mod layout;
mod coord;
mod relate;
mod edit;
mod simplify;
mod tiler;
mod composition;
mod coordinates;
mod complement;
mod divide;
mod product;
mod inverse;
mod enumerate;
mod recast;
mod tile;
mod swizzle;
mod composed;
mod mma;
mod copy;
mod view;
mod rules;
mod text;
pub mod tutorial;

pub use basis::{Basis, MAX_PATH, Path};
pub use complement::complement;
pub use composed::{ComposedLayout, InverseLayout};
pub use composition::{SEARCH_LIMIT, composition, composition_by};
pub use coord::{Offsets, Slot, crd2idx, dice, idx2crd, slice};
pub use coordinates::composition_coords;
pub use copy::{
    CopyAtom, Side, TiledCopy, make_tiled_copy, make_tiled_copy_a, make_tiled_copy_b,
    make_tiled_copy_c, make_tiled_copy_for,
};
pub use divide::{flat_divide, logical_divide, logical_divide_by, tiled_divide, zipped_divide};
pub use edit::{
    append, concatenate, flatten, group, prepend, replace, select, take, zip, zip_modes,
};
pub use enumerate::from_offsets;
pub use error::{Counterexample, Error, Fact, Reason, Result};
pub use int::{Int, Stride};
pub use inverse::{
    INVERSE_LIMIT, left_inverse, left_pseudo_inverse, max_common_layout, max_common_vector,
    nullspace, right_inverse,
};
pub use layout::Layout;
pub use mma::{MmaAtom, Operand, TiledMma};
pub use product::{
    blocked_product, flat_product, logical_product, logical_product_by, raked_product,
    tile_to_shape, tile_to_shape_by, tiled_product, zipped_product,
};
pub use recast::{downcast, recast, upcast};
pub use relate::{compatible, congruent, crd2crd, weakly_compatible, weakly_congruent};
pub use rules::{Comparison, Verdict, cute_rule, disjoint_intervals, left_divisible};
pub use simplify::{coalesce, coalesce_by, coalesce_keeping_end, filter, filter_zeros};
pub use swizzle::Swizzle;
pub use sym::{Facts, MAX_DEGREE, MAX_TERMS, Sym};
pub use text::{Leaf, MAX_TEXT_BYTES, Reader};
pub use tile::{inner_partition, local_partition, local_tile, outer_partition};
pub use tiler::Tiler;
pub use tuple::{IntTuple, MAX_DEPTH, MAX_LEAVES, Profile};
pub use view::{Holder, ThrCopy, ThrMma};
