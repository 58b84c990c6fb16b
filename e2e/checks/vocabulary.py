#!/usr/bin/env python3
"""Vocabulary test: one word per idea, in names, comments, documents and messages.

    e2e/checks/vocabulary.py [ROOT]

docs/vocabulary.md lists the ideas with their words. This check finds words that are not used for them, also inside
CamelCase and snake_case names. Data, goldens, generated rows and fuzzer corpora are exempt.
"""

import pathlib
import re
import sys

from tidy import tracked

# Not words of ours: data, generated files, and the two files that list the banned words.
EXEMPT = re.compile(
    r"(_corpus/|/testdata/|/golden|\.(csv|json|inc|policy|ptx|cubin|fatbin|flows|sum|mod|log|simgrid|scenario)$"
    r"|^docs/vocabulary\.md$|^e2e/checks/vocabulary\.py$|^LICENSE$|^NOTICE$)"
)
CODE = (".h", ".cc", ".c")

# Phrases that are not looked at, each with the reason.
ALLOWED = [
    r"(?i)\b(capital|small|upper[- ]?case|lower[- ]?case|hexadecimal|first|one|two|drive|single) letters?\b",  # Alphabet.
    r"\b(?:beginning|begins|ending) with a letter\b|\bletter: other objects\b",
    r"(?i)\bletters?(,| and| or) (digits?|dashes|numbers?)\b",
    r"(?i)\bletters? of (the|its|a) \w+",
    r"(?i)\bof course\b",
    r"(?i)\b(?:set_)?cards?_per_leaf\b|\bcardsPerLeaf\b",  # A field of the fabric that users write.
    r"eidolon_agent_mailbox_letters",  # A metric.
    r"\bletter-spacing:",  # A property of CSS.
    r"pass-key(-file)?\b|eidolon-pass(es)?\b|\bpasses\.yaml\b",  # Flags, a Secret and a header that are deployed.
    r"(?i)\bthe product\b|product[ _]?name|gpu\.product",  # The software; what a vendor calls a GPU.
    r"(?i)(dot|inner|outer|cartesian|vector)[ _-]?product(?=s?\b|_)|\btheir product\b|\bbit of a product\b",  # Arithmetic.
    r"\bsteady_product_share\b",  # A field of GPU models.
    r"\bcusparseSpGEMM_getNumProducts\b|_cudaProduct\b",  # Names of NVIDIA and of PyTorch.
]

WRAP = r"(?:\s+(?://+ *|# *|\* )?)"  # A space, or a line's end inside a comment.
NO_NOUN = (
    rf"(?<!there )(?<!There )(?<!there\n)\b(?:is|are|was|be){WRAP}no{WRAP}"
    r"(?!longer\b|more\b|less\b|fewer\b|farther\b|further\b|better\b|worse\b|other\b|others\b|such\b|room\b)[a-z]+"
)
CREDENTIAL = (
    r"\b(?:pass(?:es)? (?:issuer|gate|key)|(?:show|check|issue|forged) passe?s?\b|(?:a|an|no|its|their|own|another|signed|"
    r"new|every|each|whose|job's|the) pass(?:es)?\b(?! (?:over|through|of the compiler|backward|forward)))"
)
# Name, what is looked for once names are split into words, what to write instead.
BANNED = [
    (re.compile(r"\bletters?\b", re.I), "task or message"),
    (re.compile(r"\bdesks?\b", re.I), "handler"),
    (re.compile(r"\bdoorkeepers?\b", re.I), "listener"),
    (re.compile(r"\bwish(?:es)?\b", re.I), "request or attributes"),
    (re.compile(r"\blessons?\b", re.I), "memo"),
    (re.compile(r"\bcourses?\b", re.I), "trace or route"),
    (re.compile(r"\bcards?\b", re.I), "NIC"),
    (re.compile(r"\bproducts?\b", re.I), "GEMM"),
    (re.compile(CREDENTIAL, re.I), "token"),
    (re.compile(NO_NOUN), "'is not a ...' or 'has no ...'"),
    (
        re.compile(rf"\b(?:(?:tell|say)s?{WRAP}nobody|tells?{WRAP}nothing)\b", re.I),
        "plain English: what cannot be known, or what is not said",
    ),
]
# Where numbers are multiplied, and where a reduction is called as NCCL calls it.
ARITHMETIC = re.compile(
    r"^services/(base|interpret|sass|network|cluster|cubin|ring)/|^shim/cufft/"
    r"|^services/timing/kernel/(transformer_engine|rows|triton|pointwise)"
)
GPU_PASSES = "services/timing/kernel/"  # Kernels pass over memory several times.
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
    for phrase in ALLOWED:
        text = re.sub(phrase, blank, text)
    words = split_names(text)
    for pattern, instead in BANNED:
        if (instead == "GEMM" and ARITHMETIC.search(name)) or (instead == "token" and name.startswith(GPU_PASSES)):
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
