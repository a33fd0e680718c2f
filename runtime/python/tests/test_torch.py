"""Functions as operators of PyTorch, on the emulator. Skipped where PyTorch is missing."""

import pytest

torch = pytest.importorskip("torch", reason="operators need PyTorch")

import tilewright  # noqa: E402
from tilewright.torch import CHOICES, operator  # noqa: E402


@pytest.fixture(scope="module")
def product(bundle):
    return operator(bundle, "gemm_simt_f32", name="tilewright_test::product")


@pytest.fixture(scope="module")
def norm(bundle):
    return operator(bundle, "rmsnorm_bf16_add_narrow", name="tilewright_test::norm")


def normed(x, r, g, eps):
    s = (x.float() + r.float()).bfloat16()
    by = (s.float().square().mean(-1, keepdim=True) + eps).rsqrt()
    return (s.float() * by * g.float()).bfloat16(), s


def rows(count=3, columns=40):
    x, r = (torch.randn(count, columns).bfloat16() for _ in "xr")
    return x, r, torch.rand(columns).bfloat16(), 1e-5


def test_outputs_are_allocated_and_returned(product):
    assert product.schema == "(Tensor a, Tensor b) -> Tensor"
    a, b = torch.randn(5, 33), torch.randn(7, 33)
    d = product(a, b)
    assert d.stride() == (7, 1) and torch.allclose(d, a @ b.T, atol=1e-4)
    assert torch.equal(torch.ops.tilewright_test.product(a, b=b), d)
    # Strides are the tensors' own: another kernel, or the same with others.
    turned = torch.randn(33, 5).T
    assert torch.allclose(product(turned, b), turned @ b.T, atol=1e-4)


def test_schemas_follow_from_the_manifest(bundle, norm):
    assert norm.schema == "(Tensor x, Tensor(b!) r, Tensor g, float eps) -> Tensor"
    apart = operator(bundle, "rmsnorm", name="tilewright_test::apart", in_place=False)
    assert apart.schema == "(Tensor x, Tensor r, Tensor g, float eps) -> (Tensor, Tensor)"
    packed = operator(bundle, "gemm_sm90_bf16_packed", name="tilewright_test::packed")
    assert packed.schema == "(Tensor a, Tensor b, SymInt n) -> Tensor"


def test_an_output_takes_the_place_of_an_input_or_comes_back(bundle, norm):
    x, r, g, eps = rows()
    wanted, s = normed(x, r, g, eps)
    apart = operator(bundle, "rmsnorm", name="tilewright_test::apart", in_place=False)
    kept = r.clone()
    d, t = apart(x, r, g, eps)
    assert torch.equal(r, kept) and torch.equal(t, s)
    assert torch.equal(norm(x, r, g, eps), d) and torch.equal(r, s)
    assert torch.allclose(d.float(), wanted.float(), rtol=2**-7)


def test_extents_that_no_tensor_says_are_arguments(bundle):
    packed = operator(bundle, "gemm_sm90_bf16_packed", name="tilewright_test::packed")
    a = torch.randint(-3, 4, (9, 72)).bfloat16()
    b = torch.randint(-3, 4, (40, 72)).bfloat16()
    held = tilewright.pack(packed.kernel, "b", b)
    assert torch.equal(packed(a, held, 40), a @ b.T)
    torch.library.opcheck(packed.overload, (a, held, 40))
    with pytest.raises(tilewright.Refused, match="`b` is packed: its 300x72 elements take"):
        packed(a, held, 300)


def test_rows_of_outputs_are_padded_where_every_kernel_wants_it(bundle):
    packed = operator(bundle, "gemm_sm90_bf16_packed", name="tilewright_test::packed")
    a = torch.randint(-3, 4, (9, 72)).bfloat16()
    b = torch.randint(-3, 4, (41, 72)).bfloat16()
    held = tilewright.pack(packed.kernel, "b", b)
    d = packed(a, held, 41)
    assert d.shape == (9, 41) and d.stride() == (48, 1) and torch.equal(d, a @ b.T)
    torch.library.opcheck(packed.overload, (a, held, 41))
    compiled = torch.compile(packed, fullgraph=True, dynamic=True, backend="aot_eager")
    assert torch.equal(compiled(a, held, 41), d)


