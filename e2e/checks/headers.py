#!/usr/bin/env python3
"""Header test: every header of services/ and shim/ compiles alone, so that it includes what it needs.

    e2e/checks/headers.py BUILD [HEADER ...]

BUILD is a built tree (generated messages, compile_commands.json). A header that passed is not compiled again until it
changes, or what it includes, directly or not, is another set of files: $EIDOLON_CACHE_DIR/headers holds an empty file for
each, named by their hash. A name that an included header no longer declares breaks the build itself, in whatever uses the
two together; what only this check can find is a name that came by way of another header's include, and those lines are part
of the hash. Headers of the standard library are read once for all, which takes a third of the time; layers.py checks that
each header names those that it uses.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = "clang++-19"
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.M)
ANY_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[^\n]+", re.M)
BATCH = 16


def standard_headers():
    """Those that builds read once for all (cmake/Precompile.cmake)."""
    text = (ROOT / "cmake" / "Precompile.cmake").read_text()
    return re.findall(r"<\w+>", re.search(r"set\(EIDOLON_PRECOMPILED_HEADERS(.*?)\)", text, re.S).group(1))


def include_folders(build):
    """Folders and definitions that any source of the build is compiled with."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        for at, word in enumerate(words):
            if word.startswith("-I") or word.startswith("-DCPPHTTPLIB"):
                found[(word,)] = None
            elif word == "-isystem":
                found[(word, words[at + 1])] = None
    return [word for words in found for word in words]


def read(build, name):
    """The file that an include of the project names; None for one of another library."""
    for folder in (ROOT, build / "proto", build / "generated"):
        if (folder / name).is_file():
            return (folder / name).read_bytes()
    return None


def name_of_result(build, compiler, header):
    """A hash of the compiler, the header, and the includes of the project's files that it includes, directly or not."""
    seen, waiting, whole = set(), [header], hashlib.sha256(compiler)
    while waiting:
        name = waiting.pop()
        text = None if name in seen else read(build, name)
        seen.add(name)
        if text is not None:
            included = ANY_INCLUDE.findall(text)
            whole.update(name.encode() + b"\0" + (text if name == header else b"\0".join(included)) + b"\0")
            waiting += sorted(found.decode() for found in INCLUDE.findall(text))
    return whole.hexdigest()


def compile_alone(command, headers):
    done = subprocess.run([*command, *headers], cwd=ROOT, capture_output=True, text=True)
    return headers, done.returncode, done.stderr


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    headers = sys.argv[2:] or sorted(
        str(path.relative_to(ROOT)) for top in ("services", "shim") for path in (ROOT / top).rglob("*.h")
    )
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "eidolon"
    cache = pathlib.Path(os.environ.get("EIDOLON_CACHE_DIR") or cache) / "headers"
    cache.mkdir(parents=True, exist_ok=True)
    common = [COMPILER, "-std=c++23", "-pthread", *include_folders(build)]
    first = build / "standard.h"
    first.write_text("".join(f"#include {header}\n" for header in standard_headers()))
    precompiled = first.with_suffix(".pch")
    made = [*common, "-fpch-instantiate-templates", "-x", "c++-header", str(first), "-o", str(precompiled)]
    subprocess.run(made, check=True)
    command = [*common, "-fsyntax-only", "-include-pch", str(precompiled), "-x", "c++"]
    compiler = subprocess.check_output([COMPILER, "--version"]) + first.read_bytes()
    result = functools.partial(name_of_result, build, compiler)
    names = {header: result(header) for header in headers}
    due = [header for header in headers if not (cache / names[header]).exists()]
    wrong = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        batches = [due[at : at + BATCH] for at in range(0, len(due), BATCH)]
        for batch, status, text in pool.map(functools.partial(compile_alone, command), batches):
            failed = set()
            # An error within what a header includes names another file: each is tried alone.
            if status and len(batch) > 1:
                failed = {header for header in batch if compile_alone(command, [header])[1]}
            elif status:
                failed = set(batch)
            for header in set(batch) - failed:
                (cache / names[header]).touch()
            for header in failed:
                print(f"FAIL {header}")
            if status:
                print(text)
            wrong |= failed
    print(f"{len(headers) - len(due)} had passed before; {len(headers) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
