"""The examples in the package's documentation, and in its README, run."""

import doctest
import importlib
import os
import pkgutil
import re
import shlex
import subprocess
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


@pytest.fixture
def told_by_the_readme(tmp_path):
    """A folder with what the commands of the README make, run where a clone is."""
    command = os.environ.get("TILEWRIGHT")
    if command is None:
        pytest.skip("TILEWRIGHT names no command, which makes what the README tells to make")
    blocks = re.findall(r"^```sh\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    assert lines
    for line in lines:
        program, *arguments, output = shlex.split(line)
        assert (program, arguments[-1]) == ("tilewright", "-o"), line
        subprocess.run([command, *arguments, tmp_path / output], cwd=README.parents[1], check=True)
    return tmp_path


def test_examples_of_the_readme(told_by_the_readme, monkeypatch):
    monkeypatch.chdir(told_by_the_readme)
    failed, tried = doctest.testfile(str(README), module_relative=False, globs={})
    assert failed == 0 and tried >= 5
