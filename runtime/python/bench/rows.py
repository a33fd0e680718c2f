"""Rows of a bundle's kernels beside PyTorch, eager and compiled, on a GPU.

    python runtime/python/bench/rows.py BUNDLE --output rows.jsonl --seconds 540
    python runtime/python/bench/rows.py BUNDLE --cases softmax,rmsnorm --shapes 16384x8192,32x8192
    python runtime/python/bench/rows.py NEW --before OLD --peers before --cases gemm
    python runtime/python/bench/rows.py BUNDLE --list

A case is what its kernels' spec calls itself: every function of the bundle with that word is
measured by its fastest kernel, with the types of its own operands, at the shapes of the case. What
the bundle has not, or time does not allow, is left out and said so. Peers are PyTorch eager,
torch.compile in mode max-autotune-no-cudagraphs, the driver's copy for copies, cuBLASLt for what
its epilogues compute, and a kernel of ours where a case is to be compared with one: a transpose
with a copy of as many bytes, an epilogue with the product alone.
"""

import argparse
import sys
import time
import traceback

import torch

import cases
import problems
import tilewright

MODES = "rested,sustained"


def arguments():
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundle", help="the bundle's folder")
    parser.add_argument("--output", help="append rows to this file")
    parser.add_argument("--cases", help="only these, with commas between")
    parser.add_argument("--shapes", help="in place of the cases' own: 16384x8192,32x8192")
    parser.add_argument("--before", help="a bundle of earlier kernels, which are peers as well")
    parser.add_argument("--types", help="only functions whose outputs have these types: bf16,f32")
    peers = "eager,compile,memcpy,cublaslt,deepgemm,pass,own,before"
    parser.add_argument("--peers", help=f"only these: {peers}")
    parser.add_argument("--modes", default=MODES, help=f"[default: {MODES}]")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--rested-rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=540, help="stop in time [default: 540]")
    parser.add_argument("--commit", help="what to write into the rows")
    parser.add_argument(
        "--device", default="cuda", help="emulator: to try this without a GPU, in mode launch"
    )
    parser.add_argument("--list", action="store_true", help="say what there is, measure nothing")
    return parser.parse_args()


def listed(text):
    """A list with commas between, or nothing."""
    return text.split(",") if text else None


