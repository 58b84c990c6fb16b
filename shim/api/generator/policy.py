"""Decisions: the hand-written <library>.policy files.

A policy file holds directives (`@name value`), comments (`#`), and one line per symbol:

    symbol  simulate|accept|forward|reject  handler|-  [class=X] [bare] [outputs=untouched]  note

A symbol may be a pattern with `*` when the decision is reject; lines with a full name win over patterns. A
symbol that no line covers is rejected, or an error under `@complete`. shim/README.md explains every word.
"""

import fnmatch
from dataclasses import dataclass, field
from pathlib import Path

CALL_CLASSES = (
    "Launch",
    "Library",
    "Dnn",
    "Collective",
    "Copy",
    "Stream",
    "Allocation",
    "Synchronize",
    "Graph",
    "Module",
    "Query",
    "EventQuery",
    "ThreadState",
)
KINDS = ("simulate", "accept", "forward", "reject")
SINGLE = ("soname", "binary", "class", "prefix", "twin", "language", "complete", "older")
MULTIPLE = ("header", "define", "omit", "differs")


class PolicyError(Exception):
    """A policy file says something impossible; the message names file and line."""


@dataclass
class Decision:
    kind: str
    handler: str
    call_class: str
    bare: bool = False
    outputs_untouched: bool = False
    note: str = ""
    line: int = 0


@dataclass
class Policy:
    library: str
    path: Path
    single: dict = field(default_factory=dict)
    multiple: dict = field(default_factory=lambda: {name: [] for name in MULTIPLE})
    decisions: dict = field(default_factory=dict)
    patterns: dict = field(default_factory=dict)  # All reject.

    def omitted(self, symbol):
        return any(fnmatch.fnmatchcase(symbol, pattern.split()[0]) for pattern in self.multiple["omit"])

    def find(self, symbol):
        """The decision of a line or a pattern; None when there is neither."""
        if symbol in self.decisions:
            return self.decisions[symbol]
        return next(
            (decision for pattern, decision in self.patterns.items() if fnmatch.fnmatchcase(symbol, pattern)), None
        )

    def decision(self, symbol):
        return self.find(symbol) or Decision("reject", "-", self.single["class"])


def _parse_decision(policy, number, words):
    def fail(message):
        raise PolicyError(f"{policy.path}:{number}: {message}")

    if len(words) < 3:
        fail("expected `symbol kind handler note`")
    symbol, kind, handler = words[:3]
    if kind not in KINDS:
        fail(f"{symbol}: unknown decision '{kind}' (one of {', '.join(KINDS)})")
    if (kind == "simulate") == (handler == "-"):
        fail(f"{symbol}: '{kind}' and handler '{handler}' do not fit together")
    decision = Decision(kind, handler, policy.single["class"], line=number)
    rest = words[3:]
    while rest and (rest[0] in ("bare", "outputs=untouched") or rest[0].startswith("class=")):
        word = rest.pop(0)
        if word == "bare":
            decision.bare = True
        elif word == "outputs=untouched":
            decision.outputs_untouched = True
        else:
            decision.call_class = word.removeprefix("class=")
    if decision.call_class not in CALL_CLASSES:
        fail(f"{symbol}: unknown call class '{decision.call_class}'")
    decision.note = " ".join(rest)
    if kind == "accept" and not decision.note:
        fail(f"{symbol}: an accepted call needs a note that says why doing nothing is right")
    if "*" in symbol and kind != "reject":
        fail(f"{symbol}: only reject may use a pattern")
    table = policy.patterns if "*" in symbol else policy.decisions
    if symbol in table:
        fail(f"{symbol}: already decided in line {table[symbol].line}")
    table[symbol] = decision


def load_policy(path):
    """Reads one policy file; the library's name is the folder's."""
    policy = Policy(path.parent.name, path)
    policy.single["class"] = "Query"
    policy.single["language"] = "c"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if not words[0].startswith("@"):
            _parse_decision(policy, number, words)
            continue
        name, value = words[0][1:], " ".join(words[1:])
        if name in SINGLE:
            policy.single[name] = value
        elif name in MULTIPLE:
            policy.multiple[name].append(value)
        else:
            raise PolicyError(f"{path}:{number}: unknown directive '@{name}'")
    if "soname" not in policy.single:
        raise PolicyError(f"{path}: has no @soname")
    if not ("binary" in policy.single or "prefix" in policy.single):
        raise PolicyError(f"{path}: needs @binary (the real library) or @prefix (header names)")
    return policy
