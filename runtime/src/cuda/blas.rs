//! cuBLASLt: the peer that products are measured against, and the f64 reference for large ones.
//!
//! cuBLASLt thinks in column-major matrices. A row-major output is the column-major output of the
//! transposed product, so callers name a *left* and a *right* factor of a column-major result:
//! `out(l,r) = sum over k of left(l,k) * right(r,k)`.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys;
use tilewright_bundle::DType;

use super::context::Held;
use super::device::{CudaDevice, DeviceMemory};
use crate::error::Error;

/// Scratch memory offered to every algorithm; what NVIDIA recommends for Hopper is half of it.
pub(super) const WORKSPACE_BYTES: usize = 64 << 20;

/// A cuBLASLt handle with its workspace.
#[derive(Debug, Clone)]
pub struct BlasLt {
    pub(super) device: CudaDevice,
    pub(super) handle: Arc<Held<Handle>>,
    workspace: Arc<DeviceMemory>,
}

#[derive(Debug)]
pub(super) struct Handle(pub(super) sys::cublasLtHandle_t);

// SAFETY: a cuBLASLt handle may be used from several threads (cuBLAS manual, thread safety).
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by `BlasLt::open`, destroyed once, here.
        let _ = unsafe { result::destroy_handle(self.0) };
    }
}

/// Which index of a factor is contiguous in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixOrder {
    /// Neighbours along the contracted index.
    KMajor,
    /// Neighbours along the other one.
    MnMajor,
}

/// One factor of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side {
    /// Element type.
    pub dtype: DType,
    /// Extent of the index that is not contracted.
    pub extent: i64,
    /// Which index is contiguous.
    pub order: MatrixOrder,
    /// Elements between neighbours along the other index.
    pub leading: i64,
}

/// Products of one launch whose matrices lie a stride apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// How many.
    pub count: i32,
    /// Elements from one to the next, of left, right and out; 0 of what all share.
    pub strides: [i64; 3],
}

impl Batch {
    /// A single product.
    pub const ONE: Batch = Batch {
        count: 1,
        strides: [0; 3],
    };
}

/// Which elements of an fp8 factor share an f32 scale that they are multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleMode {
    /// 128 along the contracted index, of one of the other. Scales lie as
    /// (extent,k/128):(1,extent).
    Vec128,
    /// 128 along both. Scales lie as (extent/128,k/128):(l,1), where `l` is the multiple of 4 from
    /// k/128 on.
    Blk128x128,
}

impl ScaleMode {
    /// Bytes of the scales of a factor of so many elements along k and along the other index.
    pub fn bytes(self, extent: i64, k: i64) -> u64 {
        let (extent, k) = (extent.max(0) as u64, k.max(0) as u64);
        let along_k = k.div_ceil(128);
        let scales = match self {
            ScaleMode::Vec128 => extent * along_k,
            ScaleMode::Blk128x128 => extent.div_ceil(128) * along_k.next_multiple_of(4),
        };
        4 * scales
    }

    fn attribute(self) -> sys::cublasLtMatmulMatrixScale_t {
        use sys::cublasLtMatmulMatrixScale_t as Mode;
        match self {
            ScaleMode::Vec128 => Mode::CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F,
            ScaleMode::Blk128x128 => Mode::CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F,
        }
    }
}

/// A product's descriptors.
#[derive(Debug)]
pub struct Product {
    pub(super) desc: sys::cublasLtMatmulDesc_t,
    pub(super) layouts: [sys::cublasLtMatrixLayout_t; 3],
    pub(super) kinds: Kinds,
    scale: Scale,
    /// Bytes that left, right and out cover.
    spans: [u64; 3],
    /// The same of the scales of left and right, where they have any.
    of_scales: Option<[u64; 2]>,
}

impl Product {
    /// Sets an attribute whose type in the manual is `T`.
    fn describe<T: Copy>(
        &self,
        attribute: sys::cublasLtMatmulDescAttributes_t,
        value: T,
    ) -> Result<(), Error> {
        let from = std::ptr::from_ref(&value).cast();
        // SAFETY: the descriptor is alive, and `size_of::<T>()` bytes are read in the call.
        unsafe { result::set_matmul_desc_attribute(self.desc, attribute, from, size_of::<T>()) }
            .map_err(failed("cublasLtMatmulDescSetAttribute"))
    }

