"""What a function takes and gives, as the arguments and results of one call.

In: a kernel, whose operands, scalars and extents are those of every kernel of its function. Out:
the arguments in their order, which of them are written, which results are allocated, and the shapes
and strides of these, computed with whatever integers the inputs have: numbers or PyTorch's symbols.
Nothing here knows PyTorch.
"""

import ast
from functools import lru_cache
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

from ._tilewright import Error, Kernel, Operand, Refused

PER_BYTE = {"s4": 2, "u4": 2, "e2m1": 2}
"""Elements that stand in one byte; arrays of them have the bytes."""


class Signature:
    """The arguments and results of one function.

    Attributes:
        kernel: a kernel of the function.
        alike: all of them, which say what strides may be; by default that one.
        tensors: operands that are arguments, in their order.
        written: names of those that are written.
        places: of outputs that take the place of an argument, the argument's name.
        results: operands that are allocated.
        scalars: numbers by value, with `float` or `int`.
        extents: extents that no tensor says, which are arguments.
    """

    def __init__(
        self, kernel: Kernel, in_place: bool = True, alike: Sequence[Kernel] = ()
    ) -> None:
        self.kernel = kernel
        operands = kernel.operands
        taking = [one.operands for one in alike if one.runs_here] or [operands]
        self._multiples = {
            operand.name: [min(all) for all in zip(*(like[at].multiple for like in taking))]
            for at, operand in enumerate(operands)
        }
        self.places: Dict[str, str] = {}
        if in_place:
            self.places = {one.name: one.over for one in operands if one.over is not None}
        given = lambda one: one.role != "out"
        self.tensors: List[Operand] = [one for one in operands if given(one)]
        self.results: List[Operand] = [
            one for one in operands if not given(one) and one.name not in self.places
        ]
        inout = [one.name for one in operands if one.role == "inout"]
        self.written = set(inout) | set(self.places.values())
        self.scalars = {name: _number(dtype) for name, dtype in kernel.scalars.items()}
        told = {
            extent for one in self.tensors if one.packed is None for extent in one.shape
        }
        self.extents = [extent for extent in kernel.extents if extent not in told]
        strides = {name for one in self.results for text in one.stride for name in _names(text)}
        self._strides = strides - set(kernel.extents) - set(kernel.constants)

    @property
    def names(self) -> List[str]:
        """The arguments in their order."""
        return [one.name for one in self.tensors] + list(self.scalars) + self.extents

    def environment(
        self, shapes: Mapping[str, Sequence[Any]], extents: Mapping[str, Any]
    ) -> Dict[str, Any]:
        """Values of all extents, by the shapes of arguments and the extents among them."""
        known: Dict[str, Any] = {**self.kernel.constants, **extents}
        wrong = self.wrong_axes(shapes)
        if wrong:
            raise refused(", and ".join(wrong), ["shape"] * len(wrong))
        for one in self.tensors:
            if one.packed is not None:
                continue
            for axis, (text, extent) in enumerate(zip(one.shape, shapes[one.name])):
                if text.isidentifier():
                    known.setdefault(text, extent * _together(one, axis))
        return known

    def wrong_axes(self, shapes: Mapping[str, Sequence[Any]]) -> List[str]:
        """The arguments that have another number of axes than their operands, each with a way out
        where there is one."""
        return [
            f"`{one.name}` has {_axes(has)}; the kernel takes {one.layout}"
            f"{_flattened(one.name, len(one.shape), has)}"
            for one in self.tensors
            for has in [len(shapes[one.name])]
            if one.packed is None and has != len(one.shape)
        ]

    def shared_strides(
        self, shapes: Mapping[str, Sequence[Any]], strides: Mapping[str, Sequence[Any]]
    ) -> Dict[str, Any]:
        """Values of the names that strides of results share with those of arguments, which
        arguments of several elements along the axis tell; the others where none does."""
        known: Dict[str, Any] = {}
        idle: Dict[str, Any] = {}
        for one in self.tensors:
            if one.packed is not None or one.dtype in PER_BYTE:
                continue
            for text, extent, stride in zip(one.stride, shapes[one.name], strides[one.name]):
                if text in self._strides:
                    (known if extent > 1 else idle).setdefault(text, stride)
        return {**idle, **known}

    def disagreements(
        self, shapes: Mapping[str, Sequence[Any]], known: Mapping[str, Any]
    ) -> List[Tuple[Any, str]]:
        """What must hold of the arguments' shapes, each with the text of its failure."""
        wanted = []
        for one in self.tensors:
            if one.packed is not None:
                continue
            for axis, (text, extent) in enumerate(zip(one.shape, shapes[one.name])):
                has, needs = extent * _together(one, axis), value(text, known)
                told = f"axis {axis} of `{one.name}` has another number of elements than {text}"
                wanted.append((has == needs, told))
        return wanted

    def placed(
        self, one: Operand, known: Mapping[str, Any], **functions: Callable[..., Any]
    ) -> Tuple[List[Any], List[Any]]:
        """Shape and strides of a result, its axis of stride 1 innermost, in entries of an array:
        without gaps, but where its layout names a stride and every kernel wants a multiple."""
        shape = [
            value(text, known, **functions) // _together(one, axis)
            for axis, text in enumerate(one.shape)
        ]
        inner_first = lambda axis: (one.stride[axis] != "1", -axis)
        strides, step = [1] * len(shape), 1
        for place, axis in enumerate(sorted(range(len(shape)), key=inner_first)):
            fixed = one.stride[axis]
            is_known = fixed != "1" and all(name in known for name in _names(fixed))
            by = self._multiples[one.name][axis] // PER_BYTE.get(one.dtype, 1)
            if is_known:
                strides[axis] = value(fixed, known, **functions)
            elif by > 1 and place > 0:
                strides[axis] = (step + (by - 1)) // by * by
            else:
                strides[axis] = step
            step = strides[axis] * shape[axis]
        return shape, strides


