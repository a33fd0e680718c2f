//! Tensor maps of a launch: the manifest's description filled in for one problem.
//!
//! Comes in: the description, the values of its names, the operand's address. Goes out: numbers
//! that every rule of the driver holds for, which the backend encodes into 128 bytes. What depends
//! on the problem and would break a rule is a [`Refusal`] of its own.

use tilewright_bundle::{
    DType, Env, Expr, L2Promotion, Name, OobFill, TensorMapAbi, TensorSwizzle,
};

use crate::error::Refusal;

/// What the address and the strides of a tensor are multiples of, in bytes (driver API,
/// `cuTensorMapEncodeTiled`, without interleaving).
pub(crate) const TENSOR_UNIT_BYTES: u32 = 16;
/// Largest extent of a tensor (as above).
pub(crate) const MAX_EXTENT: i64 = 1 << 32;
/// First stride that is too large, in bytes (as above).
const STRIDE_BYTES_END: i64 = 1 << 40;

/// The numbers of a tensor map. Dimension 0 is the innermost one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorMap {
    /// Type of the elements.
    pub dtype: DType,
    /// Dimensions, 1 to 5.
    pub rank: u8,
    /// Address of the tensor.
    pub base: u64,
    /// Extents in elements.
    pub dims: [u64; 5],
    /// Distance between neighbours along dimensions 1 to 4, in bytes.
    pub strides: [u64; 4],
    /// Extents of the box in elements of the tensor.
    pub box_dims: [u16; 5],
    /// Every how manieth element is taken.
    pub element_strides: [u8; 5],
    /// The permutation in shared memory.
    pub swizzle: TensorSwizzle,
    /// Elements outside.
    pub fill: OobFill,
}

/// A tensor map in a parameter block, still to be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedMap {
    /// The parameter.
    pub parameter: String,
    /// The operand.
    pub operand: String,
    /// Offset of its 128 bytes in the parameter block.
    pub at: usize,
    /// The map with its address, which counts from the workspace's where it lies there.
    pub map: TensorMap,
    /// Whether it lies in the workspace, so that it is encoded when the address of that is known.
    pub in_workspace: bool,
    /// How much the second-level cache fetches at once; the emulator has no such cache.
    pub l2_promotion: L2Promotion,
}

/// The map of parameter `name` for the names bound in `env`, at address `base`; `None` after
/// adding what keeps it from being made.
pub(crate) fn describe(
    name: &str,
    abi: &TensorMapAbi,
    env: &Env,
    base: u64,
    refusals: &mut Vec<Refusal>,
) -> Option<TensorMap> {
    let dims = extents(name, abi, env, refusals);
    let strides = strides(name, abi, env, refusals);
    let map = numbers(abi, base, &dims?, &strides?);
    let refuse = |problem| Refusal::TensorMap {
        parameter: name.to_owned(),
        problem,
    };
    map.map_err(|problem| refusals.push(refuse(problem))).ok()
}

fn extents(
    name: &str,
    abi: &TensorMapAbi,
    env: &Env,
    refusals: &mut Vec<Refusal>,
) -> Option<Vec<u64>> {
    let extent = |dim: usize, expr: &Expr| match expr.eval(env) {
        Ok(extent) if (1..=MAX_EXTENT).contains(&extent) => Ok(extent as u64),
        Ok(extent) => Err(Refusal::TensorExtent {
            operand: abi.operand.clone(),
            dim,
            extent,
        }),
        Err(error) => Err(Refusal::Expression {
            what: format!("parameter {name}, dim {dim}"),
            error,
        }),
    };
    let extents = abi.dims.iter().enumerate();
    all_or_refused(extents.map(|(dim, expr)| extent(dim, expr)), refusals)
}

