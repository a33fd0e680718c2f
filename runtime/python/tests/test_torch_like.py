"""Tensors by PyTorch's methods, of a class that needs no PyTorch."""

import numpy
import pytest

import tilewright


class Device:
    type, index = "cpu", None


class Like:
    """An array with the methods of a tensor of PyTorch."""

    device = Device

    def __init__(self, array, requires_grad=False):
        self.array, self.requires_grad = array, requires_grad
        self.shape, self.dtype = array.shape, f"torch.{array.dtype}"

    def stride(self):
        return tuple(stride // self.array.itemsize for stride in self.array.strides)

    def data_ptr(self):
        return self.array.ctypes.data


def test_tensors_are_read_by_their_methods(bundle):
    s = numpy.arange(256, dtype="f4").reshape(4, 64)
    d = numpy.zeros_like(s)
    bundle.pick("copy", s=Like(s), d=Like(d))(s=Like(s), d=Like(d))
    assert (d == s).all()


def test_what_requires_grad_is_refused_as_input_and_as_output(bundle):
    s, d = numpy.ones((4, 64), dtype="f4"), numpy.zeros((4, 64), dtype="f4")
    kernel = bundle.find("copy_elementwise")
    wanted = r"requires grad, .* inference only; .*torch\.no_grad\(\), or give tensor\.detach\(\)"
    with pytest.raises(tilewright.InferenceOnly, match=f"`s`: {wanted}"):
        kernel(s=Like(s, requires_grad=True), d=Like(d))
    with pytest.raises(tilewright.InferenceOnly, match=f"`d`: {wanted}"):
        kernel(s=Like(s), d=Like(d, requires_grad=True))
    with pytest.raises(tilewright.InferenceOnly, match=f"`s`: {wanted}"):
        bundle.pick("copy", s=Like(s, requires_grad=True), d=Like(d))
    assert (d == 0).all() and issubclass(tilewright.InferenceOnly, tilewright.Error)
