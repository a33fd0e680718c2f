"""What is measured: for each case its words, its shapes, its tensors, its peers, its reference.

A case asks a kernel's operands by role and name: inputs in the order of the spec, `x` first, `g`
and `b` the weights of a norm, `r` a residual; of products `a` and `b`, then vectors and tiles by
what they are called. Types are the operands' own.
"""

import torch
import torch.nn.functional as F

import problems
import tilewright
from combined import Amax, AmaxGemm, BiasGrad, Sums
from problems import (
    EPS,
    RESIDUALS,
    TYPES,
    Problem,
    Unknown,
    as_wide,
    own,
    void,
)
from products import (
    BiasRelu,
    BiasReluResidual,
    Bmm,
    Gelu,
    Gemm,
    HeadNorm,
    QuantizedGemm,
    SwiGlu,
    SwiGluInterleaved,
)
from scaled import ScaledGemm

ROW_SHAPES = [(16384, 8192), (65536, 1024), (4096, 32768), (512, 131072), (32, 8192)]
SQUARES = [(4096, 4096), (8192, 8192), (16384, 8192)]
#: Extents of a source by the order that its modes get, runs of 32 bytes or more on both sides.
PERMUTED = {
    "021": (64, 1024, 1024),
    "102": (1024, 128, 512),
    "120": (1024, 256, 512),
    "201": (256, 512, 1024),
    "210": (512, 256, 1024),
    "0213": (8, 2048, 64, 128),
    "0321": (64, 64, 128, 256),
    "3210": (512, 16, 32, 512),
    "14203": (32, 64, 32, 16, 128),
    "23104": (64, 32, 32, 32, 64),
    "04321": (8, 64, 32, 64, 128),
}


class Copy(Problem):
    """Elements where they were."""

    bound = (0, 0)
    meanings = (lambda x: x,)

    def prepare(self):
        self.known(1, 1)
        if len(set(self.types.values())) > 1:
            raise Unknown(f"{self.kernel.spec} casts")

    def extents(self):
        (size,) = self.shape
        columns = 8192
        rows = size // (columns * TYPES[self.types[self.inputs[0]]].itemsize)
        return {name: (rows, columns) for name in self.operands}

    def peers(self, bundle):
        (x,), (d,) = self.inputs, self.outputs
        copy_ = tilewright.Peer(
            "torch.Tensor.copy_", lambda **t: void(t[d].copy_(t[x])), graph=False
        )
        memcpy = tilewright.Peer(
            "cuMemcpyDtoDAsync",
            lambda **t: tilewright.memcpy(t[d], t[x]),
            version="the driver's",
            graph=False,
        )
        eager = [("eager", copy_)]
        return [("memcpy", memcpy), *eager] if problems.DEVICE == "cuda" else eager


class Permute(Problem):
    """Modes in another order: the output's are the source's of those numbers."""

    bound = (0, 0)

    def prepare(self):
        self.known(1, 1)
        modes = {operand.name: modes_of(operand.layout) for operand in self.kernel.operands}
        (s,), (d,) = self.inputs, self.outputs
        if self.types[s] != self.types[d] or sorted(modes[s]) != sorted(modes[d]):
            raise Unknown(f"{self.kernel.spec} does more than to permute")
        order = [modes[s].index(mode) for mode in modes[d]]
        if not self.shape:
            number = "".join(map(str, order))
            if number not in PERMUTED:
                raise Unknown(f"{self.kernel.spec}: there is no shape for the order {number}")
            self.shape = PERMUTED[number]
        self.order = order
        self.meanings = (lambda x: x.permute(order).contiguous(),)

    def extents(self):
        (s,), (d,) = self.inputs, self.outputs
        return {s: self.shape, d: tuple(self.shape[at] for at in self.order)}

    def eager(self, **tensors):
        tensors[self.outputs[0]].copy_(tensors[self.inputs[0]].permute(self.order))

    def peers(self, bundle):
        def copied(tensors):
            (x,), (d,) = self.inputs, self.outputs
            s = tensors[x].view(torch.float32)
            s = s.view(-1, s.shape[-1])
            return {"s": s, "d": tensors[d].view(torch.float32).view(s.shape)}

        return [*super().peers(bundle), own(bundle, "copy", self, copied, "our copy")]


def modes_of(layout):
    """`(m,n):(ldx,1)` as a list of modes."""
    return layout.split(":")[0].strip("()").split(",")


class Cast(Problem):
    """Elements in another type, where they were."""

    meanings = (lambda x: x,)

    def prepare(self):
        self.known(1, 1)

    def extents(self):
        return {name: self.shape for name in self.operands}

    def exact(self, meaning, **tensors):
        return tensors[self.inputs[0]].to(TYPES[self.types[self.outputs[0]]]).double()

    @property
    def bound(self):
        return (0, 0)

    def eager(self, **tensors):
        tensors[self.outputs[0]].copy_(tensors[self.inputs[0]])


