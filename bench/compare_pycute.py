#!/usr/bin/env python3
"""Composition here and in CUTLASS's Python model, on the same random pairs.

In: the path of a CUTLASS checkout (python/pycute inside it). Out: a table, and with --jsonl the
same rows as JSON lines. Each answer is judged point by point from the definition:
  wrong          an answer whose values differ, or an answer where no layout has the values
  refused-valid  a refusal where a layout has the values
  right          everything else
Times are those of the processor, the best of several runs: a busy machine tells little in them.
Build first: cargo build --release -p tilewright-layout --example compose_table
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time


def at(modes, x):
    """The value of a flat layout at a linear coordinate; the last mode has no upper limit."""
    total = 0
    for i, (n, d) in enumerate(modes):
        last = i + 1 == len(modes)
        total += (x if last else x % n) * d
        x //= n
    return total


def values(a, b):
    """The values of a o b."""
    size = 1
    for n, _ in b:
        size *= n
    out = []
    for x in range(size):
        index = 0
        for n, d in b:
            index += x % n * d
            x //= n
        out.append(at(a, index))
    return out


def exists(b, want):
    """Whether a layout that refines the shape of b has these values."""
    modes, unit = [], 1
    for extent, _ in b:
        left = extent
        while left > 1:
            step = want[unit]
            run = 1
            while run < left and want[run * unit] == run * step:
                run += 1
            if left % run:
                return False
            modes.append((run, step))
            left //= run
            unit *= run
    return all(at(modes, x) == v for x, v in enumerate(want)) if modes else True


def text(modes):
    shape = ",".join(str(n) for n, _ in modes)
    stride = ",".join(str(d) for _, d in modes)
    return f"({shape}):({stride})" if len(modes) > 1 else f"{shape}:{stride}"


RUNS = 5


def pair(rng, rank):
    extents = [2, 3, 4, 5, 6, 8, 9, 12, 16]
    a = [(rng.choice(extents), rng.randint(1, 1000)) for _ in range(rng.randint(2, 4))]
    steps = [1, 2, 3, 4, 6, 8, 9, 12, 16, 18, 24, 36]
    b = [(rng.randint(3, 9), rng.choice(steps)) for _ in range(rank)]
    return a, b


def flat(t):
    return [y for x in t for y in flat(x)] if isinstance(t, tuple) else [t]


def pycute_answers(pairs, root):
    sys.path.insert(0, os.path.join(root, "python"))
    import pycute

    def make(modes):
        if len(modes) == 1:
            return pycute.Layout(*modes[0])
        return pycute.Layout(tuple(n for n, _ in modes), tuple(d for _, d in modes))

    made = [(make(a), make(b)) for a, b in pairs]
    times = []
    for _ in range(RUNS):
        answers = []
        begin = time.process_time_ns()
        for a, b in made:
            try:
                answers.append(pycute.composition(a, b))
            except AssertionError:
                answers.append(None)
        times.append(time.process_time_ns() - begin)
    spent = min(times)
    return [r and list(zip(flat(r.shape), flat(r.stride))) for r in answers], spent


def our_answers(pairs, binary):
    lines = "".join(f"{text(a)}\t{text(b)}\n" for a, b in pairs)
    done = subprocess.run([binary], input=lines, capture_output=True, text=True, check=True)
    rows = [line.split("\t", 1) for line in done.stdout.splitlines()]
    numbers = lambda t: [int(x) for x in t.replace("(", "").replace(")", "").split(",")]
    answers = []
    for kind, body in rows[:-1]:
        if kind == "undecided":
            sys.exit(f"undecided: {body}")
        shape_stride = body.split(":") if kind == "ok" else None
        answers.append(shape_stride and list(zip(*map(numbers, shape_stride))))
    return answers, int(rows[-1][1])


def judge(pairs, truth, answers):
    count = {"wrong": 0, "refused_valid": 0, "right": 0}
    for (want, valid), answer in zip(truth, answers):
        if answer is None:
            key = "refused_valid" if valid else "right"
        else:
            size = 1
            for n, _ in answer:
                size *= n
            same = size == len(want) and all(at(answer, x) == v for x, v in enumerate(want))
            key = "right" if same else "wrong"
        count[key] += 1
    return count


def main():
    as_written = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("cutlass", help="a CUTLASS checkout")
    parser.add_argument("--binary", default="target/release/examples/compose_table")
    parser.add_argument("--pairs", type=int, default=20000, help="pairs for each rank of b")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jsonl", help="file to write the rows to")
    args = parser.parse_args()
    rng, rows = random.Random(args.seed), []
    for rank in (1, 2, 3):
        pairs = [pair(rng, rank) for _ in range(args.pairs)]
        truth = [(want, exists(b, want)) for a, b in pairs for want in [values(a, b)]]
        valid = sum(ok for _, ok in truth)
        for name, run, where in (
            ("tilewright", our_answers, args.binary),
            ("pycute", pycute_answers, args.cutlass),
        ):
            answers, spent = run(pairs, where)
            count = judge(pairs, truth, answers)
            rows.append({"b_modes": rank, "pairs": len(pairs), "valid": valid, "rule": name,
                         **count, "ns_per_pair": round(spent / len(pairs)), "seed": args.seed})
    print("| b modes | pairs | valid | | wrong | refused-valid | right | ns a pair |")
    print("|---|---|---|---|---|---|---|---|")
    for r in rows:
        print(f"| {r['b_modes']} | {r['pairs']} | {r['valid']} | {r['rule']} | {r['wrong']} | "
              f"{r['refused_valid']} | {r['right']} | {r['ns_per_pair']} |")
    if args.jsonl:
        with open(args.jsonl, "w") as out:
            out.writelines(json.dumps(r) + "\n" for r in rows)


if __name__ == "__main__":
    main()
