"""Products, and what is done to their results before they are stored.

A case asks for `a` and `b` first, then vectors and tiles by what they are called.
"""

import math
from dataclasses import replace

import torch
import torch.nn.functional as F

import cublaslt
import problems
import tilewright
from problems import (
    BIASES,
    RESIDUALS,
    EPS,
    TYPES,
    Problem,
    Unknown,
    as_wide,
    listed,
    own,
    random,
    rotated,
    void,
)


class Gemm(Problem):
    """Products, and what is done to them before they are stored."""

    bound_rms = 2.0**-10

    def prepare(self):
        self.vectors = [name for name in self.inputs if name in BIASES]
        self.tiles = [name for name in self.inputs if name in RESIDUALS]
        self.factors = [n for n in self.inputs if n not in self.vectors and n not in self.tiles]
        if len(self.factors) not in (2, 3) or len(self.outputs) != 1 or self.kernel.scalars:
            raise Unknown(f"{self.kernel.spec} has operands {', '.join(self.operands)}")
        narrow = [self.types[name] for name in self.factors if TYPES[self.types[name]].itemsize < 2]
        if narrow:
            raise Unknown(f"{self.kernel.spec} multiplies {narrow[0]}: there is no peer here")
        self.meanings = tuple(self.epilogues())
        self.flops = 2.0 * math.prod(self.shape) * (len(self.factors) - 1)
        roundoff = tilewright.ROUNDOFF.get(str(TYPES[self.types[self.outputs[0]]])[6:], 0.0)
        self.bound = (2 * roundoff, self.bound_rms)

    def extents(self):
        m, n, k = self.shape
        shapes = {}
        for at, name in enumerate(self.factors):
            shapes[name] = (m if at == 0 else n, k)
        for name in self.tiles + self.outputs:
            shapes[name] = (m, n)
        for name in self.vectors:
            shapes[name] = (n,)
        return shapes

    def scale(self, name):
        return 1.0 if name != self.factors[0] else 1.0 / math.sqrt(self.shape[-1])

    def sets(self):
        # A factor that is contiguous along the other extent is made so.
        sets = super().sets()
        for operand in self.kernel.operands:
            if operand.name in self.factors and operand.layout.split(":")[1].startswith("(1,"):
                for tensors in sets:
                    tensors[operand.name] = tensors[operand.name].t().contiguous().t()
        return sets

    def product(self, inputs):
        """The inputs by name, and the product in the widest type that PyTorch gives."""
        named = dict(zip(self.inputs, inputs))
        a, b = (named[name] for name in self.factors[:2])
        return named, a @ b.t()

    def epilogues(self):
        """What the word may mean."""
        return [lambda *inputs: self.product(inputs)[1]]

    def eager(self, **tensors):
        if self.meanings and len(self.inputs) == 2 and type(self) is Gemm:
            a, b = (tensors[name] for name in self.factors)
            if a.dtype == tensors[self.outputs[0]].dtype:
                return void(torch.matmul(a, b.t(), out=tensors[self.outputs[0]]))
        return super().eager(**tensors)

    def peers(self, bundle):
        peers = super().peers(bundle)
        if type(self) is not Gemm:
            names = dict(zip("ab", self.factors))
            outputs = {}

            def alone(tensors):
                key = tensors[self.outputs[0]].data_ptr()
                d = outputs.setdefault(key, torch.empty_like(tensors[self.outputs[0]]))
                return {"a": tensors[names["a"]], "b": tensors[names["b"]], "d": d}

            peers.append(own(bundle, "gemm", self, alone, "our product alone"))
        return peers + (self.vendor() if problems.DEVICE == "cuda" else [])

    #: The vendor's epilogue that computes the same, where it has one.
    vendors = "none"

    def vendor(self):
        """The vendor's library as peers."""
        names = [*self.factors, self.outputs[0], *self.vectors]
        halves = (torch.bfloat16, torch.float16)
        if self.vendors is None or any(TYPES[self.types[name]] not in halves for name in names):
            return []
        return cublaslt.peers(self.vendors, [*names, None][:4], self.vendor_agrees())

    def vendor_agrees(self):
        """Whether that epilogue is the one meant to the bit of its formula."""
        return True


