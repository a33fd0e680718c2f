//! Dense elements to and from memory images with strides.

use tilewright_runtime::Error;
use tilewright_runtime::Extents;

/// Bytes from the first to behind the last element.
pub(crate) fn span_bytes(extents: impl Into<Extents>, size: usize) -> Result<usize, Error> {
    let extents = extents.into();
    let span = extents.span_elems().and_then(|s| usize::try_from(s).ok());
    span.and_then(|s| s.checked_mul(size))
        .ok_or_else(|| Error::Request(format!("{extents} does not fit memory")))
}

/// Dense elements laid out with strides.
pub(crate) fn image(
    extents: impl Into<Extents>,
    dense: &[u8],
    size: usize,
) -> Result<Vec<u8>, Error> {
    let extents = extents.into();
    if is_dense(&extents) {
        return Ok(dense.to_vec());
    }
    let mut image = vec![0u8; span_bytes(extents, size)?];
    runs(extents, size, |at, from, bytes| {
        image[at..at + bytes].copy_from_slice(&dense[from..from + bytes]);
    });
    Ok(image)
}

/// The elements of an image, last axis innermost.
pub(crate) fn gather(
    extents: impl Into<Extents>,
    image: &[u8],
    size: usize,
) -> Result<Vec<u8>, Error> {
    let extents = extents.into();
    if is_dense(&extents) {
        return Ok(image.to_vec());
    }
    let elems = usize::try_from(extents.elems()).unwrap_or(0);
    let mut dense = vec![0u8; elems * size];
    runs(extents, size, |at, to, bytes| {
        dense[to..to + bytes].copy_from_slice(&image[at..at + bytes]);
    });
    Ok(dense)
}

/// Whether the elements lie in memory as they stand in dense order.
fn is_dense(extents: &Extents) -> bool {
    let mut inner_first = extents.shape().iter().zip(extents.stride()).rev();
    let span = inner_first.try_fold(1i64, |span, (extent, stride)| {
        let span = (span == *stride).then_some(span)?;
        span.checked_mul(*extent)
    });
    span.is_some()
}

/// Contiguous runs as (position in the image, position in dense order, bytes).
fn runs(extents: Extents, size: usize, mut run: impl FnMut(usize, usize, usize)) {
    extents.for_each_run(|offset, dense, count| {
        let [offset, dense, bytes] = [offset, dense, count].map(|n| n as usize * size);
        run(offset, dense, bytes);
    });
}
