"""Kernels on NumPy arrays, run on the emulator."""

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy
import pytest

import tilewright


def rows(count, columns, lead, dtype="f4"):
    """Numbered rows with a gap behind each."""
    whole = numpy.full((count, lead), -1, dtype=dtype)
    whole[:, :columns] = numpy.arange(count * columns).reshape(count, columns)
    return whole, whole[:, :columns]


def test_a_bundle_tells_what_is_in_it(bundle, path):
    assert (bundle.device, str(bundle.path)) == ("emulator", path)
    assert len(bundle) == len(bundle.kernels) > 3
    kernel = bundle.find("gemm_bf16_tn")
    assert kernel.id.startswith("gemm_bf16_tn@") and kernel.spec == "gemm_bf16_tn"
    assert (kernel.word, kernel.accumulator) == ("gemm", "f32")
    assert "sum[k] a[m,k] * b[n,k]" in kernel.formula
    assert [operand.name for operand in kernel.operands] == ["a", "b", "d"]
    a, _, d = kernel.operands
    assert (a.role, d.role, a.dtype, a.shape) == ("in", "out", "bf16", ["m", "k"])
    assert a.layout == "(m,k):(lda,1)"
    assert kernel.extents == ["m", "k", "n"] and kernel.scalars == {}
    assert kernel.runs_here and kernel.capability[0] >= 70
    assert len(kernel.function) == 64


def test_a_copy_writes_elements_and_leaves_gaps(bundle):
    _, s = rows(5, 70, 72)
    whole, d = rows(5, 70, 80)
    d[:] = 0
    kernel = bundle.pick("copy", s=s, d=d)
    assert kernel(s=s, d=d) is None
    assert (d == s).all() and (whole[:, 70:] == -1).all()


def test_products_of_bfloat16_by_ml_dtypes_and_by_words(bundle):
    random = numpy.random.default_rng(1)
    a = random.integers(-3, 4, (48, 64)).astype(ml_dtypes.bfloat16)
    b = random.integers(-3, 4, (40, 64)).astype(ml_dtypes.bfloat16)
    d = numpy.zeros((48, 40), dtype=ml_dtypes.bfloat16)
    kernel = bundle.pick("gemm_bf16_tn", a=a, b=b, d=d)
    kernel(a=a, b=b, d=d)
    wanted = (a.astype("f4") @ b.astype("f4").T).astype(ml_dtypes.bfloat16)
    assert (d == wanted).all()
    words = numpy.zeros((48, 40), dtype="u2")
    as_bf16 = tilewright.as_dtype(words, "bf16")
    kernel(a=a, b=tilewright.as_dtype(b.view("u2"), "bfloat16"), d=as_bf16)
    assert (words == wanted.view("u2")).all()


def test_an_operand_that_a_formula_has_as_k_n_is_given_as_k_n(bundle):
    random = numpy.random.default_rng(4)
    a = random.integers(-3, 4, (24, 32)).astype("f4")
    b = random.integers(-3, 4, (32, 40)).astype("f4")
    kernel = bundle.find("turned_simt_f32")
    assert kernel.operands[1].shape == ["k", "n"]
    assert kernel.operands[1].layout == "(k,n):(rsb,csb)"
    for given in (b, numpy.asfortranarray(b)):
        d = numpy.zeros((24, 40), dtype="f4")
        kernel(a=a, b=given, d=d)
        assert (d == a @ b).all()
    with pytest.raises(tilewright.Refused, match="k"):
        kernel(a=a, b=numpy.ascontiguousarray(b.T), d=numpy.zeros((24, 40), dtype="f4"))


def test_elements_two_to_a_byte_are_given_as_bytes(bundle):
    random = numpy.random.default_rng(3)
    w = random.integers(-8, 8, (3, 5, 128))
    halves = (w & 15).astype("u1")
    packed = halves[..., ::2] | halves[..., 1::2] << 4
    s = random.integers(1, 5, (3, 5)).astype(ml_dtypes.bfloat16)
    d = numpy.zeros(w.shape, dtype=ml_dtypes.bfloat16)
    kernel = bundle.find("dequantize_s4_bf16_blocks")
    kernel(w=tilewright.as_dtype(packed, "s4"), s=s, d=d)
    assert (d.astype("f4") == w * s.astype("f4")[..., None]).all()
    with pytest.raises(tilewright.Error) as raised:
        kernel(w=tilewright.as_dtype(packed[..., ::2], "s4"), s=s, d=d)
    assert "stride 1" in str(raised.value)


