//! From `4:1` to a tiled MMA, every number checked.
//!
//! In: nothing but this page; each example is a test. Out: the way through the whole algebra. The
//! pictures are drawn by `tilewright layout show` and kept equal to it by a test of the command.
//! Common mistakes stand in *Mistake* lines.
//!
//! # A layout is a function
//!
//! `shape:stride`. `4:8` has four coordinates; coordinate `i` lies at offset `8 i`. A coordinate of
//! several modes adds up one product a mode. Counted by one index, the first mode runs fastest.
//!
//! ```
//! use tilewright_layout::*;
//! assert_eq!("4:8".parse::<Layout>()?.at(2)?, 16);
//! let rows: Layout = "(3,2):(2,1)".parse()?;
//! assert_eq!(rows.at_coord(&"(2,0)".parse()?)?, 4);
//! assert_eq!(rows.offsets()?.collect::<Vec<_>>(), [0, 2, 4, 1, 3, 5]);
//! # Ok::<(), Error>(())
//! ```
//!
//! A slice of three rows and four columns of a row-major tensor with five columns, in bytes of f32:
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
//! Modes nest: `(2,(3,1)):(1,(2,6))`. A mode is a (shape, stride) pair, possibly nested.
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
//! # Coalesce
//!
//! Neighbours `s:d` and `t:e` are one mode exactly when `e = s d`.
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
//! `r = a o b` has `r(i) = a(b(i))` and refines the shape of `b`.
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
//! *Mistake: composing each mode of b alone is enough.* Together the modes may carry from one digit
//! of `a` into the next. CuTe C++ answers `(9,4):(4,9)` here, wrong at 12 of 36 points:
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
//! What tiles `[0, size)` together with a layout. *Mistake: it takes a bigger layout.* It takes a
//! size; strides of a second layout never matter.
//!
//! ```
//! # use tilewright_layout::*;
//! let rest = |a: &str| -> Result<String> { Ok(complement(&a.parse()?, &24)?.to_string()) };
//! assert_eq!(rest("(2,2):(1,6)")?, "(3,2):(2,12)");
//! assert_eq!(rest("4:2")?, "(2,3):(1,8)");
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
//! # Swizzles
//!
//! `Sw<3,3,3>` XORs bits 6 to 8 of an element's offset onto bits 3 to 5. Rows of a 64-wide bf16
//! tile begin at element bit 6, byte 128.
//!
//! ```
//! # use tilewright_layout::*;
//! let swizzle: Swizzle = "Sw<3,3,3>".parse()?;
//! assert_eq!((swizzle.source_mask(), swizzle.target_mask()), (0b111_000_000, 0b111_000));
//! let tile: ComposedLayout = "Sw<3,3,3> o 0 o (128,64):(64,1)".parse()?;
//! // The 16-byte pieces of a column: 8 rows meet 8 groups of banks.
//! let group = |sw: &str, row: i64| -> Result<i64> {
//!     let tile: ComposedLayout = format!("{sw} o 0 o (128,64):(64,1)").parse()?;
//!     Ok(tile.at(row)? * 2 / 16 % 8)
//! };
//! let ways = |sw: &str| -> Result<i64> {
//!     let mut met = [0; 8];
//!     for row in 0..8 {
//!         met[group(sw, row)? as usize] += 1;
//!     }
//!     Ok(met.into_iter().max().unwrap())
//! };
//! assert_eq!(ways("Sw<0,0,0>")?, 8);
//! // Mistake: Sw<2,3,3> removes all conflicts. Two rows still meet.
//! assert_eq!(ways("Sw<2,3,3>")?, 2);
//! assert_eq!(ways("Sw<3,3,3>")?, 1);
//! # Ok::<(), Error>(())
//! ```
//!
#![doc = include_str!("../docs/swizzle.svg")]
//!
//! # Tiled copies
//!
//! Threads `(4,8):(8,1)` with values `(1,8)` copy a 4×64 tile; colours are threads.
//!
#![doc = include_str!("../docs/copy.svg")]
//!
//! ```
//! # use tilewright_layout::*;
//! # fn copy(threads: &str, values: &str, elems: i64) -> Result<TiledCopy> {
//! #     make_tiled_copy(CopyAtom::vector(elems)?, &threads.parse()?, &values.parse()?)
//! # }
//! let rows = copy("(4,8):(8,1)", "(1,8):(0,1)", 8)?;
//! assert_eq!((rows.tile_shape()?.to_string(), rows.thread_count()?), ("(4,64)".into(), 32));
//! assert_eq!(copy("(16,2):(2,1)", "(1,1):(0,1)", 1)?.tile_shape()?.to_string(), "(16,2)");
//! let square = copy("(16,2):(2,1)", "(1,8):(0,1)", 8)?;
//! assert_eq!(square.tile_shape()?.to_string(), "(16,16)");
//! let tv = square.coords_of(Side::Source)?;
//! let first = |t: i64| -> Result<String> { Ok(tv.coord_at(t, 2)?.to_string()) };
//! assert_eq!((first(0)?, first(1)?, first(2)?), ("(0,0)".into(), "(0,8)".into(), "(1,0)".into()));
//! # Ok::<(), Error>(())
//! ```
//!
//! *Mistake: an alignment of 128 in a copy's name is in bytes.* It is in bits: 16 bytes.
//!
//! # MMA atoms
//!
//! An atom says for each operand which thread and value holds which cell: A counts `m + M k`, B
//! `n + N k`, C `m + M n`. Each layout below covers its cells exactly once.
//!
//! ```
//! # use tilewright_layout::*;
//! for (tv, cells) in [
//!     ("((2,2),(2,4)):((1,4),(2,8))", 32),                       // two levels, compact
//!     ("((2,2,2),(2,2,2)):((1,16,4),(8,2,32))", 64),              // sm_70, C in f32
//!     ("(8,8):(1,8)", 64),                                        // sm_70, C in f16
//!     ("(8,4):(1,8)", 32),                                        // sm_70, A of TN
//!     ("((4,2),4):((8,4),1)", 32),                                // sm_70, A of NT
//!     ("((4,8,4),(2,2)):((128,1,16),(64,8))", 512),               // sm_90, C 64x8
//!     ("((4,8,4),(2,2,16)):((128,1,16),(64,8,512))", 8192),       // sm_90, C 64x128
//!     ("((4,8,4),(2,2,2)):((128,1,16),(64,8,512))", 1024),        // sm_90, A 64x16 of registers
//! ] {
//!     let mut all: Vec<i64> = tv.parse::<Layout>()?.offsets()?.collect();
//!     all.sort();
//!     assert!(all.into_iter().eq(0..cells), "{tv}");
//! }
//! // Mistake: the threads of an sm_70 quadpair are 1 to 3 and 16 to 19. Thread 0 is one, too.
//! let quadpair: Layout = "(4,2):(1,16)".parse()?;
//! assert_eq!(quadpair.offsets()?.collect::<Vec<_>>(), [0, 1, 2, 3, 16, 17, 18, 19]);
//! // Mistake: operands in shared memory use the register layout. Every thread sees all of them:
//! let shared: Layout = "(128,(64,16)):(0,(1,64))".parse()?;
//! assert_eq!((shared.at(77)?, shared.cosize()?), (0, 1024));
//! # Ok::<(), Error>(())
//! ```
//!
//! *Mistake: wgmma exists for five values of N.* Any multiple of 8 from 8 to 256 exists (for 8-bit
//! integers 8, 16, 24, 32 and then multiples of 16). *Mistake: m16n8k8 of f16 is Volta.* It came
//! with sm_75; sm_80 is Ampere.
//!
#![doc = include_str!("../docs/atom.svg")]
//!
//! # A tiled MMA
//!
//! Two by two atoms of sm_70 (NT, f32), atoms along n first, over a tile of 32×32×4. Thread 0
//! holds rows 0–3 and 16–19 of A; a permutation of m makes its rows contiguous.
//!
//! ```
//! # use tilewright_layout::*;
//! let atom = MmaAtom {
//!     mnk: [8, 8, 4],
//!     thr_id: "(4,2):(1,16)".parse()?,
//!     a_tv: "((4,2),4):((8,4),1)".parse()?,
//!     b_tv: "((4,2),4):((8,4),1)".parse()?,
//!     c_tv: "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))".parse()?,
//! };
//! let rows = |m: &str| -> Result<Vec<i64>> {
//!     let tile = ["32:1", "4:1"].map(|t| t.parse::<Tiler>());
//!     let [n, k] = tile;
//!     let permutation = [m.parse()?, n?, k?];
//!     let mma = TiledMma::new(atom.clone(), &"(2,2,1):(2,1,0)".parse()?, permutation)?;
//!     // The four groups of eight threads begin at these threads.
//!     let groups = mma.thr_layout_vmnk();
//!     let mut firsts: Vec<i64> = (0..4).map(|g| groups.at(8 * g)).collect::<Result<_>>()?;
//!     firsts.sort();
//!     assert_eq!(firsts, [0, 4, 8, 12]);
//!     let shares = mma.thrfrg_a(&Layout::<i64, _>::identity("(32,4)".parse()?)?)?;
//!     let values = shares.mode(1).unwrap();
//!     let rows = values.coords(2)?.map(|c| Ok(c?.leaves()[0]));
//!     let mut rows: Vec<i64> = rows.collect::<Result<_>>()?;
//!     rows.sort();
//!     Ok(rows)
//! };
//! assert_eq!(rows("32:1")?, [0, 1, 2, 3, 16, 17, 18, 19]);
//! assert_eq!(rows("(4,4,2):(1,8,4)")?, [0, 1, 2, 3, 4, 5, 6, 7]);
//! # Ok::<(), Error>(())
//! ```
//!
//! The same with m16n8k16, four warps over 32×16×16:
//!
#![doc = include_str!("../docs/tiled_mma.svg")]
