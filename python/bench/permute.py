"""Rows of a bundle's permutations beside PyTorch's copy of a permuted view, and beside a copy of as
many bytes, on a GPU.

    python python/bench/permute.py BUNDLE --output rows.jsonl
"""

import argparse

import torch

import tilewright
from tilewright import Peer, bench

DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32}
# By spec: the source's extents, and which of its modes runs along each of the output's.
CASES = {
    "permute_bf16_acbe": ((8, 2048, 64, 128), (0, 2, 1, 3)),
    "permute_bf16_cebaf": ((64, 32, 32, 32, 64), (2, 3, 1, 0, 4)),
    "permute_bf16_ecba": ((512, 16, 32, 512), (3, 2, 1, 0)),
    "permute_f32_acb": ((64, 1024, 1024), (0, 2, 1)),
    "permute_f32_bac": ((1024, 128, 512), (1, 0, 2)),
}


def measure(kernel, options):
    """Rows of one kernel: its output is PyTorch's, to the bit."""
    shape, order = CASES[kernel.spec]
    dtype = DTYPES[kernel.operands[0].dtype]

    def made(_number):
        s = torch.randn(shape, device="cuda", dtype=dtype)
        d = torch.full([shape[mode] for mode in order], float("nan"), device="cuda", dtype=dtype)
        return {"s": s, "d": d}

    def eager(s, d):
        d.copy_(s.permute(order))

    def flat(s, d):
        d.view(-1).copy_(s.view(-1))

    return bench(
        kernel,
        [made(number) for number in range(2)],
        [Peer("torch eager", eager), Peer("copy of as many bytes", flat, same=False)],
        modes=["sustained"],
        rounds=options.rounds,
        reference=lambda s, d: (s.permute(order).contiguous(),),
        bound=(0, 0),
        commit=options.commit,
        output=options.output,
    )


def main():
    """Measures every permutation of the bundle that has a case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundle", help="the bundle's folder")
    parser.add_argument("--output", help="append rows to this file")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--commit", help="what to write into the rows")
    options = parser.parse_args()
    for kernel in tilewright.open(options.bundle, "cuda").kernels:
        if kernel.spec not in CASES:
            continue
        for row in measure(kernel, options):
            print(
                f"{kernel.id}: {row['ours_us']:.2f} us {row['tbps']:.3f} TB/s; {row['peer']} "
                f"{row['best_us']:.2f} us, ratio {row['ratio_best']:.3f}",
                flush=True,
            )
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
