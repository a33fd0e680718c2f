"""Products by cuBLASLt with its own epilogues: the first algorithm that its heuristic names, and
the fastest of all that it names.

The library is the one that PyTorch has loaded. Products are d = f(a · bᵀ + bias) of bf16 or f16
tensors a: (m,k), b: (n,k), d: (m,n), bias: (n), with the same batch before the matrices or none;
factors are contiguous along either of theirs, d by rows. What cuBLASLt sees, whose matrices go by
columns, is dᵀ = b · aᵀ.
"""

import ctypes
import functools
import math

import torch

import tilewright

#: Values of the enumerations of cublasLt.h and library_types.h (CUDA 12 and 13).
COMPUTE_32F = 68
TYPES = {torch.float32: 0, torch.float16: 2, torch.bfloat16: 14}
TRANSA, TRANSB, EPILOGUE, BIAS_POINTER = 3, 4, 7, 8
OP_N, OP_T = 0, 1
BATCH_COUNT, BATCH_OFFSET = 5, 6
#: Those that are compared with.
EPILOGUES = {"none": 1, "bias": 4, "bias_relu": 6, "bias_gelu": 36}
MAX_WORKSPACE_BYTES = 1
WORKSPACE_BYTES = 64 << 20
#: Algorithms asked for, and launches that each is timed by.
ASKED = 32
TRIED = 10


class Algorithm(ctypes.Structure):
    """cublasLtMatmulAlgo_t."""

    _fields_ = [("data", ctypes.c_uint64 * 8)]


