"""Packed operands: from a tensor's elements to the order in memory that a kernel takes."""

from math import prod
from typing import Any, Callable, List, Sequence, Tuple

from ._tilewright import Error, Kernel, Order, Typed


def pack(kernel: Kernel, operand: str, tensor: Any) -> Any:
    """A constant operand in the order that the kernel takes it in, and so does every other kernel
    of the same function: a tensor of one axis, of the same type and on the same device, to be given
    in place of this one. Extents that no other tensor of a launch says, that launch is told.

    >>> kernel = bundle.find("gemm_sm90_bf16_packed")
    >>> a, weights, d = (numpy.zeros(shape, dtype=bf16) for shape in [(9, 72), (40, 72), (9, 40)])
    >>> kernel(a=a, b=tilewright.pack(kernel, "b", weights), d=d)
    """
    if isinstance(tensor, Typed):
        return Typed(pack(kernel, operand, tensor.tensor), tensor.dtype)
    order = _order(kernel, operand, len(tensor.shape), tuple(tensor.shape))
    return _moved(tensor, lambda bits, *made: _packed(order, bits, *made))


def unpack(kernel: Kernel, operand: str, tensor: Any, shape: Sequence[int]) -> Any:
    """The elements of a packed operand, as a tensor of a shape: `pack` undone.

    >>> b = numpy.arange(40 * 72, dtype="u2").reshape(40, 72)
    >>> kernel = bundle.find("gemm_sm90_bf16_packed")
    >>> packed = tilewright.pack(kernel, "b", b)
    >>> numpy.array_equal(tilewright.unpack(kernel, "b", packed, (40, 72)), b)
    True
    """
    if isinstance(tensor, Typed):
        return Typed(unpack(kernel, operand, tensor.tensor, shape), tensor.dtype)
    order = _order(kernel, operand, len(shape), tuple(shape))
    tile, tiles = _tiles(order, shape)
    needs = prod(tile) * prod(tiles)
    if tuple(tensor.shape) != (needs,):
        raise Error(
            f"`{operand}` of {kernel.id} of the shape {tuple(shape)} has {needs} elements in one "
            f"axis when it is packed; the tensor has the shape {tuple(tensor.shape)}"
        )
    return _moved(tensor, lambda bits, *made: _unpacked(order, bits, shape, *made))


def _order(kernel: Kernel, operand: str, axes: int, shape: Tuple[int, ...]) -> Order:
    """The order of an operand that has so many axes."""
    found = [one for one in kernel.operands if one.name == operand]
    if not found:
        names = ", ".join(one.name for one in kernel.operands)
        raise Error(f"{kernel.id} has no operand `{operand}`; its operands are {names}")
    order = found[0].packed
    if order is None:
        layout = found[0].layout
        raise Error(f"`{operand}` of {kernel.id} is not packed: it is taken as it lies, {layout}")
    if axes != len(order.shape):
        needs = "1 axis" if len(order.shape) == 1 else f"{len(order.shape)} axes"
        raise Error(
            f"`{operand}` of {kernel.id} has {needs}, {found[0].layout}; the tensor has the shape "
            f"{shape}"
        )
    return order


def _moved(tensor: Any, move: Callable[..., Any]) -> Any:
    """What a function makes of a tensor's bits with its library's zeros and arrays."""
    if not hasattr(tensor, "data_ptr"):
        import numpy

        return move(tensor, numpy.zeros, numpy.asarray)
    import torch

    # Elements are moved as bits: PyTorch indexes no tensors of 8-bit floats.
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    place = {"device": tensor.device}
    moved = move(
        tensor.detach().contiguous().view(bits),
        lambda shape, dtype: torch.zeros(shape, dtype=dtype, **place),
        lambda values: torch.tensor(values, **place),
    )
    return moved.view(tensor.dtype)


def _tiles(order: Order, shape: Sequence[int]) -> Tuple[List[int], List[int]]:
    """Along each axis the elements of a tile, and the tiles."""
    tile = [prod(modes) for modes in order.shape]
    sizes = zip(shape, tile, order.multiple)
    return tile, [-(-(-(-extent // own)) // by) * by for extent, own, by in sizes]


def _axes(order: Order) -> List[int]:
    """Tiles in their order, then the elements of each with the last axis innermost."""
    tiles = [2 * axis for axis in reversed(order.order)]
    return tiles + [2 * axis + 1 for axis in range(len(order.shape))]


def _turned(tensor: Any, axes: List[int]) -> Any:
    return tensor.permute(axes) if hasattr(tensor, "permute") else tensor.transpose(axes)


def _packed(order: Order, tensor: Any, zeros: Any, array: Any) -> Any:
    """By the operations that NumPy and PyTorch share."""
    tile, tiles = _tiles(order, tensor.shape)
    padded = zeros([own * count for own, count in zip(tile, tiles)], dtype=tensor.dtype)
    padded[tuple(slice(0, extent) for extent in tensor.shape)] = tensor
    cut = padded.reshape([one for pair in zip(tiles, tile) for one in pair])
    rows = _turned(cut, _axes(order)).reshape(prod(tiles), prod(tile))
    return rows[:, array(_inverse(order, tile))].reshape(-1)


def _unpacked(order: Order, tensor: Any, shape: Sequence[int], zeros: Any, array: Any) -> Any:
    """The same the other way."""
    tile, tiles = _tiles(order, shape)
    places = [0] * prod(tile)
    for place, number in enumerate(_inverse(order, tile)):
        places[number] = place
    axes = _axes(order)
    whole = [one for pair in zip(tiles, tile) for one in pair]
    rows = tensor.reshape(prod(tiles), prod(tile))[:, array(places)]
    turned = rows.reshape([whole[axis] for axis in axes])
    cut = _turned(turned, [axes.index(axis) for axis in range(len(axes))])
    padded = cut.reshape([own * count for own, count in zip(tile, tiles)])
    inside = padded[tuple(slice(0, extent) for extent in shape)]
    return inside.contiguous() if hasattr(inside, "contiguous") else inside.copy()


def _inverse(order: Order, tile: List[int]) -> List[int]:
    """Of each place in a tile the number of the element that lies there."""
    inverse = [0] * prod(tile)
    for number in range(len(inverse)):
        rest, offset = number, 0
        for extents, strides, own in zip(order.shape[::-1], order.stride[::-1], tile[::-1]):
            rest, at = divmod(rest, own)
            for extent, stride in zip(extents, strides):
                at, digit = divmod(at, extent)
                offset += digit * stride
        if order.swizzle is not None:
            bits, base, shift = order.swizzle
            offset ^= (offset >> (base + shift) & ((1 << bits) - 1)) << base
        inverse[offset] = number
    return inverse
