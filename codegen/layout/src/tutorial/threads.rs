//! Part two: swizzles, threads and values, tiled copies, tiled MMAs.
//!
//! In: the layouts of [part one](super). Out: for each thread the addresses of its elements.
//!
//! # Swizzles
//!
//! Shared memory has 32 banks of 4 bytes; threads that read different rows of one column of a tile
//! whose rows are 128 bytes long all meet the same bank, one after the other. A swizzle moves the
//! elements of a row about so that they do not: `Sw<3,3,3>` XORs bits 6 to 8 of an element's
//! offset onto bits 3 to 5. In `Sw<b,m,s>`, `b` bits from bit `m` on are changed by those `s` bits
//! further up. *Mistake: the row is told by the bits above the 8-byte boundary.* Rows of a 64-wide
//! bf16 tile begin at element bit 6, byte 128.
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
#![doc = include_str!("../../docs/swizzle.svg")]
//!
//! # Thread and value
//!
//! Who works on what is a layout, too: from (thread, value) to the index of a cell of a tile. Here
//! four threads hold two values each of a tile of two rows and four columns: `((2,2),2):((4,1),2)`
//! sends thread 1 to cell 4, which is row 0, column 2.
//!
//! ```
//! # use tilewright_layout::*;
//! let tv: Layout = "((2,2),2):((4,1),2)".parse()?;
//! let tile = Layout::<i64, _>::identity("(2,4)".parse()?)?;
//! let cells = composition(&tile, &tv)?;
//! let cell = |thread: i64, value: i64| -> Result<String> {
//!     Ok(cells.coord_at(thread + 4 * value, 2)?.to_string())
//! };
//! assert_eq!((cell(0, 0)?, cell(0, 1)?), ("(0,0)".into(), "(0,1)".into()));
//! assert_eq!((cell(1, 0)?, cell(3, 1)?), ("(0,2)".into(), "(1,3)".into()));
//! # Ok::<(), Error>(())
//! ```
//!
//! Composed with a tensor's layout, a TV layout gives each thread the addresses of its values;
//! that is a *partition*. It is made from a picture of the threads: where each thread stands,
//! raked with what each holds, gives cell to (thread, value), and its right inverse turns that
//! round.
//!
//! ```
//! # use tilewright_layout::*;
//! let cells = raked_product(&"(2,2):(2,1)".parse::<Layout>()?, &"(1,2):(0,1)".parse()?)?;
//! let tv = composition(&right_inverse(&cells)?, &"(4,2):(1,4)".parse()?)?;
//! assert_eq!(tv.to_string(), "((2,2),2):((4,1),2)");
//! # Ok::<(), Error>(())
//! ```
//!
//! # Tiled copies
//!
//! [`make_tiled_copy`](crate::make_tiled_copy) does just that. Threads `(4,8):(8,1)` with values
//! `(1,8)` copy a 4×64 tile; colours are threads.
//!
#![doc = include_str!("../../docs/copy.svg")]
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
//! // Thread 1 holds row 0, columns 8 to 15.
//! let all: Vec<String> = (0..8).map(|v| first(1 + 32 * v)).collect::<Result<_>>()?;
//! assert_eq!(all.concat(), "(0,8)(0,9)(0,10)(0,11)(0,12)(0,13)(0,14)(0,15)");
//!
//! // A tensor of 2 by 2 tiles: each thread's share, its index first. Thread 9 begins at 136.
//! let tensor: Layout = "(8,128):(128,1)".parse()?;
//! assert_eq!(rows.partition_s(&tensor)?.to_string(), "((8,4),(8,1),2,2):((8,128),(1,0),512,64)");
//! let (share, offset) = rows.thread(9)?.partition_s(&tensor)?;
//! assert_eq!((share.to_string(), offset), ("((8,1),2,2):((1,0),512,64)".into(), 136));
//! // And back: element (1,9) is value 1 of thread 9.
//! let holders = rows.holders(Side::Source, &"(8,128)".parse()?, &"(1,9)".parse()?)?;
//! assert_eq!(holders, [Holder { thread: 9, value: 1 }]);
//! # Ok::<(), Error>(())
//! ```
//!
//! *Mistake: an alignment of 128 in a copy's name is in bytes.* It is in bits: 16 bytes.
//!
//! # MMA atoms
//!
//! An instruction such as `mma.sync.m16n8k16` multiplies a small tile that the registers of a warp
//! hold together. Its atom says for each operand which thread and value holds which cell: A counts
//! `m + M k`, B `n + N k`, C `m + M n`. Each layout below covers its cells exactly once.
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
//! let shared_b: Layout = "(128,(256,16)):(0,(1,256))".parse()?;
//! assert_eq!((shared_b.at(77)?, shared_b.cosize()?), (0, 4096));
//! # Ok::<(), Error>(())
//! ```
//!
//! *Mistake: wgmma exists for five values of N.* Any multiple of 8 from 8 to 256 exists (for 8-bit
//! integers 8, 16, 24, 32 and then multiples of 16). *Mistake: m16n8k8 of f16 is Volta.* It came
//! with sm_75; sm_80 is Ampere.
//!
#![doc = include_str!("../../docs/atom.svg")]
//!
//! # A tiled MMA
//!
//! Atoms side by side, each with threads of its own, make a tile for more warps; the layout of the
//! atoms over (m,n,k) says which warp works where. Two by two atoms of sm_70 (NT, f32), atoms
//! along n first, over a tile of 32×32×4. Thread 0 holds rows 0–3 and 16–19 of A; a permutation of
//! m makes its rows contiguous.
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
#![doc = include_str!("../../docs/tiled_mma.svg")]
//!
//! `+1` says that a second thread holds the same element: warps that differ along n share the rows
//! of A, those that differ along m the columns of B. In a partition that is a stride of 0, as in
//! the example on the crate's [first page](crate).
