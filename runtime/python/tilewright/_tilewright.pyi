"""The runtime as classes; see the package."""

from os import PathLike
from pathlib import Path
from typing import Any, Dict, List, NoReturn, Optional, Sequence, Tuple, Union, final

from .counting import Counters

__version__: str
INFERENCE_ONLY: str
"""What keeps a tensor that requires grad from being given, and the ways out."""

class Error(Exception):
    """Something that the runtime could not do; the text says what, and a way out."""

class BundleError(Error):
    """A bundle that is refused: damaged, changed, or of another format."""

class Refused(Error):
    """A kernel that cannot run what was asked for; nothing was launched."""

    kinds: List[str]
    """A word for each reason: `shape`, `dtype`, `alignment`, `overlap` …"""

class InferenceOnly(Error):
    """A tensor that requires grad: kernels have no derivative."""

class DeviceError(Error):
    """A failure of the driver, of the device, or faults that the emulator found."""

@final
class Typed:
    """A tensor whose elements are said to be of another type of the same size."""

    tensor: Any
    dtype: str
    def __new__(cls, tensor: Any, dtype: str) -> "Typed": ...

@final
class Operand:
    """One tensor that a kernel takes."""

    name: str
    role: str
    """`in`, `out` or `inout`."""
    dtype: str
    """Element type: `bf16`."""
    layout: str
    """Shape and strides in elements: `(m,k):(lda,1)`."""
    shape: List[str]
    """Extents as the layout has them: `["m", "k"]`."""
    stride: List[str]
    """Strides as the layout has them: `["lda", "1"]`."""
    multiple: List[int]
    """What the stride of each axis is a multiple of, in elements, where the layout names it."""
    alignment: int
    """What the first element's address is a multiple of, in bytes."""
    over: Optional[str]
    """The input whose place it may take."""
    packed: Optional["Order"]
    """Of a packed operand its order in memory: see `tilewright.pack`."""

@final
class Order:
    """The order in memory of a packed operand: tiles, those behind its ends zeros."""

    shape: List[List[int]]
    """Extents of a tile, of each axis by modes, the fastest first."""
    stride: List[List[int]]
    """Strides of these modes, in elements."""
    swizzle: Optional[List[int]]
    """CuTe's bits, base and shift of a swizzle of a tile's elements."""
    order: List[int]
    """Axes in the order in which tiles along them follow one another, the fastest first."""
    multiple: List[int]
    """What the number of tiles along each axis is a multiple of."""
    text: str
    """All of it as CuTe prints it."""

@final
class Launch:
    """A kernel bound to tensors, which it keeps. Calling it launches."""

    kernel: str
    problem: str
    workspace_bytes: int
    tensors: Dict[str, Any]
    def __call__(self, *, stream: Any = None) -> None:
        """Launches on the current stream, or on the one given."""
    def verify(self, *, stream: Any = None) -> Dict[str, Any]:
        """Launches, and compares every element written with the kernel's own formula, computed in
        f64 from the inputs: for small problems. `rel_err`, `max_err` (error over allowed error) and
        `failure`, which is None where all is right."""

@final
class Kernel:
    """A kernel of an open bundle. Calling it with named tensors and scalars launches it."""

    id: str
    spec: str
    word: str
    formula: str
    function: str
    operands: List[Operand]
    scalars: Dict[str, str]
    extents: List[str]
    constants: Dict[str, int]
    assumptions: List[str]
    accumulator: Optional[str]
    capability: Tuple[int, bool]
    device: str
    runs_here: bool
    def load(self) -> None:
        """Loads its code, so that the first launch does not."""
    def bind(
        self,
        *positional: NoReturn,
        workspace: Any = None,
        promises: Optional[Sequence[str]] = None,
        **tensors_and_scalars: Any,
    ) -> Launch:
        """Checks everything once and keeps the tensors: what comes back launches when it is
        called."""
    def __call__(
        self,
        *positional: NoReturn,
        stream: Any = None,
        workspace: Any = None,
        promises: Optional[Sequence[str]] = None,
        **tensors_and_scalars: Any,
    ) -> None:
        """Launches on named tensors and scalars, on the current stream or on the one given."""