    /// Says how the scales of left and right lie. Algorithms are asked for with some memory in
    /// their place; each launch has its own.
    fn scale_by(&self, modes: [ScaleMode; 2], place: &DeviceMemory) -> Result<(), Error> {
        use sys::cublasLtMatmulDescAttributes_t as Attribute;
        let attributes = [
            Attribute::CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
            Attribute::CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
        ];
        for (attribute, mode) in attributes.into_iter().zip(modes) {
            self.describe(attribute, mode.attribute() as u32)?;
        }
        self.point_at_scales([place, place])
    }

    /// Where the scales of left and right are.
    fn point_at_scales(&self, scales: [&DeviceMemory; 2]) -> Result<(), Error> {
        use sys::cublasLtMatmulDescAttributes_t as Attribute;
        let attributes = [
            Attribute::CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
            Attribute::CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
        ];
        for (attribute, memory) in attributes.into_iter().zip(scales) {
            self.describe(attribute, memory.address())?;
        }
        Ok(())
    }
}

impl Drop for Product {
    fn drop(&mut self) {
        // SAFETY: made by `BlasLt::product`, destroyed once, here.
        let _ = unsafe { result::destroy_matmul_desc(self.desc) };
        for layout in self.layouts {
            // SAFETY: as above.
            let _ = unsafe { result::destroy_matrix_layout(layout) };
        }
    }
}

/// The types a product's algorithms are listed by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kinds {
    pub compute: sys::cublasComputeType_t,
    pub scale: sys::cudaDataType_t,
    /// Of left, right and out.
    pub data: [sys::cudaDataType_t; 3],
}

/// One way cuBLASLt can compute a product.
#[derive(Debug, Clone, Copy)]
pub struct Algorithm(pub(super) sys::cublasLtMatmulHeuristicResult_t);

/// The type of alpha and beta.
#[derive(Debug, Clone, Copy)]
enum Scale {
    F32,
    F64,
    S32,
}

impl Scale {
    fn data_type(self) -> sys::cudaDataType_t {
        match self {
            Scale::F32 => sys::cudaDataType_t::CUDA_R_32F,
            Scale::F64 => sys::cudaDataType_t::CUDA_R_64F,
            Scale::S32 => sys::cudaDataType_t::CUDA_R_32I,
        }
    }

    /// Alpha, 1, and beta, 0, as cuBLASLt reads them.
    fn factors(self) -> (*const c_void, *const c_void) {
        match self {
            Scale::F32 => (
                std::ptr::from_ref(&1f32).cast(),
                std::ptr::from_ref(&0f32).cast(),
            ),
            Scale::F64 => (
                std::ptr::from_ref(&1f64).cast(),
                std::ptr::from_ref(&0f64).cast(),
            ),
            Scale::S32 => (
                std::ptr::from_ref(&1i32).cast(),
                std::ptr::from_ref(&0i32).cast(),
            ),
        }
    }
}

pub(super) fn failed(call: &'static str) -> impl FnOnce(CublasError) -> Error {
    move |error| Error::Cuda {
        call: call.to_owned(),
        reason: error.to_string(),
    }
}

/// The layout of so many column-major matrices that lie a stride apart, and the elements from the
/// first to behind the last.
fn matrix(
    dtype: sys::cudaDataType_t,
    (rows, cols): (i64, i64),
    leading: i64,
    (count, stride): (i32, i64),
) -> Result<(sys::cublasLtMatrixLayout_t, u64), Error> {
    use sys::cublasLtMatrixLayoutAttribute_t as Attribute;
    let leading = leading.max(rows);
    let (rows, cols) = (rows.max(0) as u64, cols.max(0) as u64);
    let layout = result::create_matrix_layout(dtype, rows, cols, leading)
        .map_err(failed("cublasLtMatrixLayoutCreate"))?;
    if count != 1 {
        let strided = Attribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET;
        let set = set_layout(layout, Attribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count)
            .and_then(|()| set_layout(layout, strided, stride));
        if let Err(error) = set {
            // SAFETY: made above, and known to nobody else.
            let _ = unsafe { result::destroy_matrix_layout(layout) };
            return Err(error);
        }
    }
    let others = u64::try_from(count - 1).unwrap_or(0) * stride as u64;
    let one = cols.saturating_sub(1) * leading.max(0) as u64 + rows;
    Ok((layout, others + one))
}

