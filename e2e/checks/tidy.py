#!/usr/bin/env python3
"""Tidy test: the limits and bans of the style, as a program.

    e2e/checks/tidy.py [ROOT]

Limits: file 500 lines, header 200, function 70, line 100 columns; a class in at most two source files. The tree and
every top folder have a README.md of at most a page. Every source is named in its folder's CMakeLists.txt. Banned words
and calls are listed in tidy.toml with what to use instead. A constant of the machine has one
definition. Generated rows (*.inc) and data are exempt from lengths.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tomllib

FILE_LINES, HEADER_LINES, FUNCTION_LINES, COLUMNS, README_LINES = 500, 200, 70, 100, 80
SOURCES = (".h", ".cc", ".c")
TOP_FOLDERS = {"proto", "services", "shim", "operator-manifests", "helm", "dashboards", "e2e"}

BANNED = tomllib.loads(pathlib.Path(__file__).with_suffix(".toml").read_text())["banned"]
WRITTEN = re.compile(r"<!-- written by .*?<!-- end -->", re.S)  # Tables of a README that a command renews.
SUFFIX = re.compile(r"_(tests|unittest|fuzzer|benchmark)\.(cc|h)$")  # Say _test, _fuzz, _bench.
GOOGLE_BENCHMARK = "services/cli/bench/google_benchmark"  # Reads what the library of that name prints.
SOURCES_OF_A_CLASS = 2
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
MEMBER = re.compile(r"^(?:[\w:<>,&*\[\]][\w:<>,&* \[\]]*?[ ][*&]?)?(?:(\w+)::)~?\w+\([^;]*?\)[^;{]*\{", re.M)
MACHINE = "services/contract/machine/machine.h"
CONSTANT = re.compile(r"\bconstexpr (?:[\w:]+ )+(k\w+) =")
BANNED_NAMES = re.compile(r"(^|_)(utils?|helpers?|misc|common|manager)(_|\.|$)", re.IGNORECASE)


def tracked(root):
    out = subprocess.check_output(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"], text=True
    )
    return [pathlib.Path(name) for name in out.split("\0") if name and (root / name).is_file()]


def strip_comments(text, texts_too=True):
    """The text with comments, and string contents unless told otherwise, blanked, line structure kept."""

    def blank(match):
        if not texts_too and match.group(0)[0] in "R\"'":
            return match.group(0)
        return re.sub(r"[^\n]", " ", match.group(0))

    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    text = re.sub(r'R"(\w*)\((?:.|\n)*?\)\1"', blank, text)
    return re.sub(pattern, blank, text, flags=re.DOTALL)


def long_functions(code):
    """(first line, length) of brace blocks of functions longer than allowed: blocks that open after ')'."""
    depth_is_function, line, last = [], 1, ""
    starts = []
    for char in code:
        if char == "\n":
            line += 1
        elif char == "{":
            tail = last.rstrip()
            function = bool(re.search(r"\)\s*(const|noexcept|override|final|->[^;{}]*|\s)*$", tail)) and not (
                re.search(r"\b(if|for|while|switch|catch)\s*\([^{}]*$", tail.split(";")[-1])
            )
            inside = any(depth_is_function)
            depth_is_function.append(function and not inside)
            starts.append(line)
            last = ""
            continue
        elif char == "}":
            if depth_is_function:
                start = starts.pop()
                if depth_is_function.pop() and line - start + 1 > FUNCTION_LINES:
                    yield start, line - start + 1
            last = ""
            continue
        last = (last + char)[-400:]


def check_source(root, path):
    text = (root / path).read_text(errors="replace")
    lines = text.splitlines()
    limit = HEADER_LINES if path.suffix == ".h" else FILE_LINES
    if len(lines) > limit:
        yield f"{path}: {len(lines)} lines, allowed are {limit}: split by concept"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS + (10 if line.lstrip().startswith("//") else 0):
            yield f"{path}:{number}: {len(line)} columns, allowed are {COLUMNS}"
    code = strip_comments(text)
    for start, length in long_functions(code):
        yield f"{path}:{start}: a function of {length} lines, allowed are {FUNCTION_LINES}"
    for row in BANNED:
        name = str(path)
        if name.startswith(tuple(row.get("but_in", ()))) or not name.startswith(tuple(row.get("only_in", [""]))):
            continue
        if row.get("in_texts") and path.stem.endswith(("_test", "_fuzz", "_bench")):
            continue
        haystack = text if row.get("anywhere") else strip_comments(text, False) if row.get("in_texts") else code
        for found in re.finditer(row["find"], haystack):
            number = haystack.count("\n", 0, found.start()) + 1
            yield f"{path}:{number}: '{found.group(0)}' is banned: {row['write']}"
    if path.suffix == ".h" and "#pragma once" not in text:
        yield f"{path}: header without #pragma once"
    if path.suffix == ".h" and not text.startswith("//"):
        yield f"{path}: a header starts with what it is and why it exists"


def spread_classes(root, files):
    """Classes whose members are defined in too many source files."""
    sources = collections.defaultdict(set)
    for path in files:
        if path.suffix != ".cc" or path.parts[0] not in ("services", "shim") or path.stem.endswith("_test"):
            continue
        text = (root / path).read_text(errors="replace")
        namespace = NAMESPACE.search(text)
        for member in MEMBER.finditer(text):
            if member.group(1) != "std":
                sources[(namespace.group(1) if namespace else "", member.group(1))].add(str(path))
    for (namespace, name), found in sorted(sources.items()):
        if len(found) > SOURCES_OF_A_CLASS:
            yield (
                f"{namespace}::{name} is defined in {len(found)} files, allowed are {SOURCES_OF_A_CLASS}: "
                f"split the class into objects ({' '.join(sorted(found))})"
            )


def doubled_constants(root, files):
    """Constants of the machine that a source of a service defines again."""
    names = CONSTANT.findall((root / MACHINE).read_text()) if (root / MACHINE).exists() else []
    for path in files:
        if path.suffix not in SOURCES or path.parts[0] != "services" or str(path) == MACHINE:
            continue
        for name in set(CONSTANT.findall((root / path).read_text(errors="replace"))).intersection(names):
            yield f"{path}: {name} is defined in {MACHINE}"


def check_listed(root, path):
    for folder in path.parents:
        lists = root / folder / "CMakeLists.txt"
        content = lists.read_text() if lists.exists() else ""
        if path.name in content or str(path.relative_to(folder)) in content:
            return
    yield f"{path}: no CMakeLists.txt names it"


def check_name(path):
    if path.parts[0] != "proto" and any(map(BANNED_NAMES.search, [path.stem, *path.parts[:-1]])):
        yield f"{path}: name the concept instead of util, helper, misc, common, manager"
    if SUFFIX.search(path.name) and not str(path).startswith(GOOGLE_BENCHMARK):
        yield f"{path}: tests end in _test, fuzzers in _fuzz, benchmarks in _bench"


def check_readme(root, top):
    readme = root / top / "README.md"
    name = readme.relative_to(root)
    if not readme.exists():
        yield f"{name} is missing: the tree and each top folder have one"
    elif top != "shim" and len(WRITTEN.sub("", readme.read_text()).splitlines()) > README_LINES:
        yield f"{name}: more than a page ({README_LINES} lines)"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = tracked(root)
    sources = [path for path in files if path.suffix in SOURCES and path.parts[0] in ("services", "shim", "e2e")]
    problems = [problem for path in files for problem in check_name(path)]
    for path in sources:
        problems += [*check_source(root, path), *check_listed(root, path)]
    problems += spread_classes(root, files)
    problems += doubled_constants(root, files)
    for top in [".", *sorted({path.parts[0] for path in files} & TOP_FOLDERS)]:
        problems += check_readme(root, top)
    for problem in problems:
        print(problem)
    print(f"tidy: {len(sources)} sources, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
