#!/usr/bin/env python3
"""Fails when a program or library that is shipped lacks what cmake/Harden.cmake asks of compiler and linker.

    e2e/checks/hardening.py BUILD [--programs FILE ...]

Reads BUILD/bin/eidolon and eidolon-*, the shim and its facades with readelf. --programs: these instead, linked again
from the same objects and stripped, as in a wheel.

Of the linker: position independence, full RELRO (all symbols bound at start, then read-only), no executable stack, no
segment that is writable and executable, no relocation of code. Of the compiler: the stack protector, functions of
_FORTIFY_SOURCE, assertions of libstdc++, and endbr64 (CET) at the start of our functions. The mark that makes a loader
turn shadow stacks on is not asked for: Debian's libgcc and start files are built without it.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ENDBR64 = bytes.fromhex("f30f1efa")
# `mov %fs:0x28, REGISTER`: a function takes the value that its stack has to have kept at its end.
CANARY = re.compile(rb"\x64\x48\x8b.\x25\x28\x00\x00\x00", re.DOTALL)
# A mangled name in namespace eidolon. Templates of other namespaces may be internal by their arguments.
OWN = re.compile(r"_ZNK?7eidolon")
# Functions that are local to a source, or split off by the compiler, may have direct callers only.
INTERNAL = re.compile(r"_GLOBAL__N_|Ul|L\d|\.|\$")
COMPILED = ("-fstack-protector-strong", "-fcf-protection=full", "-D_FORTIFY_SOURCE=3", "-D_GLIBCXX_ASSERTIONS")
# Define functions of libc, so that they cannot take the checked ones of its headers (EIDOLON_UNFORTIFIED).
UNFORTIFIED = (
    "shim/program/time/CMakeFiles/eidolon_shim_time.dir/",
    "shim/program/channel/CMakeFiles/eidolon_shim_channel.dir/",
    "shim/program/process/CMakeFiles/eidolon_shim_process.dir/",
)
# The path of every call (EIDOLON_LAUNCH_PATH).
LAUNCH_PATH = ("shim/core/CMakeFiles/eidolon_shim_core.dir/",)
# Flags that sources of these folders are compiled without.
WITHOUT = {
    "-D_FORTIFY_SOURCE=3": UNFORTIFIED,
    "-fstack-protector-strong": LAUNCH_PATH,
    "-D_GLIBCXX_ASSERTIONS": LAUNCH_PATH,
}
# Stand for programs and libraries of others, and are never shipped.
FOREIGN = (
    "shim/core/probe/",
    "shim/pytorch/torch_operators/CMakeFiles/eidolon_fake_torch.dir/",
    "e2e/CMakeFiles/call_times.dir/",
)
SYMBOL = re.compile(r"^\s*\d+: ([0-9a-f]+)\s+(\d+|0x[0-9a-f]+) (\w+)\s+(\w+)\s+\w+\s+(\w+) (\S+)", re.M)
PROGRAMS_MIN = 3  # Of a build; fewer mean that it was not built.


def readelf(path, *options):
    return subprocess.check_output(["readelf", "--wide", *options, path], text=True)


class Binary:
    """One file as readelf describes it."""

    def __init__(self, path):
        self.data = path.read_bytes()
        self.header = readelf(path, "--file-header")
        self.segments = [line.split() for line in readelf(path, "--program-headers").splitlines() if "0x" in line]
        self.dynamic = readelf(path, "--dynamic")
        self.symbols = {tuple(m) for m in SYMBOL.findall(readelf(path, "--syms"))}

    def segment(self, kind):
        return next((words for words in self.segments if words[0] == kind), None)

    def flags(self, words):
        return "".join(words[6:-1])

    def names(self):
        return {name.split("@")[0] for *_, name in self.symbols}

    def imported(self):
        return {name.split("@")[0] for *_, section, name in self.symbols if section == "UND"}

    def code(self, address, size):
        """The bytes that the loader puts there."""
        for words in self.segments:
            if words[0] != "LOAD":
                continue
            offset, start, _, bytes_in_file = (int(word, 16) for word in words[1:5])
            if start <= address < start + bytes_in_file:
                at = offset + address - start
                return self.data[at : at + size]
        return b""


def faults_of_the_linker(binary, is_program):
    if not re.search(r"Type:\s+DYN", binary.header) or (
        is_program and not re.search(r"FLAGS_1\).*\bPIE\b", binary.dynamic)
    ):
        yield "is not position independent (-pie)"
    if not binary.segment("GNU_RELRO"):
        yield "has no RELRO segment (-z relro)"
    if not re.search(r"BIND_NOW|FLAGS_1\).*\bNOW\b", binary.dynamic):
        yield "binds symbols lazily (-z now)"
    stack = binary.segment("GNU_STACK")
    if not stack or "E" in binary.flags(stack):
        yield "has an executable stack (-z noexecstack)"
    if any({"W", "E"} <= set(binary.flags(words)) for words in binary.segments if words[0] == "LOAD"):
        yield "has a segment that is writable and executable"
    if "TEXTREL" in binary.dynamic:
        yield "relocates its code"


def own_functions(binary, is_program):
    """(address, bytes, name): of a library what it exports, of a program what other sources may call."""
    for address, size, kind, binding, section, name in sorted(binary.symbols):
        if kind != "FUNC" or section == "UND" or int(size, 0) == 0:
            continue
        exported = binding != "LOCAL" and not is_program
        if exported or (is_program and OWN.match(name) and not INTERNAL.search(name)):
            yield int(address, 16), int(size, 0), name


def faults_of_the_compiler(binary, is_program, stripped):
    if "__stack_chk_fail" not in binary.imported():
        yield "has no stack protector (-fstack-protector-strong)"
    if not any(re.fullmatch(r"__\w+_chk", name) for name in binary.imported()):
        yield "calls no checked function of libc (-D_FORTIFY_SOURCE)"
    if stripped:
        return
    if not any("__glibcxx_assert_fail" in name for name in binary.names()):
        yield "has no assertions of libstdc++ (-D_GLIBCXX_ASSERTIONS)"
    functions = list(own_functions(binary, is_program))
    bare = [name for address, _, name in functions if not binary.code(address, 4) == ENDBR64]
    if bare or not functions:
        yield f"{len(bare)} of {len(functions)} functions begin without endbr64 (-fcf-protection): {bare[:3]}"
    if not any(CANARY.search(binary.code(address, size)) for address, size, _ in functions):
        yield f"none of {len(functions)} functions looks after its stack (-fstack-protector-strong)"


def faults_of_commands(build):
    """Returns the compile command of each source from CMake's database."""
    commands = json.loads((build / "compile_commands.json").read_text())
    for entry in commands:
        words = entry["command"].split()
        output = words[words.index("-o") + 1]
        if output.startswith(FOREIGN):
            continue
        for flag in COMPILED:
            needless = flag == "-D_GLIBCXX_ASSERTIONS" and entry["file"].endswith(".c")
            if flag not in words and not needless and not output.startswith(WITHOUT.get(flag, ("no such folder",))):
                yield output, f"is compiled without {flag}"
    if not commands:
        yield build / "compile_commands.json", "is empty"