/// Sets an attribute of a matrix whose type in the manual is `T`.
fn set_layout<T: Copy>(
    layout: sys::cublasLtMatrixLayout_t,
    attribute: sys::cublasLtMatrixLayoutAttribute_t,
    value: T,
) -> Result<(), Error> {
    let from = std::ptr::from_ref(&value).cast();
    // SAFETY: the layout is alive, and `size_of::<T>()` bytes are read in the call.
    unsafe { result::set_matrix_layout_attribute(layout, attribute, from, size_of::<T>()) }
        .map_err(failed("cublasLtMatrixLayoutSetAttribute"))
}

fn data_type(dtype: DType) -> Result<sys::cudaDataType_t, Error> {
    Ok(match dtype {
        DType::F16 => sys::cudaDataType_t::CUDA_R_16F,
        DType::BF16 => sys::cudaDataType_t::CUDA_R_16BF,
        DType::F32 | DType::TF32 => sys::cudaDataType_t::CUDA_R_32F,
        DType::F64 => sys::cudaDataType_t::CUDA_R_64F,
        DType::S8 => sys::cudaDataType_t::CUDA_R_8I,
        DType::S32 => sys::cudaDataType_t::CUDA_R_32I,
        DType::E4M3 => sys::cudaDataType_t::CUDA_R_8F_E4M3,
        DType::E5M2 => sys::cudaDataType_t::CUDA_R_8F_E5M2,
        other => {
            return Err(Error::Request(format!(
                "cuBLASLt has no product of {other}"
            )));
        }
    })
}

fn is_fp8(dtype: DType) -> bool {
    matches!(dtype, DType::E4M3 | DType::E5M2)
}

/// Arithmetic and scale type for inputs of `input` accumulated in `acc`.
fn compute(input: DType, acc: DType) -> Result<(sys::cublasComputeType_t, Scale), Error> {
    use sys::cublasComputeType_t as Compute;
    Ok(match (input, acc) {
        (DType::TF32, _) => (Compute::CUBLAS_COMPUTE_32F_FAST_TF32, Scale::F32),
        (DType::F64, DType::F64) => (Compute::CUBLAS_COMPUTE_64F, Scale::F64),
        (_, DType::F32) => (Compute::CUBLAS_COMPUTE_32F, Scale::F32),
        (DType::S8, DType::S32) => (Compute::CUBLAS_COMPUTE_32I, Scale::S32),
        _ => {
            return Err(Error::Request(format!(
                "cuBLASLt has no product of {input} accumulated in {acc}"
            )));
        }
    })
}