def test_a_launch_is_bound_once_and_sees_new_inputs(bundle):
    s = numpy.ones((4, 64), dtype="f4")
    d = numpy.zeros_like(s)
    launch = bundle.find("copy_elementwise").bind(s=s, d=d)
    assert launch.kernel.startswith("copy_elementwise") and launch.workspace_bytes == 0
    assert launch.problem == "m=4 n=64 s:(64,1) d:(64,1)"
    assert launch.tensors["s"] is s
    launch()
    s[:] = 7
    launch()
    assert (d == 7).all()


def test_outputs_are_judged_by_the_formula(bundle):
    random = numpy.random.default_rng(2)
    a, b = (random.standard_normal((rows, 33)).astype("f4") for rows in (17, 20))
    d = numpy.zeros((17, 20), dtype="f4")
    told = bundle.pick("gemm_simt_f32", a=a, b=b, d=d).bind(a=a, b=b, d=d).verify()
    assert told["failure"] is None and 0 < told["max_err"] <= 1 and told["rel_err"] < 1e-6
    assert numpy.allclose(d, a @ b.T, atol=1e-4)


def test_disagreeing_tensors_are_told_with_both_numbers(bundle):
    a = numpy.zeros((8, 64), dtype=ml_dtypes.bfloat16)
    b = numpy.zeros((8, 63), dtype=ml_dtypes.bfloat16)
    d = numpy.zeros((9, 8), dtype="f4")
    with pytest.raises(tilewright.Refused) as raised:
        bundle.find("gemm_bf16_tn")(a=a, b=b, d=d)
    text = str(raised.value)
    assert "axis 1 of `b` has 63 elements; k is 64 by axis 1 of `a`" in text
    assert "axis 0 of `d` has 9 elements; m is 8 by axis 0 of `a`" in text
    assert "`d` has elements of f32; the kernel takes bf16" in text
    assert sorted(raised.value.kinds) == ["dtype", "shape", "shape"]


def test_unknown_and_missing_names_are_told(bundle):
    s = numpy.zeros((4, 64), dtype="f4")
    kernel = bundle.find("copy_elementwise")
    with pytest.raises(tilewright.Refused, match="`x` is no operand.*no buffer was given for `d`"):
        kernel(s=s, x=s)
    with pytest.raises(tilewright.Refused, match="the kernel has no scalar `alpha`"):
        kernel(s=s, d=s.copy(), alpha=2.0)
    with pytest.raises(tilewright.Refused, match="m is 5 as given"):
        kernel(s=s, d=s.copy(), m=5)
    with pytest.raises(TypeError, match="list is no tensor"):
        kernel(s=[1.0], d=s)


def test_memory_that_a_kernel_cannot_use_is_refused(bundle):
    s = numpy.zeros((4, 64), dtype="f4")
    kernel = bundle.find("copy_elementwise")
    with pytest.raises(tilewright.Refused, match="`d` is written and shares memory with `s`"):
        kernel(s=s, d=s)
    with pytest.raises(tilewright.Refused, match="elements of an output share an address"):
        kernel(s=s, d=numpy.lib.stride_tricks.as_strided(s.copy(), (4, 64), (4, 4)))
    with pytest.raises(tilewright.Refused, match="strides"):
        kernel(s=s[:, ::-1], d=s.copy())
    fixed = s.copy()
    fixed.flags.writeable = False
    with pytest.raises(tilewright.Error, match="`d` is written, and the array given is read-only"):
        kernel(s=s, d=fixed)
    kernel(s=fixed, d=s)


def test_halves_of_one_array_are_operands_of_their_own(bundle):
    both = numpy.arange(4 * 128, dtype="f4").reshape(4, 128)
    wanted = both[:, :64].copy()
    bundle.find("copy_elementwise")(s=both[:, :64], d=both[:, 64:])
    assert (both[:, 64:] == wanted).all()
    assert (both[:, :64] == wanted).all()
    with pytest.raises(tilewright.Refused, match="`d` is written and shares memory with `s`"):
        bundle.find("copy_elementwise")(s=both[:, :64], d=both[:, 63:127])


