//! One thing that keeps a kernel from a problem; it is found before anything runs.

use tilewright_bundle as bundle;

/// Whether an output may take the place of an operand that it shares memory with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPlace {
    /// The kernel takes it so, where both begin and lie alike.
    Taken,
    /// Kernels of a spec that says so would: an input of the same elements that begins there too.
    Possible,
    /// No kernel would.
    Never,
}

/// One reason why a kernel is not launched on a problem. Later versions may have further ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The device has another compute capability.
    #[error("it needs {}; the device is sm_{has}", capability(*needs, *exact))]
    Capability {
        /// Capability the kernel states.
        needs: u32,
        /// Whether no other will do.
        exact: bool,
        /// The device's.
        has: u32,
    },
    /// The driver is too old for the PTX.
    #[error(
        "it needs a driver for CUDA {}; this one is for {}: update it",
        version(*needs),
        version(*has)
    )]
    Driver {
        /// Oldest driver, as `cuDriverGetVersion` counts.
        needs: u32,
        /// This one.
        has: u32,
    },
    /// A CTA uses more shared memory than the device has for one, whatever the problem.
    #[error("each CTA uses {needs} bytes of shared memory; the device allows {has}")]
    SharedMemory {
        /// Bytes of a CTA, static and dynamic together.
        needs: u64,
        /// Bytes that the device has for one.
        has: u32,
    },
    /// An extent is outside what kernels take.
    #[error("{name} is {value}; {least} to {most} is allowed{}", nothing_folded(*value, *least))]
    Extent {
        /// Its name: `m`.
        name: String,
        /// The value given.
        value: i64,
        /// The smallest one: 0 where the kernel then has nothing to do.
        least: i64,
        /// The largest one.
        most: i64,
    },
    /// The problem does not give one of the kernel's extents.
    #[error("the problem gives no extent `{name}`")]
    NoExtent {
        /// Its name.
        name: String,
    },
    /// The problem gives an extent that the kernel lacks.
    #[error("{name} is {value}; the kernel has no extent of that name: leave it out, or give 1")]
    ExtraExtent {
        /// Its name.
        name: String,
        /// The value given.
        value: i64,
    },
    /// The problem does not give one of the kernel's scalars.
    #[error("the problem gives no scalar `{name}`")]
    NoScalar {
        /// Its name.
        name: String,
    },
    /// The problem gives a scalar that the kernel lacks.
    #[error("the kernel has no scalar `{name}`: leave it out")]
    ExtraScalar {
        /// Its name.
        name: String,
    },
    /// A scalar's type does not hold the value given.
    #[error("the scalar {name} is {value}, which {dtype} does not hold")]
    Scalar {
        /// Its name.
        name: String,
        /// The value given.
        value: String,
        /// Its type.
        dtype: bundle::DType,
    },
    /// The caller has not confirmed something that the kernel cannot check.
    #[error("it needs the promise that {promise} ({reason}); confirm it, if it holds")]
    Promise {
        /// What is to be confirmed.
        promise: String,
        /// What needs it.
        reason: String,
    },
    /// The caller has confirmed something that no kernel of the function asks for.
    #[error(
        "no kernel of this function asks for the promise {promise:?}: {}",
        instead(known)
    )]
    ExtraPromise {
        /// What was confirmed.
        promise: String,
        /// What may be.
        known: String,
    },
    /// The kernel's machine code alone may be run, and is for other devices than this one.
    #[error("it runs by its machine code alone, which is for {target}")]
    CubinOnly {
        /// What it was assembled for.
        target: String,
    },
    /// The problem says nothing about an operand's strides.
    #[error("the problem gives no strides for `{operand}`")]
    NoStrides {
        /// The operand.
        operand: String,
    },
    /// A tensor has another element type than the operand.
    #[error("`{operand}` has elements of {has}; the kernel takes {needs}{}", cast(*needs, has))]
    DType {
        /// The operand.
        operand: String,
        /// The kernel's type.
        needs: bundle::DType,
        /// The tensor's.
        has: String,
    },
    /// A tensor has another number of axes than the operand.
    #[error(
        "`{operand}` has the shape ({}); the kernel takes {}: {layout}{}",
        joined(shape, ","),
        axes(*needs),
        flattened(operand, *needs, shape.len())
    )]
    Rank {
        /// The operand.
        operand: String,
        /// Its layout.
        layout: String,
        /// Axes of the layout.
        needs: usize,
        /// The tensor's extents.
        shape: Vec<i64>,
    },
    /// An operand is given with another number of axes than it has.
    #[error("`{operand}` is given with {}; the kernel takes {needs}: {layout}", axes(*has))]
    Axes {
        /// The operand.
        operand: String,
        /// Its layout.
        layout: String,
        /// Axes of the layout.
        needs: usize,
        /// Axes that were given.
        has: usize,
    },
    /// A tensor is not what a packed operand lies in.
    #[error(
        "`{operand}` is packed: its {} elements take one axis of {needs} and stride 1, as `pack` \
         makes it; the tensor has the shape ({}) and strides ({})",
        joined(extents, "x"),
        joined(shape, ","),
        joined(stride, ",")
    )]
    Packed {
        /// The operand.
        operand: String,
        /// Its extents.
        extents: Vec<i64>,
        /// Elements of its tiles.
        needs: i64,
        /// The tensor's extents.
        shape: Vec<i64>,
        /// The tensor's strides.
        stride: Vec<i64>,
    },
    /// A tensor's extent is not the one that follows from the others.
    #[error(
        "axis {axis} of `{operand}` has {has} elements; {extent} is {needs} {reason}{}",
        repeated(*has)
    )]
    Shape {
        /// The operand.
        operand: String,
        /// Which axis, the first being 0.
        axis: usize,
        /// The kernel's expression for the extent: `k`.
        extent: String,
        /// Its value.
        needs: i64,
        /// The tensor's extent.
        has: i64,
        /// Where the value comes from.
        reason: String,
    },
    /// A stride is zero or negative, or two elements of an output share an address.
    #[error(
        "`{operand}` has strides ({}) for {}: {problem}",
        joined(stride, ","),
        joined(shape, "x")
    )]
    Strides {
        /// The operand.
        operand: String,
        /// Its extents.
        shape: Vec<i64>,
        /// Its strides.
        stride: Vec<i64>,
        /// What is wrong with them.
        problem: String,
    },
    /// The strides given do not have the form the kernel was made for.
    #[error("`{operand}` has strides ({given}); the kernel takes {layout}{way_out}")]
    Layout {
        /// The operand.
        operand: String,
        /// The kernel's layout.
        layout: String,
        /// The problem's strides.
        given: String,
        /// `: a spec that names its strides, …`; empty where all have names.
        way_out: String,
    },
    /// A recorded assumption does not hold.
    #[error("it assumes {text}, and {found} ({reason}): {way_out}")]
    Assumption {
        /// The comparison.
        text: String,
        /// Its names' values: `lda is 17`.
        found: String,
        /// Why the kernel needs it.
        reason: String,
        /// What to give instead, or to build.
        way_out: String,
    },
    /// An address is not aligned enough.
    #[error(
        "`{operand}` {}; a multiple of {needs} is needed: {way_out}",
        place(*address)
    )]
    Alignment {
        /// The operand.
        operand: String,
        /// Bytes of alignment.
        needs: u32,
        /// The address.
        address: u64,
        /// What to give instead, or to build.
        way_out: String,
    },
    /// An extent of a tensor map is outside what the driver takes.
    #[error("dim {dim} of the tensor map of `{operand}` is {extent}; 1 to 2^32 is allowed")]
    TensorExtent {
        /// The operand.
        operand: String,
        /// The dimension, the contiguous one being 0.
        dim: usize,
        /// Its extent.
        extent: i64,
    },
    /// A stride of a tensor map is none that the driver takes.
    #[error(
        "the tensor map of `{operand}` has a stride of {bytes} bytes along dim {dim}; \
         a multiple of 16 below 2^40 is needed"
    )]
    TensorStride {
        /// The operand.
        operand: String,
        /// The dimension, the contiguous one being 0.
        dim: usize,
        /// The distance between neighbours along it.
        bytes: i64,
    },
    /// A tensor map breaks another rule of the driver.
    #[error("the tensor map {parameter} cannot be made: {problem}")]
    TensorMap {
        /// The parameter.
        parameter: String,
        /// Which one.
        problem: String,
    },
    /// No buffer was given for an operand.
    #[error("no buffer was given for `{operand}`")]
    NoBuffer {
        /// The operand.
        operand: String,
    },
    /// A buffer was given for something that is no operand.
    #[error("`{operand}` is no operand of the kernel, which has {known}")]
    ExtraBuffer {
        /// The name given.
        operand: String,
        /// The kernel's operands: `a, b, d`.
        known: String,
    },
    /// Two buffers were given for an operand.
    #[error("`{operand}` is given twice: leave one out")]
    GivenTwice {
        /// The operand.
        operand: String,
    },
    /// A buffer ends before the operand does.
    #[error("`{operand}` needs {needs} bytes from its offset; the buffer has {has}")]
    BufferTooSmall {
        /// The operand.
        operand: String,
        /// Bytes from the first to behind the last element.
        needs: u64,
        /// Bytes from the offset to the buffer's end.
        has: u64,
    },
    /// It wants more scratch memory than the problem allows.
    #[error("it needs {needs} bytes of workspace; {allowed} are allowed")]
    WorkspaceLimit {
        /// Bytes that a launch wants.
        needs: u64,
        /// Bytes that the problem allows.
        allowed: u64,
    },
    /// Its sums depend on the launch, and the problem asks for a row's bits to be the same in all.
    #[error(
        "it cuts sums where the launch has room, by which a row's bits depend on the rows beside \
         it; batch-invariant sums are asked for"
    )]
    BatchInvariance {
        /// Parts of a sum at most.
        splits: String,
    },
    /// Scratch memory of the caller's is too small.
    #[error("the workspace has {has} bytes; {needs} are needed")]
    WorkspaceTooSmall {
        /// Bytes that the launch wants.
        needs: u64,
        /// Bytes given.
        has: u64,
    },
    /// Scratch memory of the caller's is not zero where a kernel counts in it. The emulator looks.
    #[error(
        "byte {at} of the workspace is not 0; the first {zero} have to be before the first launch \
         (`Array::zeros` makes such memory)"
    )]
    WorkspaceNotZero {
        /// The byte.
        at: u64,
        /// How many have to be.
        zero: u64,
    },
    /// Scratch memory of the caller's is not aligned enough.
    #[error("the workspace is at address {address:#x}; a multiple of {needs} is needed")]
    WorkspaceAlignment {
        /// Bytes of alignment.
        needs: u64,
        /// The address.
        address: u64,
    },
    /// An output shares memory with another operand.
    #[error(
        "`{output}` is written and shares memory with `{other}`: give them separate memory{}",
        in_its_place(output, other, *in_place)
    )]
    Overlap {
        /// The operand that is written.
        output: String,
        /// The other one.
        other: String,
        /// Whether the one may take the place of the other.
        in_place: InPlace,
    },
    /// An output may share memory with another operand: their strides leave too many elements to
    /// compare.
    #[error(
        "`{output}` is written and lies among the rows of `{other}`, by strides of which it is not \
         known whether any elements share memory: give them separate memory"
    )]
    MayOverlap {
        /// The operand that is written.
        output: String,
        /// The other one.
        other: String,
    },
    /// An expression of the launch has no value.
    #[error("{what}: {error}")]
    Expression {
        /// The key in the manifest.
        what: String,
        /// Why.
        error: bundle::EvalError,
    },
    /// A value does not fit the type or limit it must have.
    #[error("{what} is {value}; {least} to {most} is allowed")]
    Range {
        /// The key in the manifest.
        what: String,
        /// The value.
        value: i64,
        /// The smallest allowed.
        least: i64,
        /// The largest allowed.
        most: i64,
    },
    /// A kernel would count further than it can.
    #[error("it has {value} {what}; kernels count to {most} of them: {way_out}")]
    Count {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        value: i64,
        /// The most that are allowed.
        most: i64,
        /// What has fewer.
        way_out: &'static str,
    },
    /// Not one cluster finds the multiprocessors and memory it needs.
    #[error(
        "no cluster of {cluster:?} CTAs with {smem_bytes} bytes of dynamic shared memory each fits \
         on the device: a smaller cluster or tile may"
    )]
    NoRoom {
        /// CTAs of a cluster.
        cluster: [u32; 3],
        /// Dynamic shared memory of a CTA.
        smem_bytes: u32,
    },
    /// The loaded code is not what the manifest says.
    #[error("the loaded code contradicts the manifest: {problem}")]
    Abi {
        /// What differs.
        problem: String,
    },
    /// The device's compiler put variables into local memory.
    #[error("it uses {bytes} bytes of local memory a thread; kernels are made to use none")]
    LocalMemory {
        /// Bytes of a thread.
        bytes: u32,
    },
    /// The driver refused the code.
    #[error("the driver refused the code: {reason}")]
    Load {
        /// The driver's text.
        reason: String,
    },
}

