"""What the package says of where the C library lies."""

from pathlib import Path

import pytest

from tilewright import __main__ as paths


def installed(folder: Path) -> Path:
    for name in ("include", "lib/cmake/tilewright", "lib/pkgconfig"):
        (folder / name).mkdir(parents=True)
    return folder


def test_flags_and_folders_are_printed_as_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = installed(tmp_path)
    monkeypatch.setattr(paths, "_PACKAGE", folder)
    assert paths.main(["--includes", "--libs"]) == 0
    flags = f"-I{folder}/include -L{folder}/lib -Wl,-rpath,{folder}/lib -ltilewright\n"
    assert capsys.readouterr().out == flags
    assert paths.main(["--cmake-dir"]) == 0
    assert capsys.readouterr().out == f"{folder}/lib/cmake/tilewright\n"
    assert paths.main(["--pkg-config-dir"]) == 0
    assert capsys.readouterr().out == f"{folder}/lib/pkgconfig\n"


def test_a_package_without_the_library_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path)
    assert paths.main(["--libs"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "runtime/capi/install.sh" in said.err and str(tmp_path) in said.err


def test_nothing_asked_is_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert paths.main([]) == 2
    assert "--cmake-dir" in capsys.readouterr().out
