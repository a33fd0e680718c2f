"""Kernels measured beside peers that are written in Python, in one process and one rotation.

The runtime does the measuring: the order of the slices, heat before sustained ones, rest before
rested ones, a flushed cache before cold launches, the peer against itself for the noise, clocks and
power, medians over rounds. Here stands what has to know Python's tensors: sets to rotate through,
graphs of callables, outputs compared with a reference.
"""

from __future__ import annotations

import datetime
import functools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from . import comparing
from ._tilewright import Error, Kernel, Launch, Meter

Tensors = Dict[str, Any]
#: Longest first line of a file that is looked at.
_MOST_LINE = 1 << 20
#: Allowed error of an element: this much of its own size, and this much of the output's rms.
Bound = Tuple[float, float]


@dataclass(frozen=True)
class Peer:
    """Somebody else's way of computing something.

    `call` gets the tensors of a set by name. What it returns are the outputs in the order of the
    kernel's; where it returns None it has written them in place.
    """

    name: str
    call: Callable[..., Any]
    #: Which release; by default those of torch and triton, where they are loaded.
    version: Optional[str] = None
    #: Whether its launches may be captured into a graph.
    graph: bool = True
    #: Whether it computes the same; of one that does not, a plain copy say, the time alone counts.
    same: bool = True


@dataclass(frozen=True)
class _Entry:
    """A kernel bound to every set, and what is known of its output."""

    launches: List[Launch]
    rel_err: float
    max_err: float


@dataclass(frozen=True)
class _Rival:
    """A peer bound to every set, and what is known of its output."""

    peer: Peer
    calls: Sequence[Callable[[], Any]]
    max_err: Optional[float]


def bench(
    kernels: Union[Kernel, Sequence[Kernel]],
    sets: Union[Sequence[Tensors], Callable[[int], Tensors]],
    peers: Union[Peer, Sequence[Peer]],
    *,
    scalars: Optional[Dict[str, float]] = None,
    promises: Optional[Sequence[str]] = None,
    modes: Sequence[str] = ("rested", "sustained"),
    rounds: int = 21,
    rested_rounds: int = 9,
    graph: bool = True,
    reference: Optional[Callable[..., Any]] = None,
    bound: Optional[Bound] = None,
    flops: Optional[float] = None,
    bytes: Optional[float] = None,
    noise: bool = True,
    seed: int = 1,
    commit: Optional[str] = None,
    output: Optional[str] = None,
) -> List[Dict[str, Any]]:
    """Measures kernels beside peers and returns a row for each kernel, peer and mode.

    `sets` are tensors by name, which launches rotate through: several sets, together larger than
    twice the second-level cache, or a function of a set's number that makes one. Kernels take those
    named as their operands. `modes` are `rested`, `sustained`, `cold` and `launch`; on the emulator
    there is no time but the host's, which is `launch`.

    The output of every kernel and peer is compared first: with `reference(**tensors)` within
    `bound`, or, without one, the kernels' with their own formula, computed in f64 on the host,
    which is for small problems. `output` names a file of rows to append to; one that holds anything
    else is refused as it is. Ratios are the peer's time over the kernel's: above 1 the kernel is
    faster.
    """
    kernels = [kernels] if isinstance(kernels, Kernel) else list(kernels)
    peers = [peers] if isinstance(peers, Peer) else list(peers)
    if not kernels or not peers:
        raise Error("bench takes at least one kernel and one peer")
    if output is not None:
        # Before any work is done for it.
        _check_rows(output)
    with _Stage(kernels[0]) as stage:
        sets = _made(sets, stage.meter)
        arguments: Dict[str, Any] = dict(scalars or {})
        if promises:
            arguments["promises"] = list(promises)
        expected = _expected(kernels[0], sets[0], reference, bound)
        entries = [_entry(kernel, sets, arguments, expected) for kernel in kernels]
        rivals = [_rival(kernels[0], peer, sets, expected) for peer in peers]
        rows: List[Dict[str, Any]] = []
        for mode in modes:
            many = rested_rounds if mode == "rested" else rounds
            arms, places = _arms(stage, entries, rivals, mode, noise)
            samples = stage.meter.contest(arms, mode, many, len(sets), graph, seed)
            stamp = {"date": _now(), "commit": _commit() if commit is None else commit}
            for at, entry in enumerate(entries):
                for rival, (peer, again) in zip(rivals, places):
                    row = stage.meter.row(
                        entry.launches[0],
                        samples,
                        mode=mode,
                        ours=len(arms) - len(entries) + at,
                        peer=peer,
                        again=again,
                        name=rival.peer.name,
                        version=rival.peer.version or versions(),
                        replayed=graph and rival.peer.graph and mode in ("rested", "sustained"),
                        flops=flops,
                        bytes=bytes,
                        rel_err=entry.rel_err,
                        max_err=entry.max_err,
                        peer_max_err=rival.max_err,
                        bound=expected.text,
                        **stamp,
                    )
                    rows.append(json.loads(row))
                    if output is not None:
                        _append(output, row)
        return rows