@final
class Bundle:
    """A bundle on a device."""

    kernels: List[Kernel]
    path: Path
    hash: str
    """SHA-256 of all that it holds."""
    device: str
    device_info: Dict[str, Any]
    ptxas: Optional[str]
    is_lost: bool
    """Whether a kernel has faulted and taken the device with it: on a GPU end the process and start
    it anew, on the emulator open the bundle again."""
    def find(self, name: str) -> Kernel:
        """The kernel of that id, else the first of the spec of that name, else the first whose id
        begins so."""
    def functions(self, word: Optional[str] = None) -> List[Kernel]:
        """The first kernel of each function, or of each that a word means: a spec's word or name,
        or the beginning of a function's hash."""
    def pick(
        self,
        word: str,
        *,
        promises: Optional[Sequence[str]] = None,
        **tensors_and_scalars: Any,
    ) -> Kernel:
        """The kernel to use for tensors: of those that a word means (a spec's word or name, or the
        beginning of a function's hash) and that take tensors of these types, the one that the
        bundle's tables choose, else the most special that fits."""
    def explain(
        self,
        word: str,
        *,
        promises: Optional[Sequence[str]] = None,
        **tensors_and_scalars: Any,
    ) -> str:
        """What `pick` picks for tensors and by which rule, the row of a tuning table or the order
        of kernels, and why each other kernel of the function is not picked, as lines to be read.
        Nothing is counted."""
    def counters(self) -> Counters:
        """What the bundle's kernels have done since it was opened, as numbers: a copy."""
    def __len__(self) -> int: ...

@final
class Samples:
    """The times of a rotation."""

    rounds: int
    def median_us(self, arm: int) -> float: ...
    def ratio(self, over: int, under: int) -> Tuple[float, float]:
        """One arm's time over another's: the median over the rounds, and the spread."""

@final
class Meter:
    """A device to measure on."""

    def __new__(cls, kernel: Kernel, stream: Any = None) -> "Meter": ...
    def sets(self, bytes: int) -> int:
        """Sets of buffers to rotate through, when one has so many bytes."""
    def contest(
        self,
        arms: Sequence[Any],
        mode: str,
        rounds: int,
        sets: int,
        graph: bool,
        seed: int,
    ) -> Samples:
        """Measures arms against each other: each a list with a launch for every set, or a pair of
        a callable that enqueues on the set of a number and one that captures so many launches over
        so many sets and returns what replays them (None where that is not possible)."""
    def row(
        self,
        launch: Launch,
        samples: Samples,
        *,
        mode: str,
        ours: int,
        peer: int,
        again: Optional[int],
        name: str,
        version: Optional[str],
        replayed: bool,
        flops: Optional[float],
        bytes: Optional[float],
        rel_err: float,
        max_err: float,
        peer_max_err: Optional[float],
        bound: Optional[str],
        date: str,
        commit: str,
    ) -> str:
        """The row, as JSON, of a kernel that was measured beside a peer."""

def open(
    path: Union[str, "PathLike[str]"],
    device: str = "cuda",
    *,
    sms: int = 4,
    sm: Optional[int] = None,
    require_key: Optional[Union[str, "PathLike[str]"]] = None,
    load: str = "lazy",
    ptx_cache: Optional[Union[str, "PathLike[str]"]] = None,
    cubin_only: bool = False,
    sticky_faults: bool = False,
) -> Bundle:
    """Opens the bundle at `path`, a folder or one zip file, on a GPU (`cuda`, `cuda:1`) or on the
    emulator, which pretends to have `sms` multiprocessors of compute capability `sm`, or of every
    one. With `require_key`, a file of public keys (PEM), only if one of them has signed it.

    `load="eager"` loads the code of all kernels now, so that no launch waits for a compiler.
    `ptx_cache` is a folder of the caller's own that keeps what the driver makes of PTX. With
    `cubin_only` the bundle's machine code alone is run on a GPU, and nothing is compiled. With
    `sticky_faults` a fault on the emulator takes the device with it, as it does on a GPU."""

def memcpy(d: Any, s: Any, *, stream: Any = None) -> None:
    """Copies the bytes of `s` to `d` by the driver's own copy, on the current stream: the peer of
    kernels that copy."""
