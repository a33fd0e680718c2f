//! Operands in the order that a kernel chose: from their elements to what lies in memory, and back.
//!
//! Comes in: an operand whose manifest entry has an order, its extents, its elements without gaps.
//! Goes out: the bytes that a launch takes, zeros behind the operand's ends.

use std::borrow::Cow;

use tilewright_bundle::{Env, Kernel, Operand, PackedOrder};

use crate::error::{Error, Refusal, refused};
use crate::launch::host;
use crate::launch::layout::{Extents, dense_strides};
use crate::launch::problem::Problem;

/// Bytes of an operand in memory, from its first to behind its last element, or to behind its last
/// tile where it is packed; `None` beyond 64 bits.
pub fn operand_bytes(operand: &Operand, extents: &Extents) -> Option<u64> {
    match &operand.packed {
        None => extents.span_bytes(operand.dtype),
        Some(order) => {
            let elems = u64::try_from(order.elems(extents.shape())?).ok()?;
            elems.checked_mul(u64::from(operand.dtype.bytes()))
        }
    }
}

/// Packs a constant operand: `dense` has its elements without gaps, last axis innermost, for the
/// extents that the problem names. What comes back is what launches of this kernel take, and of
/// every other one of the same function.
///
/// ```
/// use tilewright_runtime::bundle::{DType, Kernel, Operand, PackedOrder, Role};
/// use tilewright_runtime::{Problem, pack};
/// let mut kernel = Kernel::new("scale@x", "scale");
/// let order = PackedOrder {
///     shape: vec![vec![2], vec![2]],
///     stride: vec![vec![2], vec![1]],
///     swizzle: None,
///     order: vec![1, 0],
///     multiple: vec![1, 1],
/// };
/// kernel.semantics.operands = vec![
///     Operand {
///         packed: Some(order),
///         ..Operand::new("s", Role::In, DType::U8, "(m,n):(n,1)".parse()?)
///     },
///     Operand::new("d", Role::Out, DType::U8, "(m,n):(ldd,1)".parse()?),
/// ];
/// kernel.semantics.compute = "d[m,n] = s[m,n]".to_owned();
/// kernel.resolve()?;
/// let problem = Problem::of([("m", 2), ("n", 3)]);
/// let packed = pack(&kernel, "s", &problem, &[1, 2, 3, 4, 5, 6])?;
/// assert_eq!(packed, [1, 2, 4, 5, 3, 0, 6, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Where the operand is not there or not packed, an extent of it is missing, `dense` has another
/// size, or the host has no memory for it.
pub fn pack(
    kernel: &Kernel,
    operand: &str,
    problem: &Problem,
    dense: &[u8],
) -> Result<Vec<u8>, Error> {
    let (found, extents) = packed_operand(kernel, operand, problem)?;
    let wanted = extents.span_bytes(found.dtype);
    let bytes = dense.len() as u64;
    if wanted != Some(bytes) {
        let shape = extents.shape().iter().map(i64::to_string);
        return Err(Error::Request(format!(
            "`{operand}` of {} has {} elements of {}, {} bytes; {bytes} were given",
            kernel.id,
            shape.collect::<Vec<_>>().join("x"),
            found.dtype,
            wanted.map_or("more than 2^64".to_owned(), |wanted| wanted.to_string()),
        )));
    }
    host::check(operand_bytes(found, &extents).unwrap_or(u64::MAX))?;
    Ok(image(found, &extents, dense))
}

/// Bytes of what [`pack`] gives for the extents that the problem names.
///
/// # Errors
/// As [`pack`], but for the elements.
pub fn packed_bytes(kernel: &Kernel, operand: &str, problem: &Problem) -> Result<u64, Error> {
    let (found, extents) = packed_operand(kernel, operand, problem)?;
    operand_bytes(found, &extents).ok_or_else(|| {
        let id = &kernel.id;
        Error::Request(format!("`{operand}` of {id} does not fit 64-bit addresses"))
    })
}

/// A packed operand and its extents.
fn packed_operand<'k>(
    kernel: &'k Kernel,
    operand: &str,
    problem: &Problem,
) -> Result<(&'k Operand, Extents), Error> {
    let found = kernel.semantics.operand(operand).ok_or_else(|| {
        let names = kernel.semantics.operands.iter();
        let names: Vec<&str> = names.map(|one| one.name.as_str()).collect();
        Error::Request(format!(
            "{} has no operand `{operand}`; its operands are {}",
            kernel.id,
            names.join(", ")
        ))
    })?;
    if found.packed.is_none() {
        return Err(Error::Request(format!(
            "`{operand}` of {} is not packed: it is taken as it lies, {}",
            kernel.id, found.layout
        )));
    }
    Ok((found, extents_of(kernel, found, problem)?))
}

