"""Kernels of a Tilewright bundle on PyTorch tensors, NumPy arrays and whatever says where it lies.

>>> s = numpy.arange(32, dtype="f4").reshape(4, 8)
>>> d = numpy.empty_like(s)
>>> bundle.pick("copy", s=s, d=d)(s=s, d=d)
>>> numpy.array_equal(s, d)
True

There, `bundle = tilewright.open("kernels.bundle", device="emulator")`.
On a GPU the same call enqueues on PyTorch's current stream, also while it is being captured.
Extents and strides follow from the tensors; what does not fit is an exception that says all of it.

`tilewright.torch` makes custom operators of PyTorch, `tilewright.nn` layers; they import PyTorch,
this module does not.
"""

from ._tilewright import (
    Bundle,
    BundleError,
    DeviceError,
    Error,
    InferenceOnly,
    Kernel,
    Launch,
    Meter,
    Operand,
    Order,
    Refused,
    Samples,
    Typed,
    __version__,
    memcpy,
    open,
)
from .comparing import ROUNDOFF, compared
from .counting import Counters, KernelCounters
from .measuring import Peer, bench, fastest
from .packing import pack, unpack

__all__ = [
    "Bundle",
    "BundleError",
    "Counters",
    "DeviceError",
    "Error",
    "InferenceOnly",
    "Kernel",
    "KernelCounters",
    "Launch",
    "Meter",
    "Operand",
    "Order",
    "Peer",
    "ROUNDOFF",
    "Refused",
    "Samples",
    "Typed",
    "__version__",
    "as_dtype",
    "bench",
    "compared",
    "fastest",
    "memcpy",
    "open",
    "pack",
    "unpack",
]


def as_dtype(tensor: object, dtype: str) -> Typed:
    """The same tensor, whose elements are of another type of the same size.

    For NumPy, which has no bfloat16 and no 8-bit floats of its own: `as_dtype(words, "bf16")`.
    Of elements two to a byte the tensor has the bytes: `as_dtype(bytes, "s4")` has twice as many
    along its last axis of stride 1.

    >>> as_dtype(numpy.zeros(2, dtype="u2"), "bf16")
    as_dtype(array([0, 0], dtype=uint16), "bf16")
    """
    return Typed(tensor, dtype)
