#!/usr/bin/env python3
"""Every sentence of helm/README.md, and what tries it.

    e2e/kube/claims.py            exit 1 when a sentence has no test, or names one that is not there
    e2e/kube/claims.py --list     the sentences, each with its tests

claims.yaml holds the sentences in their order, word for word. `tried` names what fails when one becomes false:
`step NAME` of e2e/kube/run, `Suite.Test` of the unit tests, or `FILE.py:FUNCTION`. What the README says is missing or
untried has `limit` instead: the file and the words by which the product or its tests can be seen to lack it.
"""

import functools
import pathlib
import re
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
README = ROOT / "helm/README.md"
# A sentence ends before a capital, a quoted name, or the end of its paragraph.
END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\[*])")


def blocks(text):
    """Paragraphs, items of lists and indented code, without headings; code keeps its lines."""
    found, code = [], False
    for line in [*text.splitlines(), ""]:
        is_code = line.startswith("    ")
        if is_code and code:
            found[-1] += "\n" + line[4:]
        elif is_code:
            found.append(line[4:])
        elif line.startswith("#"):
            found.append("")
        elif line.startswith("* "):
            found.append(line[2:])
        elif not line.strip():
            found.append("")
        else:
            found[-1] = f"{found[-1]} {line.strip()}".strip()
        code = is_code
    return [block for block in found if block]


def commands():
    """The README's first block: what it tells to install, apply and watch."""
    return next(block for block in blocks(README.read_text()) if "\n" in block)


def sentences():
    for block in blocks(README.read_text()):
        yield from [block] if "\n" in block else END.split(block)


@functools.cache
def cluster_tests():
    return [name for path in HERE.glob("test_*.py") for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)]


def unit_tests():
    names = set()
    for path in (ROOT / "services").rglob("*_test.cc"):
        for suite, test in re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", path.read_text(), re.M):
            names.add(f"{suite}.{test}")
    return names


def is_there(reference, all_tests):
    if reference.startswith("step "):
        return any(f"{name}_".startswith(f"test_{reference[5:]}_") for name in cluster_tests())
    path, _, function = reference.partition(":")
    if function:
        return (ROOT / path).exists() and re.search(rf"^\s*def {function}\(", (ROOT / path).read_text(), re.M)
    return reference in all_tests


def problems(rows, said):
    all_tests = unit_tests()
    for number, (row, sentence) in enumerate(zip(rows, said)):
        if row["says"].strip() != sentence:
            yield f"sentence {number + 1} is not the one of claims.yaml:\n  README: {sentence}\n  claims: {row['says']}"
            return
    if len(rows) != len(said):
        yield f"README has {len(said)} sentences, claims.yaml {len(rows)}"
    for row in rows:
        tried, limits = row.get("tried", []), row.get("limit", {})
        if not tried and not limits:
            yield f"nothing tries: {row['says']}"
        yield from (f"there is no {name}: {row['says']}" for name in tried if not is_there(name, all_tests))
        for path, words in limits.items():
            if words not in (ROOT / path).read_text():
                yield f"{path} does not say {words!r}: {row['says']}"


def links():
    """Files that the README points at and that are not there."""
    for path in re.findall(r"\]\(([^)#]+)", README.read_text()):
        if not (README.parent / path).exists():
            yield f"there is no {path}"


def main():
    said = list(sentences())
    rows = yaml.safe_load((HERE / "claims.yaml").read_text())
    if "--list" in sys.argv[1:]:
        for row in rows:
            tried = ", ".join(row.get("tried", [])) or f"a limit: {row['limit']}"
            print(f"{' '.join(row['says'].split())[:96]}\n    {tried}")
        return 0
    found = [*problems(rows, said), *links()]
    print("\n".join(found) or f"{len(rows)} sentences of helm/README.md, each with what tries it")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