def test_elements_two_to_a_byte_are_bytes(bundle):
    wide = operator(bundle, "dequantize", name="tilewright_test::dequantize")
    w = torch.randint(-8, 8, (3, 5, 128))
    halves = (w & 15).to(torch.uint8)
    packed, s = halves[..., ::2] | halves[..., 1::2] << 4, torch.rand(3, 5).bfloat16()
    assert torch.equal(wide(packed, s), (w * s.float()[..., None]).bfloat16())
    torch.library.opcheck(wide.overload, (packed, s))


def test_pytorch_s_own_checks_pass(bundle, product, norm):
    torch.library.opcheck(product.overload, (torch.randn(5, 33), torch.randn(7, 33)))
    torch.library.opcheck(product.overload, (torch.randn(33, 5).T, torch.randn(7, 33)))
    torch.library.opcheck(norm.overload, rows())
    apart = operator(bundle, "rmsnorm", name="tilewright_test::apart", in_place=False)
    torch.library.opcheck(apart.overload, rows())


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_whole_graphs_are_compiled_with_sizes_that_change(product, norm, backend):
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]

    def layer(a, b, r, g):
        d = product(a, b)
        y = norm(d.bfloat16(), r, g, 1e-5)
        return y + r

    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend=backend)
    for count in (5, 9, 6):
        a, b = torch.randn(count, 33), torch.randn(40, 33)
        x, r, g, _ = rows(count)
        other = r.clone()
        assert torch.equal(compiled(a, b, r, g), layer(a, b, other, g))
        assert torch.equal(r, other)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == graphs + 1


def test_errors_are_those_of_a_direct_call(bundle, product):
    a, b = torch.randn(5, 33), torch.randn(7, 32)
    with pytest.raises(tilewright.Refused) as raised:
        product(a, b)
    with pytest.raises(tilewright.Refused) as direct:
        bundle.find("gemm_simt_f32")(a=a, b=b, d=torch.empty(5, 7))
    assert "axis 1 of `b` has 32 elements; k is 33 by axis 1 of `a`" in str(direct.value)
    assert str(direct.value).split(": ", 1)[1] in str(raised.value)
    with pytest.raises(tilewright.Refused, match="its a is f32, not f64"):
        product(a.double(), b)
    with pytest.raises(tilewright.Refused, match="`a` has 1 axis; the kernel takes") as raised:
        product(a[0], b)
    assert raised.value.kinds == ["shape"]
    flat = r"`b` has 3 axes; the kernel takes \(n,k\):.* b\.reshape\(-1, b\.shape\[-1\]\) does"
    both = "`a` has 1 axis; .*, and " + flat
    types = ", and `b` has elements of torch.float64"
    with pytest.raises(tilewright.Refused, match=both + types) as raised:
        product(a[0], b[None].double())
    assert raised.value.kinds == ["shape", "shape", "dtype"]
    with pytest.raises(Exception, match="axis 1 of `b` has another number of elements than k"):
        torch.compile(product, fullgraph=True, backend="eager")(a, b)


def test_arguments_that_require_grad_are_refused_while_pytorch_records(product, norm):
    a, b = torch.randn(5, 33, requires_grad=True), torch.randn(7, 33)
    with pytest.raises(tilewright.InferenceOnly, match="`a`: requires grad.*inference only"):
        product(a, b)
    with pytest.raises(tilewright.InferenceOnly, match="inference only"):
        product.overload(a, b)
    with pytest.raises(tilewright.InferenceOnly, match="`b`: requires grad"):
        product(a.detach(), b=b.requires_grad_())
    with pytest.raises(tilewright.InferenceOnly, match="`g`: requires grad"):
        x, r, g, eps = rows()
        norm(x, r, g.requires_grad_(), eps)
    with torch.no_grad():
        assert torch.equal(product(a, b), product(a.detach(), b.detach()))


def test_direct_calls_refuse_them_too(bundle):
    kernel = bundle.find("gemm_simt_f32")
    a, b, d = torch.randn(5, 33, requires_grad=True), torch.randn(7, 33), torch.zeros(5, 7)
    with pytest.raises(tilewright.InferenceOnly, match="`a`: requires grad"):
        kernel(a=a, b=b, d=d)
    with pytest.raises(tilewright.InferenceOnly, match="`d`: requires grad"):
        kernel(a=a.detach(), b=b, d=d.requires_grad_())
    with torch.no_grad():
        kernel(a=a, b=b, d=d)
    assert torch.allclose(d, a @ b.T, atol=1e-4)


