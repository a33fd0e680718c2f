"""Tensors of whoever has DLPack alone, on the emulator: NumPy's, and capsules made by hand."""

import ctypes
import gc

import numpy
import pytest
from producers import LEGACY, VERSIONED, Made, Shy, name_of, new_capsule

import tilewright


@pytest.fixture
def copy(bundle):
    return bundle.find("copy_elementwise")


def numbered(rows=4, columns=64):
    return numpy.arange(rows * columns, dtype="f4").reshape(rows, columns)


def test_arrays_that_show_dlpack_alone_are_read_and_written(copy):
    s, d = numbered(), numpy.zeros((4, 80), dtype="f4")
    lent = Shy(s)
    copy(s=lent, d=Shy(d[:, 8:72]))
    assert (d[:, 8:72] == s).all() and (d[:, :8] == 0).all() and (d[:, 72:] == 0).all()
    # The newest call first, and no stream of the host's memory.
    assert lent.asked == [{"max_version": (1, 1)}]
    assert name_of(lent.capsules[0]) == b"used_dltensor_versioned"


def test_producers_of_before_version_1_are_asked_again(copy):
    s, d = numbered(), numpy.zeros((4, 64), dtype="f4")
    old = Shy(s, is_old=True)
    copy(s=old, d=Shy(d, is_old=True))
    assert (d == s).all()
    assert old.asked == [{"max_version": (1, 1)}, {}]
    assert name_of(old.capsules[0]) == b"used_dltensor"


def test_a_launch_keeps_what_was_lent_and_gives_it_back(copy):
    s, d = numbered(), numpy.zeros((4, 64), dtype="f4")
    lent = Made(s)
    launch = copy.bind(s=lent, d=d)
    launch()
    s += 1
    launch()
    assert (d == s).all() and lent.back == 0
    del launch
    gc.collect()
    assert lent.back == 1
    assert name_of(lent.capsule) == b"used_dltensor_versioned"


@pytest.mark.parametrize("name", [VERSIONED, LEGACY])
def test_capsules_made_by_hand(copy, name):
    s, d = numbered(), numpy.zeros((4, 64), dtype="f4")
    # An offset in bytes, and no strides at all.
    whole = numpy.concatenate([numpy.zeros(16, dtype="f4"), s.ravel()])
    lent = Made(s, name, data=whole.ctypes.data, byte_offset=64, strides=None)
    copy(s=lent, d=d)
    assert (d == s).all() and lent.back == 1
    # A producer may have nothing to free.
    copy(s=Made(s, name, deleter=None), d=d)
    with pytest.raises(tilewright.Error, match="no full capsule of DLPack.*not given twice"):
        copy(s=lent, d=d)
    assert lent.back == 1


HOSTILE = [
    (dict(data=None), "its data is null"),
    (dict(ndim=-1), "it has -1 axes; 0 to 8"),
    (dict(ndim=1 << 30), "it has 1073741824 axes"),
    (dict(shape=None), "its shape of 2 axes is at address 0x0"),
    (dict(shape=0x1001), "its shape of 2 axes is at address 0x1001"),
    (dict(strides=0x1003), "its strides of 2 axes is at address 0x1003"),
    (dict(byte_offset=2), "no multiple of the 4 bytes of f32"),
    (dict(byte_offset=2**64 - 4), "pass 64 bits"),
    (dict(lanes=4), "4 lanes; kernels take 1"),
    (dict(code=5, bits=64), r"code 5 \(complex\) with 64 bits"),
    (dict(code=200, bits=3), "code 200 with 3 bits"),
    (dict(device_type=7), "device is of type 7"),
    (dict(data=None, lanes=2, device_type=10), "type 10.*2 lanes.*data is null"),
]


@pytest.mark.parametrize("name", [VERSIONED, LEGACY])
@pytest.mark.parametrize("changes,part", HOSTILE)
def test_hostile_capsules_are_refused_and_given_back(copy, name, changes, part):
    s = numbered()
    lent = Made(s, name, **changes)
    with pytest.raises(tilewright.Error, match=f"`s`: the DLPack tensor.*{part}"):
        copy(s=lent, d=s.copy())
    assert lent.back == 1


