#!/usr/bin/env python3
"""Layer test: every include follows services/layers.txt; neither folders nor files include each other in a circle;
a source includes the header of its name first; a header includes those of the standard library that it uses.

    e2e/checks/layers.py [ROOT]

A folder may include its own headers, those of the folders its line allows, the standard library and
third-party headers. "proto" allows generated headers (eidolon/.../v1/...), "vendor" those of CUDA and its
libraries, "@name" the folders of that set, "folder/*" every folder listed below it. Tests, fuzzers and
benchmarks may include anything of the project. A header and the source of the same name count as one file.
"""

import graphlib
import pathlib
import re
import sys
import tomllib

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
VENDOR = re.compile(
    r"^(cuda|cublas|cudnn|nccl|nvml|nvrtc|cupti|cusparse|cusolver|cufft|cufile|driver_types|vector_types"
    r"|library_types|crt/|fatbinary|generated_cuda|generated_nvtx|nvJitLink|cudaTypedefs|cudaProfiler)"
)
GENERATED = re.compile(r"^eidolon/\w+/v\d+/")
FREE = ("_test.cc", "_fuzz.cc", "_bench.cc", "_test.h", "main.cc")
COLUMNS = 110
STANDARD = tomllib.loads(pathlib.Path(__file__).with_name("standard_headers.toml").read_text())
DECLARED_IN = {name: header for header, names in STANDARD.items() for name in names.split()}


def read_layers(path):
    lines, sets = {}, {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if len(line) > COLUMNS:
            sys.exit(f"{path}:{number}: {len(line)} columns, allowed are {COLUMNS}: name a set of folders")
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, colon, rest = line.partition(":")
        name, target = name.strip(), sets if name.startswith("@") else lines
        if not colon:
            sys.exit(f"{path}:{number}: expected 'folder: folders' or '@set: folders'")
        if name in target:
            sys.exit(f"{path}:{number}: {name} has a line already")
        target[name] = rest.split()
    return {folder: expand(words, lines, sets, path) - {folder} for folder, words in lines.items()}


def expand(words, lines, sets, path):
    """The folders that the words of a line stand for."""
    folders = set()
    for word in words:
        if word.startswith("@"):
            if word not in sets:
                sys.exit(f"{path}: no set is called {word}")
            folders |= expand(sets[word], lines, sets, path)
        elif word.endswith("/*"):
            folders |= {folder for folder in lines if folder.startswith(word[:-1])}
        elif word in lines or word in ("proto", "vendor"):
            folders.add(word)
        else:
            sys.exit(f"{path}: {word} has no line")
    return folders


def find_circle(needs):
    """Names that need each other in a circle, the first one again at the end; None: there is no circle."""
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError as error:
        return list(reversed(error.args[1]))
    return None


def folder_of(file, allowed):
    """The longest listed folder that holds the file."""
    return max((folder for folder in allowed if str(file).startswith(folder + "/")), key=len, default=None)


def missing_standard_headers(text):
    """Headers of the standard library whose names a header uses without including them."""
    used = set(re.findall(r"\bstd::(?:ranges::)?(\w+)", re.sub(r"//.*", "", text)))
    included = set(re.findall(r"#include <(\w+)>", text))
    return sorted({DECLARED_IN[name] for name in used if name in DECLARED_IN} - included)


def problems_of(root, file, allowed):
    folder = folder_of(file, allowed)
    if folder is None:
        yield f"{file}: its folder has no line in services/layers.txt"
        return
    if file.name.endswith(FREE):
        return
    if file.suffix == ".h":
        for header in missing_standard_headers((root / file).read_text(errors="replace")):
            yield f"{file}: uses names of <{header}> without including it"
    may = allowed[folder]
    own = str(file.with_suffix(".h")) if file.suffix == ".cc" and (root / file.with_suffix(".h")).exists() else ""
    for number, line in enumerate((root / file).read_text(errors="replace").splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        name = found.group(2)
        if own and name != own:
            yield f"{file}:{number}: includes {name} before its own header {own}"
        own = ""
        if name.startswith(("services/", "shim/")):
            target = folder_of(pathlib.Path(name), allowed)
            if target is None:
                yield f"{file}:{number}: {name} lies in a folder without a line in services/layers.txt"
            elif target != folder and target not in may:
                yield f"{file}:{number}: {folder} may not include {target} ({name})"
        elif GENERATED.match(name) and "proto" not in may:
            yield f"{file}:{number}: {folder} may not include generated messages ({name})"
        elif VENDOR.match(name) and "vendor" not in may:
            yield f"{file}:{number}: {folder} may not include vendor headers ({name})"


def included_by(root, files):
    """The project's files that each file includes; a header and the source of its name are one file."""
    includes = {}
    for file in files:
        if not file.name.endswith(FREE):
            name = str(file.with_suffix(""))
            for found in map(INCLUDE.match, (root / file).read_text(errors="replace").splitlines()):
                if found and found.group(1) == '"':
                    other = str(pathlib.PurePath(found.group(2)).with_suffix(""))
                    includes.setdefault(name, set()).update({other} - {name})
    return includes


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    allowed = read_layers(root / "services" / "layers.txt")
    found = (path for top in ("services", "shim") for path in sorted((root / top).rglob("*")) if path.is_file())
    files = [path.relative_to(root) for path in found if path.suffix in (".h", ".cc", ".inc")]
    problems = []
    if circle := find_circle(allowed):
        problems.append("services/layers.txt has a cycle: " + " -> ".join(circle))
    if circle := find_circle(included_by(root, files)):
        problems.append("these files include each other in a circle: " + " -> ".join(circle))
    problems += (problem for file in files for problem in problems_of(root, file, allowed))
    for problem in problems:
        print(problem)
    print(f"layers: {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