def test_choices_are_remembered_and_bounded(bundle):
    class Counted:
        """The bundle, counting what is asked of it."""

        asked = 0

        kernels = bundle.kernels

        def functions(self, word):
            return bundle.functions(word)

        def pick(self, *args, **kwargs):
            self.asked += 1
            return bundle.pick(*args, **kwargs)

    counted = Counted()
    copied = operator(counted, "copy", name="tilewright_test::counted")
    s = torch.randn(4, 64)
    for _ in range(3):
        copied(s)
    assert counted.asked == 1
    # Other strides, and another alignment.
    for other in (torch.randn(4, 128)[:, :64], torch.randn(257)[1:].view(4, 64)):
        assert torch.equal(copied(other), other)
    assert counted.asked == 3
    copied._chosen.update({at: None for at in range(2 * CHOICES)})
    copied(s[:3])
    assert len(copied._chosen) == CHOICES


def test_names_and_words_are_judged(bundle, product, path):
    assert operator(bundle, "gemm_simt_f32", name="tilewright_test::product") is product
    with pytest.raises(tilewright.Error, match="is an operator of another function, bundle"):
        operator(bundle, "copy", name="tilewright_test::product")
    again = tilewright.open(path, device="emulator")
    assert operator(again, "gemm_simt_f32", name="tilewright_test::product") is product
    other = tilewright.open(path, device="emulator", sms=2)
    with pytest.raises(tilewright.Error, match="give another name, `name='namespace::product'`"):
        operator(other, "gemm_simt_f32", name="tilewright_test::product")
    with pytest.raises(tilewright.Error, match="'gemm' means 3 functions: "):
        operator(bundle, "gemm")
    with pytest.raises(tilewright.Error, match="is no operator's name"):
        operator(bundle, "copy", name="copy")
    with pytest.raises(tilewright.Refused, match="no kernel of the bundle"):
        operator(bundle, "attention")


def test_forward_derivatives_are_refused_like_the_others(product):
    a, b = torch.randn(5, 33), torch.randn(7, 33)
    with pytest.raises(tilewright.InferenceOnly, match="`a`: has a tangent"):
        torch.func.jvp(lambda a: product(a, b), (a,), (torch.ones_like(a),))


def test_none_is_no_tensor(norm):
    x, _, g, eps = rows()
    with pytest.raises(tilewright.Error, match="`r`: None is no tensor"):
        norm(x, None, g, eps)


def test_tensors_of_several_devices_are_refused(norm):
    x, r, g, eps = rows()
    for at in range(3):
        tensors = [x, r, g]
        tensors[at] = tensors[at].to("meta")
        with pytest.raises(tilewright.Error, match="is on 'meta'.*move all to one device"):
            norm(*tensors, eps)
    made = norm(*(one.to("meta") for one in (x, r, g)), eps)
    assert made.is_meta and made.shape == x.shape


def test_conditions_are_bytes_and_a_scalar_in_memory_has_no_axes(bundle):
    masked = operator(bundle, "masked", name="tilewright_test::masked")
    x, mask, sc = torch.randn(5, 7), torch.rand(5, 7) > 0.5, torch.tensor(0.5)
    with pytest.raises(tilewright.Refused) as raised:
        masked(x, mask, sc[None])
    told = r"`sc` has 1 axis; the kernel takes ():(); of one element sc.reshape(()) makes it so"
    assert str(raised.value) == told
    wanted = torch.where(mask, x * sc, torch.zeros(()))
    assert masked(x, mask, sc[None].reshape(())) is None and torch.equal(x, wanted)


def test_results_lie_as_the_arguments_that_their_strides_are_named_after(bundle):
    name = "tilewright_test::masked_apart"
    apart = operator(bundle, "masked", name=name, in_place=False)
    x, mask, sc = torch.randn(5, 24)[:, ::3], torch.ones(5, 8, dtype=torch.bool), torch.tensor(2.0)
    d = apart(x, mask, sc)
    assert torch.equal(d, x * 2) and d.stride() == x.stride()
    torch.library.opcheck(apart.overload, (x, mask, sc))


def test_a_spec_s_own_name_is_one_function(bundle):
    # It is the word of several functions too.
    assert len({one.function for one in bundle.kernels if one.word == "gemm"}) > 1
    named = operator(bundle, "gemm_sm90_bf16_tn", name="tilewright_test::named")
    assert named.kernel.spec == "gemm_sm90_bf16_tn"