def fastest(
    kernels: Sequence[Kernel],
    sets: Sequence[Tensors],
    *,
    scalars: Optional[Dict[str, float]] = None,
    rounds: int = 3,
) -> Kernel:
    """The fastest of some kernels of one function, by a short rotation of all of them."""
    kernels = list(kernels)
    with _Stage(kernels[0]) as stage:
        bound = [_bound(kernel, list(sets), dict(scalars or {})) for kernel in kernels]
        mode = "launch" if stage.stream is None else "sustained"
        samples = stage.meter.contest(bound, mode, rounds, len(sets), True, 1)
        return kernels[min(range(len(kernels)), key=samples.median_us)]


def versions() -> Optional[str]:
    """The releases of torch and triton that are loaded: `torch 2.11.0, triton 3.6.0`."""
    loaded = [(name, sys.modules.get(name)) for name in ("torch", "triton", "numpy")]
    found = [f"{name} {module.__version__}" for name, module in loaded[:2] if module is not None]
    if not found and loaded[2][1] is not None:
        found = [f"numpy {loaded[2][1].__version__}"]
    return ", ".join(found) or None


class _Stage:
    """Where launches go: on a GPU a stream of torch's own beside the default one, which cannot be
    captured; on the emulator nowhere."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.torch: Any = None
        self.stream: Any = None
        self.meter: Meter

    def __enter__(self) -> "_Stage":
        device = self.kernel.device
        if device == "emulator":
            self.meter = Meter(self.kernel)
            return self
        self.torch = sys.modules.get("torch")
        if self.torch is None:
            raise Error("measuring on a GPU needs torch: its streams, graphs and tensors")
        self.stream = self.torch.cuda.Stream(device)
        self.before = self.torch.cuda.current_stream(device)
        self.stream.wait_stream(self.before)
        self.entered = self.torch.cuda.stream(self.stream)
        self.entered.__enter__()
        self.meter = Meter(self.kernel, self.stream)
        return self

    def __exit__(self, *exception: Any) -> None:
        if self.stream is not None:
            self.stream.synchronize()
            self.entered.__exit__(*exception)

    def capture(
        self, calls: Sequence[Callable[[], Any]], launches: int, sets: int
    ) -> Callable[[], Any]:
        """What replays so many calls, one set after another."""
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, stream=self.stream):
            for at in range(launches):
                calls[at % sets]()
        return graph.replay


def _made(sets: Any, meter: Meter) -> List[Tensors]:
    """The sets, or as many as the device needs of those that a function makes."""
    if callable(sets):
        first = sets(0)
        each = sum(comparing.bytes_of(tensor) for tensor in first.values())
        return [first] + [sets(at) for at in range(1, meter.sets(each))]
    sets = list(sets)
    if not sets:
        raise Error("bench takes at least one set of tensors")
    return sets


def _outputs(kernel: Kernel) -> List[str]:
    return [operand.name for operand in kernel.operands if operand.role != "in"]


def _expected(
    kernel: Kernel,
    tensors: Tensors,
    reference: Optional[Callable[..., Any]],
    bound: Optional[Bound],
) -> comparing.Expected:
    """What the outputs of the first set should be."""
    names = _outputs(kernel)
    # What is read and written is put back before every run.
    both = [operand.name for operand in kernel.operands if operand.role == "inout"]
    saved = {name: comparing.copy_of(tensors[name]) for name in both}
    wanted = None
    if reference is not None:
        wanted = dict(zip(names, _listed(reference(**tensors))))
    return comparing.Expected(names, saved, wanted, bound)


def _listed(returned: Any) -> List[Any]:
    return list(returned) if isinstance(returned, (tuple, list)) else [returned]


def _entry(
    kernel: Kernel, sets: List[Tensors], arguments: Dict[str, Any], expected: comparing.Expected
) -> _Entry:
    """A kernel bound to every set, after it ran once on poisoned outputs and was compared."""
    launches = _bound(kernel, sets, arguments)
    expected.poison(sets[0])
    if expected.wanted is None:
        told = launches[0].verify()
        return _Entry(launches, told["rel_err"], told["max_err"])
    launches[0]()
    rel_err, max_err = expected.compare({name: sets[0][name] for name in expected.names})
    return _Entry(launches, rel_err, max_err)


def _bound(kernel: Kernel, sets: List[Tensors], arguments: Dict[str, Any]) -> List[Launch]:
    """A kernel bound to its operands of every set."""
    names = [operand.name for operand in kernel.operands]
    missing = [name for name in names if name not in sets[0]]
    if missing:
        raise Error(f"the sets have no {', '.join(missing)}, which {kernel.id} takes")
    return [kernel.bind(**{name: tensors[name] for name in names}, **arguments) for tensors in sets]


def _rival(
    kernel: Kernel, peer: Peer, sets: List[Tensors], expected: comparing.Expected
) -> _Rival:
    """A peer bound to every set, after it ran on poisoned outputs and was compared."""
    calls = [functools.partial(peer.call, **tensors) for tensors in sets]
    expected.poison(sets[0])
    returned = calls[0]()
    # What a peer makes for a set it makes now, not while its calls are captured.
    for call in calls[1:]:
        call()
    if expected.wanted is None or not peer.same:
        return _Rival(peer, calls, None)
    if returned is None:
        found = {name: sets[0][name] for name in expected.names}
    else:
        found = dict(zip(expected.names, _listed(returned)))
    return _Rival(peer, calls, expected.compare(found)[1])


def _arms(
    stage: _Stage, entries: List[_Entry], rivals: List[_Rival], mode: str, noise: bool
) -> Tuple[List[Any], List[Tuple[int, Optional[int]]]]:
    """The arms of a rotation, the kernels last; and for each peer its own and its second self's."""
    arms: List[Any] = []
    places: List[Tuple[int, Optional[int]]] = []
    for rival in rivals:
        capture = None
        if stage.stream is not None and rival.peer.graph:
            capture = functools.partial(stage.capture, rival.calls)
        arm = (functools.partial(_call, rival.calls), capture)
        places.append((len(arms), len(arms) + 1 if noise else None))
        arms.extend([arm, arm] if noise else [arm])
    for entry in entries:
        # By the host's clock a kernel is called as the peers are: from Python.
        called = (functools.partial(_call, entry.launches), None)
        arms.append(called if mode == "launch" else entry.launches)
    return arms, places


