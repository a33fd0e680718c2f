"""Operators, layers and DLPack on a GPU: what needs PyTorch there, beside `gpu_smoke.py`.

    python3 runtime/python/tests/gpu_torch.py BUNDLE [--device emulator]

Takes any bundle with a product of bf16, f16 or f32 whose weights lie (n,k), and a copy of f32; a
packed product and a norm that adds a residual are tried where the bundle has them. Prints a line
for each thing tried, and `N passed, N failed, N skipped` at the end. On the emulator it runs with
tensors of the CPU, without what needs a GPU.
"""

import argparse
import os
import subprocess
import sys
import traceback

import torch

import tilewright
from tilewright.nn import Linear, replace
from tilewright.torch import operator

PARSER = argparse.ArgumentParser(description=__doc__.splitlines()[0])
PARSER.add_argument("bundle")
PARSER.add_argument("--device", default="cuda")
# The bits of a product with seeded inputs, for a second process.
PARSER.add_argument("--bits", action="store_true")
GIVEN = PARSER.parse_args()
ON_GPU = GIVEN.device != "emulator"
PLACE = "cuda" if ON_GPU else "cpu"
TRIED = []
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


class Skipped(Exception):
    """Something that is not there to try."""


def tried(check):
    """Notes a function as one of those to try."""
    TRIED.append(check)
    return check


def on_gpu():
    if not ON_GPU:
        raise Skipped("needs a GPU")


def sizes():
    return (1000, 1024, 512) if ON_GPU else (40, 48, 64)


def products(bundle):
    """Of each function that is a product of two plain factors its first kernel that runs here."""
    found = {}
    for kernel in bundle.kernels:
        formula = "".join(kernel.formula.split())
        plain = [one.packed for one in kernel.operands] == [None] * 3
        is_product = formula.startswith("acc[m,n]:f32=sum[k]a[m,k]*b[n,k]d[m,n]=acc[m,n]")
        types = {one.dtype for one in kernel.operands}
        if plain and is_product and len(types) == 1 and types <= set(TYPES) and kernel.runs_here:
            found.setdefault(kernel.function, kernel)
    assert found, "the bundle has no product"
    return list(found.values())


def factors(kernel, m, n, k):
    dtype = TYPES[kernel.operands[0].dtype]
    made = lambda rows: torch.randint(-3, 4, (rows, k), device=PLACE).to(dtype)
    return made(m), made(n)


def product(bundle, kernel):
    return operator(bundle, kernel.function, name=f"tilewright_smoke::p{kernel.function[:8]}")


def norm(bundle):
    try:
        return operator(bundle, "rmsnorm_bf16_add_narrow", name="tilewright_smoke::norm")
    except tilewright.Refused:
        raise Skipped("the bundle has no rmsnorm_bf16_add_narrow") from None


def rows(count=64, columns=768):
    x, r = (torch.randn(count, columns, device=PLACE).bfloat16() for _ in "xr")
    return x, r, torch.rand(columns, device=PLACE).bfloat16(), 1e-5


@tried
def operators_compute(bundle):
    for kernel in products(bundle):
        a, b = factors(kernel, *sizes())
        d = product(bundle, kernel)(a, b)
        wanted = (a.double() @ b.double().T).to(d.dtype)
        assert torch.equal(d, wanted), (d.double() - wanted.double()).abs().max()
        print(f"    {kernel.spec}: {product(bundle, kernel)}")


@tried
def opcheck_passes(bundle):
    for kernel in products(bundle):
        told = torch.library.opcheck(product(bundle, kernel).overload, factors(kernel, 64, 48, 64))
        print(f"    {kernel.spec}: {told}")


@tried
def opcheck_passes_of_one_that_writes_its_argument(bundle):
    told = torch.library.opcheck(norm(bundle).overload, rows(8, 64))
    print(f"    {told}")


def whole(bundle, mode):
    """A graph of an operator and PyTorch's own, compiled, over sizes and contents that change."""
    for kernel in products(bundle):
        made = product(bundle, kernel)
        compiled = torch.compile(lambda a, b: made(a, b).relu() + 1, fullgraph=True, mode=mode)
        for m in (64, 64, 96, 128):
            a, b = factors(kernel, m, 48, 64)
            for _ in range(3):
                a.add_(1)
                got = compiled(a, b).clone()
                assert torch.equal(got, made(a, b).relu() + 1), (kernel.spec, m)


