"""What is measured: for each case its words, its shapes, its tensors, its peers, its reference.

A case asks a kernel's operands by role and name: inputs in the order of the spec, `x` first, `g`
and `b` the weights of a norm, `r` a residual; of products `a` and `b`, then vectors and tiles by
what they are called. Types are the operands' own.
"""

import functools
import math

import torch
import torch.nn.functional as F

import cublaslt
import tilewright

TYPES = {
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "f32": torch.float32,
    "tf32": torch.float32,
    "f64": torch.float64,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
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

        first = make()
        each = sum(tensor.numel() * tensor.element_size() for tensor in first.values())
        count = max(2, min(-(-ROTATED_BYTES // each), 256)) if DEVICE == "cuda" else 2
        return [first] + [make() for _ in range(count - 1)]

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
        return [("memcpy", memcpy), ("eager", copy_)] if DEVICE == "cuda" else [("eager", copy_)]


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
        numbers = torch.randint(0, count, shape, device=DEVICE)
        tensors[name] = numbers.to(tensors[name].dtype)
    return sets


class Quantize(Problem):
    """Blocks of 128 elements of a row over their scale, and the scales."""

    def prepare(self):
        self.known(1, 2)
        self.blocks = self.shape[1] // 128

        def quantize(x):
            wide = as_wide(x)
            scale = wide.abs().amax(-1).clamp(min=1e-4) / 448
            return scale, wide / scale[..., None]

        def turned(x):
            return tuple(reversed(quantize(x)))

        scales_first = self.types[self.outputs[0]] == "f32"
        self.meanings = (quantize if scales_first else turned,)

    def extents(self):
        m = self.shape[0]
        blocked = (m, self.blocks, 128)
        return {
            name: blocked[:2] if self.types[name] == "f32" else blocked for name in self.operands
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


def as_wide(x):
    """Elements wide enough to add up."""
    return x if x.dtype == torch.float64 else x.float()


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
        m, n, k = self.shape
        self.flops = 2.0 * m * n * k * (len(self.factors) - 1)
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
        return 1.0 if name != self.factors[0] else 1.0 / math.sqrt(self.shape[2])

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
        return peers + (self.vendor() if DEVICE == "cuda" else [])

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
            return torch.empty((m, 2 * h), device=DEVICE, dtype=kind)

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

        first = make()
        each = sum(tensor.numel() * tensor.element_size() for tensor in first.values())
        count = max(2, min(-(-ROTATED_BYTES // each), 64)) if DEVICE == "cuda" else 2
        return [first] + [make() for _ in range(count - 1)]

    def room(self, m):
        """Outputs, of elements and of what each block has one of."""
        kinds = [TYPES[self.types[name]] for name in self.outputs]
        whole = torch.empty((m, self.blocks, 128), device=DEVICE, dtype=kinds[0])
        return [
            self.shaped(whole, 1),
            *(torch.empty((m, self.blocks), device=DEVICE, dtype=kind) for kind in kinds[1:]),
        ]

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
                product = torch.empty(self.shape[:2], device=DEVICE, dtype=tensors[a].dtype)
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
    Case("bias_relu_residual", ["bias_relu_residual"], BiasReluResidual, CUBES),
    Case("bias_relu", ["bias_relu"], BiasRelu, CUBES),
    Case("gelu", ["gelu", "bias_gelu"], Gelu, CUBES),
    Case("qgemm", ["qgemm"], QuantizedGemm, CUBES),
    Case("head_norm", ["head_norm"], HeadNorm, CUBES),
    Case("swiglu", ["swiglu"], SwiGlu, GATED),
    Case("swiglu_interleaved", ["swiglu"], SwiGluInterleaved, GATED),
]
