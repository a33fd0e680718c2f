"""Peers beside kernels, by the host's clock: all of measuring but a GPU's time."""

import json
import sys

import ml_dtypes
import numpy
import pytest

import tilewright
from tilewright import comparing


def make(at):
    random = numpy.random.default_rng(at)
    s = random.standard_normal((8, 64)).astype("f4")
    return {"s": s, "d": numpy.zeros_like(s)}


def in_place(s, d):
    d[:] = s


COPY = tilewright.Peer("numpy.copy", lambda s, d: s.copy())
PEERS = [COPY, tilewright.Peer("in place", in_place)]


def test_a_row_for_each_kernel_and_peer(bundle, tmp_path):
    kernels = [bundle.find("copy_elementwise"), bundle.find("copy_vectorized")]
    output = tmp_path / "rows.jsonl"
    rows = tilewright.bench(
        kernels,
        make,
        PEERS,
        modes=["launch"],
        rounds=3,
        reference=lambda s, d: s,
        bound=(0, 0),
        commit="abc",
        output=str(output),
    )
    pairs = [(row["kernel"], row["peer"]) for row in rows]
    wanted = [(kernel.id, peer.name) for kernel in kernels for peer in PEERS]
    assert pairs == wanted
    assert [json.loads(line) for line in output.read_text().splitlines()] == rows
    row = rows[0]
    assert (row["gpu"], row["mode"]) == ("emulator", "launch")
    assert (row["rounds"], row["commit"]) == (3, "abc")
    strides = {"s": [64, 1], "d": [64, 1]}
    assert row["problem"] == {"m": 8, "n": 64, "k": 1, "batch": 1, "strides": strides}
    assert row["max_err"] == row["peer_max_err"] == 0 and row["bound"] == "equal"
    library = "torch" if "torch" in sys.modules else "numpy"
    assert row["peer_version"].startswith(library) and row["replayed"] is False
    assert row["ratio_best"] < 1 and row["aa_ratio"] > 0
    assert row["tbps"] == pytest.approx(2 * 8 * 64 * 4 / row["ours_us"] / 1e6)


def test_products_are_judged_by_their_formula(bundle):
    def make(at):
        random = numpy.random.default_rng(at)
        a, b = (random.standard_normal((rows, 32)).astype("f4") for rows in (16, 24))
        return {"a": a, "b": b, "d": numpy.zeros((16, 24), dtype="f4")}

    kernel = bundle.find("gemm_simt_f32")
    peer = tilewright.Peer("matmul", lambda a, b, d: a @ b.T, version="1")
    (row,) = tilewright.bench(kernel, make, peer, modes=["launch"], rounds=2, noise=False)
    assert 0 < row["max_err"] <= 1 and "bound" not in row and "peer_max_err" not in row
    assert (row["layout"], row["aa_ratio"], row["peer_version"]) == ("TN", None, "1")
    assert row["tflops"] == pytest.approx(2 * 16 * 24 * 32 / row["ours_us"] / 1e6)


def test_a_wrong_output_shows_in_its_row(bundle):
    rows = tilewright.bench(
        bundle.find("copy_elementwise"),
        [make(0)],
        [tilewright.Peer("wrong", lambda s, d: s + 1)],
        modes=["launch"],
        rounds=1,
        reference=lambda s, d: s + 1,
    )
    assert rows[0]["max_err"] > 1 and rows[0]["peer_max_err"] == 0


def test_an_exception_of_a_peer_comes_back_as_it_is(bundle):
    calls = []

    def falls(s, d):
        calls.append(1)
        if len(calls) > 3:
            raise ZeroDivisionError("the peer's own")

    with pytest.raises(ZeroDivisionError, match="the peer's own"):
        tilewright.bench(
            bundle.find("copy_elementwise"), make, tilewright.Peer("falls", falls), modes=["launch"]
        )


def test_modes_and_sets_that_there_are_not(bundle):
    kernel = bundle.find("copy_elementwise")
    with pytest.raises(tilewright.Error, match="mode sustained needs a GPU"):
        tilewright.bench(kernel, make, PEERS, modes=["sustained"], rounds=1)
    with pytest.raises(tilewright.Error, match='"fast" is no mode: rested, sustained'):
        tilewright.bench(kernel, make, PEERS, modes=["fast"], rounds=1)
    with pytest.raises(tilewright.Error, match="the sets have no d, which copy_elementwise"):
        tilewright.bench(kernel, [{"s": make(0)["s"]}], PEERS, modes=["launch"])
    with pytest.raises(tilewright.Error, match="at least one kernel"):
        tilewright.bench([], make, PEERS)


def test_errors_are_measured_by_what_is_allowed():
    want = numpy.array([1.0, -2.0, 4.0, numpy.nan, numpy.inf])
    assert comparing.compared(want.copy(), want, (0, 0)) == (0.0, 0.0)
    got = want.copy()
    got[2] = 4.5
    rel_err, max_err = comparing.compared(got, want, (0.25, 0))
    assert max_err == 0.5 and rel_err == pytest.approx(0.5 / 21**0.5)
    for at, wrong in [(3, 1.0), (4, -numpy.inf), (0, numpy.nan)]:
        got = want.copy()
        got[at] = wrong
        assert comparing.compared(got, want, (0.25, 1))[1] == numpy.inf
    one = numpy.ones(1)
    assert comparing.compared(one * 2, one, (0, 0))[1] == numpy.inf
    # Without a bound, what rounding to the type loses is allowed, near 0 as well.
    fine = numpy.linspace(-1, 1, 4001)
    for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, "f2"):
        rounded = fine.astype(dtype)
        assert 0.5 < comparing.compared(rounded, fine)[1] <= 1
        assert comparing.compared(numpy.zeros_like(rounded), fine)[1] > 10
    with pytest.raises(tilewright.Error, match="has the shape"):
        comparing.compared(got[:2], want)


def test_files_that_hold_no_rows_are_left_as_they_are(bundle, tmp_path):
    output = tmp_path / "mine.json"

    def measure():
        kernel = bundle.find("copy_elementwise")
        return tilewright.bench(
            kernel, make, COPY, modes=["launch"], rounds=1, noise=False, output=str(output)
        )

    record = '{"format":1,"outcome":"measured","kernel":"a","problem":{},"ours_us":1.0}\n'
    foreign = [b'{"years": [1, 2]}', b"plain text\n", b"\xff\xfe", b"[]", record.encode()]
    for text in foreign:
        output.write_bytes(text)
        with pytest.raises(tilewright.Error, match="mine.json: .* left as it is"):
            measure()
        assert output.read_bytes() == text
    # A file of no bytes is nobody's; a row that lacks the end of its line gets it.
    output.write_bytes(b"")
    rows = measure()
    output.write_bytes(output.read_bytes().rstrip(b"\n"))
    rows += measure()
    assert [json.loads(line) for line in output.read_text().splitlines()] == rows


def test_the_fastest_of_some_kernels_is_one_of_them(bundle):
    kernels = [bundle.find("copy_elementwise"), bundle.find("copy_vectorized")]
    found = tilewright.fastest(kernels, [make(0), make(1)], rounds=1)
    assert found.id in [kernel.id for kernel in kernels]
