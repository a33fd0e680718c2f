"""What a bundle's kernels have done, as `Bundle.counters` gives it: plain dictionaries, with types.

>>> s = numpy.zeros((4, 64), dtype="f4")
>>> before = bundle.counters()
>>> kernel = bundle.pick("copy", s=s, d=s.copy())
>>> kernel(s=s, d=s.copy())
>>> after = bundle.counters()
>>> after["kernels"][kernel.id]["loads"]
1
>>> after["is_lost"], bundle.is_lost
(False, False)
"""

from typing import Dict, TypedDict


class KernelCounters(TypedDict):
    """What one kernel did."""

    launches: int
    """Launches enqueued or captured; replays of graphs are not among them."""
    refused: int
    """Launches refused, before anything ran."""
    loads: int
    """How often its code was loaded."""
    loads_from_cache: int
    """How many of these found it in the PTX cache."""
    loads_from_bundle: int
    """How many of them found machine code in the bundle."""
    load_ns: int
    """Nanoseconds that loading took, all together."""
    first_launch_ns: int
    """Nanoseconds that the host spent in the first launch; 0 before."""
    scratch_bytes: int
    """Scratch memory that was made for it, all together."""


class Counters(TypedDict):
    """What a bundle's kernels did since it was opened."""

    kernels: Dict[str, KernelCounters]
    """By id, those that were loaded."""
    skipped: Dict[str, int]
    """How often kernels were passed over, by the kind of reason: see `Refused.kinds`."""
    fallbacks: int
    """How often another kernel took over from one that a tuning table names, or from one whose code
    was refused."""
    unfit: int
    """How often no kernel took what was asked for."""
    is_lost: bool
    """Whether a kernel has faulted and taken the device with it."""
