#!/usr/bin/env python3
"""Links a program of a build again, so that it runs on any Linux since glibc 2.28 and needs no library but glibc.

    portable_link.py --build build/release --program bin/eidolon --libraries FOLDER --out FILE

The objects are those of the build. Its command is taken from ninja; shared libraries become static ones (from
--libraries, see libraries.sh, or from beside the shared one), and glibc is the old one that the shim is linked against.
Prints the static libraries of the system of which something is in it.

    portable_link.py --build build/release --library lib/libeidolon_shim.so

Prints the same of a shared library, which is portable already.
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SHARED = re.compile(r"(.*/)lib([^/]+?)\.so(\.[\d.]+)?$")
# Libraries that the static libraries need beyond what the shared ones named.
CLOSURE = ["brotlienc", "brotlidec", "brotlicommon", "z"]
OWN = ["eidolon_program_start", "eidolon_shim_absent"]  # Of shim/program/glibc.
SYSTEM = pathlib.Path("/usr/lib/x86_64-linux-gnu")


def static_of(path, folders):
    """The static library for a shared one, or the path itself where it is something else."""
    shared = SHARED.fullmatch(path)
    if not shared or not path.startswith("/usr/"):
        return path
    for folder in [*folders, pathlib.Path(shared[1])]:
        found = folder / f"lib{shared[2]}.a"
        if found.exists():
            return str(found)
    sys.exit(f"portable_link: there is no static library for {path}")


def closure(folders):
    for name in CLOSURE:
        yield next(str(folder / f"lib{name}.a") for folder in [*folders, SYSTEM] if (folder / f"lib{name}.a").exists())


def link_command(build, program):
    text = subprocess.check_output(["ninja", "-C", build, "-t", "commands", "-s", program], text=True)
    command = [line for line in text.splitlines() if f"-o {program} " in line][-1]
    return [word for word in shlex.split(command) if word not in (":", "&&")]


def portable(command, out, build, folders):
    glibc = build / "shim/program/glibc"
    words = [static_of(word, folders) for word in command]
    words[words.index("-o") + 1] = str(out)
    first = next(i for i, word in enumerate(words) if word.endswith(".o"))
    libraries = [i for i, word in enumerate(words) if word.endswith(".a")]
    old = [str(glibc / name) for name in ("libc.so.6", "libm.so.6")]
    return [
        *words[:first],
        "-static-libstdc++",
        "-static-libgcc",
        "-Wl,--gc-sections,--strip-all",
        "-Wl,--push-state,--no-as-needed",
        *old,
        "-l:libpthread.so.0",
        "-l:libdl.so.2",
        "-Wl,--pop-state",
        "-Wl,--wrap=__libc_start_main",
        *[str(path) for name in OWN for path in sorted(glibc.glob(f"CMakeFiles/{name}.dir/*.o"))],
        *words[first : libraries[0]],
        "-Wl,--start-group",
        *words[libraries[0] :],
        *closure(folders),
        "-Wl,--end-group",
    ]


def link(command, build):
    """Links with the command; the static libraries outside of the build of which sections are in the result."""
    with tempfile.TemporaryDirectory() as folder:
        described = pathlib.Path(folder) / "map"
        subprocess.run([*command, f"-Wl,-Map={described}"], check=True, cwd=build)
        found = set(re.findall(r"\s(/\S+\.a)[(:]", described.read_text(errors="replace")))
    return sorted({str(pathlib.Path(path).resolve()) for path in found})


def library_contents(build, library):
    command = link_command(build, library)
    with tempfile.TemporaryDirectory() as folder:
        command[command.index("-o") + 1] = f"{folder}/{pathlib.Path(library).name}"
        return link(command, build)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--program")
    what.add_argument("--library")
    parser.add_argument("--libraries", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    a = parser.parse_args()
    build = a.build.resolve()
    if a.library:
        print("\n".join(library_contents(build, a.library)))
        return
    a.out.parent.mkdir(parents=True, exist_ok=True)
    out = a.out.resolve()
    command = portable(link_command(build, a.program), out, build, [a.libraries.resolve()])
    print("\n".join(link(command, build)))


if __name__ == "__main__":
    main()
