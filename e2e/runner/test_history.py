"""Tests the history of every test of every run."""

import json

import pytest

from runner import history
from runner.history import History, read
from runner.results import Result


def row(test, outcome="passed", commit="a" * 40, seconds=1.0, part="behaviour", **more):
    return {"test": test, "seconds": seconds, "outcome": outcome, "commit": commit, "part": part, "date": ""} | more


def test_a_run_is_appended_beside_the_logs_and_kept_in_the_cache(tmp_path):
    for commit in ("one", "two"):
        run = History(commit, tmp_path / "logs", tmp_path / "cache")
        results = [Result("BaseTest.A", 0.251, "passed"), Result("BaseTest.B", 1, "failed")]
        run.add("test-release", results, 12, False, 0.25)
        run.add_flaky("test-release", results[1])

    lines = (tmp_path / "logs/test-history.jsonl").read_text().splitlines()
    assert len(lines) == 8
    first = json.loads(lines[0])
    assert first.pop("date")
    assert first == {
        "test": "BaseTest.A", "seconds": 0.25, "outcome": "passed", "commit": "one", "part": "test-release",
    }  # fmt: skip
    rows = read(tmp_path / "cache")
    assert [one["outcome"] for one in rows][:4] == ["passed", "failed", "failed", "flaky"]
    assert {one["commit"] for one in rows} == {"one", "two"}
    assert history.flaky_tests(rows) == {("test-release", "BaseTest.B")}
    assert history.seconds_of_tests(rows) == {"test-release": {"BaseTest.A": 0.25}}


def test_the_cache_keeps_the_newest_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(history, "RUNS_KEPT", 2)
    for date in ("2026-01-01", "2026-01-02", "2026-01-03"):
        (tmp_path / f"{date}.jsonl").write_text(json.dumps(row(date)) + "\n{half")

    History("one", tmp_path, tmp_path).forget_oldest()

    assert [one["test"] for one in read(tmp_path)] == ["2026-01-02", "2026-01-03"]
    assert [one["test"] for one in read(tmp_path, newest=1)] == ["2026-01-03"]


def test_the_newest_whole_runs_say_how_long_a_part_takes():
    rows = [row("", seconds=seconds, share=1.0) for seconds in (500, 90, 100, 110, 95, 105)]
    rows += [row("", seconds=1, share=0.25), row("", "failed", seconds=2, share=1.0), row("test_a", seconds=3)]
    rows += [row("", part="page", seconds=30, share=0.5)]

    assert history.expected_seconds(rows) == {"behaviour": 100, "page": 60}


def test_the_slowest_are_those_of_the_newest_runs():
    rows = [row("was slow", seconds=99), row("was slow", seconds=2), row("", seconds=500)]
    rows += [row(f"t{number}", seconds=number) for number in range(30)] + [row("hangs", "failed", seconds=900)]

    found = history.slowest(rows)

    assert len(found) == 20
    assert found[0] == (29, "behaviour", "t29")
    assert (2, "behaviour", "was slow") not in found


def test_a_real_failure_is_of_a_commit_that_never_passed():
    rows = [row("fixed", "failed", "bad"), row("fixed", "failed", "worse"), row("fixed", "passed", "good")]
    rows += [row("broken", "passed", "good"), row("broken", "failed", "bad")]
    rows += [row("unsteady", "failed", "good"), row("unsteady", "passed", "good")]
    rows += [row("flaky", "failed", "good"), row("flaky", "flaky", "good"), row("steady"), row("skipped", "skipped")]

    found = {one.test: one for one in history.failures(rows)}

    assert list(found) == ["fixed", "broken", "flaky", "unsteady"]
    assert (found["fixed"].count, found["fixed"].last, found["fixed"].fixed) == (2, "worse", "good")
    assert (found["broken"].count, found["broken"].fixed) == (1, None)
    assert [(found[name].count, found[name].unsteady) for name in ("flaky", "unsteady")] == [(0, 1), (0, 1)]
    text = history.write_history(rows)
    assert "fixed: failed 2 x, last at worse, passes at good" in text
    assert "broken: failed 1 x, last at bad, fails still" in text
    assert "flaky: failed and passed at one commit 1 x" in text


def test_the_readme_keeps_the_failures_that_it_has(tmp_path):
    file = tmp_path / "README.md"
    file.write_text(f"before\n{history.BEGIN}\n{history.END}\nafter\n")
    rows = [row("one", "failed", "bad"), row("one", "passed", "good"), row("two", "failed", "bad+")]

    history.write_readme(rows, file)
    history.write_readme([row("three", "failed", "c"), row("three", "passed", "d", seconds=7.25)], file)

    text = file.read_text()
    assert text.startswith("before\n") and text.endswith("after\n")
    assert "| behaviour | `one` | bad | good |" in text
    assert "| behaviour | `three` | c | d |" in text
    assert "| 7.2 | behaviour | `three` |" in text
    assert "`two`" not in text and text.count("`one`") == 1


def test_a_readme_without_its_place_is_named(tmp_path):
    (tmp_path / "README.md").write_text("no place\n")

    with pytest.raises(ValueError, match="README.md lacks"):
        history.write_readme([], tmp_path / "README.md")


def test_the_readme_of_the_project_has_the_tables():
    text = history.README.read_text()
    inside = text.partition(history.BEGIN)[2].partition(history.END)[0]

    slowest = [
        line for line in inside.splitlines() if line.startswith("| ") and line.split()[1].replace(".", "").isdigit()
    ]
    assert len(slowest) == history.ROWS
    assert "| part | test | failed at | passes at |" in inside
