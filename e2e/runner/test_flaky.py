"""Failed tests that are run again: which are, which are flaky then, and which of these a run may have."""

import pathlib

import pytest

from runner import flaky
from runner.flaky import Flaky, command_again, find_flaky, to_repeat, why_refused, write_flaky
from runner.parts import Part, all_parts
from runner.processes import Ended
from runner.results import Result, Results

PARTS = {part.name: part for part in all_parts()}
SUITE = Part("suite", ("true",), 1, suite="behaviours")


def ended(*tests, part=SUITE, failed=None):
    """A part of which these tests failed."""
    results = Results(pathlib.Path("none"), "".join(f"why {test}\nFAIL {test}\n" for test in tests), False)
    results.failed = len(tests) if failed is None else failed
    return Ended(part, None, [], None, 1, 0, 0, results)


def names(found):
    return [result.test for _, result in to_repeat(found)]


@pytest.mark.parametrize(
    "found, again",
    [
        ([ended("a")], ["a"]),
        ([ended("a", "b"), ended("c", part=PARTS["test-asan"])], ["a", "b", "c"]),
        ([ended("a", "b"), ended("c", "d")], []),
        ([ended("a"), ended(part=PARTS["build-release"], failed=1)], []),
        ([ended("a"), ended("x.py", part=PARTS["tidy"])], []),
        ([ended("a", part=PARTS["fuzz"])], []),
        ([ended("a", part=PARTS["torture"])], []),
        ([ended("a"), ended(failed=1)], []),  # It crashed, or did not end.
        ([ended("a", failed=2)], []),
    ],
)
def test_at_most_three_failed_tests_are_run_again_when_nothing_else_has_failed(found, again):
    assert names(found) == again


@pytest.mark.parametrize(
    "outcomes, is_flaky, tries", [("111", True, 3), ("0", False, 1), ("10", False, 2), ("110", False, 3)]
)
def test_a_test_is_flaky_that_passes_three_times(outcomes, is_flaky, tries):
    left = list(outcomes)

    found = find_flaky([ended("a")], lambda part, test: left.pop(0) == "1")

    assert [(one.part, one.result.test) for one in found] == [("suite", "a")] * is_flaky
    assert len(outcomes) - len(left) == tries


def test_each_failed_test_is_told_apart():
    found = find_flaky([ended("a", "b", "c")], lambda part, test: test != "b")

    assert [one.result.test for one in found] == ["a", "c"]


def made(*tests):
    return [Flaky("suite", Result(test, 1.5, "failed", ("why",))) for test in tests]


@pytest.mark.parametrize(
    "tests, before, strict, reasons",
    [
        ("", {}, False, []),
        ("", {}, True, []),
        ("a", {}, False, []),
        ("ab", {("suite", "c"), ("other", "a")}, False, []),
        ("abc", {}, False, ["at most 2"]),
        ("a", {}, True, ["--all"]),
        ("ab", {("suite", "b")}, False, ["flaky before, within 10 runs, and to be fixed first: b"]),
    ],
)
def test_two_flaky_tests_are_accepted_that_were_not_flaky_before(tests, before, strict, reasons):
    found = why_refused(made(*tests), before, strict)

    assert len(found) == len(reasons)
    assert all(reason in one for reason, one in zip(reasons, found))


def test_flaky_tests_are_named_with_their_words_and_both_outcomes():
    lines = write_flaky(made("a", "b"), ["--all accepts no flaky test"])

    assert lines[:2] == ["     suite a failed in the run, then passed 3 of 3 alone:", "     | why"]
    assert lines[-2] == "     2 flaky (failed once, passed three times alone): a, b"
    assert lines[-1] == "     the run fails: --all accepts no flaky test"
    assert write_flaky([], []) == []


def test_commands_run_one_test_alone():
    again = {name: command_again(part, "x::test[a b]", "j.xml") for name, part in PARTS.items()}

    suites = {name for name, part in PARTS.items() if part.suite}
    assert {name for name, command in again.items() if command} == {*suites, "test-release", "test-asan", "test-tsan"}
    assert {tuple(again[name]) for name in suites} == {("e2e/pytest", "--junitxml", "j.xml", "x::test[a b]")}
    words = ["e2e/runner/programs.py", "test", "asan", "--only", "x::test[a b]", "--junit", "j.xml"]
    assert again["test-asan"] == words
    assert flaky.TRIES == 3 and flaky.FAILED_MAX == 3 and flaky.FLAKY_MAX == 2
