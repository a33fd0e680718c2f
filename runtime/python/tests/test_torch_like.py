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


class Negated(Like):
    def is_neg(self):
        return True


def test_views_that_pytorch_negates_are_refused(bundle):
    s, d = numpy.ones((4, 64), dtype="f4"), numpy.zeros((4, 64), dtype="f4")
    kernel = bundle.find("copy_elementwise")
    with pytest.raises(tilewright.Error, match=r"`s`: .*give its resolve_neg\(\)"):
        kernel(s=Negated(s), d=Like(d))
    with pytest.raises(tilewright.Error, match=r"`d`: .*give its resolve_neg\(\)"):
        kernel(s=Like(s), d=Negated(d))
    assert (d == 0).all()


def test_tensors_that_have_other_memory_are_bound_again(bundle):
    s, d = Like(numpy.ones((4, 64), dtype="f4")), Like(numpy.zeros((4, 64), dtype="f4"))
    launch = bundle.find("copy_elementwise").bind(s=s, d=d)
    launch()
    kept, s.array = s.array, numpy.full((4, 64), 2, dtype="f4")
    for call in (launch, launch.verify):
        with pytest.raises(tilewright.Error, match="`s` has other memory .*: bind it again"):
            call()
    s.array = kept
    launch()
    assert (d.array == 1).all()


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
