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


def test_all_arguments_with_other_axes_are_told(bundle):
    product = signature(bundle, "gemm_simt_f32")
    with pytest.raises(tilewright.Error) as raised:
        product.environment({"a": (3,), "b": (2, 4, 3)}, {})
    assert str(raised.value) == (
        "`a` has 1 axis; the kernel takes (m,k):(rsa,csa); a[None] has one more, of extent 1, and "
        "`b` has 3 axes; the kernel takes (n,k):(rsb,csb); where the first ones lie without gaps, "
        "b.reshape(-1, b.shape[-1]) does"
    )
