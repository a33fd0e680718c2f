"""Arguments that are not what they seem: addresses, numbers, streams, scratch memory."""

from fractions import Fraction

import ml_dtypes
import numpy
import pytest

import tilewright


class Interface:
    """What an array interface says, and nothing behind it."""

    def __init__(self, data, shape=(5, 7), **more):
        self.__array_interface__ = {"shape": shape, "typestr": "<f4", "data": data, **more}


@pytest.mark.parametrize(
    "address,part",
    [
        (0, "has null as its data"),
        (2**64 - 4, "reaches beyond the last address: 140 bytes from 0xfffffffffffffffc"),
        (2**64 - 4096, "reaches beyond the last address"),
        (2**63 - 64, "reaches beyond the last address"),
        (2**63 - 140, "reaches beyond the last address"),
        (2**62, "reaches beyond the last address"),
        (2**56 - 139, "reaches beyond the last address"),
    ],
)
def test_addresses_that_no_process_has_are_refused(bundle, address, part):
    kernel = bundle.find("copy_elementwise")
    s, d = numpy.zeros((5, 7), dtype="f4"), numpy.zeros((5, 7), dtype="f4")
    for given, name in [(dict(s=Interface((address, False)), d=d), "s"),
                        (dict(s=s, d=Interface((address, False))), "d")]:
        for call in [kernel, kernel.bind, lambda **k: bundle.pick("copy", **k)]:
            with pytest.raises(tilewright.Error, match=f"`{name}`: the tensor {part}"):
                call(**given)


@pytest.mark.parametrize(
    "said,part",
    [
        (dict(data=(-1, False)), r"data is \(-1, False\); wanted: an address"),
        (dict(data=(2**64, False)), r"data is \(18446744073709551616, False\); wanted: an address"),
        (dict(data=(64,)), r"data is \(64,\); wanted: an address"),
        (dict(data=(64, False), shape=(2**63, 1)), "shape is .*; wanted: integers of 64 bits"),
        (dict(data=(64, False), strides=(28, -2**63 - 1)), "strides is .*; wanted: integers"),
    ],
)
def test_numbers_of_tensors_beyond_64_bits_are_refused_by_name(bundle, said, part):
    kernel = bundle.find("copy_elementwise")
    s, d = numpy.zeros((5, 7), dtype="f4"), numpy.zeros((5, 7), dtype="f4")
    both = [(dict(s=Interface(**said), d=d), "s"), (dict(s=s, d=Interface(**said)), "d")]
    for given, name in both:
        for call in [kernel, kernel.bind, lambda **k: bundle.pick("copy", **k)]:
            with pytest.raises(tilewright.Error, match=f"`{name}`: {part}"):
                call(**given)
    with pytest.raises(tilewright.Error, match=f"`workspace`: {part}"):
        kernel(s=s, d=d, workspace=Interface(**said))
    for d, s, name in [(Interface(**said), s, "d"), (d, Interface(**said), "s")]:
        with pytest.raises(tilewright.Error, match=f"`{name}`: {part}"):
            tilewright.memcpy(d, s)


class Torchs(Interface):
    """What looks like PyTorch's, and tells numbers that no tensor has."""

    device = type("device", (), {"type": "cpu", "index": None})
    dtype = "torch.float32"

    def __init__(self, address, shape, stride):
        self.address, self.shape, self.strides = address, shape, stride

    def data_ptr(self):
        return self.address

    def stride(self):
        return self.strides


@pytest.mark.parametrize(
    "told,part",
    [
        ((-1, (5, 7), (7, 1)), r"data_ptr\(\) is -1; wanted: an address"),
        ((64, (2**63, 7), (7, 1)), "shape is .*; wanted: integers of 64 bits"),
        ((64, (5, 7), (7, 2**63)), r"stride\(\) is .*; wanted: integers of 64 bits"),
    ],
)
def test_numbers_of_torchs_tensors_are_refused_by_name(bundle, told, part):
    kernel = bundle.find("copy_elementwise")
    d = numpy.zeros((5, 7), dtype="f4")
    with pytest.raises(tilewright.Error, match=f"`s`: {part}"):
        kernel(s=Torchs(*told), d=d)


