"""Puts the faults of e2e/seeded into the tree, one at a time, and shows that the test which a fault names finds it.

    e2e/seeded_faults [NAME ...]     the faults whose names begin so; all without

The test must pass without the fault and fail with it. The default run finds a fault `always` if e2e/test selects the test
for a change of these files whatever its sample is, and else in one of four commits, `sampled`. The tree must have no
changes; each patch is taken out again. Prints a row of a table for each fault; exits with 1 if one is not always found.
"""

import argparse
import dataclasses
import re
import signal
import subprocess
import sys
import time

from runner import change, programs, selection
from runner.parts import ROOT, all_parts
from sampling import GROUPS, group_of

FOLDER = ROOT / "e2e" / "seeded"
PARTS = {part.name: part for part in all_parts()}
FIELDS = ("Kind", "Harm", "Part", "Test", "Build")
TESTS_FAILED = {"e2e/pytest": 1, "ctest": 8}  # Exit statuses; others say that no test ran.


class Problem(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    kind: str
    harm: str  # What it would mean for a user.
    part: str  # Of e2e/test, in which it is found.
    test: str  # As the part names it; empty where the part is one check.
    build: str  # Targets that the test needs.
    paths: frozenset

    @property
    def preset(self):
        return self.part.rpartition("-")[2] if PARTS[self.part].programs else "release"

    def apply(self, *options):
        words = ["git", "-C", ROOT, "apply", *options, FOLDER / f"{self.name}.patch"]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            raise Problem(f"{self.name} no longer applies: {done.stderr.strip()}")


def parse(name, text):
    head, _, diff = text.partition("\ndiff --git ")
    fields = dict(re.findall(r"^(\w+):[ ]*(.*)$", head, re.M))
    paths = frozenset(re.findall(r"^(?:---|\+\+\+) [ab]/(\S+)$", diff, re.M))
    if set(fields) != set(FIELDS) or not paths:
        raise Problem(f"{name}: a fault begins with lines of {', '.join(FIELDS)}, and a diff follows")
    if fields["Part"] not in PARTS:
        raise Problem(f"{name}: e2e/test has no part '{fields['Part']}'")
    return Fault(name=name, paths=paths, **{field.lower(): value for field, value in fields.items()})


def read_faults(names=(), folder=FOLDER):
    faults = [parse(file.stem, file.read_text()) for file in sorted(folder.glob("*.patch"))]
    if unknown := [name for name in names if not any(fault.name.startswith(name) for fault in faults)]:
        raise Problem(f"e2e/seeded has no fault {', '.join(unknown)}")
    return [fault for fault in faults if fault.name.startswith(tuple(names) or "")]


def known_tests(fault):
    return programs.known_tests(ROOT / "build" / fault.preset) if PARTS[fault.part].programs else []


def is_selected(fault, groups):
    """Returns whether e2e/test runs the test for a change of the fault's files and the sample of these groups."""
    one = change.Change(paths=fault.paths, groups=frozenset(groups))
    choice = selection.select(PARTS.values(), dict.fromkeys(PARTS, one)).get(fault.part)
    if choice is None or not fault.test:
        return choice is not None
    if not PARTS[fault.part].programs:
        words = ["e2e/pytest", fault.test, *choice.words, "--collect-only", "-q"]
        listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout
        return fault.test in listed.splitlines()
    chosen = selection.for_programs(one, fault.part)
    tests, _ = programs.chosen_tests(fault.preset, known_tests(fault), chosen, programs.reached_by(chosen))
    return any(test.name == fault.test for test in tests)


def in_default_run(fault):
    programs_of = [test.program or "" for test in known_tests(fault) if test.name == fault.test]
    turns = {PARTS[fault.part].turn, *map(group_of, [fault.test, *programs_of])}
    another = next(group for group in range(GROUPS) if group not in turns)
    if is_selected(fault, {another}):
        return "always"
    return "sampled" if is_selected(fault, change.ALL_GROUPS) else "no"


def test_passes(fault):
    """Builds what the test needs, and runs it."""
    targets = fault.build.split()
    if targets and subprocess.run(["e2e/build", fault.preset, *targets], cwd=ROOT).returncode != 0:
        raise Problem(f"{fault.name}: {fault.build} cannot be built")
    words = PARTS[fault.part].command
    if PARTS[fault.part].programs:
        words = ["ctest", "--test-dir", f"build/{fault.preset}", "--no-tests=error", "--output-on-failure"]
        words += ["-R", f"^{re.escape(fault.test)}$"]
    elif fault.test:
        words = ["e2e/pytest", fault.test]
    status = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL).returncode
    if status not in (0, TESTS_FAILED.get(words[0], status)):
        raise Problem(f"{fault.name}: {' '.join(map(str, words))} ended with status {status}")
    return status == 0


def row_of(fault):
    """(what is printed, whether the default run always finds it)."""
    fault.apply("--check")
    if not test_passes(fault):
        raise Problem(f"{fault.name}: {fault.part} {fault.test} fails without the fault")
    selected = in_default_run(fault)
    fault.apply()
    try:
        started = time.monotonic()
        found = not test_passes(fault)
    finally:
        fault.apply("-R")
    seconds, test = time.monotonic() - started, f"{fault.part} {fault.test}".strip()
    verdict = selected if found else "not found"
    return f"| {fault.name} | {fault.kind} | `{test}` | {verdict} | {seconds:.0f} |", found and selected == "always"


def main(words=None):
    parser = argparse.ArgumentParser(
        prog="e2e/seeded_faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    names = parser.parse_args(words).names
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        faults = read_faults(names)
        if change.Git().uncommitted() != set():
            raise Problem("the tree has changes: commit them first")
    except Problem as problem:
        sys.exit(f"e2e/seeded_faults: {problem}")
    good = True
    for fault in faults:
        try:
            row, is_found = row_of(fault)
        except Problem as problem:
            row, is_found = f"e2e/seeded_faults: {problem}", False
        print(row, flush=True)
        good &= is_found
    return 0 if good else 1
