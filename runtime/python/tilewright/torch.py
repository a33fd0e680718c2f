"""Functions of a bundle as custom operators of PyTorch.

`operator` makes one of a function: inputs and scalars go in, outputs come back, allocated without
gaps, or with rows padded to the multiple that every kernel of the function wants. It has a schema
and a fake kernel, so that `torch.compile(fullgraph=True)`, its CUDA graphs and `torch.export` take
it as they take PyTorch's own, runs on the current stream, and passes `torch.library.opcheck`. On a
bundle opened on the emulator it takes tensors of the CPU.

>>> import torch
>>> product = operator(bundle, "gemm_simt_f32", name="tilewright::doc_product")
>>> product.schema
'(Tensor a, Tensor b) -> Tensor'
>>> a, b = torch.eye(3), torch.arange(12.0).reshape(4, 3)
>>> torch.equal(product(a, b), b.T)
True
>>> torch.compile(lambda a, b: product(a, b) + 1, fullgraph=True, backend="eager")(a, b).shape
torch.Size([3, 4])

Kernels have no derivative: while PyTorch records, an argument that requires grad is refused.
"""

import keyword
import re
import threading
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch.autograd import forward_ad

from ._tilewright import INFERENCE_ONLY, Bundle, Error, InferenceOnly, Kernel, Operand, Typed
from .signature import PER_BYTE, Signature, refused

__all__ = ["Operator", "operator"]

CHOICES = 1024
"""Kernels that an operator remembers by what its arguments look like, at most."""

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "tf32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    "ue8m0": getattr(torch, "float8_e8m0fnu", torch.uint8),
    "s8": torch.int8,
    "u8": torch.uint8,
    "s16": torch.int16,
    "u16": torch.uint16,
    "s32": torch.int32,
    "u32": torch.uint32,
    "s64": torch.int64,
    "u64": torch.uint64,
    "s4": torch.uint8,
    "u4": torch.uint8,
    "e2m1": torch.uint8,
    "b8": torch.uint8,
    "b16": torch.int16,
    "b32": torch.int32,
    "b64": torch.int64,
}
"""What results are made of; those of bits alone are as the argument that has the same."""


_NO_TANGENT = (
    "has a tangent, and kernels have no derivative: give what `torch.func.jvp` and its like "
    "differentiate to layers of PyTorch, or take the tangent away, `unpack_dual(x).primal`"
)


