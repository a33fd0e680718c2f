//! The parts of a refusal that programs read: its kind, whose fault, what is needed, what is there.

use super::Refusal;

/// The parts of one refusal; the ones that it does not have are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reason {
    /// The operand, extent, scalar or parameter at fault.
    pub name: Option<String>,
    /// What is needed.
    pub needs: Option<String>,
    /// What is there.
    pub has: Option<String>,
}

impl Reason {
    fn of(name: &str) -> Reason {
        Reason {
            name: Some(name.to_owned()),
            ..Reason::default()
        }
    }

    fn needs(mut self, needs: impl ToString) -> Reason {
        self.needs = Some(needs.to_string());
        self
    }

    fn has(mut self, has: impl ToString) -> Reason {
        self.has = Some(has.to_string());
        self
    }
}

impl Refusal {
    /// A short name for counting: `capability`, `assumption`, `alignment` …
    pub const fn kind(&self) -> &'static str {
        match self {
            Refusal::Capability { .. } => "capability",
            Refusal::Driver { .. } => "driver",
            Refusal::SharedMemory { .. } => "shared_memory",
            Refusal::Extent { .. } | Refusal::NoExtent { .. } | Refusal::ExtraExtent { .. } => {
                "extent"
            }
            Refusal::NoScalar { .. } | Refusal::ExtraScalar { .. } | Refusal::Scalar { .. } => {
                "scalar"
            }
            Refusal::Promise { .. } | Refusal::ExtraPromise { .. } => "promise",
            Refusal::CubinOnly { .. } => "cubin_only",
            Refusal::DType { .. } => "dtype",
            Refusal::Rank { .. }
            | Refusal::Axes { .. }
            | Refusal::Shape { .. }
            | Refusal::Packed { .. } => "shape",
            Refusal::NoStrides { .. } | Refusal::Strides { .. } => "strides",
            Refusal::Layout { .. } => "layout",
            Refusal::Assumption { .. } => "assumption",
            Refusal::Alignment { .. } => "alignment",
            Refusal::TensorExtent { .. }
            | Refusal::TensorStride { .. }
            | Refusal::TensorMap { .. } => "tensor_map",
            Refusal::NoBuffer { .. }
            | Refusal::ExtraBuffer { .. }
            | Refusal::GivenTwice { .. }
            | Refusal::BufferTooSmall { .. } => "buffer",
            Refusal::WorkspaceLimit { .. } => "workspace_limit",
            Refusal::BatchInvariance { .. } => "batch_invariance",
            Refusal::WorkspaceTooSmall { .. }
            | Refusal::WorkspaceNotZero { .. }
            | Refusal::WorkspaceAlignment { .. } => "workspace",
            Refusal::Overlap { .. } | Refusal::MayOverlap { .. } => "overlap",
            Refusal::Expression { .. } | Refusal::Range { .. } | Refusal::Count { .. } => "range",
            Refusal::Abi { .. } | Refusal::Load { .. } => "load",
            Refusal::LocalMemory { .. } => "local_memory",
            Refusal::NoRoom { .. } => "no_room",
        }
    }

    /// Whether the problem is at fault: its extents, strides, operands and all else that a caller
    /// says of it, a limit of the workspace among them. `false` of what the device, its driver, the
    /// kernel's code, or scratch memory that a service lends is to blame for.
    pub const fn is_request(&self) -> bool {
        !matches!(
            self,
            Refusal::Capability { .. }
                | Refusal::Driver { .. }
                | Refusal::CubinOnly { .. }
                | Refusal::SharedMemory { .. }
                | Refusal::NoRoom { .. }
                | Refusal::Abi { .. }
                | Refusal::LocalMemory { .. }
                | Refusal::Load { .. }
                | Refusal::WorkspaceTooSmall { .. }
                | Refusal::WorkspaceNotZero { .. }
                | Refusal::WorkspaceAlignment { .. }
        )
    }

    /// The refusal in parts.
    pub fn reason(&self) -> Reason {
        let none = Reason::default;
        match self {
            Refusal::Capability { needs, has, .. } => none().needs(needs).has(has),
            Refusal::Driver { needs, has } => none().needs(needs).has(has),
            Refusal::SharedMemory { needs, has } => none().needs(needs).has(has),
            Refusal::Extent {
                name,
                value,
                least,
                most,
            } => Reason::of(name)
                .needs(format!("{least} to {most}"))
                .has(value),
            Refusal::ExtraExtent { name, value } => Reason::of(name).needs(1).has(value),
            Refusal::NoExtent { name } | Refusal::NoScalar { name } => Reason::of(name),
            Refusal::ExtraScalar { name } => Reason::of(name),
            Refusal::Scalar { name, value, dtype } => Reason::of(name).needs(dtype).has(value),
            Refusal::Promise { promise, .. } => none().needs(promise),
            Refusal::ExtraPromise { promise, known } => none().needs(known).has(promise),
            Refusal::CubinOnly { target } => none().needs(target),
            Refusal::NoStrides { operand } | Refusal::NoBuffer { operand } => Reason::of(operand),
            Refusal::ExtraBuffer { operand, known } => Reason::of(operand).needs(known),
            Refusal::GivenTwice { operand } => Reason::of(operand),
            Refusal::DType {
                operand,
                needs,
                has,
            } => Reason::of(operand).needs(needs).has(has),
            Refusal::Rank {
                operand,
                needs,
                shape,
                ..
            } => Reason::of(operand).needs(needs).has(shape.len()),
            Refusal::Axes {
                operand,
                needs,
                has,
                ..
            } => Reason::of(operand).needs(needs).has(has),
            Refusal::Packed {
                operand,
                needs,
                shape,
                ..
            } => Reason::of(operand).needs(needs).has(format!("{shape:?}")),
            Refusal::Shape {
                operand,
                needs,
                has,
                ..
            } => Reason::of(operand).needs(needs).has(has),
            Refusal::Strides {
                operand, stride, ..
            } => Reason::of(operand).has(format!("{stride:?}")),
            Refusal::Layout {
                operand,
                layout,
                given,
                ..
            } => Reason::of(operand).needs(layout).has(format!("({given})")),
            Refusal::Assumption { text, found, .. } => none().needs(text).has(found),
            Refusal::Alignment {
                operand,
                needs,
                address,
                ..
            } => Reason::of(operand)
                .needs(needs)
                .has(format!("{address:#x}")),
            Refusal::TensorExtent {
                operand, extent, ..
            } => Reason::of(operand).needs("1 to 2^32").has(extent),
            Refusal::TensorStride { operand, bytes, .. } => {
                Reason::of(operand).needs("a multiple of 16").has(bytes)
            }
            Refusal::TensorMap { parameter, problem } => Reason::of(parameter).has(problem),
            Refusal::BufferTooSmall {
                operand,
                needs,
                has,
            } => Reason::of(operand).needs(needs).has(has),
            Refusal::WorkspaceLimit { needs, allowed } => {
                Reason::of("workspace").needs(needs).has(allowed)
            }
            Refusal::BatchInvariance { splits } => Reason::of("sums").has(splits),
            Refusal::WorkspaceTooSmall { needs, has } => {
                Reason::of("workspace").needs(needs).has(has)
            }
            Refusal::WorkspaceNotZero { at, zero } => Reason::of("workspace")
                .needs(format!("0 in the first {zero} bytes"))
                .has(format!("another byte at {at}")),
            Refusal::WorkspaceAlignment { needs, address } => Reason::of("workspace")
                .needs(needs)
                .has(format!("{address:#x}")),
            Refusal::Overlap { output, other, .. } | Refusal::MayOverlap { output, other } => {
                Reason::of(output).has(other)
            }
            Refusal::Expression { what, error } => Reason::of(what).has(error),
            Refusal::Range {
                what,
                value,
                least,
                most,
            } => Reason::of(what)
                .needs(format!("{least} to {most}"))
                .has(value),
            Refusal::Count {
                what, value, most, ..
            } => Reason::of(what).needs(format!("at most {most}")).has(value),
            Refusal::NoRoom { smem_bytes, .. } => none().has(smem_bytes),
            Refusal::Abi { problem } => none().has(problem),
            Refusal::LocalMemory { bytes } => none().needs(0).has(bytes),
            Refusal::Load { reason } => none().has(reason),
        }
    }
}
