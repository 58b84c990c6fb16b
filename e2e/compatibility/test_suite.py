"""Tests of suites: what came of their tests, and that a run that was stopped goes on where it stopped."""

import dataclasses
import re
from unittest import mock

import pytest
import row_job
import suite
from kept import Jobs, file_for
from row_job import Ended

COMPLETE = {"phase": "Complete", "prediction": {"unknownReads": 2, "unsupportedCalls": [{"name": "cuCall"}]}}
CRASHED = {"phase": "Failed", "conditions": [{"type": "Failed", "reason": "CommandFailed", "message": "rank 0 died"}]}


@dataclasses.dataclass(frozen=True)
class Row:
    key: str = "row"
    command: tuple = ("python", suite.__file__)
    gpus: int = 2
    chunk: int = 2
    topic: str = "all"
    suite: bool = True


def test_the_usual_iteration_is_that_of_those_that_repeat():
    evaluates, saves = 164e9, 180e9
    alike = [97.9e9, 98.1e9, 98e9, 98.2e9, 97.8e9]
    assert row_job.usual_seconds([evaluates, *alike, saves, evaluates]) == pytest.approx(0.098)
    assert row_job.usual_seconds([2e9]) == pytest.approx(0.002)


def test_of_iterations_of_several_kinds_none_is_usual():
    plain, half, quarter = 48 * [0.41e9], 24 * [0.62e9], 24 * [0.83e9]
    assert row_job.usual_seconds([*plain, *half, *quarter]) is None
    assert row_job.usual_seconds([*plain, 0.42e9, *half]) == pytest.approx(0.41e-3)
    shown = row_job.headline(
        {
            "measuredIterations": 96,
            "iterationPicoseconds": [*plain, *half, *quarter],
            "steadyIteration": {"seconds": 0.41e-3, "alike": 48},
        }
    )
    assert "deviation" not in shown and shown["alike"] == 48


def test_a_headline_that_is_a_mean_over_evaluations_deviates():
    iterations = [164_000_000_000, *8 * [100_000_000_000]]
    prediction = {"measuredIterations": 9, "iterationPicoseconds": iterations}
    for seconds, deviation in ((0.1, 0), (sum(iterations) / 9e12, 0.071)):
        shown = row_job.headline(prediction | {"steadyIteration": {"seconds": seconds, "alike": 8}})
        assert shown["deviation"] == pytest.approx(deviation, abs=1e-3)


def test_a_derived_amount_is_that_of_the_programs_source_or_missing():
    row = mock.Mock(amount="8 samples")
    derived = {"headline": {"unit": "samples", "perIteration": 8.0}}
    silent = {"headline": {"unit": "iterations", "perIteration": 1}}
    assert row_job.wrong_amount(row, derived, None) is None
    assert row_job.wrong_amount(row, silent, None) is None
    assert row_job.wrong_amount(row, silent, silent) is None
    assert row_job.wrong_amount(row, silent, derived) == "samples are derived no more"
    wrong = {"headline": {"unit": "samples", "perIteration": 3200}}
    assert row_job.wrong_amount(row, wrong, derived) == "3200 samples are derived, not 8 samples"
    assert row_job.wrong_amount(row, {"headline": {"unit": "tokens", "perIteration": 8}}, None)
    assert row_job.wrong_amount(mock.Mock(amount=""), wrong, None) is None


class Stopped(Exception):
    pass


def test_a_test_that_ends_its_job_is_wrong_and_those_behind_it_are_left_for_the_next():
    words = "begins: a\npasses: a\nbegins: b\nRuntimeError: no such thing\n"
    assert suite.verdicts(Ended(CRASHED, words, "", 1.0), ["a", "b", "c"]) == {
        "a": ("passes", ""),
        "b": ("wrong", "RuntimeError: no such thing"),
    }


def test_a_test_cut_short_without_a_word_is_tried_again_first_in_its_job():
    words = "begins: a\npasses: a\nbegins: b\n"
    assert suite.verdicts(Ended(CRASHED, words, "", 1.0), ["a", "b"]) == {"a": ("passes", "")}
    [(name, (kind, _))] = suite.verdicts(Ended(CRASHED, "begins: b\n", "", 1.0), ["b"]).items()
    assert (name, kind) == ("b", "wrong")


class TestGoingOn:
    @pytest.fixture(autouse=True)
    def place(self, tmp_path):
        self.folder, self.jobs = tmp_path, []

    def run_until(self, stopped_at, kept, folder, seconds=float("inf")):
        """Runs a suite of five tests until the job that has the test `stopped_at` is begun."""

        def run(_eidolon, _main, _packages, _row, command, _folder):
            names = [word for word in command[2:] if word != "--list"]
            if command[2] == "--list":
                return Ended(COMPLETE, "".join(f"test: {name}\n" for name in "abcde"), "", 1.0)
            if stopped_at in names:
                raise Stopped
            self.jobs.append(names)
            return Ended(COMPLETE, "".join(f"begins: {name}\npasses: {name}\n" for name in names), "", 1.0)

        with mock.patch.object(suite, "run", run):
            row = Row()
            world = ("eidolon", "m", "p", row, row.command, self.folder / folder)
            return suite.run_suite(*world, kept, lambda _: None, seconds)

    def test_runs_only_the_tests_that_had_not_ended_and_counts_them_all(self):
        path = self.folder / "jobs.jsonl"
        with pytest.raises(Stopped):
            self.run_until("c", Jobs(path, anew=True), "one")
        ended = self.run_until(None, Jobs(path, anew=False), "two")
        assert self.jobs == [["a", "b"], ["c", "d"], ["e"]]
        assert re.findall(r"^passes: (\w)$", ended.words, re.M) == list("abcde")
        assert ended.wall == 3.0
        assert ended.status["prediction"] == {"unknownReads": 6, "unsupportedCalls": [{"name": "cuCall"}]}

    def test_a_run_anew_runs_them_all(self):
        path = self.folder / "jobs.jsonl"
        self.run_until(None, Jobs(path, anew=True), "one")
        self.run_until(None, Jobs(path, anew=True), "two")
        assert self.jobs == 2 * [["a", "b"], ["c", "d"], ["e"]]

    def test_says_which_tests_were_left_when_its_time_was_over(self):
        path = self.folder / "jobs.jsonl"
        with pytest.raises(Stopped):
            self.run_until("e", Jobs(path, anew=True), "one")
        ended = self.run_until(None, Jobs(path, anew=False), "two", seconds=0)
        assert re.findall(r"^(\w+): (\w)", ended.words, re.M) == [*(("passes", n) for n in "abcd"), ("left", "e")]
        result = row_job.judged(Row(), ended)
        assert (result["passed"], result["total"], result["left"]) == (4, 4, 1)

    def test_other_binaries_have_another_file(self):
        build, main = self.folder / "build", self.folder / "main"
        (build / "bin").mkdir(parents=True)
        (build / "bin/eidolon").write_text("one")
        before = file_for(Row(), build, main, main)
        assert file_for(Row(), build, main, main) == before
        (build / "bin/eidolon").write_text("two")
        assert file_for(Row(), build, main, main) != before