fn joined(values: &[i64], between: &str) -> String {
    let values: Vec<String> = values.iter().map(i64::to_string).collect();
    values.join(between)
}

/// A number of axes.
pub(crate) fn axes(count: usize) -> String {
    match count {
        1 => "1 axis".to_owned(),
        count => format!("{count} axes"),
    }
}

/// What makes so many axes of more, of arrays of NumPy as of tensors of PyTorch.
pub(crate) fn flattened(operand: &str, needs: usize, has: usize) -> String {
    if has + 1 == needs {
        return format!("; {operand}[None] has one more, of extent 1");
    }
    if needs == 0 && has > 0 {
        return format!("; of one element {operand}.reshape(()) makes it so");
    }
    if has <= needs {
        return String::new();
    }
    let kept = (1..needs)
        .rev()
        .map(|from| format!(", {operand}.shape[-{from}]"));
    let kept: String = kept.collect();
    format!("; where the first ones lie without gaps, {operand}.reshape(-1{kept}) does")
}

/// What makes elements of one type of another and loses nothing, or of indices as they come.
pub(crate) fn cast(needs: bundle::DType, has: &str) -> &'static str {
    match (needs, has) {
        (bundle::DType::S32, "s64") => " (PyTorch's `.int()` makes it so)",
        (bundle::DType::F32, "bf16" | "f16") => " (PyTorch's `.float()` makes it so)",
        (bundle::DType::BF16, "u16" | "s16")
        | (bundle::DType::E4M3 | bundle::DType::E5M2, "u8") => {
            " (Python's `tilewright.as_dtype` says of words of NumPy what they are)"
        }
        (bundle::DType::BF16, "f32") => {
            " (PyTorch's `.bfloat16()` rounds to it, a spec of other types takes it as it is)"
        }
        (bundle::DType::F16, "f32") => {
            " (PyTorch's `.half()` rounds to it, a spec of other types takes it as it is)"
        }
        _ => "",
    }
}

