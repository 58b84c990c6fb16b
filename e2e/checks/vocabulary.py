#!/usr/bin/env python3
"""Vocabulary test: one word per idea, in names, comments, documents and messages.

    e2e/checks/vocabulary.py [ROOT]

docs/vocabulary.md lists the ideas with their words. This check finds words that are not used for them (vocabulary.toml),
also inside CamelCase and snake_case names. Data, goldens, generated rows and fuzzer corpora are exempt.
"""

import pathlib
import re
import sys
import tomllib

from tidy import tracked

# Files without words of ours: data, generated files, and the two files that list the banned words.
EXEMPT = re.compile(
    r"(_corpus/|/testdata/|/golden|\.(csv|json|inc|policy|ptx|cubin|fatbin|flows|sum|mod|log|simgrid|scenario)$"
    r"|^docs/vocabulary\.md$|^e2e/checks/vocabulary\.toml$|^LICENSE$|^NOTICE$)"
)
CODE = (".h", ".cc", ".c")

WRAP = r"(?:\s+(?://+ *|# *|\* )?)"
TABLE = tomllib.loads(pathlib.Path(__file__).with_suffix(".toml").read_text())
# (pattern, replacement, files in which the phrase is the right word).
BANNED = [
    (re.compile(row["find"].replace("WRAP", WRAP)), row["write"], re.compile(row.get("but_in", r"(?!)")))
    for row in TABLE["banned"]
]
TURN = re.compile(r"\bturns?\b", re.I)
SENTENCE = 4  # Names of so many words are sentences: the names of tests.
NAME = re.compile(r"[A-Za-z_]\w*")
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def split_names(text):
    """The text with the words of CamelCase and snake_case names apart; lines stay lines."""
    text = re.sub(r"\bk(?=[A-Z])", " ", text)
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return text.replace("_", " ")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def problems_of(name, text):
    """(line, word, what to write instead)"""
    for phrase in TABLE["allowed"]:
        text = re.sub(phrase, blank, text)
    words = split_names(text)
    for pattern, instead, exempt in BANNED:
        if exempt.search(name):
            continue
        for found in pattern.finditer(words):
            yield words.count("\n", 0, found.start()) + 1, " ".join(found.group(0).split()), instead
    if not name.endswith(CODE):
        return
    code = COMMENT.sub(blank, text)
    for found in NAME.finditer(code):
        parts = split_names(found.group(0))
        if TURN.search(parts) and len(parts.split()) < SENTENCE:
            yield code.count("\n", 0, found.start()) + 1, found.group(0), "step, iteration or admission"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    problems, count = [], 0
    for name in map(str, tracked(root)):
        if EXEMPT.search(name):
            continue
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        count += 1
        found = [
            f"{name}: the name says '{word}': write {instead}" for _, word, instead in problems_of(f"{name}/", name)
        ]
        found += [f"{name}:{line}: '{word}': write {instead}" for line, word, instead in problems_of(name, text)]
        problems += found
    for problem in problems:
        print(problem)
    print(f"vocabulary: {count} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