class Clock:
    """How much of the time given is left."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds
        self.longest = 0.0

    def has_room(self):
        """Whether another measurement as long as the longest so far ends in time."""
        return time.monotonic() + 1.2 * self.longest < self.end

    def measured(self, began):
        """Notes how long one took."""
        self.longest = max(self.longest, time.monotonic() - began)


def functions(bundle, case, types):
    """The functions of a case, each by its kernels that run here."""
    found = {}
    for kernel in bundle.kernels:
        if kernel.word in case.words and kernel.runs_here:
            outputs = [operand.dtype for operand in kernel.operands if operand.role != "in"]
            if types is None or all(dtype in types for dtype in outputs):
                found.setdefault(kernel.function, []).append(kernel)
    return list(found.values())


def shapes_of(case, asked):
    """The shapes asked for that have as many extents as the case's, or the case's own."""
    if asked is None:
        return case.shapes
    shapes = [tuple(int(extent) for extent in shape.split("x")) for shape in asked]
    return [shape for shape in shapes if len(shape) == len(case.shapes[0])]


def quickest(problem, kernels, sets):
    """The fastest of some kernels of a function that take a problem; refuses where none does."""
    fitting, last = [], None
    for kernel in kernels:
        try:
            kernel.bind(**{name: sets[0][name] for name in problem.operands}, **problem.scalars)
            fitting.append(kernel)
        except tilewright.Refused as refused:
            last = refused
    if not fitting:
        raise last
    if len(fitting) == 1:
        return fitting[0]
    return tilewright.fastest(fitting, sets, scalars=problem.scalars)


def earlier(problem, case, wanted, sets, bundle):
    """The kernel of another bundle that computes the same, as a peer; none where there is none."""
    alike = (one for one in functions(bundle, case, None) if one[0].function == wanted.function)
    kernels = next(alike, None)
    if kernels is None:
        return []
    kernel = quickest(problem, kernels, sets)
    launches = {}
    for tensors in sets:
        operands = {name: tensors[name] for name in problem.operands}
        key = tensors[problem.operands[0]].data_ptr()
        launches[key] = kernel.bind(**operands, **problem.scalars)

    def call(**tensors):
        launches[tensors[problem.operands[0]].data_ptr()]()

    return [("before", tilewright.Peer(f"before: {kernel.id}", call, version="an earlier bundle"))]


def measure(bundle, case, kernels, shape, options):
    """Rows of one function at one shape, or why there are none."""
    torch._dynamo.reset()
    problem = case.problem(kernels[0], shape)
    sets = problem.sets()
    fastest = quickest(problem, kernels, sets)
    before = []
    if options.before is not None:
        before = earlier(problem, case, fastest, sets, options.before)
    problem.fresh(sets)
    reference = problem.reference(fastest, sets[0])
    wanted = options.peers
    known = [*before, *problem.peers(bundle)]
    peers = [peer for kind, peer in known if wanted is None or kind in wanted]
    return tilewright.bench(
        fastest,
        sets,
        peers,
        scalars=problem.scalars,
        modes=options.modes,
        rounds=options.rounds,
        rested_rounds=options.rested_rounds,
        graph=case.graph,
        reference=reference,
        bound=problem.bound,
        flops=problem.flops,
        commit=options.commit,
        output=options.output,
    )


def show(row):
    """A row as a line."""
    noise = "-" if row["aa_ratio"] is None else f"{row['aa_ratio']:.3f}"
    theirs = f", peer's {row['peer_max_err']:.3g}" if "peer_max_err" in row else ""
    problem = "x".join(str(row["problem"][name]) for name in "mnk")
    print(
        f"{row['kernel']} {problem} {row['mode']}: {row['ours_us']:.2f} us {row['tbps']:.3f} TB/s "
        f"{row['tflops']:.0f} TFLOP/s; {row['peer']} {row['best_us']:.2f} us, ratio "
        f"{row['ratio_best']:.3f} (spread {row['ratio_spread']:.3f}, A/A {noise}); "
        f"err {row['max_err']:.3g}{theirs}",
        flush=True,
    )


def main():
    """Measures what was asked for; 1 where an output broke its bound, or nothing was measured."""
    options = arguments()
    for name in ("cases", "shapes", "types", "peers", "modes"):
        setattr(options, name, listed(getattr(options, name)))
    bundle = tilewright.open(options.bundle, options.device)
    if options.before is not None:
        options.before = tilewright.open(options.before, options.device)
    if bundle.device == "emulator":
        problems.DEVICE = "cpu"
        options.modes = ["launch"]
    clock = Clock(options.seconds)
    rows, left_out = [], []
    for case in cases.ALL:
        if options.cases is not None and case.name not in options.cases:
            continue
        found = functions(bundle, case, options.types)
        if not found:
            left_out.append(f"{case.name}: no kernel of the bundle is a {' or '.join(case.words)}")
        for kernels in found:
            types = " ".join(f"{operand.name}={operand.dtype}" for operand in kernels[0].operands)
            for shape in shapes_of(case, options.shapes):
                place = f"{case.name} {types} {'x'.join(map(str, shape))}"
                if options.list:
                    print(f"{place}: {len(kernels)} kernels")
                    continue
                if not clock.has_room():
                    left_out.append(f"{place}: the time is over")
                    continue
                began = time.monotonic()
                try:
                    measured = measure(bundle, case, kernels, shape, options)
                    for row in measured:
                        show(row)
                    rows.extend(measured)
                except (tilewright.Error, RuntimeError, problems.Unknown) as error:
                    if not isinstance(error, (tilewright.Refused, problems.Unknown)):
                        traceback.print_exc()
                    left_out.append(f"{place}: {type(error).__name__}: {error}")
                if problems.DEVICE == "cuda":
                    torch.cuda.empty_cache()
                clock.measured(began)
    for line in left_out:
        print("left out", line)
    wrong = [row for row in rows if row["max_err"] > 1]
    print(f"{len(rows)} rows, {len(wrong)} wrong, {len(left_out)} left out")
    return 1 if wrong or not (rows or options.list) else 0


if __name__ == "__main__":
    sys.exit(main())