/// What the second-level cache fetches for a box of that map, of which the manifest says the most.
/// Where rows begin within lines of 128 bytes, a part of two lines that are fetched for one is of
/// no use.
pub(crate) fn promotion(most: L2Promotion, map: &TensorMap) -> L2Promotion {
    const LINE: u64 = 128;
    let rows = usize::from(map.rank).saturating_sub(1);
    let mut strides = map.strides.iter().take(rows);
    match most {
        L2Promotion::Bytes256 if strides.any(|stride| stride % LINE != 0) => L2Promotion::Bytes128,
        other => other,
    }
}

/// The strides in bytes.
fn strides(
    name: &str,
    abi: &TensorMapAbi,
    env: &Env,
    refusals: &mut Vec<Refusal>,
) -> Option<Vec<u64>> {
    let stride = |dim: usize, expr: &Expr| {
        let elems = expr.eval(env).map_err(|error| Refusal::Expression {
            what: format!("parameter {name}, stride of dim {dim}"),
            error,
        })?;
        let bytes = stride_bytes(abi, elems);
        if fits_stride(bytes) {
            return Ok(bytes as u64);
        }
        Err(Refusal::TensorStride {
            operand: abi.operand.clone(),
            dim,
            bytes,
        })
    };
    let strides = abi.strides.iter().enumerate();
    all_or_refused(strides.map(|(at, expr)| stride(at + 1, expr)), refusals)
}

/// All values; `None` after adding every refusal there is instead of one.
fn all_or_refused(
    values: impl Iterator<Item = Result<u64, Refusal>>,
    refusals: &mut Vec<Refusal>,
) -> Option<Vec<u64>> {
    let before = refusals.len();
    let values = values.filter_map(|value| value.map_err(|refusal| refusals.push(refusal)).ok());
    let values = values.collect();
    (refusals.len() == before).then_some(values)
}

/// Whether the strides that mention `name` are legal, as far as `env` tells.
pub(crate) fn strides_fit(abi: &TensorMapAbi, env: &Env, name: Name) -> bool {
    let mentions = |e: &&Expr| e.names().any(|n| n == name);
    abi.strides.iter().filter(mentions).all(|expr| {
        let bytes = expr.eval(env).map(|elems| stride_bytes(abi, elems));
        bytes.map_or(true, fits_stride)
    })
}

fn stride_bytes(abi: &TensorMapAbi, elems: i64) -> i64 {
    elems.saturating_mul(i64::from(abi.dtype.bytes()))
}

/// Whether a stride of a map may have so many bytes.
pub(crate) fn fits_stride(bytes: i64) -> bool {
    (0..STRIDE_BYTES_END).contains(&bytes) && bytes % i64::from(TENSOR_UNIT_BYTES) == 0
}

fn numbers(
    abi: &TensorMapAbi,
    base: u64,
    dims: &[u64],
    strides: &[u64],
) -> Result<TensorMap, String> {
    let rank = dims.len();
    let steps = if abi.element_strides.is_empty() {
        vec![1; rank]
    } else {
        narrow("element_strides", &abi.element_strides)?
    };
    if !has_maps(abi.dtype) {
        return Err(format!("no map has elements of {}", abi.dtype));
    }
    let map = TensorMap {
        dtype: abi.dtype,
        rank: u8::try_from(rank).map_err(|e| e.to_string())?,
        base,
        dims: padded("dims", dims, rank, 1)?,
        strides: padded("strides", strides, rank.saturating_sub(1), 0)?,
        box_dims: padded("box_dims", &narrow("box_dims", &abi.box_dims)?, rank, 1)?,
        element_strides: padded("element_strides", &steps, rank, 1)?,
        swizzle: abi.swizzle,
        fill: abi.oob_fill,
    };
    Ok(map)
}

fn narrow<T: TryFrom<u32>>(what: &str, values: &[u32]) -> Result<Vec<T>, String> {
    let one = |value: &u32| T::try_from(*value).map_err(|_| format!("{what} holds {value}"));
    values.iter().map(one).collect()
}

