"""Layers of PyTorch whose products are kernels of a bundle: for inference.

>>> import torch
>>> model = torch.nn.Sequential(torch.nn.Linear(24, 40), torch.nn.ReLU(), torch.nn.Linear(40, 8))
>>> x = torch.randn(2, 3, 24)
>>> wanted = model(x)
>>> replace(model, bundle, lambda name, layer: layer.out_features == 40)
['0']
>>> with torch.no_grad():
...     torch.allclose(model(x), wanted, atol=1e-5)
True
"""

import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import torch

from ._tilewright import Bundle, Error, Kernel
from .packing import pack, unpack
from .torch import DTYPES, Operator, is_same, operator

__all__ = ["Linear", "replace"]

_STATEMENT = re.compile(r"(\w+)\[(\w+),(\w+)\](?::f32)?=(.+)")
_SUM = re.compile(r"sum\[(\w+)\](\w+)\[(\w+),\1\]\*(\w+)\[(\w+),\1\]")


class _Layer(NamedTuple):
    """The names in a formula that is a linear layer."""

    x: str
    w: str
    n: str
    bias: Optional[str]


def _layer(formula: str) -> Optional[_Layer]:
    """What a formula says, if it is a linear layer, without or with a bias."""
    text = ";".join(re.sub(r"\s", "", line) for line in formula.splitlines())
    found = [_STATEMENT.fullmatch(one) for one in text.split(";") if one]
    statements = [one.groups() for one in found if one is not None]
    if len(statements) != len(found) or len(found) not in (1, 2):
        return None
    _, m, n, value = statements[-1]
    for acc, *modes, made in statements[:-1]:
        if modes != [m, n]:
            return None
        value = value.replace(f"{acc}[{m},{n}]", f"({made})", 1)
    product = _SUM.search(value)
    if product is None:
        return None
    _, one, first, other, second = product.groups()
    factors = {first: one, second: other}
    if factors.keys() != {m, n}:
        return None
    # A sum takes all that stands behind it.
    of = product.group()
    if f"({of})" in value:
        rest = value.replace(f"({of})", "@")
    elif value.endswith(of):
        rest = value[: -len(of)] + "@"
    else:
        return None
    mode = re.escape(n)
    whole = re.fullmatch(rf"@(?:\+(\w+)\[{mode}\])?|(\w+)\[{mode}\]\+@", rest)
    if whole is None:
        return None
    return _Layer(factors[m], factors[n], n, whole.group(1) or whole.group(2))


class _Roles(NamedTuple):
    """Which operand of a function is what to a linear layer."""

    kernel: Kernel
    x: str
    w: str
    n: str
    bias: Optional[str]
    is_packed: bool

    def __deepcopy__(self, memo: Any) -> "_Roles":
        """Itself: kernels are their bundle's, and a copy of a layer launches the same."""
        return self


def _roles(kernel: Kernel) -> Optional[_Roles]:
    """What a function's operands are to a linear layer, if it is one."""
    layer = _layer(kernel.formula)
    if layer is None or kernel.scalars:
        return None
    x, w, n, bias = layer
    packed = {one.name: one.packed for one in kernel.operands}
    if packed[x] is not None or (bias is not None and packed[bias] is not None):
        return None
    return _Roles(kernel, x, w, n, bias, packed[w] is not None)


def _types(roles: _Roles) -> Dict[str, Optional[torch.dtype]]:
    return {one.name: DTYPES.get(one.dtype) for one in roles.kernel.operands}


