//! From `4:1` to a tiled MMA, every number checked.
//!
//! In: C++, and no CuTe. Out: the way through the algebra: this page is about layouts, [`threads`]
//! about who works on which element, [`elsewhere`] about what other implementations get wrong.
//! Each example is a test. The pictures are drawn by `tilewright layout show` and kept equal to it
//! by a test of the command. Common mistakes stand in *Mistake* lines.
//!
//! Whatever stands between quotes here can be typed: `tilewright layout eval` gives its value,
//! `layout explain` walks through it with its numbers, `layout show` draws it.
//!
//! # A layout is a function
//!
//! In C++ an element of a matrix is `p[i * ld + j]`. A layout is that address arithmetic as a
//! value: how far each index goes, and by how many elements each of its steps moves. It is written
//! `shape:stride`, for a row-major matrix of 3 rows and 2 columns `(3,2):(2,1)`.
//!
//! * A *mode* is one index with its extent and its stride; modes count from 0.
//! * A *coordinate* `(i,j)` has an entry a mode; its *offset* is the sum of entry times stride.
//! * An *index* is one number for a coordinate: the first mode runs fastest, as in a loop nest
//!   whose innermost loop is mode 0. That is fixed, whatever the strides: row-major or
//!   column-major is a matter of strides alone.
//! * The *size* counts coordinates, the *cosize* is the room that the offsets need.
//!
//! `4:8` has four coordinates; coordinate `i` lies at offset `8 i`.
//!
//! ```
//! use tilewright_layout::*;
//! assert_eq!("4:8".parse::<Layout>()?.at(2)?, 16);
//! let rows: Layout = "(3,2):(2,1)".parse()?;
//! assert_eq!(rows.at_coord(&"(2,0)".parse()?)?, 4);
//! assert_eq!(rows.offsets()?.collect::<Vec<_>>(), [0, 2, 4, 1, 3, 5]);
//! // Index 4 is row 1 of column 1.
//! assert_eq!((rows.coord(&4)?.to_string(), rows.at(4)?), ("(1,1)".into(), 3));
//! assert_eq!(("4:8".parse::<Layout>()?.size()?, "4:8".parse::<Layout>()?.cosize()?), (4, 25));
//! # Ok::<(), Error>(())
//! ```
//!
//! A slice of three rows and four columns of a row-major tensor with five columns, in bytes of
//! f32:
//!
//! ```
//! # use tilewright_layout::*;
//! let tensor: Layout = "(4,3):(1,5)".parse()?;
//! let bytes: Vec<i64> = tensor.offsets()?.map(|x| 4 * x).collect();
//! let want = [0, 4, 8, 0xc, 0x14, 0x18, 0x1c, 0x20, 0x28, 0x2c, 0x30, 0x34];
//! assert_eq!(bytes, want);
//! # Ok::<(), Error>(())
//! ```
//!
//! A stride of 0 says that every step along a mode stays on the same element: a broadcast.
//!
//! Modes nest: `(2,(3,1)):(1,(2,6))` still has two modes, the second of which is made of two. It
//! takes coordinates `(i,j)` and `(i,(j,k))` alike: a number where a nested mode stands is split
//! like an index. Tiles and threads are nested modes later on.
//!
#![doc = include_str!("../docs/nested.svg")]
//!
//! *Mistake: a mode is a number.* A mode of `(3,2):(2,1)` is `3:2`, not 3.
//!
//! *Mistake: nested parentheses carry no meaning.* The values by linear index are the same, but
//! rank, slices, by-mode operations and compatibility differ:
//!
//! ```
//! # use tilewright_layout::*;
//! let nested: Layout = "(2,(2,2)):(1,(2,4))".parse()?;
//! let flat: Layout = "(2,2,2):(1,2,4)".parse()?;
//! assert!(nested.offsets()?.eq(flat.offsets()?));
//! assert_eq!((nested.rank(), flat.rank()), (2, 3));
//! assert!(!compatible(&nested.shape(), &flat.shape())?);
//! // (1,2,3):(1,1,2) and ((1,2),3):((1,1),2) are the same function, too.
//! let (a, b): (Layout, Layout) = ("(1,2,3):(1,1,2)".parse()?, "((1,2),3):((1,1),2)".parse()?);
//! assert!(a.offsets()?.eq(b.offsets()?));
//! # Ok::<(), Error>(())
//! ```
//!
//! *Mistake: a layout is a bijection.* It need be neither injective nor without gaps:
//!
//! ```
//! # use tilewright_layout::*;
//! let shared: Layout = "(2,2):(1,1)".parse()?;
//! assert_eq!(shared.offsets()?.collect::<Vec<_>>(), [0, 1, 1, 2]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Slices
//!
//! `_` keeps a mode, a number fixes one: what is left is a layout and the offset where it begins,
//! the pointer and the strides of a row or a column.
//!
//! ```
//! # use tilewright_layout::*;
//! let rows: Layout = "(3,4):(4,1)".parse()?;
//! let cut = |c: &str| -> Result<(String, i64)> {
//!     let (kept, offset) = slice(&c.parse()?, &rows)?;
//!     Ok((kept.to_string(), offset))
//! };
//! assert_eq!(cut("(1,_)")?, ("(4):(1)".into(), 4));
//! assert_eq!(cut("(_,2)")?, ("(3):(4)".into(), 2));
//! # Ok::<(), Error>(())
//! ```
//!
//! A coordinate may reach into nested modes. What it keeps stands side by side in the result,
//! each mode with its own nesting; the parentheses around what is fixed go with it. The second
//! slice below is all that one CTA sees of the tiles along k: the modes of a tile, then which tile.
//!
//! ```
//! # use tilewright_layout::*;
//! let cut = |l: &str, c: &str| -> Result<(String, i64)> {
//!     let (kept, offset) = slice(&c.parse()?, &l.parse::<Layout>()?)?;
//!     Ok((kept.to_string(), offset))
//! };
//! let nested = "((3,2),((2,3),2)):((4,1),((2,15),100))";
//! assert_eq!(cut(nested, "((_,1),((0,_),1))")?, ("(3,3):(4,15)".into(), 101));
//! assert_eq!(cut(nested, "(1,(_,0))")?, ("((2,3)):((2,15))".into(), 4));
//! let tiles = zipped_divide(&"(256,128):(128,1)".parse::<Layout>()?, &"<128,64>".parse()?)?;
//! assert_eq!(tiles.to_string(), "((128,64),(2,2)):((128,1),(16384,64))");
//! let (mine, offset) = slice(&"((_,_),(1,_))".parse()?, &tiles)?;
//! assert_eq!((mine.to_string(), offset), ("(128,64,2):(128,1,64)".into(), 16384));
//! # Ok::<(), Error>(())
//! ```
//!
//! *Mistake: a slice has the nesting of its coordinate.* `(8,(8,2,1)):(96,(12,2,2))` at
//! `(_,(_,_,0))` is `(8,8,2):(96,12,2)`, of rank 3.
//!
//! # Coalesce
//!
//! The same function with the fewest modes: what a compiler would do to a loop nest. Neighbours
//! `s:d` and `t:e` are one mode exactly when `e = s d`.
//!
//! ```
//! # use tilewright_layout::*;
//! let short = |text: &str| -> Result<String> {
//!     Ok(coalesce(&text.parse::<Layout>()?)?.to_string())
//! };
//! assert_eq!(short("(2,(3,1)):(1,(2,6))")?, "6:1");
//! assert_eq!(short("(2,4):(2,4)")?, "8:2");
//! assert_eq!(short("(4,2):(4,2)")?, "(4,2):(4,2)");
//! assert_eq!(short("(3,5):(2,6)")?, "15:2");
//! let l: Layout = "(2,(3,1)):(1,(2,6))".parse()?;
//! assert_eq!(l.offsets()?.collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Composition
//!
//! `r = a o b` has `r(i) = a(b(i))` and refines the shape of `b`: `b` picks indices of `a`, in an
//! order and a shape of its own. Everything after this section is a composition with a clever `b`.
//! Here `b` takes every second index of `a`:
//!
//! ```
//! # use tilewright_layout::*;
//! # fn o(a: &str, b: &str) -> Result<String> {
//! #     Ok(composition(&a.parse::<Layout>()?, &b.parse()?)?.to_string())
//! # }
//! assert_eq!(o("(4,8):(13,1)", "8:2")?, "(2,4):(26,1)");
//! let r: Layout = o("(4,8):(13,1)", "8:2")?.parse()?;
//! assert_eq!(r.offsets()?.collect::<Vec<_>>(), [0, 26, 1, 27, 2, 28, 3, 29]);
//! # Ok::<(), Error>(())
//! ```
//!
//! *Mistake: the result has the shape of b.* It refines that shape:
//!
//! ```
//! # use tilewright_layout::*;
//! let r = composition(&"(6,2):(8,2)".parse::<Layout>()?, &"(4,3):(3,1)".parse()?)?;
//! assert_eq!(r.to_string(), "((2,2),3):((24,2),8)");
//! assert!(compatible(&"(4,3)".parse()?, &r.shape())?);
//! # Ok::<(), Error>(())
//! ```
//!
//! *Mistake: composing each mode of b alone is enough.* Together the modes may carry from one
//! digit of `a` into the next. CuTe C++ answers `(9,4):(4,9)` here, wrong at 12 of 36 points:
//!
//! ```
//! # use tilewright_layout::*;
//! let (a, b): (Layout, Layout) = ("(36,18):(1,72)".parse()?, "(9,4):(4,9)".parse()?);
//! let Err(Error::NotALayout(first)) = composition(&a, &b) else { panic!() };
//! assert_eq!((first.at, first.want.as_str()), (16, "73"));
//! let differ = |i: &i64| a.at(b.at(*i).unwrap()).unwrap() != b.at(*i).unwrap();
//! assert_eq!((0..36).filter(differ).count(), 12);
//! // The right side is injective; that does not help.
//! let mut all: Vec<i64> = b.offsets()?.collect();
//! all.sort();
//! all.dedup();
//! assert_eq!(all.len(), 36);
//! // Its modes reach over [4,32] and [9,27] of [1,36): intervals that meet.
//! assert!(disjoint_intervals(&a, &b).is_err());
//! # Ok::<(), Error>(())
//! ```
//!
//! *Mistake: divisibility conditions are necessary.* They are sufficient, and refuse these:
//!
//! ```
//! # use tilewright_layout::*;
//! # fn o(a: &str, b: &str) -> Result<String> {
//! #     Ok(composition(&a.parse::<Layout>()?, &b.parse()?)?.to_string())
//! # }
//! assert_eq!(o("12:1", "5:1")?, "5:1");
//! assert_eq!(o("(12,2):(1,100)", "(3,2):(2,3)")?, "(3,2):(2,3)");
//! // Its values are 0 2 4 3 5 7: no sum carries, though the intervals [2,4] and [3,3] meet.
//! let (a, b): (Layout, Layout) = ("(12,2):(1,100)".parse()?, "(3,2):(2,3)".parse()?);
//! let values: Vec<i64> = b.offsets()?.map(|i| a.at(i)).collect::<Result<_>>()?;
//! assert_eq!(values, [0, 2, 4, 3, 5, 7]);
//! assert!(disjoint_intervals(&a, &b).is_err());
//! // Disjoint intervals alone are not sufficient; the condition on each mode belongs to them.
//! assert!(o("(3,2):(1,104)", "(2,2):(1,2)").is_err());
//! // A(B(1,1)): 6, at (2,1) of A, is 9. CuTe stops at this pair; the composition exists.
//! let (a, b): (Layout, Layout) = ("(4,4):(4,1)".parse()?, "(2,2):(1,5)".parse()?);
//! assert_eq!(b.at_coord(&"(1,1)".parse()?)?, 6);
//! assert_eq!(a.coord(&6)?.to_string(), "(2,1)");
//! assert_eq!(a.at(6)?, 9);
//! assert_eq!(o("(4,4):(4,1)", "(2,2):(1,5)")?, "(2,2):(4,5)");
//! # Ok::<(), Error>(())
//! ```
//!
//! # Complement
//!
//! What tiles `[0, size)` together with a layout: where else to put the tile so that every offset
//! is met once. `4:2` fills 0, 2, 4, 6; its complement in 24 puts it at 0 and 1, and those pairs
//! at 0, 8 and 16. *Mistake: it takes a bigger layout.* It takes a size; strides of a second
//! layout never matter. A size that the tile does not divide is rounded up. *Mistake: it always
//! fills.* A gap that no whole tiles fill stays, and a divide leaves out what lies in it: between
//! the three runs of `(6,3):(1,8)` two offsets are left.
//!
//! ```
//! # use tilewright_layout::*;
//! let rest = |a: &str| -> Result<String> { Ok(complement(&a.parse()?, &24)?.to_string()) };
//! assert_eq!(rest("(2,2):(1,6)")?, "(3,2):(2,12)");
//! assert_eq!(rest("4:2")?, "(2,3):(1,8)");
//! assert_eq!(complement(&"4:2".parse::<Layout>()?, &20)?.to_string(), "(2,3):(1,8)");
//! assert_eq!(rest("(6,3):(1,8)")?, "1:0");
//! # Ok::<(), Error>(())
//! ```
//!
//! # Divide
//!
//! `logical_divide(a, b) = a o (b, complement(b, size(a)))`: a tile, and where it repeats.
//!
//! ```
//! # use tilewright_layout::*;
//! let a: Layout = "(4,2,3):(2,1,8)".parse()?;
//! let divided = logical_divide(&a, &"4:2".parse()?)?;
//! assert_eq!(divided.to_string(), "((2,2),(2,3)):((4,1),(2,8))");
//!
//! // An (8,24) tensor by <4,8>.
//! let tensor: Layout = "(8,24):(1,8)".parse()?;
//! let tiles = zipped_divide(&tensor, &"<4,8>".parse()?)?;
//! assert_eq!(tiles.to_string(), "((4,8),(2,3)):((1,8),(4,64))");
//! let tiles = tiled_divide(&tensor, &"<4,8>".parse()?)?;
//! assert_eq!(tiles.to_string(), "((4,8),2,3):((1,8),4,64)");
//!
//! // A row-major (6,20) tensor by <2,4>: 3 by 5 tiles. Nothing has to be column-major.
//! let tensor: Layout = "(6,20):(20,1)".parse()?;
//! let tiles = zipped_divide(&tensor, &"<2,4>".parse()?)?;
//! assert_eq!(tiles.to_string(), "((2,4),(3,5)):((20,1),(40,4))");
//! // Mistake: ((tiles),(rests)) is logical_divide. That is zipped_divide; logical_divide pairs
//! // tile and rest in each mode.
//! let pairs = logical_divide_by(&tensor, &"<2,4>".parse()?)?;
//! assert_eq!(pairs.to_string(), "((2,3),(4,5)):((20,40),(1,4))");
//! // Mistake: a mode the tiler does not name counts as 1. It is left undivided.
//! let tensor: Layout = Layout::compact("(6,20,7)".parse()?)?;
//! let tiles = zipped_divide(&tensor, &"<2,4>".parse()?)?;
//! assert_eq!(tiles.to_string(), "((2,4),(3,5,7)):((1,6),(2,24,120))");
//! # Ok::<(), Error>(())
//! ```
//!
//! # Product
//!
//! The other way round: a block, and a layout that says where its copies go. *Blocked* puts copies
//! side by side, *raked* interleaves them; the thread layouts of [`threads`] are raked.
//!
//! ```
//! # use tilewright_layout::*;
//! let (block, grid): (Layout, Layout) = ("(2,2):(1,2)".parse()?, "(2,3):(3,1)".parse()?);
//! let copies = logical_product(&block, &"3:1".parse()?)?;
//! assert_eq!(copies.to_string(), "((2,2),3):((1,2),4)");
//! assert_eq!(blocked_product(&block, &grid)?.to_string(), "((2,2),(2,3)):((1,12),(2,4))");
//! assert_eq!(raked_product(&block, &grid)?.to_string(), "((2,2),(3,2)):((12,1),(4,2))");
//! # Ok::<(), Error>(())
//! ```
//!
//! # Inverses
//!
//! From an offset back to the index. The *right* inverse follows offsets 0, 1, 2, … as far as they
//! go: `a(r(i)) == i`. The *left* inverse gets every offset back: `r(a(i)) == i`, also over gaps
//! and for strides that count down. Where several indices share an offset, none exists; the
//! pseudo-inverse then finds one of them.
//!
//! ```
//! # use tilewright_layout::*;
//! let rows: Layout = "(4,8):(8,1)".parse()?;
//! let right = right_inverse(&rows)?;
//! assert_eq!(right.to_string(), "(8,4):(4,1)");
//! // Offset 9 is row 1, column 1: index 5.
//! assert_eq!((right.at(9)?, rows.at(5)?), (5, 9));
//! let padded = left_inverse(&"(4,8):(1,5)".parse::<Layout>()?)?;
//! assert_eq!((padded.to_string(), padded.at(11)?), ("(5,8):(1,4)".into(), 9));
//! let down = left_inverse(&"(4,8):(1,-4)".parse::<Layout>()?)?;
//! assert_eq!(down.at(-3)?, 5);
//! let shared: Layout = "(4,2):(1,0)".parse()?;
//! assert!(left_inverse(&shared).is_err());
//! assert_eq!(left_pseudo_inverse(&shared)?.to_string(), "4:1");
//! # Ok::<(), Error>(())
//! ```
//!
//! # Identity tensors
//!
//! Their value is the coordinate itself; the same algebra then moves coordinates for predicates.
//!
//! ```
//! # use tilewright_layout::*;
//! let identity = Layout::<i64, _>::identity("(3,2)".parse()?)?;
//! let coords = identity.coords(2)?.map(|c| Ok(c?.to_string()));
//! let coords: Vec<String> = coords.collect::<Result<_>>()?;
//! assert_eq!(coords.concat(), "(0,0)(1,0)(2,0)(0,1)(1,1)(2,1)");
//! let nested = Layout::<i64, _>::identity("((2,1),3)".parse()?)?;
//! assert_eq!(nested.to_string(), "((2,1),3):((1@0@0,1@1@0),1@1)");
//! let values: Vec<String> = nested.offsets()?.map(|v| v.to_string()).collect();
//! assert_eq!(values, ["0", "1@0@0", "1@1", "1@0@0+1@1", "2@1", "1@0@0+2@1"]);
//! # Ok::<(), Error>(())
//! ```
//!
//! Part two: [`threads`].

// `docs/tutorial.md` is made of this and of the parts behind it, by `tests/tutorial.rs`.
pub mod elsewhere;
pub mod threads;
