"""The examples in the package's documentation, and in its README, run."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import ml_dtypes
import numpy
import pytest

import tilewright

NEEDS_TORCH = ("tilewright.torch", "tilewright.nn")
MODULES = [f"tilewright.{one.name}" for one in pkgutil.iter_modules(tilewright.__path__)]
README = Path(__file__).parents[1] / "README.md"


def examples(bundle):
    """What examples begin with."""
    return {"tilewright": tilewright, "numpy": numpy, "bundle": bundle, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("name", ["tilewright", *MODULES])
def test_examples_of_a_module(bundle, name):
    if name in NEEDS_TORCH:
        pytest.importorskip("torch", reason=f"{name} needs PyTorch")
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, extraglobs=examples(bundle))
    assert failed == 0, "see the report above"


def test_examples_are_there(bundle):
    finder = doctest.DocTestFinder()
    from tilewright import counting, packing, signature

    for module in (tilewright, counting, packing, signature):
        assert any(test.examples for test in finder.find(module)), module


def test_examples_of_the_readme(bundle, path, tmp_path, monkeypatch):
    (tmp_path / "kernels.bundle").symlink_to(Path(path).resolve())
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(README), module_relative=False, globs=examples(bundle))
    assert failed == 0 and tried >= 5
