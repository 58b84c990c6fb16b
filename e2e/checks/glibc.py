#!/usr/bin/env python3
"""Fails when what is loaded into users' programs needs a glibc that is newer than 2.28 (Debian 10, RHEL 8).

e2e/checks/glibc.py BUILD/lib [--newest 2.28] [--programs FILE ...]

--programs: also those of a wheel, which moreover need no shared library but glibc's.
"""

import argparse
import pathlib
import re
import subprocess
import sys


GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"}


# The unwinder, which one library shares with PyTorch (shim/pytorch/gloo/CMakeLists.txt): libgcc_s of those systems is GCC 8.
UNWINDING = ("eidolon/folded/gloo.so", "GCC", "8.0")


def number(version):
    return tuple(int(part) for part in version.split("."))


def newer(library, newest):
    """Undefined symbols of a library with a version of glibc above `newest`, and those of C++'s library."""
    text = subprocess.check_output(["readelf", "--dyn-syms", "--wide", library], text=True)
    for name, family, version in re.findall(r" UND (\w+)@@?([A-Z]+)_([\d.]+)", text):
        unwinds = family == UNWINDING[1] and number(version) < number(UNWINDING[2])
        if unwinds and str(library).endswith(UNWINDING[0]):
            continue
        if family != "GLIBC" or number(version) > number(newest):
            yield f"{name}@{family}_{version}"


def foreign(program):
    """Shared libraries that a program needs and that are not parts of glibc."""
    text = subprocess.check_output(["readelf", "--dynamic", "--wide", program], text=True)
    return [name for name in re.findall(r"\(NEEDED\).*\[(.+)\]", text) if name not in GLIBC]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--newest", default="2.28")
    parser.add_argument("--programs", type=pathlib.Path, nargs="+", default=[])
    a = parser.parse_args()
    libraries = [
        a.folder / "libeidolon_shim.so",
        *sorted(path for path in (a.folder / "eidolon").rglob("*.so*") if path.is_file()),
    ]
    bad = [f"{library.relative_to(a.folder)}: {symbol}" for library in libraries for symbol in newer(library, a.newest)]
    for program in a.programs:
        bad += [f"{program.name}: {name}" for name in [*newer(program, a.newest), *foreign(program)]]
    print("\n".join(bad) or f"{len(libraries)} libraries and {len(a.programs)} programs need glibc {a.newest} at most")
    return 1 if bad or len(libraries) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
