"""What a service watches, and why a kernel is picked, on the emulator."""

from pathlib import Path

import numpy
import pytest

import tilewright


def square(columns, lead=None):
    """Zeros with rows as far apart as is said."""
    return numpy.zeros((8, lead or columns), dtype="f4")[:, :columns]


def test_launches_loads_and_refusals_are_counted(path):
    bundle = tilewright.open(path, device="emulator")
    nothing = {"kernels": {}, "skipped": {}, "fallbacks": 0, "unfit": 0, "is_lost": False}
    assert bundle.counters() == nothing
    s, d = square(64), square(64)
    kernel = bundle.find("copy_elementwise")
    kernel(s=s, d=d)
    launch = kernel.bind(s=s, d=d)
    launch()
    counted = bundle.counters()["kernels"]
    assert list(counted) == [kernel.id]
    own = counted[kernel.id]
    assert set(own) == set(tilewright.KernelCounters.__annotations__)
    assert set(bundle.counters()) == set(tilewright.Counters.__annotations__)
    assert (own["launches"], own["loads"], own["loads_from_cache"]) == (2, 1, 0)
    assert own["load_ns"] > 0 and own["first_launch_ns"] > 0
    launch()
    # A copy stays what it is.
    assert own["launches"] == 2
    assert bundle.counters()["kernels"][kernel.id]["launches"] == 3


def test_kernels_that_are_passed_over_are_counted_and_explained(path):
    bundle = tilewright.open(path, device="emulator")
    a, b, d = square(33), square(33), square(8)
    told = bundle.explain("gemm_simt_f32", a=a, b=b, d=d)
    assert bundle.counters()["skipped"] == {}
    kernel = bundle.pick("gemm_simt_f32", a=a, b=b, d=d)
    assert f"\nchosen: {kernel.id} (untuned): " in told
    same = [one.id for one in bundle.kernels if one.function == kernel.function]
    for other in set(same) - {kernel.id}:
        assert f"fits: {other}: " in told or f"refused: {other}: " in told
    assert "asked: 8x8x33 a:(33,1) b:(33,1) d:(8,1), on emulator (4 SMs)" in told
    s = square(64, 65)[:, 1:]
    d = square(63)
    told = bundle.explain("copy", s=s, d=d)
    passed_over = bundle.pick("copy", s=s, d=d).id
    assert f"chosen: {passed_over}" in told and "refused: copy_vectorized" in told
    assert sum(bundle.counters()["skipped"].values()) >= 1


def test_what_cannot_be_picked_is_explained(bundle):
    s = square(64)
    told = bundle.explain("copy", s=s.astype("f8"), d=s)
    assert 'chosen: none: no "copy" kernel takes these tensors' in told
    assert "its s is f32, not f64" in told
    with pytest.raises(tilewright.Refused, match='no kernel of the bundle is a "softmax"'):
        bundle.explain("softmax", s=s, d=s)


def test_code_is_loaded_when_it_is_said(path, tmp_path):
    eager = tilewright.open(
        path, device="emulator", load="eager", ptx_cache=tmp_path / "ptx", cubin_only=True
    )
    counted = eager.counters()["kernels"]
    assert set(counted) == {kernel.id for kernel in eager.kernels}
    assert all(one["loads"] == 1 and one["launches"] == 0 for one in counted.values())
    assert (tmp_path / "ptx").is_dir()
    with pytest.raises(tilewright.Error, match='load is "early": say "lazy"'):
        tilewright.open(path, device="emulator", load="early")
    with pytest.raises(tilewright.Error, match="cannot be a PTX cache"):
        tilewright.open(path, device="emulator", ptx_cache=Path(path) / "manifest.json")


def test_a_fault_takes_the_device_where_that_is_said():
    kept = Path(__file__).parents[3] / "runtime/bundle/tests/data/format_2/folder"
    s, d = numpy.arange(12, dtype="f4").reshape(3, 4), numpy.zeros((3, 4), dtype="f4")
    # The caller's word is not kept: two rows go to one place at once.
    rows_of, to = numpy.array([0, 1, 2], dtype="i4"), numpy.array([1, 1, 0], dtype="i4")
    promises = ["entries of to are distinct"]
    rows = tilewright.open(kept, device="emulator").find("looked_up_f32")
    with pytest.raises(tilewright.Error, match='asks for the promise "nonsense": leave it out'):
        rows.bind(s=s, d=d, **{"from": rows_of}, to=to, promises=[*promises, "nonsense"])()
    for sticky in [False, True]:
        bundle = tilewright.open(kept, device="emulator", sticky_faults=sticky)
        rows = bundle.find("looked_up_f32")
        launch = rows.bind(s=s, d=d, **{"from": rows_of}, to=to, promises=promises)
        with pytest.raises(tilewright.DeviceError, match="race_global"):
            launch()
        assert bundle.is_lost is sticky
        assert bundle.counters()["is_lost"] is sticky
    with pytest.raises(tilewright.DeviceError, match="context is lost"):
        launch()
