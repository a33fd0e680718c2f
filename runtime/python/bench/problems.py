"""What all that is measured has in common: its tensors, its reference, how PyTorch computes it.

Cases ask a kernel's operands by role and name; types are the operands' own.
"""

import functools

import torch

import tilewright

TYPES = {
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "f32": torch.float32,
    "tf32": torch.float32,
    "f64": torch.float64,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    "ue8m0": torch.float8_e8m0fnu,
    "s8": torch.int8,
    "u8": torch.uint8,
    "s16": torch.int16,
    "s32": torch.int32,
    "s64": torch.int64,
    "b8": torch.uint8,
    "b16": torch.bfloat16,
    "b32": torch.float32,
    "b64": torch.float64,
}
#: Where tensors are made: `cuda`, or `cpu` for the emulator.
DEVICE = "cuda"
#: Together more than the second-level cache of any GPU, twice.
ROTATED_BYTES = 256 << 20
EPS = 1e-5
#: Names of a vector along the columns and of a tile that epilogues add.
BIASES = ("bias", "v", "beta")
RESIDUALS = ("r", "c", "res", "residual")


class Unknown(Exception):
    """A kernel whose operands a case does not know."""


def random(dtype, *shape, scale=1.0):
    """Normal numbers of a type, or small integers."""
    kind = TYPES[dtype]
    if not kind.is_floating_point:
        return torch.randint(0, 100, shape, device=DEVICE).to(kind)
    wide = kind if kind.itemsize > 1 else torch.bfloat16
    return torch.randn(shape, device=DEVICE, dtype=wide).mul_(scale).to(kind)


def void(_):
    """Says that a peer has written in place."""


class Problem:
    """One function at one shape. Subclasses say what is computed."""

    #: Allowed error: of an element's size, of the output's rms; None follows from the type.
    bound = None
    scalars = {}
    flops = None
    #: How PyTorch may be asked for it, the first that agrees with the kernel being meant.
    meanings = ()

    def __init__(self, kernel, shape):
        self.kernel = kernel
        self.shape = shape
        self.types = {operand.name: operand.dtype for operand in kernel.operands}
        self.operands = list(self.types)
        self.inputs = [operand.name for operand in kernel.operands if operand.role == "in"]
        self.outputs = [operand.name for operand in kernel.operands if operand.role != "in"]
        self.meaning = None
        self.prepare()

    def prepare(self):
        """Looks at the operands."""

    def known(self, inputs, outputs):
        """Refuses a kernel of other operands."""
        if len(self.inputs) != inputs or len(self.outputs) != outputs:
            raise Unknown(f"{self.kernel.spec} has operands {', '.join(self.operands)}")

    def extents(self):
        """The shape of each operand."""
        raise NotImplementedError

    def sets(self):
        """Sets of tensors to rotate through."""
        extents = self.extents()

        def make():
            made = {}
            for name in self.inputs:
                made[name] = random(self.types[name], *extents[name], scale=self.scale(name))
            for name in self.outputs:
                kind = TYPES[self.types[name]]
                made[name] = torch.empty(extents[name], device=DEVICE, dtype=kind)
            return made

        return rotated(make, 256)

    def fresh(self, sets):
        """Makes outputs that are read as well what they were before the first launch."""

    def scale(self, name):
        """What the numbers of an input are multiplied by."""
        return 1.0

    def reference(self, kernel, tensors):
        """The outputs in f64, by the first of the meanings that the kernel agrees with."""
        self.meaning = self.meanings[0]
        if len(self.meanings) > 1:
            kernel(**{name: tensors[name] for name in self.operands}, **self.scalars)
            errors = [self.error(meaning, tensors) for meaning in self.meanings]
            self.meaning = self.meanings[errors.index(min(errors))]
        return functools.partial(self.exact, self.meaning)

    def error(self, meaning, tensors):
        """How far the kernel's first output is from a meaning."""
        (wanted, *_) = listed(self.exact(meaning, **tensors))
        return tilewright.compared(tensors[self.outputs[0]], wanted, self.bound)[1]

    def exact(self, meaning, **tensors):
        """A meaning of the inputs as f64."""
        return meaning(*[tensors[name].double() for name in self.inputs])

    def casted(self, found):
        """Outputs in the operands' types."""
        pairs = zip(self.outputs, listed(found))
        cast = [one.to(TYPES[self.types[name]]) for name, one in pairs]
        return cast[0] if len(cast) == 1 else tuple(cast)

    def eager(self, **tensors):
        """The function by PyTorch, operation by operation."""
        return self.casted(self.meaning_of()(*[tensors[name] for name in self.inputs]))

    def meaning_of(self):
        return self.meaning or self.meanings[0]

    def peers(self, bundle):
        """Peers by kind."""
        meaning = self.meaning_of()
        kinds = [TYPES[self.types[name]] for name in self.outputs]

        def function(*inputs):
            found = listed(meaning(*inputs))
            return tuple(one.to(kind) for one, kind in zip(found, kinds))

        kernel_of = torch.compile(
            function,
            mode="max-autotune-no-cudagraphs",
            dynamic=False,
        )

        def compiled(**tensors):
            return kernel_of(*[tensors[name] for name in self.inputs])

        return [
            ("eager", tilewright.Peer("torch eager", self.eager)),
            ("compile", tilewright.Peer("torch.compile max-autotune-no-cudagraphs", compiled)),
        ]


def rotated(make, most):
    """Sets of tensors: as many as caches do not keep, and no more than that."""
    first = make()
    each = sum(tensor.numel() * tensor.element_size() for tensor in first.values())
    count = max(2, min(-(-ROTATED_BYTES // each), most)) if DEVICE == "cuda" else 2
    return [first] + [make() for _ in range(count - 1)]


def listed(found):
    return list(found) if isinstance(found, (tuple, list)) else [found]


def own(bundle, word, problem, sources, name):
    """A kernel of ours as a peer: `sources` makes its operands of a set's tensors."""
    launches = {}

    def call(**tensors):
        key = tensors[problem.operands[0]].data_ptr()
        launch = launches.get(key)
        if launch is None:
            operands = sources(tensors)
            launch = bundle.pick(word, **operands).bind(**operands)
            launches[key] = launch
        launch()

    version = f"tilewright {tilewright.__version__}"
    return "own", tilewright.Peer(name, call, version=version, same=False)


def as_wide(x):
    """Elements wide enough to add up."""
    return x if x.dtype == torch.float64 else x.float()
