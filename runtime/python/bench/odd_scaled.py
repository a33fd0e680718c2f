"""Random and odd problems of every block-scaled kernel of a bundle, on a GPU, against f64: fresh
inputs, poisoned outputs, padded rows, scales in both orders, NaN and infinities.

    python3 odd_scaled.py scaled.zip 60
"""

import random
import sys

import torch

import tilewright

BLOCK = 128
ROWS = [1, 3, 8, 59, 64, 65, 127, 128, 129, 255, 256, 257, 300, 511, 700]
#: What stands beside results, where nothing may be written.
GUARD = 7.0


def drawn(number):
    """Operands of a problem, with the exact result and the sum of absolute values."""
    m, h, g = random.choice(ROWS), random.randint(1, 10), random.randint(1, 23)
    pads = [16 * random.randint(0, 3) for _ in range(3)]

    def matrix(rows, pad):
        wide = torch.randn(rows, g * BLOCK + pad, device="cuda") * 3
        return wide.to(torch.float8_e4m3fn)[:, : g * BLOCK].unflatten(1, (g, BLOCK))

    a, b = matrix(m, pads[0]), matrix(h * BLOCK, pads[1]).unflatten(0, (h, BLOCK))
    rows = m + random.randint(0, 5)
    if random.random() < 0.5:
        rows = -(-rows // 4) * 4
    sa = torch.rand(g, rows, device="cuda").add_(0.1)[:, :m].t()
    sb = torch.rand(h, g + random.randint(0, 3), device="cuda").add_(0.1)[:, :g]
    if random.random() < 0.3:
        sa = sa.contiguous()
    if number % 5 == 0:
        sa[random.randrange(m), random.randrange(g)] = float("inf")
        sb[random.randrange(h), random.randrange(g)] = float("nan")
    whole = torch.full((m, h * BLOCK + pads[2]), GUARD, device="cuda", dtype=torch.bfloat16)
    parts = torch.einsum("mgi,hjgi->mhjg", a.double(), b.double())
    scales = sa.double()[:, None, None, :] * sb.double()[None, :, None, :]
    sizes = torch.einsum("mgi,hjgi->mhjg", a.double().abs(), b.double().abs())
    inputs = {"a": a, "b": b, "sa": sa, "sb": sb}
    return inputs, whole, (parts * scales).sum(-1), (sizes * scales.abs()).sum(-1)


def judged(kernel, inputs, whole, want, size):
    """How much of what roundings may add up to the largest error is; None of what is wrong."""
    m, h, columns = want.shape[0], want.shape[1], want.shape[1] * BLOCK
    whole.fill_(GUARD)
    d = whole[:, :columns].unflatten(1, (h, BLOCK))
    d.fill_(float("nan"))
    kernel(**inputs, d=d)
    got, finite = d.double(), torch.isfinite(want)
    beside = bool((whole[:, columns:] == GUARD).all())
    odd = torch.equal(torch.isnan(got), torch.isnan(want))
    odd = odd and torch.equal(got[torch.isinf(want)], want[torch.isinf(want)])
    if not beside or not odd:
        return None
    # The tensor cores keep 13 bits of a sum; results are rounded to bf16.
    bound = size[finite] * 2.0**-10 + want[finite].abs() * 2.0**-8 + 1e-30
    errors = (got - want)[finite].abs() / bound
    return errors.max().item() if errors.numel() else 0.0


def main():
    bundle, count = tilewright.open(sys.argv[1]), int(sys.argv[2])
    torch.manual_seed(7)
    random.seed(7)
    launched, bad = {}, 0
    worst = 0.0
    for number in range(count):
        inputs, whole, want, size = drawn(number)
        for kernel in bundle.kernels:
            try:
                error = judged(kernel, inputs, whole, want, size)
            except tilewright.Refused:
                continue
            launched[kernel.id] = launched.get(kernel.id, 0) + 1
            if error is None or not error <= 1.0:
                bad += 1
                print("BAD", kernel.id, tuple(want.shape), error)
            else:
                worst = max(worst, error)
    for name, times in launched.items():
        print(f"{times:5d} {name}")
    print(f"{sum(launched.values())} launches, {bad} bad, worst {worst:.3f} of bound")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