def test_an_output_takes_the_place_of_an_input_that_it_may_lie_over(bundle):
    random = numpy.random.default_rng(2)
    x, r = (random.standard_normal((3, 40)).astype(ml_dtypes.bfloat16) for _ in range(2))
    g = numpy.ones(40, dtype=ml_dtypes.bfloat16)
    d = numpy.zeros_like(x)
    kernel = bundle.find("rmsnorm_bf16_add_narrow")
    wanted = (x.astype("f4") + r.astype("f4")).astype(ml_dtypes.bfloat16)
    apart = numpy.zeros_like(r)
    kernel(x=x, r=r, g=g, d=d, s=apart, eps=1e-5)
    assert (apart == wanted).all()
    kernel(x=x, r=r, g=g, d=d, s=r, eps=1e-5)
    assert (r == wanted).all()
    with pytest.raises(tilewright.Refused, match="`s` is written and shares memory with `x`"):
        kernel(x=x, r=r, g=g, d=d, s=x, eps=1e-5)
    long = numpy.zeros((3, 48), dtype=ml_dtypes.bfloat16)
    with pytest.raises(tilewright.Refused, match="`s` is written and shares memory with `r`"):
        kernel(x=x, r=long[:, 8:], g=g, d=d, s=long[:, :40], eps=1e-5)


