"""Layers whose products are kernels, on the emulator. Skipped where PyTorch is missing."""

import copy
import io
import pickle

import pytest

torch = pytest.importorskip("torch", reason="layers need PyTorch")

import tilewright  # noqa: E402
from tilewright.nn import Linear, replace  # noqa: E402


def linear(dtype=torch.float32, bias=True):
    torch.manual_seed(7)
    return torch.nn.Linear(72, 40, bias=bias, dtype=dtype)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(72,), (3, 72), (2, 1, 3, 72), (0, 72)])
def test_any_axes_stand_before_the_last(bundle, bias, shape):
    layer = linear(bias=bias)
    ours, x = Linear.of(layer, bundle), torch.randn(shape)
    with torch.no_grad():
        assert torch.allclose(ours(x), layer(x), atol=1e-5)
        assert ours(x).shape == layer(x).shape
    assert ("linear_simt_f32" in repr(ours)) == bias


@pytest.mark.parametrize("word", [None, "gemm_sm90_bf16_packed"])
def test_a_bias_that_no_kernel_adds_is_added(bundle, word):
    layer = linear(torch.bfloat16)
    ours, x = Linear.of(layer, bundle, word), torch.randn(5, 72).bfloat16()
    assert ours.operator.kernel.word == "gemm"
    with torch.no_grad():
        wanted = (x @ layer.weight.T) + layer.bias
        assert torch.allclose(ours(x).float(), wanted.float(), rtol=2**-6, atol=2**-6)


@pytest.mark.parametrize("word", [None, "gemm_sm90_bf16_packed"])
def test_states_go_there_and_back(bundle, word):
    layer, x = linear(torch.bfloat16), torch.randn(5, 72).bfloat16()
    ours = Linear.of(layer, bundle, word)
    state = ours.state_dict()
    assert list(state) == list(layer.state_dict())
    assert all(torch.equal(state[name], one) for name, one in layer.state_dict().items())
    other = Linear.of(torch.nn.Linear(72, 40, dtype=torch.bfloat16), bundle, word)
    with torch.no_grad():
        assert not torch.equal(other(x), ours(x))
        assert other.load_state_dict(state).missing_keys == []
        assert torch.equal(other(x), ours(x))
        assert torch.equal(other.plain_weight(), layer.weight)
    torch.nn.Linear(72, 40, dtype=torch.bfloat16).load_state_dict(state)
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        other.load_state_dict({**state, "weight": torch.zeros(9, 72).bfloat16()})


def test_weights_are_shared_with_the_layer_and_packed_once(bundle):
    layer = linear(torch.bfloat16)
    assert Linear.of(layer, bundle).weight.data_ptr() == layer.weight.data_ptr()
    packed = Linear.of(layer, bundle, "gemm_sm90_bf16_packed")
    assert packed.weight.shape == (256 * 128,) and not list(packed.parameters())


def test_chosen_layers_of_a_model_are_replaced(bundle):
    model = torch.nn.Sequential(
        linear(), torch.nn.GELU(), torch.nn.ModuleDict({"head": torch.nn.Linear(40, 8)})["head"]
    )
    x = torch.randn(2, 3, 72)
    with torch.no_grad():
        wanted = model(x)
        assert replace(model, bundle, lambda name, layer: layer.out_features == 40) == ["0"]
        assert type(model[0]) is Linear and type(model[2]) is torch.nn.Linear
        assert torch.allclose(model(x), wanted, atol=1e-5)
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
        assert torch.allclose(compiled(x), wanted, atol=1e-5)
    assert replace(model, bundle) == ["2"]
    assert replace(model, bundle) == []


def test_packed_weights_are_packed_when_they_are_assigned(bundle):
    layer = torch.nn.Linear(72, 40, dtype=torch.bfloat16)
    ours = Linear.of(layer, bundle, "gemm_sm90_bf16_packed")
    x, ones = torch.randn(3, 72, dtype=torch.bfloat16), torch.ones(40, 72, dtype=torch.bfloat16)
    given = {"weight": ones, "bias": layer.bias.detach()}
    called = torch.func.functional_call(ours, given, (x,))
    held = ours.weight.shape
    ours.weight = torch.nn.Parameter(ones)
    assert ours.weight.shape == held and torch.equal(ours.plain_weight(), ones)
    assert torch.equal(ours.state_dict()["weight"], ones) and not list(ours.parameters())
    assert torch.equal(ours(x), called)
    with pytest.raises(tilewright.Error, match=r"\(40, 71\); the layer's is \(40, 72\)"):
        ours.weight = ones[:, :71]


def test_layers_whose_weights_others_read_stay(bundle):
    block = torch.nn.TransformerEncoderLayer(40, 4, 72, batch_first=True).eval()
    model, x = torch.nn.Sequential(block, torch.nn.Linear(40, 72)), torch.randn(2, 3, 40)
    with torch.no_grad():
        wanted = model(x)
        assert replace(model, bundle) == ["1"]
        assert torch.allclose(model(x), wanted, atol=1e-5)


def test_a_layer_without_inputs_has_no_kernel(bundle):
    with pytest.raises(tilewright.Error, match="the layer has no inputs"):
        Linear.of(torch.nn.Linear(0, 32), bundle)
    ours = Linear.of(linear(), bundle)
    assert ours(torch.zeros(0, 72)).shape == (0, 40)
    with pytest.raises(tilewright.Error, match="float64; the layer is of torch.float32"):
        ours(torch.zeros(0, 72, dtype=torch.float64))