class Gather(Problem):
    """Rows of a table of vectors, by their numbers: as many as the table has."""

    meanings = (lambda s, rows: s[rows],)

    def prepare(self):
        self.known(2, 1)

    def extents(self):
        m, n = self.shape
        s, rows = self.inputs
        return {s: (m, n), rows: (m,), self.outputs[0]: (m, n)}

    def sets(self):
        return with_numbers(super().sets(), self.inputs[1], self.shape[0])

    def exact(self, meaning, **tensors):
        s, rows = (tensors[name] for name in self.inputs)
        return meaning(s.double(), rows.long())

    def eager(self, **tensors):
        s, rows = (tensors[name] for name in self.inputs)
        if self.types[self.inputs[0]] != self.types[self.outputs[0]]:
            return super().eager(**tensors)
        return void(torch.index_select(s, 0, rows, out=tensors[self.outputs[0]]))


def with_numbers(sets, name, count):
    """Sets whose table of rows holds numbers below a count, in any order and repeated."""
    for tensors in sets:
        shape = tensors[name].shape
        numbers = torch.randint(0, count, shape, device=problems.DEVICE)
        tensors[name] = numbers.to(tensors[name].dtype)
    return sets


class Quantize(Problem):
    """Blocks of elements of a row over their scale, and the scales: f32 of each 128, or powers of
    two of each 32, as mxfp8 has them."""

    def prepare(self):
        self.known(1, 2)
        if "e2m1" in self.types.values():
            raise Unknown(f"{self.kernel.spec} writes two elements to a byte: no peer here does")
        self.scales = next((t for t in ("f32", "ue8m0") if t in self.types.values()), None)
        self.block = 32 if self.scales == "ue8m0" else 128
        self.blocks = self.shape[1] // self.block

        def quantize(x):
            wide = as_wide(x)
            most = wide.abs().amax(-1)
            if self.scales == "ue8m0":
                # The least power of two that is no less.
                fraction, exponent = torch.frexp(most / 448)
                scale = torch.ldexp(torch.ones_like(most), exponent - (fraction == 0.5).int())
            else:
                scale = most.clamp(min=1e-4) / 448
            return scale, wide / scale[..., None]

        def turned(x):
            return tuple(reversed(quantize(x)))

        scales_first = self.types[self.outputs[0]] == self.scales
        self.meanings = (quantize if scales_first else turned,)

    def extents(self):
        m = self.shape[0]
        blocked = (m, self.blocks, self.block)
        return {
            name: blocked[:2] if self.types[name] == self.scales else blocked
            for name in self.operands
        }


class Rows(Problem):
    """A function of each row."""

    def prepare(self):
        self.known(1, 1)

    def extents(self):
        m, n = self.shape
        return {name: (m, n) if self.is_tile(name) else (n,) for name in self.operands}

    def is_tile(self, name):
        operands = {operand.name: operand for operand in self.kernel.operands}
        return len(operands[name].shape) == 2


class Softmax(Rows):
    """Exponentials of a row over their sum."""

    meanings = (lambda x: torch.softmax(x, -1),)


class LogSoftmax(Rows):
    """The logarithm of it."""

    meanings = (lambda x: torch.log_softmax(x, -1),)


class Norm(Rows):
    """What norms share: a scalar for the smallest variance, inputs in f32 inside."""

    def prepare(self):
        self.scalars = {name: EPS for name in self.kernel.scalars}
        self.meanings = tuple(self.norms())

    def weights(self):
        """Inputs along the columns."""
        others = self.tables()
        return [name for name in self.inputs if not self.is_tile(name) and name not in others]

    def tables(self):
        """Inputs that say which rows."""
        return [name for name in self.inputs if self.types[name] == "s32"]

    def extents(self):
        shapes = super().extents()
        return {n: self.shape[:1] if n in self.tables() else shapes[n] for n in shapes}

    def sets(self):
        sets = super().sets()
        for name in self.tables():
            sets = with_numbers(sets, name, self.shape[0])
        return sets

    def exact(self, meaning, **tensors):
        wide = [
            tensors[name].long() if name in self.tables() else tensors[name].double()
            for name in self.inputs
        ]
        return meaning(*wide)


def rms(x, g):
    """RMSNorm with the fused operation where the types allow it."""
    if x.dtype == g.dtype:
        return F.rms_norm(x, (x.shape[-1],), g, EPS)
    x = as_wide(x)
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * as_wide(g)