/// The strides of an operand in a problem, or of a packed one that has none there those of its
/// elements without gaps, as far as its extents are known.
pub(crate) fn strides<'p>(
    operand: &Operand,
    problem: &'p Problem,
    env: &Env,
) -> Option<Cow<'p, [i64]>> {
    match problem.strides(&operand.name) {
        Some(given) => Some(Cow::Borrowed(given)),
        None if operand.packed.is_none() => None,
        None => {
            let extents = operand.layout.shape.iter();
            let shape: Option<Vec<i64>> = extents.map(|one| one.eval(env).ok()).collect();
            Some(Cow::Owned(dense_strides(&shape?)))
        }
    }
}

/// The extents of an operand, as far as they are the problem's.
fn extents_of(kernel: &Kernel, operand: &Operand, problem: &Problem) -> Result<Extents, Error> {
    let mut refusals = Vec::new();
    let env = problem.env(kernel, &mut refusals);
    let words: Vec<String> = (operand.layout.shape.iter())
        .flat_map(|extent| extent.words())
        .map(|word| word.to_string())
        .collect();
    // Of other operands' extents nothing is asked.
    refusals.retain(|refusal| match refusal {
        Refusal::NoExtent { name } | Refusal::Extent { name, .. } => words.contains(name),
        _ => true,
    });
    let mut shape = Vec::new();
    if refusals.is_empty() {
        for extent in &operand.layout.shape {
            match extent.eval(&env) {
                Ok(extent) => shape.push(extent),
                Err(error) => refusals.push(Refusal::Expression {
                    what: format!("layout of `{}`", operand.name),
                    error,
                }),
            }
        }
    }
    if !refusals.is_empty() {
        return Err(refused(kernel, refusals));
    }
    Ok(dense(&shape))
}

/// Elements of these extents without gaps, last axis innermost.
fn dense(shape: &[i64]) -> Extents {
    Extents::new(shape.iter().copied().zip(dense_strides(shape)))
}

/// What lies in memory of an operand whose elements are these, without gaps, last axis innermost:
/// as its strides say, or as its order does.
pub fn image(operand: &Operand, extents: &Extents, dense: &[u8]) -> Vec<u8> {
    let bytes = operand_bytes(operand, extents).unwrap_or_default();
    let mut image = vec![0; usize::try_from(bytes).unwrap_or_default()];
    put(operand, extents, dense, (&mut image, 0));
    image
}

/// The elements of an operand without gaps, last axis innermost, that lie in memory as its strides
/// or its order say.
pub fn elements(operand: &Operand, extents: &Extents, image: &[u8]) -> Vec<u8> {
    let Some(order) = &operand.packed else {
        return extents.gather(operand.dtype, image, 0);
    };
    let size = operand.dtype.bytes() as usize;
    let elems = usize::try_from(extents.elems()).unwrap_or_default();
    let mut dense = vec![0; elems.saturating_mul(size)];
    for_each_run(order, extents.shape(), |packed, at, count| {
        let (packed, at, bytes) = (packed * size, at * size, count * size);
        let (to, from) = (
            dense.get_mut(at..at + bytes),
            image.get(packed..packed + bytes),
        );
        if let (Some(to), Some(from)) = (to, from) {
            to.copy_from_slice(from);
        }
    });
    dense
}

/// Puts dense elements at their places in an image whose operand begins at byte `start`; of a
/// packed operand what lies behind its ends becomes zeros.
pub fn put(operand: &Operand, extents: &Extents, dense: &[u8], (image, start): (&mut [u8], usize)) {
    let Some(order) = &operand.packed else {
        return extents.scatter(operand.dtype, dense, (image, start));
    };
    let bytes = operand_bytes(operand, extents).and_then(|bytes| usize::try_from(bytes).ok());
    let end = bytes.and_then(|bytes| start.checked_add(bytes));
    let Some(image) = end.and_then(|end| image.get_mut(start..end)) else {
        return;
    };
    image.fill(0);
    let size = operand.dtype.bytes() as usize;
    for_each_run(order, extents.shape(), |packed, at, count| {
        let (packed, at, bytes) = (packed * size, at * size, count * size);
        let (to, from) = (
            image.get_mut(packed..packed + bytes),
            dense.get(at..at + bytes),
        );
        if let (Some(to), Some(from)) = (to, from) {
            to.copy_from_slice(from);
        }
    });
}

