"""Functions whose outputs are combined with what they held: sums, largest results.

Every launch adds to what the launch before left, so that outputs start at zero before they are
compared.
"""

import math

import torch

import tilewright
from problems import TYPES, Problem, Unknown, as_wide, own
from products import Gemm

#: What a scale of the kernels is.
SCALE = 0.5


class Combined(Problem):
    """What all of them have in common."""

    #: Allowed error of elements that are sums, of their rms.
    bound_rms = 2.0**-10

    def sets(self):
        sets = super().sets()
        self.fresh(sets)
        return sets

    def fresh(self, sets):
        """Makes outputs that are read as well what they were before the first launch."""
        for operand in self.kernel.operands:
            if operand.role == "inout":
                for tensors in sets:
                    tensors[operand.name].zero_()

    def shaped(self, inner):
        """The shape of each operand: a tile, rows, columns or one number, by its own layout."""
        m, n = self.shape[:2]
        shapes = {}
        for operand in self.kernel.operands:
            extents = {"m": m, "n": n, **inner}
            try:
                shapes[operand.name] = tuple(extents[name] for name in operand.shape)
            except KeyError as unknown:
                raise Unknown(f"{self.kernel.spec} has an extent {unknown}") from None
        return shapes

    def relaxed(self):
        """Half a unit in the last place of the narrowest output, and a part of the rms."""
        kinds = [str(TYPES[self.types[name]])[6:] for name in self.outputs]
        return (max(2 * tilewright.ROUNDOFF.get(kind, 0.0) for kind in kinds), self.bound_rms)


class Sums(Combined):
    """Sums of columns and of all; or scaled elements, sums of rows, and the sum of squares."""

    def prepare(self):
        self.scalars = {name: SCALE for name in self.kernel.scalars}
        ranks = [len(operand.shape) for operand in self.kernel.operands]
        found = {
            (2, 1, 0): self.columns,
            (2, 2, 1, 0): self.scaled,
        }.get(tuple(ranks))
        if found is None:
            raise Unknown(f"{self.kernel.spec} has operands {', '.join(self.operands)}")
        self.meanings = (found,)
        self.bound = self.relaxed()

    def extents(self):
        return self.shaped({})

    def columns(self, x):
        wide = as_wide(x)
        return wide.sum(0), wide.sum()

    def scaled(self, x):
        wide = as_wide(x) * SCALE
        return wide, wide.sum(1), (wide * wide).sum()


class Amax(Combined):
    """Scaled elements in another type, and the largest magnitude of all."""

    def prepare(self):
        self.known(1, 2)
        self.scalars = {name: SCALE for name in self.kernel.scalars}

        def largest(x):
            wide = as_wide(x)
            return wide * SCALE, wide.abs().amax()

        self.meanings = (largest,)

    def extents(self):
        return self.shaped({})


class Beside(Combined, Gemm):
    """A product, and what is combined of its results beside it."""

    vendors = None

    def prepare(self):
        self.factors = self.inputs
        self.vectors = self.tiles = []
        self.known(2, 2)
        self.scalars = {name: SCALE for name in self.kernel.scalars}
        m, n, k = self.shape
        self.flops = 2.0 * m * n * k
        self.meanings = (self.beside,)
        self.bound = self.relaxed()

    def extents(self):
        return self.shaped({"k": self.shape[2]})

    def scale(self, name):
        return 1.0 if name != self.factors[0] else 1.0 / math.sqrt(self.shape[2])

    def beside(self, a, b):
        return self.made(a @ b.t())

    def made(self, product):
        """The results, and what is combined of them."""
        raise NotImplementedError

    def peers(self, bundle):
        passed = torch.compile(
            lambda product: tuple(
                one.to(TYPES[self.types[name]])
                for one, name in zip(self.made(product), self.outputs)
            ),
            dynamic=False,
            mode="max-autotune-no-cudagraphs",
        )
        d = self.outputs[0]
        rooms = {}

        def room(tensors):
            key = tensors[d].data_ptr()
            return rooms.setdefault(key, torch.empty_like(tensors[d]))

        def alone(tensors):
            a, b = (tensors[name] for name in self.factors)
            return {"a": a, "b": b, "d": room(tensors)}

        word, product = own(bundle, "gemm", self, alone, "our product alone")

        def followed(**tensors):
            product.call(**tensors)
            return passed(room(tensors))

        version = f"tilewright {tilewright.__version__}"
        both = tilewright.Peer(
            "our product and a compiled pass", followed, version=version, same=False
        )
        return [*Problem.peers(self, bundle), (word, product), (word, both)]


class BiasGrad(Beside):
    """The sum of each column."""

    def made(self, product):
        return product, as_wide(product).sum(0)


class AmaxGemm(Beside):
    """The largest result, or the largest magnitude of each row."""

    def made(self, product):
        ranks = [len(operand.shape) for operand in self.kernel.operands]
        if ranks[-1] == 1:
            return product, as_wide(product).abs().amax(1)
        positive = torch.relu(product)
        return positive * SCALE, as_wide(positive).amax()