class RmsNorm(Norm):
    """Rows over their root mean square; with a residual, rows of the sum, which may be written."""

    def norms(self):
        tiles = [name for name in self.inputs if self.is_tile(name)]
        if len(self.tables()) == 1 and len(self.inputs) == 3 and len(self.outputs) == 1:
            return [lambda x, rows, g: rms(x[rows], g)]
        if len(self.weights()) != 1 or self.inputs[-1] not in (*self.weights(), *RESIDUALS):
            raise Unknown(f"{self.kernel.spec} has operands {', '.join(self.operands)}")
        if len(tiles) == 1 and len(self.outputs) == 1:
            return [rms]
        if len(tiles) != 2:
            raise Unknown(f"{self.kernel.spec} has operands {', '.join(self.operands)}")
        weight = self.inputs.index(self.weights()[0])
        both = len(self.outputs) == 2

        def added(*inputs):
            g = inputs[weight]
            x, r = (one for at, one in enumerate(inputs) if at != weight)
            total = x + r
            if not both:
                return rms(total, g)
            # What is stored is read as it was stored.
            total = total.to(TYPES[self.types[self.inputs[0]]]).to(total.dtype)
            return rms(total, g), total

        def turned(*inputs):
            return tuple(reversed(added(*inputs)))

        return [added, turned] if both else [added]


class LayerNorm(Norm):
    """Rows less their mean, over their deviation."""

    def norms(self):
        if len(self.weights()) != 2 or len(self.inputs) != 3 or len(self.outputs) != 1:
            raise Unknown(f"{self.kernel.spec} has operands {', '.join(self.operands)}")

        def norm(x, g, b):
            if x.dtype == g.dtype == b.dtype:
                return F.layer_norm(x, (x.shape[-1],), g, b, EPS)
            wide = as_wide(x)
            return F.layer_norm(wide, (x.shape[-1],), g.to(wide.dtype), b.to(wide.dtype), EPS)

        return [norm]


class Case:
    """A kind of kernels, and where they are measured."""

    def __init__(self, name, words, problem, shapes, graph=True):
        self.name = name
        self.words = words
        self.problem = problem
        self.shapes = shapes
        # NOTE: copies are enqueued one by one: a memcpy node is slower than a stream's copy.
        self.graph = graph


CUBES = [(4096, 4096, 4096), (8192, 8192, 8192)]
BATCHES = [(16, 1024, 1024, 1024), (32, 512, 512, 512), (64, 256, 256, 256), (256, 128, 128, 128)]
SCALED = [(4096, 4096, 4096), (8192, 8192, 8192), (4096, 7168, 16384)]
GATED = [(4096, 28672, 8192), (4096, 28672, 1024)]

ALL = [
    Case("copy", ["copy"], Copy, [(1 << 30,), (4 << 30,)], graph=False),
    Case("transpose", ["transpose"], Permute, SQUARES),
    Case("permute", ["permute"], Permute, [()]),
    Case("cast", ["cast"], Cast, [(8192, 8192), (16384, 8192)]),
    Case("gather", ["gather"], Gather, ROW_SHAPES),
    Case("quantize", ["quantize"], Quantize, ROW_SHAPES),
    Case("softmax", ["softmax"], Softmax, ROW_SHAPES),
    Case("log_softmax", ["log_softmax"], LogSoftmax, ROW_SHAPES),
    Case("rmsnorm", ["rmsnorm"], RmsNorm, ROW_SHAPES),
    Case("layernorm", ["layernorm"], LayerNorm, ROW_SHAPES),
    Case("gemm", ["gemm"], Gemm, CUBES),
    Case("bmm", ["bmm"], Bmm, BATCHES),
    Case("scaled_gemm", ["scaled_gemm"], ScaledGemm, SCALED),
    Case("bias_relu_residual", ["bias_relu_residual"], BiasReluResidual, CUBES),
    Case("bias_relu", ["bias_relu"], BiasRelu, CUBES),
    Case("gelu", ["gelu", "bias_gelu"], Gelu, CUBES),
    Case("qgemm", ["qgemm"], QuantizedGemm, CUBES),
    Case("head_norm", ["head_norm"], HeadNorm, CUBES),
    Case("sums", ["sums"], Sums, ROW_SHAPES),
    Case("amax_rows", ["amax"], Amax, ROW_SHAPES),
    Case("amax", ["amax"], AmaxGemm, CUBES),
    Case("bias_grad", ["bias_grad"], BiasGrad, CUBES),
    Case("swiglu", ["swiglu"], SwiGlu, GATED),
    Case("swiglu_interleaved", ["swiglu"], SwiGluInterleaved, GATED),
]
