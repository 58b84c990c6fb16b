"""Failed tests are run again at the end of a run, each alone and three times. One that passes each time is flaky."""

import dataclasses

from runner import history
from runner.results import Result

FAILED_MAX = 3  # Of more failed tests none is run again: something is broken.
TRIES = 3
FLAKY_MAX = 2
WORDS_MAX = 25


@dataclasses.dataclass
class Flaky:
    part: str
    result: Result  # Of the run, in which it failed.

    def lines(self):
        shown = [f"     | {line}" for line in self.result.words[-WORDS_MAX:]]
        return [f"     {self.part} {self.result.test} failed in the run, then passed {TRIES} of {TRIES} alone:", *shown]


def command_again(part, test, junit):
    """The command that runs a test alone; None for parts that have no such command."""
    if part.programs and part.name.startswith("test-"):
        return [*part.command, "--only", test, "--junit", str(junit)]
    if part.suite:
        return ["e2e/pytest", "--junitxml", str(junit), test]
    return None


def to_repeat(ended):
    """[(ended part, result)] of the failed tests, from parts that failed. Nothing when there are many, or when something
    failed that is not a test, as a build does."""
    found = []
    for one in ended:
        failed = one.results.of_failed()
        if len(failed) != one.results.failed or command_again(one.part, "", "") is None:
            return []
        found += [(one, result) for result in failed]
    return found if len(found) <= FAILED_MAX else []


def find_flaky(ended, run_again):
    """`run_again(part, test)`: whether it passes alone."""
    return [
        Flaky(one.part.name, result)
        for one, result in to_repeat(ended)
        if all(run_again(one.part, result.test) for _ in range(TRIES))
    ]


def why_refused(flaky, before, strict):
    """Returns why a run with these flaky tests fails; nothing when it may pass. `before`: (part, test) that were
    flaky in the newest runs."""
    again = [one.result.test for one in flaky if (one.part, one.result.test) in before]
    reasons = []
    if flaky and strict:
        reasons.append("--all accepts no flaky test")
    if len(flaky) > FLAKY_MAX:
        reasons.append(f"at most {FLAKY_MAX} tests may be flaky")
    if again:
        runs = history.RUNS_FOR_FLAKY
        reasons.append(f"flaky before, within {runs} runs, and to be fixed first: {', '.join(again)}")
    return reasons


def write_flaky(flaky, reasons):
    """Writes the closing lines about flaky tests."""
    lines = [line for one in flaky for line in one.lines()]
    names = ", ".join(one.result.test for one in flaky)
    lines.append(f"     {len(flaky)} flaky (failed once, passed three times alone): {names}")
    return [*lines, *(f"     the run fails: {reason}" for reason in reasons)] if flaky else []
