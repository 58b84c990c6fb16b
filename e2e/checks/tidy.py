#!/usr/bin/env python3
"""Tidy test: the limits and bans of the style, as a program.

    e2e/checks/tidy.py [ROOT]

Limits: file 500 lines, header 200, function 70, line 100 columns; a class in at most two source files. Every
top folder has a README.md of at most a page. Every source is named in its folder's CMakeLists.txt. Banned words
and calls are listed below with what to use instead. Generated rows (*.inc) and data are exempt from lengths.
"""

import collections
import pathlib
import re
import subprocess
import sys

FILE_LINES, HEADER_LINES, FUNCTION_LINES, COLUMNS, README_LINES = 500, 200, 70, 100, 80
SOURCES = (".h", ".cc", ".c")

# pattern, what to do instead, paths where it is allowed
BANNED = [
    (
        re.compile(r"\bstd::(mt19937|uniform_\w+_distribution|normal_distribution|random_device)\b|\brand\(\)"),
        "draw from base::Random",
        ("services/base/random",),
    ),
    (
        re.compile(r"\b(system_clock|steady_clock|high_resolution_clock)::now\b|\bgettimeofday\("),
        "take a base::RealClock",
        ("services/base/clock", "shim/time/"),
    ),
    (
        re.compile(r"(?<![\w:.])(clock_gettime|clock_nanosleep|nanosleep|usleep)\("),
        "take a base::RealClock",
        ("services/base/clock", "shim/glibc/", "shim/time/", "shim/core/", "shim/probe/", "e2e/measured/programs/"),
    ),
    (re.compile(r"\bTODO\b(?!\(#\d+\))"), "name an issue: TODO(#12)", ()),
    (re.compile(r"\b(using namespace std)\b"), "write std::", ()),
    (re.compile(r"\b(strcpy|strcat|sprintf|gets|strtok)\("), "use the sized or std::string forms", ()),
    (re.compile(r"\bvolatile\b(?!\s*\()"), "use std::atomic", ("shim/time/real.cc", "shim/core/")),
]
WRITTEN = re.compile(r"<!-- written by .*?<!-- end -->", re.S)  # Tables of a README that a command renews.
SUFFIX = re.compile(r"_(tests|unittest|fuzzer|benchmark)\.(cc|h)$")  # Say _test, _fuzz, _bench.
GOOGLE_BENCHMARK = "services/cli/bench/google_benchmark"  # Reads what the library of that name prints.
SOURCES_OF_A_CLASS = 2
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
MEMBER = re.compile(r"^(?:[\w:<>,&*\[\]][\w:<>,&* \[\]]*?[ ][*&]?)?(?:(\w+)::)~?\w+\([^;]*?\)[^;{]*\{", re.M)
BANNED_NAMES = re.compile(r"(^|_)(utils?|helpers?|misc|common|manager)(_|\.|$)", re.IGNORECASE)


def tracked(root):
    out = subprocess.check_output(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"], text=True
    )
    return [pathlib.Path(name) for name in out.split("\0") if name and (root / name).is_file()]


def strip_comments(text):
    """The text with comments and string contents blanked, line structure kept."""

    def blank(match):
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
    for pattern, instead, allowed in BANNED:
        if any(str(path).startswith(prefix) for prefix in allowed):
            continue
        haystack = text if "TODO" in pattern.pattern else code
        for found in pattern.finditer(haystack):
            number = haystack.count("\n", 0, found.start()) + 1
            yield f"{path}:{number}: '{found.group(0)}' is banned: {instead}"
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


def check_listed(root, path):
    for folder in [path.parent, *path.parent.parents]:
        lists = root / folder / "CMakeLists.txt"
        if lists.exists():
            content = lists.read_text()
            if path.name in content or str(path.relative_to(folder)) in content:
                return
    yield f"{path}: no CMakeLists.txt names it"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    problems, count = [], 0
    files = tracked(root)
    for path in files:
        if BANNED_NAMES.search(path.stem) or any(
            BANNED_NAMES.search(part) for part in path.parts[:-1] if part != "common" or path.parts[0] != "proto"
        ):
            if not str(path).startswith("proto/"):
                problems.append(f"{path}: name the concept instead of util, helper, misc, common, manager")
        if SUFFIX.search(path.name) and not str(path).startswith(GOOGLE_BENCHMARK):
            problems.append(f"{path}: tests end in _test, fuzzers in _fuzz, benchmarks in _bench")
        if path.suffix in SOURCES and path.parts[0] in ("services", "shim", "e2e"):
            count += 1
            problems += check_source(root, path)
            problems += check_listed(root, path)
    problems += spread_classes(root, files)
    for top in ("proto", "services", "shim", "operator-manifests", "helm", "dashboards", "e2e"):
        if not any(path.parts[0] == top for path in files):
            continue
        readme = root / top / "README.md"
        if not readme.exists():
            problems.append(f"{top}: a top folder has a README.md")
        elif top != "shim" and len(WRITTEN.sub("", readme.read_text()).splitlines()) > README_LINES:
            problems.append(f"{top}/README.md: more than a page ({README_LINES} lines)")
    for problem in problems:
        print(problem)
    print(f"tidy: {count} sources, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