@tried
def whole_graphs_are_compiled(bundle):
    whole(bundle, None)


@tried
def whole_graphs_are_compiled_to_cuda_graphs(bundle):
    on_gpu()
    whole(bundle, "reduce-overhead")
    skips = torch._dynamo.utils.counters["inductor"]["cudagraph_skips"]
    assert skips == 0, f"{skips} graphs were not captured"


@tried
def an_operator_that_writes_its_argument_is_compiled(bundle):
    made = norm(bundle)
    compiled = torch.compile(lambda x, r, g: made(x, r, g, 1e-5) * 2, fullgraph=True)
    for count in (64, 96):
        x, r, g, eps = rows(count)
        other = r.clone()
        assert torch.equal(compiled(x, r, g), made(x, other, g, eps) * 2)
        assert torch.equal(r, other)


@tried
def operators_are_captured_by_hand(bundle):
    on_gpu()
    for kernel in products(bundle):
        made, (a, b) = product(bundle, kernel), factors(kernel, *sizes())
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            d = made(a, b)
        for _ in range(2):
            a.add_(1)
            graph.replay()
            torch.cuda.synchronize()
            assert torch.equal(d, made(a, b)), kernel.spec


@tried
def operators_run_on_the_current_stream(bundle):
    on_gpu()
    for kernel in products(bundle):
        made, (a, b) = product(bundle, kernel), factors(kernel, *sizes())
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(200_000_000)
            a.fill_(1)
            d = made(a, b)
        side.synchronize()
        assert torch.equal(d, made(a, b)), kernel.spec


@tried
def layers_replace_those_of_a_model(bundle):
    for kernel in products(bundle):
        dtype = TYPES[kernel.operands[0].dtype]
        place = {"device": PLACE, "dtype": dtype}
        model = torch.nn.Sequential(
            torch.nn.Linear(64, 128, **place), torch.nn.GELU(), torch.nn.Linear(128, 64, **place)
        )
        x = torch.randn(3, 16, 64, **place)
        with torch.no_grad():
            wanted = model(x)
            assert replace(model, bundle) == ["0", "2"]
            compiled = torch.compile(model, fullgraph=True)
            for got in (model(x), compiled(x)):
                error = (got.double() - wanted.double()).abs().max().item()
                # Sums of f32 may go through tf32 in PyTorch's own product.
                allowed = 8 * max(torch.finfo(dtype).eps, 2.0**-11)
                assert error <= allowed * wanted.double().abs().max().item(), error
        print(f"    {dtype}: {model[0]}")


@tried
def layers_are_compiled_to_cuda_graphs(bundle):
    on_gpu()
    kernel = products(bundle)[0]
    place = {"device": PLACE, "dtype": TYPES[kernel.operands[0].dtype]}
    layer = Linear.of(torch.nn.Linear(512, 1024, **place), bundle)
    compiled = torch.compile(layer, fullgraph=True, mode="reduce-overhead")
    with torch.no_grad():
        for _ in range(4):
            x = torch.randn(16, 512, **place)
            assert torch.equal(compiled(x).clone(), layer(x))


@tried
def packed_weights_go_there_and_back(bundle):
    packed = [one for one in bundle.functions() if any(o.packed for o in one.operands)]
    packed = [one for one in packed if one.word == "gemm" and one.runs_here]
    if not packed:
        raise Skipped("the bundle has no packed product that runs here")
    place = {"device": PLACE, "dtype": TYPES[packed[0].operands[0].dtype]}
    layer = torch.nn.Linear(192, 256, **place)
    ours = Linear.of(layer, bundle, packed[0].function)
    x = torch.randn(5, 192, **place)
    with torch.no_grad():
        assert torch.equal(ours.plain_weight(), layer.weight)
        assert torch.allclose(ours(x).float(), layer(x).float(), rtol=2**-6, atol=2**-6)
    print(f"    {ours}")


@tried
def what_requires_grad_is_refused(bundle):
    kernel = products(bundle)[0]
    a, b = factors(kernel, 64, 48, 64)
    d = torch.empty(64, 48, device=PLACE, dtype=a.dtype)
    a.requires_grad_()
    for call in (
        lambda: product(bundle, kernel)(a, b),
        lambda: product(bundle, kernel).overload(a, b),
        lambda: kernel(a=a, b=b, d=d),
    ):
        try:
            call()
        except tilewright.InferenceOnly as raised:
            print("   ", raised)
        else:
            raise AssertionError("it was not refused")