class Operator:
    """A function of a bundle as a custom operator. Calling it checks as a launch does.

    Attributes:
        name: `namespace::name`.
        schema: arguments and results, as PyTorch writes them.
        kernel: the first kernel of the function.
        extents: names of extents that no tensor tells, which are arguments.
        overload: the operator as PyTorch has it: `torch.ops.namespace.name.default`.
    """

    def __init__(
        self,
        bundle: Bundle,
        word: str,
        kernel: Kernel,
        name: str,
        in_place: bool,
        promises: Sequence[str],
    ) -> None:
        self.name, self.kernel, self._word = name, kernel, word
        self._bundle, self._promises = bundle, list(promises)
        self._identity = (kernel.function, in_place, tuple(promises))
        alike = [one for one in bundle.kernels if one.function == kernel.function]
        self._signature = Signature(kernel, in_place, alike)
        self._names, self.extents = self._signature.names, list(self._signature.extents)
        self._tensors = [one.name for one in self._signature.tensors]
        self._chosen: Dict[Any, Kernel] = {}
        self._aligned = max(one.alignment for like in alike for one in like.operands)
        self._lock = threading.Lock()
        self.schema = _schema(self._signature)
        written = sorted(self._signature.written)
        made = torch.library.custom_op(name, self._run, mutates_args=written, schema=self.schema)
        made.register_fake(self._fake)
        if not written:
            made.register_autograd(_no_backward, setup_context=_no_context)
        namespace, own = name.split("::")
        self.overload = getattr(getattr(torch.ops, namespace), own).default

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for name, one in [*zip(self._names, args), *kwargs.items()]:
            if not isinstance(one, torch.Tensor):
                continue
            if torch.is_grad_enabled() and one.requires_grad:
                raise InferenceOnly(f"`{name}`: {INFERENCE_ONLY}")
            # `no_grad` leaves derivatives forward as they are.
            if _has_tangent(one):
                raise InferenceOnly(f"`{name}`: {_NO_TANGENT}")
        return self.overload(*args, **kwargs)

    def __deepcopy__(self, memo: Any) -> "Operator":
        """Itself: a name has one operator."""
        return self

    def __reduce__(self) -> Any:
        raise Error(
            f"{self.name} is of an open bundle, which is not pickled: save the model's "
            "`state_dict()`, and after loading it put kernels in the place of layers again"
        )

    def __repr__(self) -> str:
        return f"<tilewright.torch.Operator {self.name}{self.schema}>"

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """The operator itself."""
        values = {**dict(zip(self._names, args)), **kwargs}
        results, tensors = self._allocated(values)
        operands = dict(zip([one.name for one in self._signature.results], results))
        operands.update(tensors)
        for output, place in self._signature.places.items():
            operands[output] = tensors[place]
        numbers = {name: values[name] for name in self._names if name not in tensors}
        kernel = self._choice(operands, numbers)
        told = {one.name: _typed(one, operands[one.name]) for one in kernel.operands}
        kernel(promises=self._promises, **told, **numbers)
        return _returned(results)

    def _fake(self, *args: Any, **kwargs: Any) -> Any:
        """What comes back, without a launch."""
        values = {**dict(zip(self._names, args)), **kwargs}
        return _returned(self._allocated(values, is_fake=True)[0])

    def _allocated(
        self, values: Dict[str, Any], is_fake: bool = False
    ) -> Tuple[List[torch.Tensor], Dict[str, torch.Tensor]]:
        """New results, and the arguments that are tensors."""
        signature = self._signature
        tensors = {name: values[name] for name in self._tensors}
        missing = [f"`{name}`: None is no tensor" for name, one in tensors.items() if one is None]
        if missing:
            raise Error("; ".join(missing))
        if is_fake:
            # PyTorch asks for what comes back of a call as soon as one tensor is on `meta`.
            _check_devices(tensors)
        shapes = {name: tensor.shape for name, tensor in tensors.items()}
        wrong = signature.wrong_axes(shapes)
        if wrong:
            types = _wrong_types(signature.tensors, tensors)
            kinds = ["shape"] * len(wrong) + ["dtype"] * len(types)
            raise refused(", and ".join(wrong + types), kinds)
        known = signature.environment(shapes, {name: values[name] for name in signature.extents})
        lie = {name: tensor.stride() for name, tensor in tensors.items()}
        known.update(signature.shared_strides(shapes, lie))
        if is_fake:
            for holds, told in signature.disagreements(shapes, known):
                torch._check(holds, lambda told=told: f"{self.name}: {told}")
        device = next(iter(tensors.values())).device
        results = []
        for one in signature.results:
            shape, strides = signature.placed(one, known, least=torch.sym_min, most=torch.sym_max)
            dtype = _dtype(one, signature.tensors, tensors)
            results.append(torch.empty_strided(shape, strides, dtype=dtype, device=device))
        return results, tensors

    def _choice(self, operands: Dict[str, torch.Tensor], numbers: Dict[str, Any]) -> Kernel:
        """The kernel that the bundle's tables choose, asked once for all that look alike."""
        looks = tuple(
            (name, one.dtype, tuple(one.shape), one.stride(), self._alignment(one.data_ptr()))
            for name, one in operands.items()
        )
        extents = tuple(numbers[name] for name in self._signature.extents)
        with self._lock:
            found = self._chosen.get((looks, extents))
        if found is not None:
            return found
        told = {one.name: _typed(one, operands[one.name]) for one in self.kernel.operands}
        found = self._bundle.pick(self._word, promises=self._promises, **told, **numbers)
        with self._lock:
            while len(self._chosen) >= CHOICES:
                del self._chosen[next(iter(self._chosen))]
            self._chosen[looks, extents] = found
        return found

    def _reopened(self, bundle: Bundle) -> None:
        """Goes on with a bundle that was opened again where the first one was lost."""
        with self._lock:
            self._bundle = bundle
            self._chosen.clear()

    def _alignment(self, address: int) -> int:
        """The power of two that an address is a multiple of, as far as a kernel minds."""
        return min(address & -address, self._aligned)


_made: Dict[str, Tuple[Bundle, Operator]] = {}
_making = threading.Lock()


def is_same(one: Bundle, other: Bundle) -> bool:
    """Whether two are one bundle on one device, opened once or twice."""
    return one is other or (
        (one.hash, one.device) == (other.hash, other.device)
        and one.device_info == other.device_info
    )


