"""What needs a GPU and torch: launches on torch's streams, in graphs, and a few rows.

    python runtime/python/tests/gpu_smoke.py BUNDLE [ROWS.jsonl]

Prints a line for each thing tried, and `N passed, N failed` at the end.
"""

import sys
import traceback

import torch

import tilewright

BUNDLE = sys.argv[1]
OUTPUT = sys.argv[2] if len(sys.argv) > 2 else None
TRIED = []


def tried(check):
    """Notes a function as one of those to try."""
    TRIED.append(check)
    return check


def refused(part, call, kind=tilewright.Error):
    """Wants an exception that says something."""
    try:
        call()
    except kind as raised:
        assert part in str(raised), f"{part!r} is not in: {raised}"
        print("   ", raised)
        return
    raise AssertionError(f"nothing said {part!r}")


def copied(rows=64, columns=8192):
    s = torch.randn(rows, columns, device="cuda")
    return s, torch.empty_like(s)


def factors(m, n, k):
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
    return a, b, torch.empty(m, n, device="cuda", dtype=torch.bfloat16)


def close(d, a, b):
    wanted = a.double() @ b.double().T
    error = (d.double() - wanted).abs().max().item()
    assert error <= 2.0**-7 * wanted.abs().max().item(), error


def gemms(bundle):
    """A kernel of each form that runs here: SIMT and mma.sync, wgmma, products split along k."""
    return [k for k in bundle.kernels if k.word == "gemm" and k.runs_here and is_bf16(k)]


def is_bf16(kernel):
    layouts = [operand.layout for operand in kernel.operands[:2]]
    types = [operand.dtype for operand in kernel.operands]
    return types == ["bf16"] * 3 and layouts == ["(m,k):(lda,1)", "(n,k):(ldb,1)"]


@tried
def launches_on_the_current_stream(bundle):
    s, d = copied()
    kernel = bundle.pick("copy", s=s, d=d)
    kernel(s=s, d=d)
    assert torch.equal(s, d)
    side = torch.cuda.Stream()
    # The side stream is kept busy, so that a launch that went elsewhere would read old rows.
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        s.fill_(3)
        kernel(s=s, d=d)
    torch.cuda.current_stream().wait_stream(side)
    assert (d == 3).all()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        s.fill_(4)
    kernel(s=s, d=d, stream=side)
    side.synchronize()
    assert (d == 4).all()


@tried
def every_product_takes_tensors_of_torch(bundle):
    a, b, d = factors(1000, 1024, 512)
    kernels = gemms(bundle)
    assert len(kernels) >= 2, kernels
    for kernel in kernels:
        d.fill_(float("nan"))
        launch = kernel.bind(a=a, b=b, d=d)
        launch()
        close(d, a, b)
        print(f"    {kernel.id}: workspace {launch.workspace_bytes}")
    picked = bundle.pick("gemm", a=a, b=b, d=d) if len({k.function for k in kernels}) == 1 else None
    print("    picked:", picked)


@tried
def graphs_replay_with_changed_inputs(bundle):
    s, d = copied()
    a, b, e = factors(512, 512, 4096)
    for kernel in gemms(bundle):
        launch = kernel.bind(a=a, b=b, d=e)
        graph = torch.cuda.CUDAGraph()
        # Nothing was launched before: code and scratch memory are made while the stream captures.
        with torch.cuda.graph(graph):
            bundle.find("copy_vectorized")(s=s, d=d)
            launch()
        for seed in range(3):
            torch.manual_seed(seed)
            s.copy_(torch.randn_like(s))
            a.copy_(torch.randn_like(a))
            d.zero_()
            e.zero_()
            # Launches beside the graph have scratch memory of their own.
            launch()
            e.zero_()
            graph.replay()
            torch.cuda.synchronize()
            assert torch.equal(s, d)
            close(e, a, b)


@tried
def workspaces_may_be_lent(bundle):
    a, b, d = factors(512, 512, 4096)
    for kernel in gemms(bundle):
        wants = kernel.bind(a=a, b=b, d=d).workspace_bytes
        if wants == 0:
            continue
        lent = torch.zeros(wants, dtype=torch.uint8, device="cuda")
        d.zero_()
        kernel(a=a, b=b, d=d, workspace=lent)
        close(d, a, b)
        short = lent[: wants - 1]
        refused("needs", lambda: kernel(a=a, b=b, d=d, workspace=short))
        return
    print("    no kernel of the bundle wants a workspace")