/// Calls with (offset in packed order, position in dense order, elements) for runs of elements that
/// follow one another in both.
fn for_each_run(order: &PackedOrder, shape: &[i64], mut run: impl FnMut(usize, usize, usize)) {
    let (tile, Some(steps)) = (order.tile(), order.tile_steps(shape)) else {
        return;
    };
    let inside = dense(&tile);
    let (Some(width), Some(columns)) = (tile.last().copied(), shape.last().copied()) else {
        return;
    };
    let offsets = offsets(order, &tile);
    let longest = longest_run(&offsets, width as usize) as i64;
    let whole = dense(shape);
    let numbers: Vec<i64> = (shape.iter().zip(&tile))
        .map(|(extent, tile)| extent / tile + i64::from(extent % tile != 0))
        .collect();
    for_each_coordinate(&numbers, |number| {
        let first: i64 = number.iter().zip(&steps).map(|(at, step)| at * step).sum();
        let start: Vec<i64> = number
            .iter()
            .zip(&tile)
            .map(|(at, tile)| at * tile)
            .collect();
        let rows = &tile[..tile.len() - 1];
        for_each_coordinate(rows, |row| {
            let at = |axis: usize| start[axis] + row[axis];
            if (0..row.len()).any(|axis| at(axis) >= shape[axis]) {
                return;
            }
            let dense_row: i64 = (0..row.len())
                .map(|axis| at(axis) * whole.stride()[axis])
                .sum();
            let in_tile: i64 = row.iter().zip(inside.stride()).map(|(a, s)| a * s).sum();
            let left = (columns - start[row.len()]).min(width);
            for column in (0..left).step_by(longest as usize) {
                let offset = first + i64::from(offsets[(in_tile + column) as usize]);
                let from = dense_row + start[row.len()] + column;
                run(
                    offset as usize,
                    from as usize,
                    longest.min(left - column) as usize,
                );
            }
        });
    });
}

/// Where the elements of a tile lie in it, last axis innermost.
fn offsets(order: &PackedOrder, tile: &[i64]) -> Vec<u32> {
    let mut offsets = Vec::new();
    for_each_coordinate(tile, |at| {
        offsets.push(u32::try_from(order.offset_in_tile(at)).unwrap_or_default());
    });
    offsets
}

/// The most elements, a power of two that divides a row, of which each group follows one another.
fn longest_run(offsets: &[u32], width: usize) -> usize {
    let follow = |run: usize| {
        let mut groups = offsets.chunks(run);
        groups.all(|group| group.windows(2).all(|two| two[1] == two[0] + 1))
    };
    let mut run = 1;
    while width.is_multiple_of(2 * run) && follow(2 * run) {
        run *= 2;
    }
    run
}

/// Calls with every coordinate below these extents, last axis innermost.
fn for_each_coordinate(extents: &[i64], mut visit: impl FnMut(&[i64])) {
    if extents.iter().any(|extent| *extent < 1) {
        return;
    }
    let mut at = vec![0; extents.len()];
    loop {
        visit(&at);
        let mut axes = at.iter_mut().zip(extents).rev();
        let next = axes.find_map(|(at, extent)| {
            *at += 1;
            if *at == *extent {
                *at = 0;
            }
            (*at > 0).then_some(())
        });
        if next.is_none() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tilewright_bundle::{DType, Role};

    use super::*;

    fn operand(swizzle: Option<[u32; 3]>) -> Operand {
        let order = PackedOrder {
            shape: vec![vec![16], vec![64, 2]],
            stride: vec![vec![64], vec![1, 1024]],
            swizzle,
            order: vec![1, 0],
            multiple: vec![1, 2],
        };
        Operand {
            packed: Some(order),
            ..Operand::new("b", Role::In, DType::BF16, "(n,k):(k,1)".parse().unwrap())
        }
    }

    #[test]
    fn every_element_lies_where_its_order_says() {
        for swizzle in [None, Some([3, 3, 3]), Some([1, 0, 5])] {
            let operand = operand(swizzle);
            let order = operand.packed.as_ref().unwrap();
            for shape in [[1, 1], [16, 128], [33, 131], [5, 300]] {
                let extents = dense(&shape);
                let elems: Vec<u16> = (1..=shape[0] * shape[1]).map(|at| at as u16).collect();
                let bytes: Vec<u8> = elems.iter().flat_map(|one| one.to_le_bytes()).collect();
                let packed = image(&operand, &extents, &bytes);
                let mut wanted = vec![0u16; order.elems(&shape).unwrap() as usize];
                for (at, value) in elems.iter().enumerate() {
                    let at = [at as i64 / shape[1], at as i64 % shape[1]];
                    wanted[order.offset(&shape, &at).unwrap() as usize] = *value;
                }
                let wanted: Vec<u8> = wanted.iter().flat_map(|one| one.to_le_bytes()).collect();
                assert_eq!(packed, wanted, "{swizzle:?} {shape:?}");
                assert_eq!(elements(&operand, &extents, &packed), bytes);
            }
        }
    }

    #[test]
    fn images_end_where_the_last_tile_does() {
        let operand = operand(None);
        let extents = dense(&[17, 129]);
        assert_eq!(operand_bytes(&operand, &extents), Some(2 * 2 * 4096));
        let far = dense(&[17, 257]);
        assert_eq!(operand_bytes(&operand, &far), Some(2 * 4 * 4096));
        let mut around = vec![0xEE; 2 * 2 * 4096 + 6];
        put(&operand, &extents, &[1; 17 * 129 * 2], (&mut around, 4));
        assert_eq!(around[..4], [0xEE; 4]);
        assert_eq!(around[around.len() - 3..], [0, 0xEE, 0xEE]);
    }
}
