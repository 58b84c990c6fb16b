#!/usr/bin/env python3
"""Fails when what is loaded into users' programs needs a glibc that is newer than 2.28 (Debian 10, RHEL 8).

e2e/checks/glibc.py BUILD/lib [--newest 2.28]
"""

import argparse
import pathlib
import re
import subprocess
import sys


def number(version):
    return tuple(int(part) for part in version.split("."))


def newer(library, newest):
    """Undefined symbols of a library with a version of glibc above `newest`, and those of C++'s library."""
    text = subprocess.run(
        ["readelf", "--dyn-syms", "--wide", library], check=True, capture_output=True, text=True
    ).stdout
    for name, family, version in re.findall(r" UND (\w+)@@?([A-Z]+)_([\d.]+)", text):
        if family != "GLIBC" or number(version) > number(newest):
            yield f"{name}@{family}_{version}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--newest", default="2.28")
    a = parser.parse_args()
    libraries = [
        a.folder / "libeidolon_shim.so",
        *sorted(path for path in (a.folder / "eidolon").rglob("*.so*") if path.is_file()),
    ]
    bad = [f"{library.relative_to(a.folder)}: {symbol}" for library in libraries for symbol in newer(library, a.newest)]
    print("\n".join(bad) or f"{len(libraries)} libraries need glibc {a.newest} at most")
    return 1 if bad or len(libraries) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
