"""Facts: functions that vendor headers declare, read from clang's JSON syntax tree."""

import json
import re
import subprocess
from dataclasses import dataclass

CLANG = "clang-14"
STANDARDS = {"c": "-std=gnu11", "c++": "-std=gnu++17"}


class HeaderError(Exception):
    """clang rejected the headers; the message holds its first complaints."""


@dataclass(frozen=True)
class Function:
    """One declaration. Types are plain text, valid in C++ after the vendor header."""

    name: str
    returns: str
    parameters: tuple  # of (type, name)

    @property
    def parameter_list(self):
        if not self.parameters:
            return "()"
        return "(" + ", ".join(_declare(*parameter) for parameter in self.parameters) + ")"

    @property
    def arguments(self):
        return "(" + ", ".join(name for _, name in self.parameters) + ")"


def _declare(kind, name):
    """`void (*)(int)` and `cb` become `void (*cb)(int)`; `int *` and `p` become `int *p`."""
    if "(*)" in kind:
        return kind.replace("(*)", f"(*{name})", 1)
    return kind + name if kind.endswith("*") else f"{kind} {name}"


def _clean(kind):
    kind = re.sub(r"\b_Bool\b", "bool", kind)
    return re.sub(r"\s*__attribute__\(\(.*?\)\)", "", kind)


def _return_type(kind):
    """The part of a function type before its parameter list."""
    depth = 0
    for position in range(len(kind) - 1, -1, -1):
        if kind[position] == ")":
            depth += 1
        elif kind[position] == "(":
            depth -= 1
            if depth == 0:
                return kind[:position].strip()
    raise HeaderError(f"not a function type: {kind}")


def _functions(node):
    for child in node.get("inner", ()):
        kind = child.get("kind")
        if kind == "LinkageSpecDecl":
            yield from _functions(child)
        elif kind == "FunctionDecl" and child.get("storageClass") != "static":
            inner = child.get("inner", ())
            if any(part.get("kind") == "CompoundStmt" for part in inner):
                continue  # Inline in the header: not an export.
            parameters = tuple(
                (_clean(part["type"]["qualType"]), part.get("name") or f"argument{index}")
                for index, part in enumerate(part for part in inner if part.get("kind") == "ParmVarDecl")
            )
            yield Function(child["name"], _clean(_return_type(child["type"]["qualType"])), parameters)


def _ask_clang(options, headers, include_dirs, defines, language):
    if language not in STANDARDS:
        raise HeaderError(f"unknown @language {language} (one of {', '.join(STANDARDS)})")
    source = "".join(f'#include "{header}"\n' for header in headers)
    command = [CLANG, "-x", language, STANDARDS[language], "-w", "-fsyntax-only"]
    command += [word for option in options for word in ("-Xclang", option)]
    command += [f"-I{path}" for path in include_dirs] + [f"-D{define}" for define in defines] + ["-"]
    result = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise HeaderError(f"{' '.join(headers)}: " + "\n".join(result.stderr.splitlines()[:8]))
    return result.stdout


def read_functions(headers, include_dirs, defines=(), language="c"):
    """All functions declared after including `headers`, by name."""
    text = _ask_clang(["-ast-dump=json"], headers, include_dirs, defines, language)
    return {function.name: function for function in _functions(json.loads(text))}


def read_sizes(headers, include_dirs, defines=(), language="c"):
    """Bytes of every structure and union that `headers` define, by name."""
    text = _ask_clang(["-fdump-record-layouts-complete"], headers, include_dirs, defines, language)
    found = re.findall(r"^ +0 \| (?:struct|union) (\w+)$.*?\[sizeof=(\d+),", text, re.MULTILINE | re.DOTALL)
    return {name: int(size) for name, size in found if not name.startswith("__")}  # Those are clang's own.