def test_alignment_is_the_array_s_own(bundle):
    kernel = bundle.find("copy_vectorized")
    needs = kernel.operands[0].alignment
    assert needs >= 16
    words = numpy.zeros(4 * 512 + 64, dtype="f4")
    first = (-words.ctypes.data // 4) % (needs // 4)
    shape = (4, 512)
    aligned = words[first : first + 2048].reshape(shape)
    moved = words[first + 1 : first + 2049].reshape(shape)
    d = numpy.zeros(4 * 512 + 64, dtype="f4")
    at = (-d.ctypes.data // 4) % (needs // 4)
    d = d[at : at + 2048].reshape(shape)
    aligned[:] = 3
    kernel(s=aligned, d=d)
    assert (d == 3).all()
    with pytest.raises(tilewright.Refused) as raised:
        kernel(s=moved, d=d)
    assert "alignment" in raised.value.kinds
    other = bundle.pick("copy", s=moved, d=d)
    other(s=moved, d=d)
    assert (d == moved).all()


def test_one_row_takes_any_stride(bundle):
    s = numpy.arange(512, dtype="f4")[None, :]
    d = numpy.zeros((1, 512), dtype="f4")
    bundle.pick("copy", s=s, d=d)(s=s, d=d)
    assert (d == s).all()


def test_words_that_mean_nothing_or_too_much_are_told(bundle):
    s = numpy.zeros((4, 64), dtype="f4")
    with pytest.raises(tilewright.Refused, match='no kernel of the bundle is a "softmax"'):
        bundle.pick("softmax", s=s, d=s)
    with pytest.raises(tilewright.Refused, match="its s is f32, not f64"):
        bundle.pick("copy", s=s.astype("f8"), d=s)
    with pytest.raises(tilewright.Refused, match="nearest"):
        bundle.find("copy_elementwize")


def test_what_cannot_be_opened_is_told(tmp_path, path):
    with pytest.raises(tilewright.BundleError):
        tilewright.open(tmp_path, device="emulator")
    with pytest.raises(tilewright.Error, match='"tpu" is no device'):
        tilewright.open(path, device="tpu")
    assert issubclass(tilewright.BundleError, tilewright.Error)
    turing = tilewright.open(path, device="emulator", sm=75)
    assert turing.find("gemm_sm90_bf16_packed").runs_here is False


def test_big_endian_and_foreign_types_are_told(bundle):
    s = numpy.zeros((4, 64), dtype="f4")
    kernel = bundle.find("copy_elementwise")
    with pytest.raises(tilewright.Error, match="big-endian"):
        kernel(s=s.astype(">f4"), d=s)
    with pytest.raises(tilewright.Error, match="complex64"):
        kernel(s=s.astype("c8"), d=s)
    with pytest.raises(tilewright.Error, match="have 32 bits; bf16 has 16"):
        kernel(s=tilewright.as_dtype(s, "bf16"), d=s)


def test_packed_operands_lie_as_their_kernels_like(bundle):
    random = numpy.random.default_rng(5)
    a = random.integers(-3, 4, (48, 72)).astype(ml_dtypes.bfloat16)
    b = random.integers(-3, 4, (40, 72)).astype(ml_dtypes.bfloat16)
    d = numpy.zeros((48, 40), dtype=ml_dtypes.bfloat16)
    tiles = [one for one in bundle.kernels if one.spec == "gemm_sm90_bf16_packed"]
    assert len(tiles) > 1 and len({one.function for one in tiles}) == 1
    order = tiles[0].operands[1].packed
    assert order.text == "Sw<3,3,3>o(8,64):(64,1) by (0,1) in multiples of (32,2)"
    packed = tilewright.pack(tiles[0], "b", b)
    assert packed.shape == (256 * 128,) and packed.dtype == b.dtype
    for kernel in tiles:
        d[:] = 0
        kernel(a=a, b=packed, d=d)
        assert (d == (a.astype("f4") @ b.astype("f4").T).astype(ml_dtypes.bfloat16)).all()
        told = kernel.bind(a=a, b=packed, d=d).verify()
        assert told["failure"] is None, told
    with pytest.raises(tilewright.Refused, match="`b` is packed: its 40x72 elements take one axis"):
        tiles[0](a=a, b=b, d=d)
    with pytest.raises(tilewright.Error, match="`a` of .* is not packed"):
        tilewright.pack(tiles[0], "a", a)
    with pytest.raises(tilewright.Error, match="no operand `c`; its operands are a, b, d"):
        tilewright.pack(tiles[0], "c", a)
    with pytest.raises(tilewright.Error, match="has 2 axes"):
        tilewright.pack(tiles[0], "b", a[0])


def test_every_element_of_a_packed_operand_is_where_its_order_says(bundle):
    kernel = bundle.find("gemm_sm90_bf16_packed")
    b = numpy.random.default_rng(6).integers(0, 1 << 16, (300, 130)).astype("u2")
    packed = tilewright.pack(kernel, "b", tilewright.as_dtype(b, "bf16"))
    assert packed.dtype == "bf16"
    order = kernel.operands[1].packed
    at = numpy.arange(512 * 256)
    # The order by its words: patterns of 8 rows and 64 columns, those of more rows side by side.
    column, row, inside = at // 512 // 64, at // 512 % 64, at % 512
    assert (order.shape, order.multiple) == ([[8], [64]], [32, 2])
    inside ^= (inside >> 6 & 7) << 3
    rows, columns = row * 8 + inside // 64, column * 64 + inside % 64
    whole = numpy.zeros((512, 256), dtype="u2")
    whole[:300, :130] = b
    assert (packed.tensor == whole[rows, columns]).all()


def test_a_bundle_that_is_not_there_is_told_before_a_driver_that_is_not(tmp_path):
    with pytest.raises(tilewright.BundleError, match="addnorm.zp: there is no bundle of this name"):
        tilewright.open(tmp_path / "addnorm.zp")


def test_a_bundle_may_have_to_be_signed(tmp_path):
    kept = Path(__file__).parents[3] / "runtime/bundle/tests/data/format_2"
    key = kept / "key.pub"
    for path in ["signed", "signed.zip"]:
        opened = tilewright.open(kept / path, device="emulator", require_key=key)
        assert len(opened) == len(tilewright.open(kept / path, device="emulator"))
    with pytest.raises(tilewright.BundleError, match="sign"):
        tilewright.open(kept / "bundle.zip", device="emulator", require_key=key)
    other = tmp_path / "no.pub"
    other.write_text("no key\n")
    with pytest.raises(tilewright.Error, match="no.pub"):
        tilewright.open(kept / "signed.zip", device="emulator", require_key=other)


def test_a_forked_process_launches(bundle):
    code = """
import os, sys, numpy, tilewright
bundle = tilewright.open(sys.argv[1], device="emulator")
s = numpy.arange(300 * 500, dtype="f4").reshape(300, 500)
def launched():
    d = numpy.zeros_like(s)
    bundle.pick("copy", s=s, d=d)(s=s, d=d)
    return (d == s).all()
assert launched()
child = os.fork()
if child == 0:
    os._exit(0 if launched() else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    words = [sys.executable, "-c", code, str(bundle.path)]
    assert subprocess.run(words, timeout=60).returncode == 0