def test_derivatives_forward_are_an_error_without_grad_too(bundle):
    ours, x = Linear.of(linear(), bundle), torch.randn(3, 72)
    for grad in (False, True):
        with torch.set_grad_enabled(grad):
            with pytest.raises(tilewright.InferenceOnly, match="`a`: has a tangent"):
                torch.func.jvp(ours, (x,), (torch.ones_like(x),))


def test_nothing_is_replaced_where_something_cannot_be(bundle):
    model = torch.nn.Sequential(linear(), torch.nn.Linear(40, 8, dtype=torch.float64))
    with pytest.raises(tilewright.Error, match="nothing was replaced: 1: no function is a linear"):
        replace(model, bundle)
    assert type(model[0]) is torch.nn.Linear
    with pytest.raises(tilewright.Error, match=r"use Linear\.of"):
        replace(linear(), bundle)
    with pytest.raises(tilewright.Error, match="copy_.* is no product of"):
        Linear.of(linear(), bundle, "copy")
    with pytest.raises(tilewright.Error, match="adds a bias, which the layer lacks"):
        Linear.of(linear(bias=False), bundle, "linear")


def test_copies_of_a_layer_have_weights_of_their_own(bundle):
    ours, x = Linear.of(linear(), bundle), torch.randn(3, 72)
    copied = copy.deepcopy(ours)
    assert torch.equal(copied(x), ours(x))
    copied.weight.zero_()
    assert not torch.equal(copied(x), ours(x))


def test_what_is_saved_is_the_state(bundle):
    ours = Linear.of(linear(), bundle)
    for save in (pickle.dumps, lambda layer: torch.save(layer, io.BytesIO())):
        with pytest.raises(tilewright.Error, match=r"save the model's `state_dict\(\)`"):
            save(ours)
    held = io.BytesIO()
    torch.save(ours.state_dict(), held)
    held.seek(0)
    other = Linear.of(linear(), bundle)
    other.load_state_dict(torch.load(held))
    x = torch.randn(3, 72)
    assert torch.equal(other(x), ours(x))


def test_layers_are_for_inference(bundle):
    ours, x = Linear.of(linear(), bundle), torch.randn(3, 72)
    # Its weights record nothing: no torch.no_grad() is needed.
    assert ours(x).requires_grad is False
    with pytest.raises(tilewright.InferenceOnly, match="`a`: requires grad"):
        ours(x.requires_grad_())


def test_a_layer_in_two_places_stays_one(bundle):
    layer = torch.nn.Linear(40, 40)
    model = torch.nn.Sequential(layer, torch.nn.GELU(), layer)
    assert replace(model, bundle) == ["0", "2"]
    assert type(model[0]) is Linear and model[0] is model[2]


def test_shapes_are_checked_also_of_nothing(bundle):
    ours = Linear.of(linear(), bundle)
    for shape in [(3, 0), (0, 71), (5, 73), (36, 2), ()]:
        with pytest.raises(tilewright.Error, match="72 features along the last axis"):
            ours(torch.zeros(shape))


def test_a_layer_that_does_more_stays(bundle):
    def hooked(register):
        layer = linear()
        getattr(layer, register)(lambda *given: None)
        return layer

    patched = linear()
    patched.forward = lambda x: x
    layers = [hooked("register_forward_hook"), hooked("register_forward_pre_hook"), patched]
    for layer in layers:
        model = torch.nn.Sequential(layer)
        with pytest.raises(tilewright.Error, match="0: the layer has .*does not run"):
            replace(model, bundle)
        assert model[0] is layer


@pytest.mark.parametrize(
    "formula, bias",
    [
        ("acc[m,n]: f32 = sum[k] x[m,k] * w[n,k]; y[m,n] = acc[m,n]", None),
        ("acc[m,n] = sum[k] x[m,k] * w[n,k]\ny[m,n] = acc[m,n] + c[n]", "c"),
        ("acc[m,n] = sum[k] w[n,k] * x[m,k]; y[m,n] = c[n] + acc[m,n]", "c"),
        ("y[m,n] = sum[k] x[m,k] * w[n,k]", None),
        ("y[m,n] = (sum[k] x[m,k] * w[n,k]) + c[n]", "c"),
        ("y[m,n] = c[n] + sum[k] x[m,k] * w[n,k]", "c"),
    ],
)
def test_a_layer_is_known_however_it_is_written(formula, bias):
    from tilewright.nn import _layer

    assert _layer(formula) == ("x", "w", "n", bias)


@pytest.mark.parametrize(
    "formula",
    [
        "y[m,n] = sum[k] x[m,k] * w[n,k] + c[n]",
        "y[m,n] = sum[k] x[m,k] * w[k,n]",
        "y[n,m] = (sum[k] x[m,k] * w[n,k]) + c[n]",
        "y[m,n] = (sum[k] x[m,k] * w[n,k]) + c[m]",
        "y[m,n] = 2 * (sum[k] x[m,k] * w[n,k])",
        "y[m,n] = relu(sum[k] x[m,k] * w[n,k])",
        "acc[n,m] = sum[k] x[m,k] * w[n,k]; y[m,n] = acc[m,n]",
        "acc[m,n] = sum[k] x[m,k] * w[n,k]; y[m,n] = acc[m,n] + acc[m,n]",
        "y[m] = sum[k] x[m,k]",
    ],
)
def test_what_is_more_than_a_layer_is_none(formula):
    from tilewright.nn import _layer

    known = _layer(formula)
    # With its modes the other way round it is one whose input is w.
    assert known is None or known.x == "w"