/// `values` with `rest` behind them, when there are as many as `wanted`.
pub fn padded<T: Copy, const N: usize>(
    what: &str,
    values: &[T],
    wanted: usize,
    rest: T,
) -> Result<[T; N], String> {
    if values.len() != wanted || wanted > N {
        let given = values.len();
        return Err(format!(
            "{what} has {given} entries; the rank asks for {wanted}"
        ));
    }
    let mut out = [rest; N];
    for (place, value) in out.iter_mut().zip(values) {
        *place = *value;
    }
    Ok(out)
}

/// Whether a map may have such elements: those that are whole bytes, at most 8.
pub(crate) fn has_maps(dtype: DType) -> bool {
    (8..=64).contains(&dtype.bits())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tilewright_bundle::{NameKind, Names};

    use super::*;

    fn names() -> Names {
        let mut names = Names::default();
        for text in ["k", "m", "lda"] {
            names.declare(text, NameKind::Extent).unwrap();
        }
        names
    }

    fn abi(dtype: DType) -> TensorMapAbi {
        let expr = |text: &str| {
            let mut expr: Expr = text.parse().unwrap();
            assert!(expr.resolve(&names()).is_empty());
            expr
        };
        TensorMapAbi {
            swizzle: TensorSwizzle::Bytes64,
            ..TensorMapAbi::new("a", dtype, [expr("k"), expr("m")], [expr("lda")], [16, 8])
        }
    }

    fn made(dtype: DType, k: i64, m: i64, lda: i64) -> Result<TensorMap, Vec<String>> {
        let values = [("k", k), ("m", m), ("lda", lda)];
        let bind = |env: Env, (text, value)| env.with(names().find(text).unwrap(), value);
        let env = values.into_iter().fold(Env::new(), bind);
        let mut refusals = Vec::new();
        let map = describe("a_map", &abi(dtype), &env, 0x1000, &mut refusals);
        map.ok_or_else(|| refusals.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn numbers_are_in_bytes() {
        let map = made(DType::BF16, 17, 5, 24).unwrap();
        assert_eq!((map.rank, map.base), (2, 0x1000));
        assert_eq!(map.dims, [17, 5, 1, 1, 1]);
        assert_eq!(map.strides, [48, 0, 0, 0]);
        assert_eq!(map.box_dims, [16, 8, 1, 1, 1]);
        assert_eq!(map.element_strides, [1; 5]);
        assert_eq!(map.swizzle, TensorSwizzle::Bytes64);
    }

    #[test]
    fn rows_that_begin_within_lines_fetch_one_line() {
        let of = |lda: i64, most| promotion(most, &made(DType::BF16, 17, 5, lda).unwrap());
        for (lda, taken) in [
            (64, L2Promotion::Bytes256),
            (192, L2Promotion::Bytes256),
            (72, L2Promotion::Bytes128),
        ] {
            assert_eq!(of(lda, L2Promotion::Bytes256), taken, "{lda}");
            assert_eq!(of(lda, L2Promotion::None), L2Promotion::None);
            assert_eq!(of(lda, L2Promotion::Bytes64), L2Promotion::Bytes64);
        }
    }

    #[test]
    fn limits_are_refused_with_their_numbers() {
        assert_eq!(
            made(DType::BF16, 0, 1 << 33, 7).unwrap_err(),
            [
                "dim 0 of the tensor map of `a` is 0; 1 to 2^32 is allowed",
                "dim 1 of the tensor map of `a` is 8589934592; 1 to 2^32 is allowed",
                "the tensor map of `a` has a stride of 14 bytes along dim 1; \
                 a multiple of 16 below 2^40 is needed",
            ]
        );
        let refused = |dtype, lda: i64| made(dtype, 8, 8, lda).is_err();
        assert!(!refused(DType::BF16, 1 << 32) && refused(DType::BF16, 1 << 39));
        assert!(refused(DType::BF16, -8) && refused(DType::BF16, i64::MAX));
        assert!(refused(DType::F32, 6) && !refused(DType::F32, 4));
        let unbound = describe("a", &abi(DType::F32), &Env::new(), 0, &mut Vec::new());
        assert_eq!(unbound, None);
    }
}