class Shy:
    """An array that shows DLPack alone, and notes what it is asked for."""

    def __init__(self, array):
        self.array, self.asked = array, []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        return self.array.__dlpack__(**keywords)


def lent(bundle, s, d):
    """Copies by a kernel from one array to another, both seen through DLPack alone."""
    shy = Shy(s)
    bundle.pick("copy", s=shy, d=Shy(d))(s=shy, d=Shy(d))
    print(f"    asked with {shy.asked[-1]}")


@tried
def dlpack_of_pytorch(bundle):
    s = torch.randn(64, 256, device=PLACE)
    d = torch.zeros_like(s)
    lent(bundle, s, d)
    assert torch.equal(s, d)
    if ON_GPU:
        # Another stream's work is awaited by its owner, who is told the stream of the call.
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(200_000_000)
            s.fill_(5)
            lent(bundle, s, d)
        torch.cuda.synchronize()
        assert (d == 5).all()


@tried
def dlpack_of_cupy(bundle):
    on_gpu()
    try:
        import cupy
    except ImportError:
        raise Skipped("CuPy is not installed") from None
    s = cupy.arange(64 * 256, dtype=cupy.float32).reshape(64, 256)
    for pool in (None, cupy.cuda.malloc_managed):
        with cupy.cuda.using_allocator(pool or cupy.get_default_memory_pool().malloc):
            d = cupy.zeros_like(s)
        print(f"    device {d.__dlpack_device__()}")
        lent(bundle, s, d)
        cupy.cuda.Device().synchronize()
        assert bool((s == d).all())


@tried
def dlpack_of_jax(bundle):
    # PyTorch has memory of the same GPU.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
    except ImportError:
        raise Skipped("JAX is not installed") from None
    device = jax.devices("gpu" if ON_GPU else "cpu")[0]
    s = jax.device_put(jax.numpy.arange(64 * 256, dtype="float32").reshape(64, 256), device)
    d = torch.zeros(64, 256, device=PLACE)
    # JAX's arrays are immutable: inputs alone.
    bundle.pick("copy", s=Shy(s), d=d)(s=Shy(s), d=d)
    assert torch.equal(d.cpu().flatten(), torch.arange(64.0 * 256))


@tried
def a_second_process_gets_the_same_bits(bundle):
    command = [sys.executable, __file__, GIVEN.bundle, "--device", GIVEN.device, "--bits"]
    told = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=True)
    mine = bits(bundle)
    assert told.stdout.splitlines() == mine, (told.stdout, mine)
    print("   ", *mine, sep="\n    ")


def bits(bundle):
    """A hash of what each product gives: direct, as an operator, and again, the same bits."""
    import hashlib

    all_of_them = []
    for kernel in products(bundle):
        torch.manual_seed(11)
        a, b = (torch.randn(n, 64 if not ON_GPU else 512).to(PLACE) for n in sizes()[:2])
        a, b = (one.to(TYPES[kernel.operands[0].dtype]) for one in (a, b))
        d = torch.empty(a.shape[0], b.shape[0], device=PLACE, dtype=a.dtype)
        bundle.pick(kernel.function, a=a, b=b, d=d)(a=a, b=b, d=d)
        for _ in range(2):
            assert torch.equal(product(bundle, kernel)(a, b), d)
        content = d.cpu().contiguous().view(torch.uint8).numpy().tobytes()
        all_of_them.append(f"{kernel.spec} {hashlib.sha256(content).hexdigest()}")
    return all_of_them


def main():
    bundle = tilewright.open(GIVEN.bundle, device=GIVEN.device)
    if GIVEN.bits:
        print(*bits(bundle), sep="\n")
        return 0
    print(bundle, bundle.device_info, "torch", torch.__version__)
    failed, skipped = 0, 0
    for check in TRIED:
        print(f"{check.__name__} …", flush=True)
        try:
            check(bundle)
        except Skipped as told:
            skipped += 1
            print(f"    skipped: {told}")
        except Exception:
            failed += 1
            traceback.print_exc(file=sys.stdout)
    passed = len(TRIED) - failed - skipped
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
