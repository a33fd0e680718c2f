"""The examples in the package's documentation, and in its README, run."""

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
from pathlib import Path

import ml_dtypes
import numpy
import pytest

import tilewright

NEEDS_TORCH = ("tilewright.torch", "tilewright.nn")
MODULES = [f"tilewright.{one.name}" for one in pkgutil.iter_modules(tilewright.__path__)]
ROOT = Path(__file__).parents[3]


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


def told(page: Path, folder: Path) -> str:
    """Writes the files of a page, and runs its commands, in a folder that has the clone's specs.
    Comes back: where commands are looked for, that one first."""
    command = os.environ.get("TILEWRIGHT")
    if command is None:
        pytest.skip("TILEWRIGHT names no command, which makes what the page tells to make")
    (folder / "specs").symlink_to(ROOT / "specs")
    path = f"{Path(command).parent}{os.pathsep}{os.environ['PATH']}"
    blocks = re.findall(r"^```(yaml|sh)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    assert any(language == "sh" for language, _ in blocks)
    for language, text in blocks:
        if language == "yaml":
            name = text.splitlines()[0].removeprefix("# ")
            (folder / name).write_text(text)
        else:
            bash = ["bash", "-euo", "pipefail", "-c", text]
            subprocess.run(bash, cwd=folder, check=True, env={**os.environ, "PATH": path})
    return path


@pytest.mark.parametrize("page, least", [("README.md", 5), ("docs/own_formula.md", 16)])
def test_examples_of_a_page(page, least, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", told(ROOT / "runtime/python" / page, tmp_path))
    monkeypatch.chdir(tmp_path)
    path = str(ROOT / "runtime/python" / page)
    failed, tried = doctest.testfile(path, module_relative=False, globs={})
    assert failed == 0 and tried >= least
