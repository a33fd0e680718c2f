"""The same kernels of one bundle from Rust, C++ and Python: do they write the same bits?

    cargo build --release --package tilewright-runtime --example product
    python runtime/python/bench/equal.py BUNDLE --rust target/release/examples/product \
        --cpp ./product --device cuda

RUST is the example `product` of the runtime, CPP is runtime/capi/bench/product.cpp, compiled as its
head says: it has to find the library by itself. Every kernel of the word `gemm` that takes bf16 and
gives bf16 multiplies the same random normals in all three, at a size with odd rows. Prints a line
a kernel; exits with 1 where bits differ.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import tilewright

SIZE = (197, 264, 328)


def arguments():
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundle")
    parser.add_argument("--rust", required=True, help="the runtime's example `product`")
    parser.add_argument("--cpp", required=True, help="runtime/capi/bench/product.cpp, compiled")
    parser.add_argument("--device", default="cuda", choices=["cuda", "emulator"])
    parser.add_argument("--kernels", type=int, default=1000, help="no more than so many")
    return parser.parse_args()


def by_python(kernel, device, files):
    """The bits that the kernel writes when it is called here."""
    m, n, k = SIZE
    shapes = [(m, k), (n, k), (m, n)]
    if device == "cuda":
        import torch

        bits = [torch.frombuffer(bytearray(file.read_bytes()), dtype=torch.int16) for file in files]
        a, b = (
            one.view(torch.bfloat16).reshape(shape).to("cuda")
            for one, shape in zip(bits, shapes)
        )
        d = torch.full(shapes[2], float("nan"), dtype=torch.bfloat16, device="cuda")
        kernel(a=a, b=b, d=d)
        torch.cuda.synchronize()
        return d.cpu().view(torch.int16).numpy().tobytes()
    import numpy

    a, b = (
        numpy.frombuffer(file.read_bytes(), "u2").reshape(shape)
        for file, shape in zip(files, shapes)
    )
    d = numpy.zeros(shapes[2], "u2")
    typed = [tilewright.as_dtype(one, "bf16") for one in (a, b, d)]
    kernel(a=typed[0], b=typed[1], d=typed[2])
    return d.tobytes()


def normals(count):
    """Random normals as the bits of bf16."""
    import numpy

    words = numpy.random.default_rng().standard_normal(count, "f4").view("u4")
    return (words >> 16).astype("u2").tobytes()


def is_wanted(kernel):
    """Whether it multiplies rows of bf16 by rows of bf16, and takes this size."""
    layouts = [operand.layout.split(":")[1] for operand in kernel.operands]
    dtypes = [operand.dtype for operand in kernel.operands]
    plain = layouts == ["(lda,1)", "(ldb,1)", "(ldd,1)"]
    return kernel.word == "gemm" and plain and dtypes == ["bf16"] * 3 and kernel.runs_here


def main():
    """Compares, and says what differs."""
    options = arguments()
    m, n, k = SIZE
    kernels = [one for one in tilewright.open(options.bundle, options.device).kernels]
    kernels = [one for one in kernels if is_wanted(one)][: options.kernels]
    differ = 0
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("a", "b")]
        for file, count in zip(files, (m * k, n * k)):
            file.write_bytes(normals(count))
        for kernel in kernels:
            written = {"python": by_python(kernel, options.device, files)}
            for name, program in (("rust", options.rust), ("c++", options.cpp)):
                into = Path(folder, "d")
                sizes = [str(extent) for extent in SIZE]
                command = [program, options.bundle, kernel.id, options.device, *sizes]
                subprocess.run([*command, *map(str, files), str(into)], check=True)
                written[name] = into.read_bytes()
                into.unlink()
            wrong = [name for name, bits in written.items() if bits != written["python"]]
            differ += bool(wrong)
            told = f"{' and '.join(wrong)} differ from python" if wrong else "equal bits"
            print(f"{kernel.id}: {told}")
    print(f"{len(kernels)} kernels, {differ} with other bits")
    return 1 if differ or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