@tried
def outputs_are_judged_by_the_formula(bundle):
    a, b, d = factors(96, 80, 64)
    for kernel in gemms(bundle):
        told = kernel.bind(a=a, b=b, d=d).verify()
        print(f"    {kernel.id}: {told}")
        assert told["failure"] is None, told


@tried
def wrong_inputs_are_told(bundle):
    s, d = copied()
    kernel = bundle.find("copy_elementwise")
    refused("axis 1 of `d` has 8190 elements", lambda: kernel(s=s, d=d[:, 2:]))
    refused("kernel takes f32", lambda: kernel(s=s, d=d.half()))
    refused("host's memory", lambda: kernel(s=s.cpu(), d=d))
    refused("shares memory", lambda: kernel(s=s, d=s))
    refused("no buffer was given for `d`", lambda: kernel(s=s))
    refused("is no tensor", lambda: kernel(s=[1], d=d), TypeError)
    flat = torch.zeros(64 * 8192 + 1, device="cuda")[1:].view(64, 8192)
    refused("a multiple of", lambda: bundle.find("copy_vectorized")(s=flat, d=d))
    # Afterwards everything works as before.
    kernel(s=s, d=d)
    assert torch.equal(s, d)


@tried
def memcpy_copies(bundle):
    s, d = copied()
    tilewright.memcpy(d, s)
    assert torch.equal(s, d)
    refused("without gaps", lambda: tilewright.memcpy(d[:, :8], s[:, :8]))


@tried
def rows_of_a_copy(bundle):
    def make(at):
        s = torch.randn(8192, 8192, device="cuda")
        return {"s": s, "d": torch.empty_like(s)}

    peers = [
        tilewright.Peer("torch.Tensor.copy_", lambda s, d: void(d.copy_(s)), graph=False),
        tilewright.Peer("cuMemcpyDtoDAsync", lambda s, d: tilewright.memcpy(d, s), graph=False),
    ]
    rows = tilewright.bench(
        bundle.find("copy_vectorized"),
        make,
        peers,
        modes=["rested", "sustained", "cold", "launch"],
        rounds=9,
        rested_rounds=3,
        graph=False,
        reference=lambda s, d: s,
        bound=(0, 0),
        output=OUTPUT,
    )
    show(rows)
    assert all(row["max_err"] == row["peer_max_err"] == 0 for row in rows)
    assert all(0.9 < row["aa_ratio"] < 1.1 for row in rows if row["mode"] == "sustained")


@tried
def rows_of_a_product(bundle):
    def make(at):
        return dict(zip("abd", factors(4096, 4096, 4096)))

    def wanted(a, b, d):
        return a.double() @ b.double().T

    compiled = torch.compile(lambda a, b: a @ b.T, mode="max-autotune-no-cudagraphs")
    peers = [
        tilewright.Peer("torch.matmul", lambda a, b, d: void(torch.matmul(a, b.T, out=d))),
        tilewright.Peer("torch.compile max-autotune", lambda a, b, d: compiled(a, b)),
    ]
    kernel = tilewright.fastest(gemms(bundle), [make(0), make(1)])
    rows = tilewright.bench(
        kernel,
        make,
        peers,
        rounds=9,
        rested_rounds=3,
        reference=wanted,
        # The peer may add parts of a sum in bf16.
        bound=(2.0**-7, 2.0**-8),
        output=OUTPUT,
    )
    show(rows)
    assert all(row["max_err"] <= 1 and row["peer_max_err"] <= 1 for row in rows)
    assert all(row["replayed"] for row in rows)


def void(_):
    """Says that a peer has written in place."""
    return None


def show(rows):
    for row in rows:
        print(
            f"    {row['kernel']} {row['mode']}: {row['ours_us']:.2f} us, {row['peer']} "
            f"{row['best_us']:.2f} us, ratio {row['ratio_best']:.3f} ± {row['ratio_spread']:.3f}, "
            f"A/A {row['aa_ratio']:.3f}, err {row['max_err']:.3g}, {row['peer_version']}"
        )


def main():
    bundle = tilewright.open(BUNDLE)
    print(bundle, bundle.device_info)
    failed = 0
    for check in TRIED:
        print(f"{check.__name__} …", flush=True)
        try:
            check(bundle)
        except Exception:
            failed += 1
            traceback.print_exc(file=sys.stdout)
    print(f"{len(TRIED) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
