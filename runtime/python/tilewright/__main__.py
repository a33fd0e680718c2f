"""Where the package has the C library: what compilers and build systems ask for.

``c++ gemm.cpp $(python -m tilewright --includes --libs)``,
``cmake -Dtilewright_DIR=$(python -m tilewright --cmake-dir)``,
``PKG_CONFIG_PATH=$(python -m tilewright --pkg-config-dir)``. The command itself is `tilewright`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _answers() -> dict[str, tuple[str, Path, str]]:
    """Each option: what it prints, the folder that has to be there, and what it is for."""
    include, lib = _PACKAGE / "include", _PACKAGE / "lib"
    cmake, pkg_config = lib / "cmake" / "tilewright", lib / "pkgconfig"
    libs = f"-L{lib} -Wl,-rpath,{lib} -ltilewright"
    return {
        "--includes": (f"-I{include}", include, "flags of a C or C++ compiler"),
        "--libs": (libs, lib, "flags of a linker, those for finding the library at start as well"),
        "--cmake-dir": (str(cmake), cmake, "the folder that find_package(tilewright) looks into"),
        "--pkg-config-dir": (str(pkg_config), pkg_config, "the folder with tilewright.pc"),
    }


def main(arguments: list[str] | None = None) -> int:
    """Prints what was asked for, in the order of the options; 2 where the package lacks it."""
    parser = argparse.ArgumentParser(
        prog="python -m tilewright",
        description="Says where the C library and its headers lie in this package.",
        epilog="The command that compiles specs is tilewright: tilewright --help.",
    )
    answers = _answers()
    for option, (_, _, about) in answers.items():
        parser.add_argument(option, action="append_const", dest="asked", const=option, help=about)
    asked = parser.parse_args(arguments).asked
    if not asked:
        parser.print_help()
        return 2
    for option in asked:
        _, folder, _ = answers[option]
        if not folder.is_dir():
            print(
                f"error: {folder} is not there: this package was built without the C library; "
                "install a wheel of a release, or runtime/capi/install.sh of a clone",
                file=sys.stderr,
            )
            return 2
    print(" ".join(answers[option][0] for option in asked))
    return 0


if __name__ == "__main__":
    sys.exit(main())
