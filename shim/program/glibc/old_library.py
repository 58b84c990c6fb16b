#!/usr/bin/env python3
"""Writes a library to link against that stands for one of glibc as it was at an older version.

    old_library.py --library /lib/x86_64-linux-gnu/libc.so.6 --newest 2.28 --compiler gcc --out BUILD/libc.so.6

glibc keeps what it ever exported under the version it came with, and the linker takes the newest that it sees. Here
it sees the newest up to --newest: what is linked against the result runs on that version and on all later ones.
Symbols that are younger are not there, so that using one is an error of the link (see absent.cc).
"""

import argparse
import pathlib
import re
import subprocess
import tempfile

SYMBOL = re.compile(
    r"^\s*\d+: [0-9a-f]+\s+\S+ (FUNC|OBJECT|IFUNC|TLS|NOTYPE)\s+(GLOBAL|WEAK)\s+DEFAULT\s+(\d+) "
    r"(\w+)@@?GLIBC_(\d+(?:\.\d+)+)"
)


def number(version):
    return tuple(int(part) for part in version.split("."))


def read_symbols(library, newest):
    """Name to (type, version): of each symbol the newest version up to `newest`."""
    text = subprocess.run(
        ["readelf", "--dyn-syms", "--wide", library], check=True, capture_output=True, text=True
    ).stdout
    found = {}
    for kind, _, _, name, version in (match.groups() for match in map(SYMBOL.match, text.splitlines()) if match):
        if number(version) > number(newest):
            continue
        if name not in found or number(version) > number(found[name][1]):
            found[name] = (kind, version)
    return found


def soname_of(library):
    text = subprocess.run(
        ["readelf", "--dynamic", "--wide", library], check=True, capture_output=True, text=True
    ).stdout
    return re.search(r"\(SONAME\).*\[(.+)\]", text).group(1)


def assembly(symbols):
    kinds = {"OBJECT": "object", "TLS": "tls_object"}
    lines = []
    for index, (name, (kind, version)) in enumerate(sorted(symbols.items())):
        section = {"OBJECT": ".bss", "TLS": ".tbss"}.get(kind, ".text")
        flags = ',"awT",@nobits' if section == ".tbss" else ""
        lines += [
            f".section {section}{flags}" if flags else section,
            f".globl s{index}",
            f".type s{index}, @{kinds.get(kind, 'function')}",
            f".symver s{index}, {name}@@GLIBC_{version}, remove",
            f"s{index}: .zero 8",
            f".size s{index}, 8",
        ]
    return "\n".join(lines + ['.section .note.GNU-stack,"",@progbits', ""])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--newest", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    a = parser.parse_args()
    symbols = read_symbols(a.library, a.newest)
    versions = sorted({version for _, version in symbols.values()}, key=number)
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder, "old.s"), pathlib.Path(folder, "old.map")
        source.write_text(assembly(symbols))
        script.write_text("".join(f"GLIBC_{version} {{ }};\n" for version in versions))
        a.out.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [
                a.compiler,
                "-shared",
                "-nostdlib",
                f"-Wl,-soname,{soname_of(a.library)}",
                f"-Wl,--version-script={script}",
                "-o",
                a.out,
                source,
            ],
            check=True,
        )


if __name__ == "__main__":
    main()