class Bmm(Gemm):
    """A product for each of a batch: what lies where is what the layouts say."""

    def sizes(self, name):
        """The modes of an operand and their extents."""
        layouts = {operand.name: operand.layout for operand in self.kernel.operands}
        modes = layouts[name].split(":")[0].strip("()").split(",")
        return modes, tuple(dict(zip("gmnk", self.shape))[mode] for mode in modes)

    def extents(self):
        return {name: self.sizes(name)[1] for name in self.operands}

    def sets(self):
        # A factor that is contiguous along its rows is made so.
        sets = Problem.sets(self)
        for operand in self.kernel.operands:
            if operand.name in self.factors and not operand.layout.endswith(",1)"):
                for tensors in sets:
                    tensors[operand.name] = tensors[operand.name].mT.contiguous().mT
        return sets

    def product(self, inputs):
        named = dict(zip(self.inputs, inputs))
        a, b = (named[name] for name in self.factors)
        return named, a @ b.mT

    def eager(self, **tensors):
        a, b = (tensors[name] for name in self.factors)
        if a.dtype == tensors[self.outputs[0]].dtype:
            return void(torch.matmul(a, b.mT, out=tensors[self.outputs[0]]))
        return super().eager(**tensors)

    def vendor(self):
        found = super().vendor()
        return [(kind, replace(peer, call=self.faced(peer.call))) for kind, peer in found]

    def faced(self, call):
        """A call that gets factors of all batches as it knows them."""

        def called(**tensors):
            g = len(tensors[self.outputs[0]])
            factors = (tensors[name] for name in self.factors)
            each = [one.expand(g, *one.shape[-2:]) for one in factors]
            call(**{**tensors, **dict(zip(self.factors, each))})

        return called


class BiasReluResidual(Gemm):
    """A bias, relu and a residual behind a product."""

    vendors = None

    def epilogues(self):
        if len(self.vectors) != 1 or len(self.tiles) != 1:
            raise Unknown(f"{self.kernel.spec} has operands {', '.join(self.operands)}")
        (v,), (r,) = self.vectors, self.tiles

        def after(*inputs):
            named, product = self.product(inputs)
            return torch.relu(product + named[v]) + named[r]

        def before(*inputs):
            named, product = self.product(inputs)
            return torch.relu(product + named[v] + named[r])

        return [after, before]


class BiasRelu(Gemm):
    """A bias and relu behind a product."""

    vendors = "bias_relu"

    def epilogues(self):
        if len(self.vectors) != 1 or self.tiles:
            raise Unknown(f"{self.kernel.spec} has operands {', '.join(self.operands)}")
        (v,) = self.vectors

        def relu(*inputs):
            named, product = self.product(inputs)
            return torch.relu(product + named[v])

        return [relu]


class Gelu(Gemm):
    """gelu behind a product, with a bias where there is one; the vendor's is that by tanh."""

    @property
    def vendors(self):
        return "bias_gelu" if self.vectors else None

    def vendor_agrees(self):
        return self.meaning_of() is self.meanings[1]

    def epilogues(self):
        def of(approximate):
            def gelu(*inputs):
                named, product = self.product(inputs)
                for name in self.vectors:
                    product = product + named[name]
                return F.gelu(product, approximate=approximate)

            return gelu

        return [of("none"), of("tanh")]


class SwiGlu(Gemm):
    """silu of one product times another: b has the rows of both, one matrix behind the other."""

    vendors = None

    def prepare(self):
        super().prepare()
        self.flops *= 2

    def epilogues(self):
        ranks = {operand.name: len(operand.shape) for operand in self.kernel.operands}
        if len(self.factors) != 2 or ranks[self.factors[1]] != 3:
            raise Unknown(f"{self.kernel.spec} has operands {', '.join(self.operands)}")

        def swiglu(a, b):
            return gated(self.halves(a @ self.flat(b).t()))

        return [swiglu]

    def extents(self):
        m, h, k = self.shape
        a, b = self.factors
        return {a: (m, k), b: (2, h, k), self.outputs[0]: (m, h)}

    def sets(self):
        sets = super().sets()
        for tensors in sets:
            tensors[self.factors[1]] = tensors[self.factors[1]].permute(1, 0, 2)
        return sets

    def flat(self, b):
        """The rows of both as one matrix."""
        return b.permute(1, 0, 2).reshape(-1, b.shape[2])

    def halves(self, product):
        """The two products in one."""
        return product.chunk(2, -1)

    def peers(self, bundle):
        a, b = self.factors
        products = {}
        passed = torch.compile(lambda product: gated(self.halves(product)), dynamic=False)

        def room(tensors):
            m, h, _ = self.shape
            kind = tensors[self.outputs[0]].dtype
            return torch.empty((m, 2 * h), device=problems.DEVICE, dtype=kind)

        def separate(**tensors):
            key = tensors[a].data_ptr()
            if key not in products:
                products[key] = room(tensors)
            product = products[key]
            torch.matmul(tensors[a], self.flat(tensors[b]).t(), out=product)
            return passed(product)

        launches = {}

        def ours(**tensors):
            key = tensors[a].data_ptr()
            if key not in launches:
                operands = {"a": tensors[a], "b": self.flat(tensors[b]), "d": room(tensors)}
                launches[key] = bundle.pick("gemm", **operands).bind(**operands), operands["d"]
            launch, product = launches[key]
            launch()
            return passed(product)

        version = f"tilewright {tilewright.__version__}"
        return [
            *Problem.peers(self, bundle),
            ("pass", tilewright.Peer("torch.matmul and a compiled pass", separate)),
            ("own", tilewright.Peer("our product and a compiled pass", ours, version=version)),
        ]