@pytest.mark.parametrize(
    "entries,part",
    [((-4, 64), "axis 0 has -4 elements"), ((2**62, 2**62), "pass 64 bits")],
)
def test_hostile_extents_are_refused(copy, entries, part):
    s = numbered()
    lent = Made(s)
    lent.shape[:] = entries
    with pytest.raises(tilewright.Error, match=part):
        copy(s=lent, d=s.copy())
    assert lent.back == 1


def test_strides_are_judged_as_those_of_arrays(copy):
    s = numbered()
    for strides in [(-64, 1), (0, 1), (1, 1)]:
        lent = Made(s)
        lent.strides[:] = strides
        with pytest.raises(tilewright.Refused, match="stride|share an address"):
            copy(s=s, d=lent)
        assert lent.back == 1


def test_another_major_version_is_given_back_unread(copy):
    s = numbered()
    lent = Made(s, major=2, shape=0x1001)
    with pytest.raises(tilewright.Error, match=r"DLPack 2\.1"):
        copy(s=lent, d=s.copy())
    assert lent.back == 1


def test_what_must_not_be_written_is_refused(copy):
    s, d = numbered(), numpy.zeros((4, 64), dtype="f4")
    copy(s=Made(s, flags=1), d=d)
    assert (d == s).all()
    for flags, part in [(1, "is read-only"), (2, "is a copy, whose owner would not see")]:
        lent = Made(d, flags=flags)
        with pytest.raises(tilewright.Error, match=f"`d` is written, and the array given {part}"):
            copy(s=s, d=lent)
        assert lent.back == 1


def test_memory_of_gpus_is_asked_for_by_the_stream_of_the_call(copy):
    s = numbered()
    for stream, told in [(None, 1), (0, 1), (1, 1), (2, 2), (0x5000, 0x5000)]:
        lent = Made(s, device=(2, 0))
        with pytest.raises(tilewright.Error, match="`s` is on a GPU; the emulator takes"):
            copy(s=lent, d=s.copy(), stream=stream)
        assert lent.asked == [{"stream": told, "max_version": (1, 1)}] and lent.back == 1
    # Pinned and managed memory is the host's as well; managed memory is written in streams.
    for device, asked in [((3, 0), {}), ((13, 0), {"stream": 1})]:
        d = numpy.zeros_like(s)
        lent = Made(s, device=device)
        copy(s=lent, d=d)
        assert (d == s).all() and lent.asked == [{**asked, "max_version": (1, 1)}]


def test_types_that_numpy_lacks(bundle):
    random = numpy.random.default_rng(3)
    w = random.integers(-8, 8, (3, 5, 128))
    halves = (w & 15).astype("u1")
    packed = halves[..., ::2] | halves[..., 1::2] << 4
    ones = numpy.full((3, 5), 0x3F80, dtype="u2")
    d = numpy.zeros(w.shape, dtype="u2")
    nibbles, scales = Made(packed, code=0, bits=4), Made(ones, code=4, bits=16)
    nibbles.shape[:] = w.shape
    nibbles.strides[:] = (640, 128, 1)
    out = Made(d, code=4, bits=16)
    bundle.find("dequantize_s4_bf16_blocks")(w=nibbles, s=scales, d=out)
    assert ((d.astype("u4") << 16).view("f4") == w).all()


def test_what_is_no_producer_is_told(copy):
    class Odd:
        def __init__(self, device, capsule):
            self.device, self.capsule = device, capsule

        def __dlpack_device__(self):
            return self.device

        def __dlpack__(self, **_):
            if isinstance(self.capsule, Exception):
                raise self.capsule
            return self.capsule

    d = numbered()
    with pytest.raises(TypeError, match="`s`: __dlpack_device__.* gives cpu"):
        copy(s=Odd("cpu", None), d=d)
    with pytest.raises(TypeError, match="`s`: __dlpack__.* gives int; a PyCapsule"):
        copy(s=Odd((1, 0), 3), d=d)
    with pytest.raises(BufferError, match="the producer's own"):
        copy(s=Odd((1, 0), BufferError("the producer's own")), d=d)
    with pytest.raises(TypeError, match="the producer's own"):
        copy(s=Odd((1, 0), TypeError("the producer's own")), d=d)
    other = new_capsule(ctypes.addressof(ctypes.c_int64(7)), b"other", None)
    with pytest.raises(tilewright.Error, match="no full capsule"):
        copy(s=Odd((1, 0), other), d=d)
    with pytest.raises(TypeError, match="`s`: list is no tensor: .* nor __dlpack__"):
        copy(s=[1.0], d=d)
