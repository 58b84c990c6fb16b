#!/usr/bin/env python3
"""Layer test: every include follows services/layers.txt, and the allowed graph has no cycle.

    e2e/checks/layers.py [ROOT]

A folder may include its own headers, those of the folders its line allows, the standard library and
third-party headers. "proto" allows generated headers (eidolon/.../v1/...), "vendor" those of CUDA and its
libraries. Tests and fuzzers may include anything of the project.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
VENDOR = re.compile(
    r"^(cuda|cublas|cudnn|nccl|nvml|nvrtc|cupti|cusparse|cusolver|cufft|cufile|driver_types|vector_types"
    r"|library_types|crt/|fatbinary|generated_cuda|generated_nvtx|nvJitLink|cudaTypedefs|cudaProfiler)")
GENERATED = re.compile(r"^eidolon/\w+/v\d+/")
FREE = ("_test.cc", "_fuzzer.cc", "_benchmark.cc", "_test.h", "main.cc")


def read_layers(path):
    allowed = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        folder, colon, rest = line.partition(":")
        if not colon:
            sys.exit(f"{path}:{number}: expected 'folder: folders'")
        if folder.strip() in allowed:
            sys.exit(f"{path}:{number}: {folder.strip()} has a line already")
        allowed[folder.strip()] = set(rest.split())
    return allowed


def find_cycle(allowed):
    done, path = set(), []

    def visit(folder):
        if folder in path:
            return path[path.index(folder):] + [folder]
        if folder in done:
            return None
        path.append(folder)
        for other in sorted(allowed.get(folder, ())):
            cycle = visit(other)
            if cycle:
                return cycle
        path.pop()
        done.add(folder)
        return None

    for folder in sorted(allowed):
        cycle = visit(folder)
        if cycle:
            return cycle
    return None


def folder_of(file, allowed):
    """The longest listed folder that holds the file."""
    best = None
    for folder in allowed:
        if str(file).startswith(folder + "/") and (best is None or len(folder) > len(best)):
            best = folder
    return best


def problems_of(root, file, allowed):
    folder = folder_of(file, allowed)
    if folder is None:
        yield f"{file}: its folder has no line in services/layers.txt"
        return
    if file.name.endswith(FREE):
        return
    may = allowed[folder]
    for number, line in enumerate((root / file).read_text(errors="replace").splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        name = found.group(2)
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


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    allowed = read_layers(root / "services" / "layers.txt")
    problems = []
    cycle = find_cycle(allowed)
    if cycle:
        problems.append("services/layers.txt has a cycle: " + " -> ".join(cycle))
    count = 0
    for top in ("services", "shim"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cc", ".inc") and path.is_file():
                count += 1
                problems += problems_of(root, path.relative_to(root), allowed)
    for problem in problems:
        print(problem)
    print(f"layers: {count} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
