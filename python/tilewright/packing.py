"""Packed operands: from a tensor's elements to the order in memory that a kernel takes."""

from math import prod

from ._tilewright import Error, Kernel, Order, Typed


def pack(kernel: Kernel, operand: str, tensor):
    """A constant operand in the order that the kernel takes it in, and so does every other kernel
    of the same function: a tensor of one axis, of the same type and on the same device, to be given
    in place of this one. Extents that no other tensor of a launch says, that launch is told.

    >>> w = tilewright.pack(kernel, "b", weights)    # doctest: +SKIP
    >>> kernel(a=a, b=w, d=d)                        # doctest: +SKIP
    """
    if isinstance(tensor, Typed):
        return Typed(pack(kernel, operand, tensor.tensor), tensor.dtype)
    found = [one for one in kernel.operands if one.name == operand]
    if not found:
        names = ", ".join(one.name for one in kernel.operands)
        raise Error(f"{kernel.id} has no operand `{operand}`; its operands are {names}")
    order = found[0].packed
    if order is None:
        layout = found[0].layout
        raise Error(f"`{operand}` of {kernel.id} is not packed: it is taken as it lies, {layout}")
    if len(tensor.shape) != len(order.shape):
        raise Error(
            f"`{operand}` of {kernel.id} has {len(order.shape)} axes, {found[0].layout}; the "
            f"tensor has the shape {tuple(tensor.shape)}"
        )
    if hasattr(tensor, "data_ptr"):
        return _of_torch(order, tensor)
    import numpy

    return _packed(order, tensor, numpy.zeros, numpy.asarray)


def _of_torch(order: Order, tensor):
    import torch

    # Elements are moved as bits: PyTorch indexes no tensors of 8-bit floats.
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    place = {"device": tensor.device}
    packed = _packed(
        order,
        tensor.contiguous().view(bits),
        lambda shape, dtype: torch.zeros(shape, dtype=dtype, **place),
        lambda values: torch.tensor(values, **place),
    )
    return packed.view(tensor.dtype)


def _packed(order: Order, tensor, zeros, array):
    """By the operations that NumPy and PyTorch share."""
    tile = [prod(modes) for modes in order.shape]
    ceil = lambda extent, by: -(-extent // by)
    sizes = zip(tensor.shape, tile, order.multiple)
    tiles = [ceil(ceil(extent, own), times) * times for extent, own, times in sizes]
    padded = zeros([own * count for own, count in zip(tile, tiles)], dtype=tensor.dtype)
    padded[tuple(slice(0, extent) for extent in tensor.shape)] = tensor
    # Tiles in their order, the elements of each with the last axis innermost.
    cut = padded.reshape([one for pair in zip(tiles, tile) for one in pair])
    axes = [2 * axis for axis in reversed(order.order)]
    axes += [2 * axis + 1 for axis in range(len(tile))]
    turned = cut.transpose(axes) if not hasattr(cut, "permute") else cut.permute(axes)
    rows = turned.reshape(prod(tiles), prod(tile))
    return rows[:, array(_inverse(order, tile))].reshape(-1)


def _inverse(order: Order, tile: list) -> list:
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