impl BlasLt {
    /// Loads the library and makes a handle for a device.
    ///
    /// # Errors
    /// [`Error::NoLibrary`] when cuBLASLt is missing, else its error.
    pub fn open(device: &CudaDevice) -> Result<BlasLt, Error> {
        // SAFETY: loads the library if it exists; its initializers are NVIDIA's own and have no
        // requirements on the caller.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::NoLibrary {
                library: "libcublasLt.so.13",
            });
        }
        device.bind()?;
        let handle = Handle(result::create_handle().map_err(failed("cublasLtCreate"))?);
        let handle = Arc::new(Held::new(device.context(), handle));
        let workspace = Arc::new(device.alloc(WORKSPACE_BYTES as u64)?);
        Ok(BlasLt {
            device: device.clone(),
            handle,
            workspace,
        })
    }

    /// The library's version: 130200 for 13.2.0.
    pub fn version(&self) -> usize {
        // SAFETY: the library is loaded; the call reads a constant.
        unsafe { sys::cublasLtGetVersion() }
    }

    /// Describes `out(l,r) = sum over k of left(l,k) * right(r,k)` with a column-major `out`, and
    /// as many more as the batch has; elements are multiplied by the scales of blocks where
    /// `scales` says how they lie.
    ///
    /// # Errors
    /// When cuBLASLt knows no such product.
    pub fn product(
        &self,
        [left, right]: [Side; 2],
        k: i64,
        out: (DType, i64),
        acc: DType,
        batch: Batch,
        scales: Option<[ScaleMode; 2]>,
    ) -> Result<Product, Error> {
        self.device.bind()?;
        let (compute_type, scale) = compute(left.dtype, acc)?;
        let scale_type = scale.data_type();
        let types = [
            data_type(left.dtype)?,
            data_type(right.dtype)?,
            data_type(out.0)?,
        ];
        let shape = |side: Side| match side.order {
            MatrixOrder::KMajor => (k, side.extent),
            MatrixOrder::MnMajor => (side.extent, k),
        };
        let shapes = [shape(left), shape(right), (left.extent, right.extent)];
        let leading = [left.leading, right.leading, out.1];
        let elem = [left.dtype, right.dtype, out.0].map(|d| u64::from(d.bytes()));
        let desc = result::create_matmul_desc(compute_type, scale_type)
            .map_err(failed("cublasLtMatmulDescCreate"))?;
        let mut made = Product {
            desc,
            layouts: [std::ptr::null_mut(); 3],
            kinds: Kinds {
                compute: compute_type,
                scale: scale_type,
                data: types,
            },
            scale,
            spans: [0; 3],
            of_scales: scales.map(|[of_left, of_right]| {
                [
                    of_left.bytes(left.extent, k),
                    of_right.bytes(right.extent, k),
                ]
            }),
        };
        for at in 0..3 {
            let stride = batch.strides[at].max(0);
            let (layout, elems) =
                matrix(types[at], shapes[at], leading[at], (batch.count, stride))?;
            made.layouts[at] = layout;
            made.spans[at] = elems * elem[at];
        }
        // The left factor is taken as (l,k), the right one as (k,r).
        let transposed = [
            left.order == MatrixOrder::KMajor,
            right.order == MatrixOrder::MnMajor,
        ];
        use sys::cublasLtMatmulDescAttributes_t as Attribute;
        let attributes = [
            Attribute::CUBLASLT_MATMUL_DESC_TRANSA,
            Attribute::CUBLASLT_MATMUL_DESC_TRANSB,
        ];
        for (attribute, transpose) in attributes.into_iter().zip(transposed) {
            // CUBLAS_OP_N is 0 and CUBLAS_OP_T is 1.
            made.describe(attribute, i32::from(transpose))?;
        }
        if let Some(modes) = scales {
            made.scale_by(modes, &self.workspace)?;
        } else if [left, right].iter().all(|side| is_fp8(side.dtype)) {
            // The sums of the tensor cores as they are, like those of kernels with fast
            // accumulation: else the library moves them to f32 on their way, which takes longer.
            made.describe(Attribute::CUBLASLT_MATMUL_DESC_FAST_ACCUM, 1i8)?;
        }
        Ok(made)
    }

    /// Enqueues a product; one with scales reads those of left and right.
    ///
    /// # Errors
    /// When the memory is too small or the library refuses.
    pub fn run(
        &self,
        product: &Product,
        algorithm: &Algorithm,
        [left, right, out]: [&DeviceMemory; 3],
        scales: Option<[&DeviceMemory; 2]>,
    ) -> Result<(), Error> {
        self.device.bind()?;
        let operands = [left, right, out].into_iter().zip(product.spans);
        let of_scales = scales.into_iter().flatten();
        let of_scales = of_scales.zip(product.of_scales.into_iter().flatten());
        for (memory, bytes) in operands.chain(of_scales) {
            if memory.bytes() < bytes {
                return Err(Error::OutOfBuffer {
                    offset: 0,
                    bytes,
                    len: memory.bytes(),
                });
            }
        }
        match (scales, product.of_scales) {
            (Some(scales), Some(_)) => product.point_at_scales(scales)?,
            (None, None) => {}
            _ => {
                return Err(Error::Request(
                    "cuBLASLt scales both factors or none".into(),
                ));
            }
        }
        let (alpha, beta) = product.scale.factors();
        let [a, b, d] = product.layouts;
        let address = |memory: &DeviceMemory| memory.address() as *mut c_void;
        // SAFETY: descriptors, handle and workspace are alive; the memories cover what layouts and
        // scale modes describe; with beta 0 the old output is not read. Freeing any of the memory
        // waits for enqueued work.
        unsafe {
            result::matmul(
                self.handle.0,
                product.desc,
                alpha,
                beta,
                address(left),
                a,
                address(right),
                b,
                address(out),
                d,
                address(out),
                d,
                &algorithm.0.algo,
                address(&self.workspace),
                WORKSPACE_BYTES,
                self.device.stream().cu_stream().cast(),
            )
        }
        .map_err(failed("cublasLtMatmul"))
    }
}