def _function(bundle: Bundle, linear: Any, word: Optional[str]) -> _Roles:
    """The function that a layer is: plain weights before packed ones, its own bias before a sum."""
    dtype, has_bias = linear.weight.dtype, linear.bias is not None
    found, others = [], []
    for kernel in bundle.functions(word):
        roles = _roles(kernel)
        if roles is None:
            others.append(
                f"{kernel.spec} is no product of x[m,k] with w[n,k] alone, with or without a bias"
            )
            continue
        types = {name for name in _types(roles).values()}
        if types != {dtype}:
            others.append(f"{kernel.spec} is of {', '.join(sorted(map(str, types)))}")
        elif roles.bias is not None and not has_bias:
            others.append(f"{kernel.spec} adds a bias, which the layer lacks")
        elif not _takes(bundle, roles, linear.weight):
            own = next(one for one in kernel.operands if one.name == roles.w)
            others.append(
                f"{kernel.spec} takes `{roles.w}` as {own.layout}, and the layer's lies as "
                f"{tuple(linear.weight.stride())}"
            )
        else:
            found.append(roles)
    if not found:
        asked = "" if word is None else f" that {word!r} means"
        told = "; ".join(others[:8]) or "there is none"
        raise Error(f"no function{asked} is a linear layer of {dtype}: {told}")
    return min(found, key=lambda one: (one.is_packed, has_bias and one.bias is None))


def _takes(bundle: Bundle, roles: _Roles, weight: torch.Tensor) -> bool:
    """Whether a kernel of the function has strides of 1 alone where the weights have them."""
    if roles.is_packed:
        return True
    alike = [one for one in bundle.kernels if one.function == roles.kernel.function]
    strides = [one.stride for like in alike for one in like.operands if one.name == roles.w]
    return any(
        all(text != "1" or own == 1 for text, own in zip(stride, weight.stride()))
        for stride in strides
    )


_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def _lost(layer: torch.nn.Module) -> str:
    """What of a layer another one in its place would not do."""
    if "forward" in vars(layer):
        return "a forward of its own"
    return "hooks" if any(getattr(layer, name, None) for name in _HOOKS) else ""