def gated(halves):
    """silu of the first times the second."""
    gate, up = halves
    return F.silu(gate) * up


class SwiGluInterleaved(SwiGlu):
    """The same of weights that lie row by row: a row of the gate, a row of what it gates."""

    def sets(self):
        sets = super().sets()
        for tensors in sets:
            tensors[self.factors[1]] = tensors[self.factors[1]].contiguous()
        return sets

    def flat(self, b):
        return b.reshape(-1, b.shape[2])

    def halves(self, product):
        return product.unflatten(-1, (-1, 2)).unbind(-1)


class Blocked(Gemm):
    """A product whose columns come in blocks of 128, of which something is folded behind it."""

    vendors = None
    #: Where the operands have the mode within a block, after their rows: before that of blocks, or
    #: behind it.
    inner_first = False

    def prepare(self):
        if len(self.inputs) not in (2, 3) or not 1 <= len(self.outputs) <= 2:
            raise Unknown(f"{self.kernel.spec} has operands {', '.join(self.operands)}")
        self.scalars = {name: EPS for name in self.kernel.scalars}
        self.factors = self.inputs[:2]
        self.vectors = self.inputs[2:]
        m, n, k = self.shape
        self.blocks = n // 128
        self.flops = 2.0 * m * n * k
        self.bound = (2 * tilewright.ROUNDOFF.get(self.torch_type(), 0.0), self.bound_rms)
        self.meanings = (self.blocked,)

    def torch_type(self):
        """The first output's type as PyTorch says it."""
        return str(TYPES[self.types[self.outputs[0]]])[6:]

    def shaped(self, blocked, axis):
        """A view in the order of the operands of one that has blocks along an axis, then what is in
        them."""
        return blocked.transpose(axis, axis + 1) if self.inner_first else blocked

    def sets(self):
        m, n, k = self.shape
        a, b = self.factors

        def make():
            rows = random(self.types[b], self.blocks, 128, k)
            made = {
                a: random(self.types[a], m, k, scale=self.scale(a)),
                b: self.shaped(rows, 0),
            }
            for name in self.vectors:
                made[name] = random(self.types[name], 128)
            for name, found in zip(self.outputs, self.room(m)):
                made[name] = found
            return made

        return rotated(make, 64)

    def room(self, m):
        """Outputs, of elements and of what each block has one of."""
        kinds = [TYPES[self.types[name]] for name in self.outputs]
        extents = [(m, self.blocks, 128)] + [(m, self.blocks)] * (len(kinds) - 1)
        made = [
            torch.empty(shape, device=problems.DEVICE, dtype=kind)
            for shape, kind in zip(extents, kinds)
        ]
        return [self.shaped(made[0], 1), *made[1:]]

    def rows_of(self, b):
        """b as a matrix of rows."""
        return (b.transpose(0, 1) if self.inner_first else b).reshape(-1, b.shape[2])

    def blocked(self, *inputs):
        product = (inputs[0] @ self.rows_of(inputs[1]).t()).unflatten(-1, (-1, 128))
        whole, *others = listed(self.made(product, *inputs[2:]))
        return (self.shaped(whole, 1), *others)

    def made(self, product, *others):
        """What is made of the product's blocks: of elements, then of what each block has one of."""
        raise NotImplementedError

    def peers(self, bundle):
        passed = torch.compile(self.passed, dynamic=False, mode="max-autotune-no-cudagraphs")
        a, b = self.factors
        launches = {}

        def ours(**tensors):
            key = tensors[a].data_ptr()
            if key not in launches:
                rows = self.rows_of(tensors[b])
                kind = tensors[a].dtype
                product = torch.empty(self.shape[:2], device=problems.DEVICE, dtype=kind)
                operands = {"a": tensors[a], "b": rows, "d": product}
                launches[key] = bundle.pick("gemm", **operands).bind(**operands), product
            launch, product = launches[key]
            launch()
            return passed(product, *(tensors[name] for name in self.vectors))

        version = f"tilewright {tilewright.__version__}"
        peer = tilewright.Peer("our product and a compiled pass", ours, version=version, same=False)
        return [*Problem.peers(self, bundle), ("own", peer)]

    def passed(self, product, *others):
        """A pass over a product of its own, each element where it was."""
        found = listed(self.made(product.unflatten(-1, (-1, 128)), *others))
        return tuple(one.to(TYPES[self.types[name]]) for one, name in zip(found, self.outputs))


class QuantizedGemm(Blocked):
    """Each block over its scale, and the scales."""

    inner_first = True

    def made(self, product, *others):
        wide = as_wide(product)
        scale = wide.abs().amax(-1).clamp(min=1e-10) / 448
        return wide / scale[..., None], scale


class HeadNorm(Blocked):
    """Each block, a head, through RMSNorm."""

    def made(self, product, w):
        wide = as_wide(product)
        mean = (wide * wide).mean(-1, keepdim=True)
        return wide * torch.rsqrt(mean + EPS) * as_wide(w)