/// What to give of something that has one element along an axis: kernels repeat by strides.
fn repeated(has: i64) -> &'static str {
    match has {
        1 => ": give as many, or, to a kernel of a spec with a stride of 0 there, give it expanded",
        _ => "",
    }
}

/// Where an operand lies: processes have no memory in the first page, so that what is below its end
/// is counted from the start of a buffer or slice, which suits every kernel.
fn place(address: u64) -> String {
    match address {
        0..0x1000 => format!("begins {address} bytes behind the start of its memory"),
        _ => format!("is at address {address:#x}"),
    }
}

fn instead(known: &str) -> String {
    match known {
        "" => "leave it out".to_owned(),
        known => format!("leave it out, or say one of: {known}"),
    }
}

fn version(counted: u32) -> String {
    format!("{}.{}", counted / 1000, counted % 1000 / 10)
}

fn capability(needs: u32, exact: bool) -> String {
    if exact {
        format!("exactly sm_{needs}")
    } else {
        format!("sm_{needs} or newer")
    }
}

/// How an output lies in the memory of another operand.
fn in_its_place(output: &str, other: &str, in_place: InPlace) -> String {
    match in_place {
        InPlace::Taken => ", or the same address, extents and strides".to_owned(),
        InPlace::Possible => format!(
            ", or build a kernel that works in place, of a spec whose `{output}` has `over: \
             {other}`"
        ),
        InPlace::Never => String::new(),
    }
}

/// What to do where there is nothing along a mode that kernels fold or look into.
fn nothing_folded(value: i64, least: i64) -> &'static str {
    match (value, least) {
        (0, 1) => {
            ": kernels fold something along it, or look into it by a table; what they give of \
             nothing is known without a launch"
        }
        _ => "",
    }
}