class Found(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = [
        ("algorithm", Algorithm),
        ("workspace_bytes", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    ]


def library():
    """The loaded library."""
    major = torch.version.cuda.split(".")[0]
    return ctypes.CDLL(f"libcublasLt.so.{major}")


def checked(what, status):
    if status != 0:
        raise RuntimeError(f"{what}: cuBLASLt status {status}")


def is_by_rows(tensor):
    """Whether a matrix is contiguous along its columns."""
    return tensor.stride(-1) == 1


class Matmul:
    """A product with an epilogue on one set of tensors."""

    def __init__(self, lib, handle, epilogue, workspace, a, b, d, bias):
        self.lib, self.handle, self.workspace = lib, handle, workspace
        self.tensors = (a, b, d)
        self.one, self.zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
        self.desc = ctypes.c_void_p()
        made = lib.cublasLtMatmulDescCreate(ctypes.byref(self.desc), COMPUTE_32F, 0)
        checked("cublasLtMatmulDescCreate", made)
        self.describe(TRANSA, ctypes.c_int32(OP_T if is_by_rows(b) else OP_N))
        self.describe(TRANSB, ctypes.c_int32(OP_N if is_by_rows(a) else OP_T))
        self.describe(EPILOGUE, ctypes.c_uint32(EPILOGUES[epilogue]))
        if bias is not None:
            self.describe(BIAS_POINTER, ctypes.c_void_p(bias.data_ptr()))
        self.layouts = [self.layout(one) for one in (b, a, d)]

    def describe(self, attribute, value):
        size = ctypes.c_size_t(ctypes.sizeof(value))
        set_ = self.lib.cublasLtMatmulDescSetAttribute
        status = set_(self.desc, attribute, ctypes.byref(value), size)
        checked("cublasLtMatmulDescSetAttribute", status)

    def layout(self, tensor):
        """A matrix of rows, which is one of columns transposed; of each batch one."""
        tensor = tensor if is_by_rows(tensor) else tensor.mT
        rows, columns = tensor.shape[-2:]
        made = ctypes.c_void_p()
        status = self.lib.cublasLtMatrixLayoutCreate(
            ctypes.byref(made),
            TYPES[tensor.dtype],
            ctypes.c_uint64(columns),
            ctypes.c_uint64(rows),
            ctypes.c_int64(tensor.stride(-2)),
        )
        checked("cublasLtMatrixLayoutCreate", status)
        if tensor.dim() == 3:
            count, offset = ctypes.c_int32(len(tensor)), ctypes.c_int64(tensor.stride(0))
            for attribute, value in ((BATCH_COUNT, count), (BATCH_OFFSET, offset)):
                set_ = self.lib.cublasLtMatrixLayoutSetAttribute
                size = ctypes.c_size_t(ctypes.sizeof(value))
                status = set_(made, attribute, ctypes.byref(value), size)
                checked("cublasLtMatrixLayoutSetAttribute", status)
        return made

    def algorithms(self):
        """What the heuristic names, the best guess first."""
        preference = ctypes.c_void_p()
        made = self.lib.cublasLtMatmulPreferenceCreate(ctypes.byref(preference))
        checked("cublasLtMatmulPreferenceCreate", made)
        size = ctypes.c_size_t(WORKSPACE_BYTES)
        status = self.lib.cublasLtMatmulPreferenceSetAttribute(
            preference, MAX_WORKSPACE_BYTES, ctypes.byref(size), ctypes.c_size_t(8)
        )
        checked("cublasLtMatmulPreferenceSetAttribute", status)
        found, count = (Found * ASKED)(), ctypes.c_int(0)
        b, a, d = self.layouts
        status = self.lib.cublasLtMatmulAlgoGetHeuristic(
            self.handle, self.desc, b, a, d, d, preference, ASKED, found, ctypes.byref(count)
        )
        checked("cublasLtMatmulAlgoGetHeuristic", status)
        self.lib.cublasLtMatmulPreferenceDestroy(preference)
        return [found[at].algorithm for at in range(count.value) if found[at].state == 0]

    def run(self, algorithm):
        """Enqueues the product on the current stream."""
        a, b, d = (ctypes.c_void_p(tensor.data_ptr()) for tensor in self.tensors)
        b_layout, a_layout, d_layout = self.layouts
        status = self.lib.cublasLtMatmul(
            self.handle,
            self.desc,
            ctypes.byref(self.one),
            b,
            b_layout,
            a,
            a_layout,
            ctypes.byref(self.zero),
            d,
            d_layout,
            d,
            d_layout,
            ctypes.byref(algorithm),
            ctypes.c_void_p(self.workspace.data_ptr()),
            ctypes.c_size_t(WORKSPACE_BYTES),
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream),
        )
        checked("cublasLtMatmul", status)


class Epilogue:
    """Products with an epilogue on any set of tensors, by an algorithm that the first decides."""

    def __init__(self, epilogue, names):
        self.epilogue, self.names = epilogue, names
        self.lib = library()
        self.handle = ctypes.c_void_p()
        checked("cublasLtCreate", self.lib.cublasLtCreate(ctypes.byref(self.handle)))
        self.lib.cublasLtGetVersion.restype = ctypes.c_size_t
        self.version = f"cuBLASLt {self.lib.cublasLtGetVersion()}"
        self.workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")
        self.made = {}
        self.chosen = {}

    def of(self, tensors):
        """The product on a set."""
        a, b, d, bias = (tensors[name] if name else None for name in self.names)
        key = (a.data_ptr(), d.data_ptr())
        if key not in self.made:
            arguments = (self.epilogue, self.workspace, a, b, d, bias)
            self.made[key] = Matmul(self.lib, self.handle, *arguments)
        return self.made[key]

    def call(self, kind, tensors):
        """Enqueues it: by the algorithm named first, or by the fastest of those named."""
        matmul = self.of(tensors)
        if kind not in self.chosen:
            named = matmul.algorithms()
            if not named:
                raise RuntimeError(f"cuBLASLt names no algorithm for {self.epilogue}")
            fastest = functools.partial(seconds, matmul)
            self.chosen[kind] = named[0] if kind == "default" else min(named, key=fastest)
        matmul.run(self.chosen[kind])

    def peer(self, kind, same):
        """That kind of choice as a peer."""
        name = f"cuBLASLt {self.epilogue}, {kind}"
        call = lambda **tensors: self.call(kind, tensors)  # noqa: E731
        return tilewright.Peer(name, call, version=self.version, same=same)


def peers(epilogue, names, same=True):
    """The default and the best algorithm. `names` are those of the operands a, b, d and the bias,
    or None where there is none."""
    product = Epilogue(epilogue, names)
    return [("cublaslt", product.peer(kind, same)) for kind in ("default", "best")]


def seconds(matmul, algorithm):
    """How long an algorithm takes, as a median; where it does not run, for ever."""
    times = []
    for _ in range(TRIED):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        events[0].record()
        try:
            matmul.run(algorithm)
        except RuntimeError:
            return math.inf
        events[1].record()
        torch.cuda.synchronize()
        times.append(events[0].elapsed_time(events[1]))
    return sorted(times)[TRIED // 2]