def operator(
    bundle: Bundle,
    word: str,
    name: Optional[str] = None,
    *,
    in_place: bool = True,
    promises: Sequence[str] = (),
) -> Operator:
    """A function of a bundle as an operator.

    Args:
        bundle: an open bundle; it stays open as long as the process.
        word: names one function: a spec's word or name, or the beginning of a function's hash.
        name: `namespace::name`; by default `tilewright::` and the name of the function's first
            spec. The same call again gives the same operator, also of a bundle that was opened
            again on the same device.
        in_place: an output that may take the place of an input (`over`) does, and that input is an
            argument that is written; otherwise it is one more result.
        promises: what the kernels cannot check and the caller confirms.
    """
    found = bundle.functions(word)
    # A word that is a spec's own name means that one, also where others have it as their word.
    named = {one.function for one in bundle.kernels if one.spec == word}
    found = [one for one in found if one.function in named] if len(named) == 1 else found
    if len(found) != 1:
        many = ", ".join(f"{one.spec} ({one.function[:12]})" for one in found)
        raise Error(f"{word!r} means {len(found)} functions: {many}; say a spec's name or a hash")
    kernel = found[0]
    word = word if len(bundle.functions(word)) == 1 else kernel.function
    name = name or "tilewright::" + re.sub(r"\W", "_", kernel.spec)
    if not re.fullmatch(r"[A-Za-z_]\w*::[A-Za-z_]\w*", name):
        raise Error(f"{name!r} is no operator's name; one is `namespace::name`")
    with _making:
        if name not in _made:
            made = Operator(bundle, word, kernel, name, in_place, promises)
            _made[name] = (bundle, made)
            return made
        opened, known = _made[name]
        identity = (kernel.function, in_place, tuple(promises))
        if known._identity != identity or not is_same(opened, bundle):
            own = name.partition("::")[2]
            raise Error(
                f"{name!r} is an operator of another function, bundle or device, or of other "
                f"promises; give another name, `name='namespace::{own}'`"
            )
        if opened.is_lost:
            known._reopened(bundle)
            _made[name] = (bundle, known)
    return known


def _check_devices(tensors: Dict[str, torch.Tensor]) -> None:
    """Refuses tensors of several devices."""
    devices = {name: str(tensor.device) for name, tensor in tensors.items()}
    if len(set(devices.values())) > 1:
        told = ", ".join(f"`{name}` is on {device!r}" for name, device in devices.items())
        raise Error(f"{told}: move all to one device")


def _schema(signature: Signature) -> str:
    """Arguments and results, as PyTorch writes them."""
    if not signature.tensors:
        raise Error(f"{signature.kernel.spec} takes no tensor, which an operator needs")
    bad = [name for name in signature.names if keyword.iskeyword(name)]
    if bad:
        raise Error(f"{signature.kernel.spec} names {bad}, which are Python's keywords")
    arguments = []
    for at, one in enumerate(signature.tensors):
        # Each argument that is written has an alias set of its own.
        own = f"({chr(ord('a') + at)}!)" if one.name in signature.written else ""
        arguments.append(f"Tensor{own} {one.name}")
    kinds = {"float": "float", "int": "SymInt"}
    arguments += [f"{kinds[kind]} {name}" for name, kind in signature.scalars.items()]
    arguments += [f"SymInt {name}" for name in signature.extents]
    results = ["Tensor"] * len(signature.results)
    gives = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({', '.join(arguments)}) -> {gives}"


def _returned(results: List[torch.Tensor]) -> Any:
    return None if not results else results[0] if len(results) == 1 else tuple(results)


def _typed(one: Operand, tensor: torch.Tensor) -> Any:
    """A tensor as its operand's elements: PyTorch has bytes of those of four bits."""
    return Typed(tensor, one.dtype) if one.dtype in PER_BYTE else tensor


def _wrong_types(operands: List[Operand], tensors: Dict[str, torch.Tensor]) -> List[str]:
    """The arguments whose elements are of another type; those of bits alone are the kernel's to
    judge."""
    return [
        f"`{one.name}` has elements of {tensors[one.name].dtype}; the kernel takes {one.dtype}"
        for one in operands
        if not _takes(one.dtype, tensors[one.name].dtype)
    ]


def _takes(wanted: str, dtype: torch.dtype) -> bool:
    """Whether an operand takes elements of that type: those of four bits are bytes."""
    if wanted in PER_BYTE:
        return dtype.itemsize == 1
    is_bits = wanted.startswith("b") and wanted != "bf16"
    is_condition = (wanted, dtype) == ("u8", torch.bool)
    return is_bits or is_condition or dtype == DTYPES.get(wanted)


def _dtype(
    one: Operand, operands: List[Operand], tensors: Dict[str, torch.Tensor]
) -> torch.dtype:
    """The type of a result."""
    if one.dtype.startswith("b") and one.dtype != "bf16":
        alike = [tensors[other.name].dtype for other in operands if other.dtype == one.dtype]
        if alike:
            return alike[0]
    if one.dtype not in DTYPES:
        raise Error(f"PyTorch has no type for `{one.name}`, whose elements are {one.dtype}")
    return DTYPES[one.dtype]


def _has_tangent(tensor: torch.Tensor) -> bool:
    """Whether forward-mode differentiation goes through it, which PyTorch would leave out here."""
    if torch.compiler.is_compiling():
        return False
    return forward_ad.unpack_dual(tensor).tangent is not None


def _no_context(ctx: Any, inputs: Any, output: Any) -> None:
    raise InferenceOnly(f"an argument {INFERENCE_ONLY}")


def _no_backward(ctx: Any, *gradients: Any) -> None:
    raise InferenceOnly(f"an argument {INFERENCE_ONLY}")
