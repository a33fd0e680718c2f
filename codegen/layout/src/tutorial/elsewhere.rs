//! Part three: where other implementations answer wrongly, or not at all.
//!
//! In: pairs on which the rules of CuTe C++ and of its Python model fail. Out: what is right.
//! `compare(a, b)` of `tilewright layout eval` puts the rules side by side on any pair.
//!
//! # Silent answers of CuTe C++
//!
//! Each mode of `b` is composed alone and the shape is tested too weakly. `(6,4):(1,100) o 4:4`
//! compiles to `(2,2):(4,100)`; the values are 0, 4, 102, 200:
//!
//! ```
//! use tilewright_layout::*;
//! let (a, b): (Layout, Layout) = ("(6,4):(1,100)".parse()?, "4:4".parse()?);
//! assert_eq!(cute_rule(&a, &b)?.to_string(), "(2,2):(4,100)");
//! let values: Vec<i64> = b.offsets()?.map(|i| a.at(i)).collect::<Result<_>>()?;
//! assert_eq!(values, [0, 4, 102, 200]);
//! assert!(composition(&a, &b).is_err());
//! # Ok::<(), Error>(())
//! ```
//!
//! Two modes that carry into one another go unnoticed, in CuTe C++, in its Python model and in
//! every rule that looks at one mode at a time:
//!
//! ```
//! # use tilewright_layout::*;
//! let c = Comparison::of(&"(36,18):(1,72)".parse()?, &"(9,4):(4,9)".parse()?);
//! assert_eq!((c.cute_verdict(), c.disjoint_verdict()), (Verdict::Wrong, Verdict::Right));
//! # Ok::<(), Error>(())
//! ```
//!
//! A product puts two tiles on one address: `(4,(3,2)):(4,(1,3))` has offset 4 as its second
//! element of the first tile and as the first of the fifth.
//!
//! ```
//! # use tilewright_layout::*;
//! let cute: Layout = "(4,(3,2)):(4,(1,3))".parse()?;
//! let mut offsets: Vec<i64> = cute.offsets()?.collect();
//! offsets.sort();
//! offsets.dedup();
//! assert!(offsets.len() < 24);
//! assert!(logical_product(&"4:4".parse::<Layout>()?, &"(3,2):(1,3)".parse()?).is_err());
//! # Ok::<(), Error>(())
//! ```
//!
//! # Valid pairs that are refused
//!
//! ```
//! # use tilewright_layout::*;
//! let c = Comparison::of(&"(4,4):(4,1)".parse()?, &"(2,2):(1,5)".parse()?);
//! assert_eq!((c.exact?.to_string(), c.cute.is_err()), ("(2,2):(4,5)".into(), true));
//! # Ok::<(), Error>(())
//! ```
//!
//! # The Python model
//!
//! * It does not test shapes in a composition: `(6,4):(1,100) o 9:1` loses three elements and is
//!   `6:1` there.
//! * Its left inverse ignores gaps, its right inverse stops at the first stride of 0.
//! * Its complement can have modes of extent 0, and accepts modes that run into one another.
//! * It computes the cosize as the last value plus 1, which a negative stride makes too small.
//! * A swizzle of shift 0 does not terminate.
//!
//! ```
//! # use tilewright_layout::*;
//! let l = |text: &str| text.parse::<Layout>();
//! assert!(composition(&l("(6,4):(1,100)")?, &l("9:1")?).is_err());
//! assert_eq!(left_inverse(&l("(4,8):(1,5)")?)?, l("(5,8):(1,4)")?);
//! assert_eq!(right_inverse(&l("(2,3,4):(1,0,2)")?)?.size()?, 8);
//! assert!(complement(&l("(4,4):(1,3)")?, &64).is_err());
//! assert!(complement(&l("(3,2):(1,2)")?, &1).is_err());
//! assert_eq!((l("(4,8):(-1,8)")?.at(31)?, l("(4,8):(-1,8)")?.cosize()?), (53, 60));
//! assert!(Swizzle::new(2, 1, 0).is_err());
//! # Ok::<(), Error>(())
//! ```