class Linear(torch.nn.Module):
    """`torch.nn.Linear` by a kernel: the same weights under the same names in `state_dict`.

    Any number of axes stand before the last one. A bias is added by the kernel where the bundle
    has such a function, and by PyTorch otherwise. Where the function takes packed weights, they are
    packed when they are loaded or assigned as the layer's `weight`; `state_dict` has them as
    PyTorch does. A layer without inputs has no kernel.

    Attributes:
        operator: the product, as an operator.
        in_features, out_features: as of `torch.nn.Linear`.
    """

    operator: Operator
    weight: torch.Tensor
    bias: Optional[torch.Tensor]

    def __init__(
        self,
        weight: torch.Tensor,
        bias: Optional[torch.Tensor],
        roles: _Roles,
        product: Operator,
    ) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.operator, self._roles = product, roles
        held = pack(roles.kernel, roles.w, weight) if roles.is_packed else weight.detach()
        self.register_buffer("weight", held)
        self.register_buffer("bias", None if bias is None else bias.detach())

    @classmethod
    def of(cls, linear: torch.nn.Linear, bundle: Bundle, word: Optional[str] = None) -> "Linear":
        """The layer that computes what another one does, with its weights.

        Args:
            linear: the layer.
            bundle: an open bundle.
            word: names the function; by default any that is a linear layer of the weights' type.
        """
        lost = _lost(linear)
        if lost:
            raise Error(
                f"the layer has {lost}, which a kernel does not run: take it away first, or leave "
                "the layer as it is"
            )
        if linear.in_features == 0:
            raise Error("the layer has no inputs, and kernels sum something: leave it as it is")
        roles = _function(bundle, linear, word)
        name = f"tilewright::linear_{roles.kernel.function[:16]}_{_number(bundle)}"
        spec = roles.kernel.spec
        own = spec if len(bundle.functions(spec)) == 1 else roles.kernel.function
        product = operator(bundle, own, name=name)
        return cls(linear.weight, linear.bias, roles, product)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        roles = self._roles
        if x.dim() == 0 or x.shape[-1] != self.in_features:
            raise Error(
                f"the input has the shape {tuple(x.shape)}; the layer takes {self.in_features} "
                "features along the last axis"
            )
        if x.numel() == 0:
            if x.dtype != self.weight.dtype:
                raise Error(f"the input is {x.dtype}; the layer is of {self.weight.dtype}")
            return x.new_empty(*x.shape[:-1], self.out_features)
        rows = x.reshape(-1, self.in_features)
        held = self.weight
        if roles.is_packed and held.dim() == 2:
            # As `torch.func.functional_call` gives it.
            held = pack(roles.kernel, roles.w, held)
        given: Dict[str, Any] = {roles.x: rows, roles.w: held}
        if roles.bias is not None:
            given[roles.bias] = self.bias
        if roles.n in self.operator.extents:
            given[roles.n] = self.out_features
        y = self.operator(**given)
        if self.bias is not None and roles.bias is None:
            y = y + self.bias
        return y.reshape(*x.shape[:-1], self.out_features)

    def __setattr__(self, name: str, value: Any) -> None:
        is_new = isinstance(value, torch.Tensor) and name in self.__dict__.get("_buffers", {})
        if is_new and name == "weight":
            shape = (self.out_features, self.in_features)
            if tuple(value.shape) == shape and self._roles.is_packed:
                value = pack(self._roles.kernel, self._roles.w, value)
            elif value.shape != self.weight.shape:
                given = tuple(value.shape)
                raise Error(f"the weight has the shape {given}; the layer's is {shape}")
        # What is a parameter elsewhere is a buffer here.
        super().__setattr__(name, value.detach() if is_new else value)

    def plain_weight(self) -> torch.Tensor:
        """The weights as `torch.nn.Linear` has them."""
        roles, shape = self._roles, (self.out_features, self.in_features)
        if not roles.is_packed:
            return self.weight
        return unpack(roles.kernel, roles.w, self.weight, shape)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}, kernel={self._roles.kernel.spec}"
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if self._roles.is_packed:
            destination[prefix + "weight"] = self.plain_weight()

    def _load_from_state_dict(
        self, state_dict: Dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        name, roles = prefix + "weight", self._roles
        plain = state_dict.get(name)
        shape = (self.out_features, self.in_features)
        if roles.is_packed and plain is not None and tuple(plain.shape) == shape:
            # The caller's own dictionary keeps what it has.
            state_dict = {**state_dict, name: pack(roles.kernel, roles.w, plain)}
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


_bundles: List[Bundle] = []


def _number(bundle: Bundle) -> int:
    """Of each bundle another number, since operators are named for the whole process; of one that
    is opened again the same."""
    known = [at for at, one in enumerate(_bundles) if is_same(one, bundle)]
    if not known:
        _bundles.append(bundle)
    return known[0] if known else len(_bundles) - 1


def replace(
    model: torch.nn.Module,
    bundle: Bundle,
    predicate: Optional[Callable[[str, torch.nn.Linear], bool]] = None,
) -> List[str]:
    """Replaces linear layers of a model by kernels of a bundle, and tells their names.

    Those of a `torch.nn.TransformerEncoderLayer` stay, whose fast path reads their weights by
    itself.

    Args:
        model: changed in place, unless an error says why not.
        bundle: an open bundle.
        predicate: is asked with a layer's name and the layer; by default all are replaced.
    """
    made: Dict[str, Linear] = {}
    known: Dict[int, Linear] = {}
    refused = []
    # A layer that stands in several places is one layer in all of them.
    for name, layer in model.named_modules(remove_duplicate=False):
        if type(layer) is not torch.nn.Linear or (predicate and not predicate(name, layer)):
            continue
        parent = model.get_submodule(name.rpartition(".")[0])
        if name and isinstance(parent, torch.nn.TransformerEncoderLayer):
            continue
        if not name:
            raise Error("the model is a linear layer itself: use Linear.of(model, bundle)")
        try:
            made[name] = known.get(id(layer)) or Linear.of(layer, bundle)
            known[id(layer)] = made[name]
        except Error as error:
            refused.append(f"{name}: {error}")
    if refused:
        raise Error("nothing was replaced: " + "; ".join(refused))
    for name, layer in made.items():
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, layer)
    return list(made)