def faults(path, is_program, has_code=True, stripped=False):
    binary = Binary(path)
    yield from faults_of_the_linker(binary, is_program)
    if has_code:
        yield from faults_of_the_compiler(binary, is_program, stripped)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path, nargs="+")
    a = parser.parse_args()
    programs = a.programs or [a.build / "bin/eidolon", *sorted(a.build.glob("bin/eidolon-*"))]
    lib = a.build / "lib"
    programs = [path for path in programs if path.is_file()]
    code = [lib / "libeidolon_shim.so", lib / "eidolon/folded/gloo.so"]
    facades = [path for path in sorted((lib / "eidolon").rglob("*.so*")) if path.is_file() and path not in code]
    found = [(path, fault) for path in programs for fault in faults(path, True, stripped=bool(a.programs))]
    if not a.programs:
        if len(programs) < PROGRAMS_MIN or not facades:
            sys.exit(f"hardening: {a.build} has {len(programs)} programs and {len(facades)} facades: build it first")
        found += faults_of_commands(a.build)
        found += [(path, fault) for path in code for fault in faults(path, False)]
        found += [(path, fault) for path in facades for fault in faults(path, False, has_code=False)]
    print("\n".join(f"{path}: {fault}" for path, fault in found) or f"{len(programs)} programs are hardened")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