def _axes(count: int) -> str:
    return "1 axis" if count == 1 else f"{count} axes"


def refused(text: str, kinds: List[str]) -> Refused:
    """What a launch would refuse, told before there is one."""
    raised = Refused(text)
    raised.kinds = kinds
    return raised


def _flattened(name: str, needs: int, has: int) -> str:
    """What makes so many axes of more, of arrays as of tensors."""
    if needs == 0:
        return f"; of one element {name}.reshape(()) makes it so"
    if has + 1 == needs:
        return f"; {name}[None] has one more, of extent 1"
    if has <= needs:
        return ""
    kept = "".join(f", {name}.shape[{axis}]" for axis in range(1 - needs, 0))
    return f"; where the first ones lie without gaps, {name}.reshape(-1{kept}) does"


def _number(dtype: str) -> str:
    return "float" if dtype in ("f64", "f32", "f16", "bf16") else "int"


def _together(one: Operand, axis: int) -> int:
    """Elements in an entry of an array along an axis."""
    ones = [at for at, stride in enumerate(one.stride) if stride == "1"]
    return PER_BYTE.get(one.dtype, 1) if ones and axis == ones[-1] else 1


@lru_cache(maxsize=4096)
def _tree(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


@lru_cache(maxsize=4096)
def _names(text: str) -> Tuple[str, ...]:
    """The extents and strides that an expression stands on."""
    tree = _tree(text)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return tuple(node.id for node in nodes if id(node) not in called)


def value(
    text: str,
    known: Mapping[str, Any],
    least: Callable[..., Any] = min,
    most: Callable[..., Any] = max,
) -> Any:
    """An expression of a manifest: `+ - * / % min max ceil_div` over integers, `/` rounding down.

    >>> value("ceil_div(k, 128) * 2 + 1", {"k": 300})
    7
    """
    functions: Dict[str, Callable[..., Any]] = {
        "min": least,
        "max": most,
        "ceil_div": lambda a, b: (a + b - 1) // b,
    }
    operations: Dict[type, Callable[[Any, Any], Any]] = {
        ast.Add: lambda a, b: a + b,
        ast.Sub: lambda a, b: a - b,
        ast.Mult: lambda a, b: a * b,
        ast.Div: lambda a, b: a // b,
        ast.Mod: lambda a, b: a % b,
    }

    def walked(node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in known:
                told = "no tensor and no argument says it"
                raise Error(f"`{node.id}` in `{text}` has no value: {told}")
            return known[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in operations:
            return operations[type(node.op)](walked(node.left), walked(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -walked(node.operand)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in functions:
                return functions[node.func.id](*[walked(one) for one in node.args])
        raise Error(f"`{text}` is no expression over extents")

    return walked(_tree(text))