def _check_rows(path: str) -> None:
    """Refuses a file that holds anything but rows, among it the records of `tune`, as the command
    does: known by its first line. A file of no bytes is nobody's, pipes and devices hold nothing.
    """
    if not os.path.isfile(path) or os.path.getsize(path) == 0:
        return
    with open(path, "rb") as file:
        line = file.readline(_MOST_LINE)
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    wanted = ("kernel", "problem", "ours_us")
    if not isinstance(row, dict) or "format" in row or not all(key in row for key in wanted):
        raise Error(
            f"{path}: the file is there and holds no rows of `bench`, and was left as it is: name "
            "another file, or remove it"
        )


def _append(path: str, row: str) -> None:
    """Adds a row to a file of them, behind the end of its last line."""
    _check_rows(path)
    end = b""
    if os.path.isfile(path) and os.path.getsize(path) > 0:
        with open(path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            end = b"" if file.read(1) == b"\n" else b"\n"
    with open(path, "ab") as file:
        file.write(end + row.encode("utf-8") + b"\n")


def _call(calls: Sequence[Callable[[], Any]], at: int) -> None:
    calls[at]()


def _now() -> str:
    now = datetime.datetime.now(datetime.timezone.utc)
    return now.isoformat().replace("+00:00", "Z")


@functools.lru_cache(maxsize=None)
def _commit() -> str:
    """The commit of the working folder, or nothing where there is no repository."""
    command: Iterable[str] = ["git", "rev-parse", "--short=12", "HEAD"]
    try:
        return subprocess.run(
            list(command), capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
