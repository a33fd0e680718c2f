"""What a function takes and gives, without PyTorch."""

import pytest

import tilewright
from tilewright.signature import Signature


def signature(bundle, word):
    kernel = bundle.find(word)
    alike = [one for one in bundle.kernels if one.function == kernel.function]
    return Signature(kernel, True, alike)


def strides_of(signature, **known):
    (result,) = signature.results
    return signature.placed(result, known)


def test_rows_of_results_are_padded_where_every_kernel_wants_it(bundle):
    packed = signature(bundle, "gemm_sm90_bf16_packed")
    assert strides_of(packed, m=9, n=41, k=72) == ([9, 41], [48, 1])
    assert strides_of(packed, m=9, n=40, k=72) == ([9, 40], [40, 1])
    # One kernel of the function takes any rows.
    plain = signature(bundle, "gemm_bf16_tn")
    assert strides_of(plain, m=9, n=41, k=72) == ([9, 41], [41, 1])
    norm = signature(bundle, "rmsnorm_bf16_add_narrow")
    assert strides_of(norm, m=3, n=767) == ([3, 767], [768, 1])
    wide = signature(bundle, "dequantize")
    assert strides_of(wide, m=3, g=5, i=128)[1] == [640, 128, 1]


def test_strides_with_names_of_arguments_are_theirs(bundle):
    kernel = bundle.find("masked_f32")
    apart = Signature(kernel, False, [kernel])
    shapes = {"x": (5, 7), "mask": (5, 7), "sc": ()}
    strides = {"x": (24, 3), "mask": (7, 1), "sc": ()}
    shared = apart.shared_strides(shapes, strides)
    assert shared == {"ldx": 24, "sx": 3}
    known = {**apart.environment(shapes, {}), **shared}
    assert apart.placed(apart.results[0], known) == ([5, 7], [24, 3])
    # An output in the place of an argument is not allocated, and others have names of their own.
    assert Signature(kernel, True, [kernel]).shared_strides(shapes, strides) == {}
    product = signature(bundle, "gemm_simt_f32")
    square = {"a": (5, 5), "b": (5, 5)}
    assert product.shared_strides(square, {"a": (9, 1), "b": (9, 1)}) == {}


def test_a_scalar_in_memory_has_no_axes(bundle):
    masked = signature(bundle, "masked_f32")
    told = masked.wrong_axes({"x": (5, 7), "mask": (5, 7), "sc": (1,)})
    assert told == [
        "`sc` has 1 axis; the kernel takes ():(); of one element sc.reshape(()) makes it so"
    ]


def test_all_arguments_with_other_axes_are_told(bundle):
    product = signature(bundle, "gemm_simt_f32")
    with pytest.raises(tilewright.Refused) as raised:
        product.environment({"a": (3,), "b": (2, 4, 3)}, {})
    assert str(raised.value) == (
        "`a` has 1 axis; the kernel takes (m,k):(rsa,csa); a[None] has one more, of extent 1, and "
        "`b` has 3 axes; the kernel takes (n,k):(rsb,csb); where the first ones lie without gaps, "
        "b.reshape(-1, b.shape[-1]) does"
    )
    assert raised.value.kinds == ["shape", "shape"]
