//! What stands in the fields of a launcher: memory of the right type, with its strides.

use std::marker::PhantomData;

use tilewright_bundle::DType;

use crate::device::Buffer;
use crate::typed::array::Array;
use crate::typed::element::Element;

/// Where an operand lies.
#[derive(Debug)]
pub(super) enum Memory<'a> {
    /// On the device.
    Device(&'a Buffer),
    /// In memory of the host, to be read.
    Host(&'a [u8]),
    /// In memory of the host, to be written.
    HostMut(&'a mut [u8]),
    /// On a GPU, in memory of somebody else's: address and bytes.
    Foreign(u64, u64),
    /// Where the output lies that may take its place.
    InPlace,
}

impl Memory<'_> {
    /// How many bytes it has; none where another operand says so.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Memory::Device(buffer) => Some(buffer.len()),
            Memory::Host(bytes) => Some(bytes.len() as u64),
            Memory::HostMut(bytes) => Some(bytes.len() as u64),
            Memory::Foreign(_, bytes) => Some(*bytes),
            Memory::InPlace => None,
        }
    }
}

/// What a field gives to a call.
#[derive(Debug)]
pub(super) struct Given<'a> {
    pub memory: Memory<'a>,
    /// Bytes from the memory's start to the first element.
    pub at_bytes: u64,
    pub strides: Option<Vec<i64>>,
    /// The element types of operands that it may be.
    pub dtypes: &'static [DType],
    /// Its axes; none of what lies in an order of its own.
    pub rank: Option<usize>,
}

/// An operand that a kernel reads, of so many axes.
#[derive(Debug)]
pub struct In<'a, T, const RANK: usize> {
    given: Given<'a>,
    values: PhantomData<T>,
}

/// An operand that a kernel writes, of so many axes; one that it combines with what was there is
/// read as well.
#[derive(Debug)]
pub struct Out<'a, T, const RANK: usize> {
    given: Given<'a>,
    values: PhantomData<T>,
}

/// An operand that a kernel reads in the order of its own, as [`pack`](crate::pack) makes it.
#[derive(Debug)]
pub struct Packed<'a, T> {
    given: Given<'a>,
    values: PhantomData<T>,
}

fn at_start<T: Element>(memory: Memory<'_>) -> Given<'_> {
    Given {
        memory,
        at_bytes: 0,
        strides: None,
        dtypes: T::DTYPES,
        rank: None,
    }
}

/// A stride as the runtime counts them; what is beyond is refused there.
fn stride(elements: usize) -> i64 {
    i64::try_from(elements).unwrap_or(i64::MAX)
}

macro_rules! strided {
    ($operand:ident) => {
        impl<'a, T: Element, const RANK: usize> $operand<'a, T, RANK> {
            /// The same with these strides, in elements, first axis first. Without them it lies
            /// without gaps, in the order that its launcher's documentation says.
            #[must_use]
            pub fn strides(mut self, strides: [usize; RANK]) -> Self {
                self.given.strides = Some(strides.map(stride).to_vec());
                self
            }

            /// The same with its first element so many values behind the memory's start.
            #[must_use]
            pub fn starting_at(mut self, values: usize) -> Self {
                let bytes = (values as u64).saturating_mul(size_of::<T>() as u64);
                self.given.at_bytes = bytes;
                self
            }

            /// Memory of a GPU that is somebody else's: a pointer of the driver's, as that of
            /// another crate's slice, and the values behind it.
            ///
            /// # Safety
            /// It is there, on the runtime's device, until the work is done that it is given to,
            /// and nobody else writes it meanwhile, or reads it where that work does.
            pub unsafe fn from_raw(address: u64, values: usize) -> Self {
                let bytes = (values as u64).saturating_mul(size_of::<T>() as u64);
                $operand::of(Memory::Foreign(address, bytes))
            }

            fn of(memory: Memory<'a>) -> Self {
                $operand {
                    given: at_start::<T>(memory),
                    values: PhantomData,
                }
            }

            pub(super) fn into_given(self) -> Given<'a> {
                Given {
                    rank: Some(RANK),
                    ..self.given
                }
            }
        }
    };
}

strided!(In);
strided!(Out);

impl<T: Element, const RANK: usize> In<'_, T, RANK> {
    /// An input whose place the output takes that may: it lies where that one does, with its start
    /// and strides. Others of its own are refused.
    pub fn in_place() -> Self {
        In::of(Memory::InPlace)
    }
}

impl<'a, T: Element> Packed<'a, T> {
    /// As [`In::from_raw`].
    ///
    /// # Safety
    /// As of [`In::from_raw`].
    pub unsafe fn from_raw(address: u64, values: usize) -> Packed<'a, T> {
        // SAFETY: the caller's promise is the callee's.
        let one = unsafe { In::<T, 1>::from_raw(address, values) };
        Packed {
            given: one.given,
            values: PhantomData,
        }
    }

    pub(super) fn into_given(self) -> Given<'a> {
        self.given
    }
}

macro_rules! made_from {
    (
        $from:ty, |$value:ident| $memory:expr, $operand:ident
        $(, $rank:ident $(, $count:ident)?)?
    ) => {
        impl<'a, T: Element $(, const $rank: usize $(, const $count: usize)?)?> From<$from>
            for $operand<'a, T $(, $rank)?>
        {
            fn from($value: $from) -> Self {
                $operand {
                    given: at_start::<T>($memory),
                    values: PhantomData,
                }
            }
        }
    };
}

made_from!(
    &'a [T],
    |values| Memory::Host(bytemuck::cast_slice(values)),
    In,
    RANK
);
made_from!(
    &'a Vec<T>,
    |values| Memory::Host(bytemuck::cast_slice(values)),
    In,
    RANK
);
made_from!(
    &'a [T; COUNT],
    |values| Memory::Host(bytemuck::cast_slice(values)),
    In,
    RANK,
    COUNT
);
made_from!(
    &'a Array<T>,
    |array| Memory::Device(array.buffer()),
    In,
    RANK
);
made_from!(
    &'a [T],
    |values| Memory::Host(bytemuck::cast_slice(values)),
    Packed
);
made_from!(
    &'a Vec<T>,
    |values| Memory::Host(bytemuck::cast_slice(values)),
    Packed
);
made_from!(&'a Array<T>, |array| Memory::Device(array.buffer()), Packed);
made_from!(
    &'a mut [T],
    |values| Memory::HostMut(bytemuck::cast_slice_mut(values)),
    Out,
    RANK
);
made_from!(
    &'a mut Vec<T>,
    |values| Memory::HostMut(bytemuck::cast_slice_mut(values)),
    Out,
    RANK
);
made_from!(
    &'a mut [T; COUNT],
    |values| Memory::HostMut(bytemuck::cast_slice_mut(values)),
    Out,
    RANK,
    COUNT
);
made_from!(
    &'a mut Array<T>,
    |array| Memory::Device(array.buffer()),
    Out,
    RANK
);