def test_numbers_are_whatever_converts_to_them(bundle):
    x = numpy.random.default_rng(4).standard_normal((3, 40)).astype(ml_dtypes.bfloat16)
    r, d, s = (numpy.zeros_like(x) for _ in range(3))
    g = numpy.ones(40, dtype=ml_dtypes.bfloat16)
    kernel = bundle.find("rmsnorm_bf16_add_narrow")
    wanted = None
    halves = [0.5, numpy.float32(0.5), numpy.float64(0.5), numpy.array(0.5)]
    halves += [numpy.ones(2).mean() / 2, ml_dtypes.bfloat16(0.5), Fraction(1, 2)]
    for eps in halves:
        d[:] = 0
        picked = bundle.pick(kernel.spec, x=x, r=r, g=g, d=d, s=s, eps=eps)
        picked(x=x, r=r, g=g, d=d, s=s, eps=eps)
        wanted = d.copy() if wanted is None else wanted
        assert (d == wanted).all() and d.any(), type(eps)
    for eps, part in [("1", "str is given where a kernel takes a number"),
                      (numpy.ones(2), "ndarray is given where a kernel takes a number")]:
        with pytest.raises(TypeError, match=f"`eps`: {part}"):
            kernel(x=x, r=r, g=g, d=d, s=s, eps=eps)


def test_extents_are_whatever_has_an_index(bundle):
    s, d = numpy.ones((4, 64), dtype="f4"), numpy.zeros((4, 64), dtype="f4")
    kernel = bundle.pick("copy", s=s, d=d, m=numpy.int64(4))
    kernel(s=s, d=d, m=numpy.int64(4), n=numpy.array(64))
    assert (d == 1).all()
    with pytest.raises(tilewright.Refused, match="m is 5 as given"):
        kernel(s=s, d=d, m=numpy.int32(5))
    with pytest.raises(TypeError, match="`m`: float32 is given where .* an integer of 64 bits"):
        kernel(s=s, d=d, m=numpy.float32(4))
    with pytest.raises(tilewright.Error, match="`m`: int is given where .* an integer of 64 bits"):
        kernel(s=s, d=d, m=2**70)
    with pytest.raises(tilewright.Refused, match="`x` is no operand"):
        kernel(s=s, d=d, x=numpy.ones(1))
    for call in [kernel, kernel.bind]:
        named = r"by name, here 2 without: write kernel\(s=..., d=...\)"
        with pytest.raises(TypeError, match=named):
            call(s, d)


def test_streams_and_scratch_memory_are_what_they_say(bundle):
    s, d = numpy.ones((4, 64), dtype="f4"), numpy.zeros((4, 64), dtype="f4")
    kernel = bundle.find("copy_elementwise")
    launch = kernel.bind(s=s, d=d)
    for call in [lambda stream: kernel(s=s, d=d, stream=stream),
                 lambda stream: launch(stream=stream), lambda stream: launch.verify(stream=stream)]:
        with pytest.raises(tilewright.Error, match="str is no stream"):
            call("x")
        with pytest.raises(tilewright.Error, match="the emulator has no streams, and 0x5000 is"):
            call(0x5000)
        assert not d.any()
    kernel(s=s, d=d, stream=0)
    with pytest.raises(TypeError, match="`workspace`: str is no tensor"):
        kernel(s=s, d=d, workspace="x")
    with pytest.raises(tilewright.Error, match="`workspace`: the tensor has null as its data"):
        kernel(s=s, d=d, workspace=Interface((0, False)))
    with pytest.raises(tilewright.Error, match="`workspace` is written, .* read-only"):
        kernel(s=s, d=d, workspace=Interface((64, True)))


def test_a_kernel_is_one_line(bundle):
    for kernel in bundle.kernels:
        assert "\n" not in repr(kernel) and kernel.id in repr(kernel)
    several = bundle.find("rmsnorm_bf16_add_narrow")
    assert "\n" in several.formula and "; " in repr(several)
