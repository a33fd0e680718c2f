"""Products of fp8 whose sums are made of scaled parts: of a a scale for each row and 128 elements,
of b one for each 128x128."""

import functools

import torch
import torch.nn.functional as F

import problems
import tilewright
from problems import TYPES, Problem, Unknown, random, rotated

#: Elements that share a scale.
BLOCK = 128


def deep_gemm():
    """DeepGEMM, where it is installed."""
    try:
        import deep_gemm as found
    except ImportError:
        return None
    return found


def scales(rows, parts, by_parts):
    """Positive numbers, those of a part one after another where that is asked for."""
    made = torch.rand(parts, rows, device=problems.DEVICE).add_(0.5)
    return made.t() if by_parts else made.t().contiguous()


class ScaledGemm(Problem):
    """Operands a, b and their scales are views: (m,g,128), (h,128,g,128), (m,g) and (h,g)."""

    def prepare(self):
        self.known(4, 1)
        m, n, k = self.shape
        if n % BLOCK or k % BLOCK:
            raise Unknown(f"{n} and {k} are to be multiples of {BLOCK}")
        (d,) = self.outputs
        self.flops = 2.0 * m * n * k
        roundoff = tilewright.ROUNDOFF.get(str(TYPES[self.types[d]])[6:], 0.0)
        # The tensor cores keep 13 bits of a sum.
        self.bound = (2 * roundoff, 2.0**-9)
        self.meanings = (self.scaled,)

    def sets(self):
        m, n, k = self.shape
        a, b, sa, sb = self.inputs
        h, g = n // BLOCK, k // BLOCK

        def make():
            return {
                a: random(self.types[a], m, k).view(m, g, BLOCK),
                b: random(self.types[b], n, k).view(h, BLOCK, g, BLOCK),
                # As DeepGEMM and cuBLASLt take them, so that nobody has to copy.
                sa: scales(m, g, by_parts=True),
                sb: scales(h, g, by_parts=False),
                self.outputs[0]: torch.empty(
                    (m, n), device=problems.DEVICE, dtype=TYPES[self.types[self.outputs[0]]]
                ).view(m, h, BLOCK),
            }

        return rotated(make, 64)

    def flat(self, tensors):
        """The matrices and scales that peers take."""
        m, n, k = self.shape
        a, b, sa, sb = (tensors[name] for name in self.inputs)
        return a.view(m, k), sa, b.view(n, k), sb, tensors[self.outputs[0]].view(m, n)

    def scaled(self, a, b, sa, sb):
        m, n, k = self.shape
        left = (a * sa[:, :, None]).reshape(m, k)
        right = (b * sb[:, None, :, None]).reshape(n, k)
        return (left @ right.t()).view(m, n // BLOCK, BLOCK)

    def eager(self, **tensors):
        wide = [tensors[name].float() for name in self.inputs]
        return self.casted(self.scaled(*wide))

    def peers(self, bundle):
        found = []
        deep = deep_gemm()
        if deep is not None:

            def by_deep_gemm(**tensors):
                a, sa, b, sb, d = self.flat(tensors)
                deep.fp8_gemm_nt((a, sa), (b, sb), d)

            version = getattr(deep, "__version__", "?")
            found.append(
                ("deepgemm", tilewright.Peer("DeepGEMM fp8_gemm_nt", by_deep_gemm, version=version))
            )
        scaling = getattr(F, "ScalingType", None)
        if scaling is not None and problems.DEVICE == "cuda":
            recipes = {
                "scale_recipe_a": scaling.BlockWise1x128,
                "scale_recipe_b": scaling.BlockWise128x128,
                "use_fast_accum": False,
            }

            def by_torch(**tensors):
                a, sa, b, sb, d = self.flat(tensors)
                product = functools.partial(F.scaled_mm, a, b.t(), scale_a=sa, scale_b=sb.t())
                return product(output_dtype=d.dtype, **recipes).view(d.shape[0], -1, BLOCK)

            found.append(
                ("cublaslt", tilewright.Peer("torch scaled_mm 1x128, 128x128", by_torch))
            )
        return found
