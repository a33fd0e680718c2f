"""Kernels of two bundles by the same ids: do they write the same bits, and how fast are they?

    python runtime/python/bench/before_after.py OLD NEW --output rows.jsonl
    python runtime/python/bench/before_after.py OLD NEW --kernels bmm,residual --commit 1a2b3c4d

For a change of the generator after which a kernel is another program of the same point. Kernels of
functions with the modes m, n and k, and a batch g of them, run at three sizes each, with the same
random normals, rows padded to whole 16 bytes and outputs full of NaN. Both are timed in turns, in
an order drawn anew, sustained: a slice of each is behind launches that are not counted. A row has
the medians, the time before over that after, whether outputs are equal bit for bit, and the GPU.
Prints a line a row, then the least ratio and the geometric mean; exits with 1 where bits differ.
"""

import argparse
import datetime
import json
import math
import random
import statistics
import sys

import torch

import tilewright
from problems import TYPES

#: Sizes of functions with so many modes; the last is no multiple of a tile.
SIZES = {
    "mnk": [(4096, 4096, 4096), (2048, 2048, 2048), (1000, 1004, 1032)],
    "gmnk": [(16, 1024, 1024, 1024), (64, 256, 256, 256), (24, 500, 508, 520)],
}
#: Rows of tensors begin at multiples of so many elements.
ALIGNED = 16
#: Microseconds of a slice, and most launches in one.
SLICE_US, MOST_LAUNCHES = 1000, 200
#: Products in a microsecond, about, by which launches of a slice are counted.
FLOP_PER_US = 4e8


def arguments():
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--output", help="append rows to this file")
    parser.add_argument("--kernels", help="only ids that hold one of these, with commas between")
    parser.add_argument("--slices", type=int, default=61, help="of each kernel [default: 61]")
    parser.add_argument("--commit", help="what to write into the rows")
    return parser.parse_args()


def modes_of(operand):
    """The names of an operand's modes."""
    return [mode for mode in operand.layout.split(":")[0].strip("()").split(",") if mode]


def sizes_of(kernel):
    """The sizes that a kernel is run at, by mode; none of a function that has other modes."""
    own = {mode for operand in kernel.operands for mode in modes_of(operand)}
    known = next((names for names in SIZES if set(names) == own), "")
    return [dict(zip(known, sizes)) for sizes in SIZES.get(known, [])]


def tensor(operand, sizes):
    """Random normals, of an output NaN, contiguous along the mode of stride 1, with padded rows."""
    modes = modes_of(operand)
    strides = operand.layout.split(":")[1].strip("()").split(",")
    inner = strides.index("1") if "1" in strides else len(modes) - 1
    order = [at for at in range(len(modes)) if at != inner] + [inner]
    shape = [sizes[modes[at]] for at in order]
    shape[-1] = -(-shape[-1] // ALIGNED) * ALIGNED
    full = torch.randn(shape, device="cuda").to(TYPES[operand.dtype])
    if operand.role != "in":
        full.fill_(math.nan)
    return full[..., : sizes[modes[inner]]].permute(*(order.index(at) for at in range(len(modes))))


def is_equal(one, other):
    """Whether two tensors are equal bit for bit."""
    bits = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[one.element_size()]
    return torch.equal(one.contiguous().view(bits), other.contiguous().view(bits))


def timed(launches, flop, slices):
    """Medians of microseconds, of each of the launches."""
    count = int(SLICE_US / (flop / FLOP_PER_US))
    count = min(max(count, 6), MOST_LAUNCHES)
    times = [[] for _ in launches]
    for _ in range(slices):
        for at in random.sample(range(len(launches)), len(launches)):
            begins, ends = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            for _ in range(count // 3 + 1):
                launches[at]()
            begins.record()
            for _ in range(count):
                launches[at]()
            ends.record()
            torch.cuda.synchronize()
            times[at].append(begins.elapsed_time(ends) / count * 1e3)
    return [statistics.median(one) for one in times]


def row(pair, sizes, asked):
    """Both kernels on one problem."""
    inputs = {one.name: tensor(one, sizes) for one in pair[0].operands if one.role == "in"}
    written = [one for one in pair[0].operands if one.role != "in"]
    outputs = [{one.name: tensor(one, sizes) for one in written} for _ in pair]
    launches = [kernel.bind(**inputs, **own) for kernel, own in zip(pair, outputs)]
    for launch in launches:
        launch()
    torch.cuda.synchronize()
    equal = all(is_equal(outputs[0][one.name], outputs[1][one.name]) for one in written)
    before, after = timed(launches, 2 * math.prod(sizes.values()), asked.slices)
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        "commit": asked.commit,
        "gpu": torch.cuda.get_device_name(),
        "kernel": pair[1].id,
        "sizes": sizes,
        "before_us": before,
        "after_us": after,
        "ratio": before / after,
        "equal": equal,
    }


def main():
    """Compares, and says what differs."""
    asked = arguments()
    old, new = (tilewright.open(path) for path in (asked.old, asked.new))
    known = {kernel.id: kernel for kernel in old.kernels}
    wanted = asked.kernels.split(",") if asked.kernels else [""]
    rows = []
    for kernel in new.kernels:
        if kernel.id not in known or not any(part in kernel.id for part in wanted):
            continue
        for sizes in sizes_of(kernel):
            try:
                made = row((known[kernel.id], kernel), sizes, asked)
            except tilewright.Error as error:
                print(f"left out {kernel.id} at {sizes}: {error}", file=sys.stderr)
                continue
            rows.append(made)
            size = "x".join(str(one) for one in sizes.values())
            told = "equal" if made["equal"] else "OTHER BITS"
            times = f"{made['before_us']:9.2f} {made['after_us']:9.2f} us"
            print(f"{made['ratio']:.3f} {times} {told} {size} {kernel.id}", flush=True)
            if asked.output:
                with open(asked.output, "a", encoding="utf-8") as file:
                    file.write(json.dumps(made) + "\n")
    if not rows:
        print("no kernel is in both bundles", file=sys.stderr)
        return 2
    ratios = [made["ratio"] for made in rows]
    print(f"least {min(ratios):.3f}, geometric mean {statistics.geometric_mean(ratios):.4f}")
    return 0 if all(made["equal"] for made in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
