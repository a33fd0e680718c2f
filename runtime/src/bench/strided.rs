//! Dense rows to and from memory images with strides.

use crate::error::Error;
use crate::layout::Extents;

/// Bytes from the first to behind the last element.
pub(crate) fn span_bytes(extents: Extents, size: usize) -> Result<usize, Error> {
    let span = extents.span_elems().and_then(|s| usize::try_from(s).ok());
    span.and_then(|s| s.checked_mul(size))
        .ok_or_else(|| Error::Request(format!("{extents:?} does not fit memory")))
}

/// Dense rows laid out with strides.
pub(crate) fn image(extents: Extents, dense: &[u8], size: usize) -> Result<Vec<u8>, Error> {
    if extents.col_stride == 1 && extents.row_stride == extents.cols {
        return Ok(dense.to_vec());
    }
    let mut image = vec![0u8; span_bytes(extents, size)?];
    runs(extents, size, |at, from, bytes| {
        image[at..at + bytes].copy_from_slice(&dense[from..from + bytes]);
    });
    Ok(image)
}

/// The elements of an image as dense rows.
pub(crate) fn gather(extents: Extents, image: &[u8], size: usize) -> Result<Vec<u8>, Error> {
    if extents.col_stride == 1 && extents.row_stride == extents.cols {
        return Ok(image.to_vec());
    }
    let elems = usize::try_from(extents.elems()).unwrap_or(0);
    let mut dense = vec![0u8; elems * size];
    runs(extents, size, |at, to, bytes| {
        dense[to..to + bytes].copy_from_slice(&image[at..at + bytes]);
    });
    Ok(dense)
}

/// Contiguous runs as (position in the image, position in dense rows, bytes).
fn runs(extents: Extents, size: usize, mut run: impl FnMut(usize, usize, usize)) {
    for row in 0..extents.rows {
        let start = (row * extents.cols) as usize * size;
        if extents.col_stride == 1 {
            run(
                extents.offset(row, 0) as usize * size,
                start,
                extents.cols as usize * size,
            );
            continue;
        }
        for col in 0..extents.cols {
            let at = extents.offset(row, col) as usize * size;
            run(at, start + col as usize * size, size);
        }
    }
}
