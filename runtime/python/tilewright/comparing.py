"""Outputs compared with what they should be, by whoever made the tensors: torch or NumPy.

An element may differ from the reference by a part of its own size and a part of the output's rms;
where the reference is NaN or infinite, so is the output. Errors come as the largest error over the
allowed one, and as the norm of the difference over that of the reference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from ._tilewright import Error, Typed

#: Half the distance of neighbours, of each type, over their size.
ROUNDOFF = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float8_e4m3fn": 2.0**-4,
    "float8_e5m2": 2.0**-3,
}
#: Half the smallest number above 0, of types whose numbers come that close to it.
SMALLEST = {"float16": 2.0**-25, "float8_e4m3fn": 2.0**-10, "float8_e5m2": 2.0**-17}
#: What a sum in f32 may lose beside the rounding of its result, over the output's rms.
SUMMED = 2.0**-14
#: Elements compared at once.
CHUNK = 1 << 25


def is_torch(tensor: Any) -> bool:
    """Whether a tensor is one of torch's."""
    return hasattr(tensor, "data_ptr") and hasattr(tensor, "stride")


def dtype_of(tensor: Any) -> str:
    """The name of the element type."""
    return str(tensor.dtype).rsplit(".", maxsplit=1)[-1]


def bytes_of(tensor: Any) -> int:
    """Bytes of the elements."""
    if isinstance(tensor, Typed):
        return bytes_of(tensor.tensor)
    if is_torch(tensor):
        return tensor.numel() * tensor.element_size()
    return int(getattr(tensor, "nbytes", 0))


def copy_of(tensor: Any) -> Any:
    """A tensor of the same elements."""
    if isinstance(tensor, Typed):
        return copy_of(tensor.tensor)
    return tensor.clone() if is_torch(tensor) else tensor.copy()


def _poison(tensor: Any) -> None:
    """Fills a tensor with what no result is."""
    if isinstance(tensor, Typed):
        tensor = tensor.tensor
    if not is_torch(tensor):
        is_float = tensor.dtype.kind == "f"
        tensor.fill(math.nan if is_float else 0x4D)
        return
    if tensor.element_size() == 1:
        import torch

        tensor.view(torch.uint8).fill_(0xFF)
        return
    tensor.fill_(math.nan if tensor.dtype.is_floating_point else 0x4D)


@dataclass(frozen=True)
class Expected:
    """What the outputs of a set should be."""

    #: The outputs, in the kernel's order.
    names: List[str]
    #: What stood before in those that are read as well.
    saved: Dict[str, Any]
    #: The reference of each; None where the kernel's own formula judges.
    wanted: Optional[Dict[str, Any]]
    bound: Optional[Tuple[float, float]]

    def poison(self, tensors: Dict[str, Any]) -> None:
        """Makes the outputs ready for a run."""
        for name in self.names:
            tensor = tensors[name]
            if name not in self.saved:
                _poison(tensor)
            elif is_torch(tensor):
                tensor.copy_(self.saved[name])
            else:
                tensor[...] = self.saved[name]

    @property
    def text(self) -> Optional[str]:
        """The bound in words."""
        if self.wanted is None:
            return None
        if self.bound is None:
            return "half a unit in the last place + 2^-14 rms"
        own, of_rms = self.bound
        return "equal" if self.bound == (0, 0) else f"{own:.3g} |ref| + {of_rms:.3g} rms"

    def compare(self, found: Dict[str, Any]) -> Tuple[float, float]:
        """`‖out − ref‖ / ‖ref‖` and the largest error over allowed error, of all outputs."""
        rel_err, max_err = 0.0, 0.0
        for name in self.names:
            if self.wanted is None or name not in self.wanted or name not in found:
                raise Error(f"there is no reference, or no output, for `{name}`")
            one = compared(found[name], self.wanted[name], self.bound)
            rel_err, max_err = max(rel_err, one[0]), max(max_err, one[1])
        return rel_err, max_err


def compared(
    out: Any, wanted: Any, bound: Optional[Tuple[float, float]] = None
) -> Tuple[float, float]:
    """`‖out − ref‖ / ‖ref‖`, and the largest error over allowed error."""
    if tuple(out.shape) != tuple(wanted.shape):
        found, wants = tuple(out.shape), tuple(wanted.shape)
        raise Error(f"an output has the shape {found}; the reference has {wants}")
    least = 0.0
    if bound is None:
        least = SMALLEST.get(dtype_of(out), 0.0)
        bound = (ROUNDOFF.get(dtype_of(out), 0.0) * (1 + 2.0**-6), SUMMED)
    own, of_rms = bound
    flat = _Flat(out), _Flat(wanted)
    chunks = range(0, flat[0].count, CHUNK)
    squares = sum(_square(flat[1].chunk(at)) for at in chunks)
    rms = math.sqrt(squares / max(flat[0].count, 1))
    errors, worst = 0.0, 0.0
    for at in chunks:
        got, want = flat[0].chunk(at), flat[1].chunk(at)
        error, ratio = _chunk(got, want, own, of_rms * rms + least)
        errors, worst = errors + error, max(worst, ratio)
    if errors == 0:
        return 0.0, worst
    return (math.sqrt(errors / squares) if squares > 0 else math.inf), worst


class _Flat:
    """The elements of a tensor one after another, as f64 a chunk at a time."""

    def __init__(self, tensor: Any):
        self.is_torch = is_torch(tensor)
        self.flat = tensor.reshape(-1)
        self.count = int(self.flat.shape[0])

    def chunk(self, at: int) -> Any:
        chunk = self.flat[at : at + CHUNK]
        return chunk.double() if self.is_torch else chunk.astype("f8")


def _square(values: Any) -> float:
    library = _library(values)
    finite = library.isfinite(values)
    return float((library.where(finite, values, 0.0) ** 2).sum())


def _chunk(got: Any, want: Any, own: float, fixed: float) -> Tuple[float, float]:
    """Sum of the squared errors, and the largest error over allowed error."""
    library = _library(want)
    finite = library.isfinite(want)
    same = (got == want) | (library.isnan(got) & library.isnan(want))
    wrong = (~same) & (~finite | ~library.isfinite(got))
    if bool(wrong.any()):
        return math.inf, math.inf
    # What is equal may be infinite, and is left out before it is subtracted.
    error = abs(library.where(same, 0.0, got) - library.where(same, 0.0, want))
    allowed = own * abs(library.where(finite, want, 0.0)) + fixed
    if not bool((error > 0).any()):
        return 0.0, 0.0
    if bool(((allowed == 0) & (error > 0)).any()):
        return float((error**2).sum()), math.inf
    # Where nothing is allowed nothing is wrong here, and 0 of 1 is as much.
    allowed = library.where(allowed == 0, 1.0, allowed)
    return float((error**2).sum()), float((error / allowed).max())


def _library(values: Any) -> Any:
    if is_torch(values):
        import torch

        return torch
    import numpy

    return numpy
