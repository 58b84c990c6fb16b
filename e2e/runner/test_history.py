"""What became of every test of every run."""

import json
import subprocess
import sys

import pytest

from runner import history
from runner.history import History, read, read_junit, read_log

CTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux-g++" tests="4" failures="1" disabled="1" skipped="1">
  <testcase name="BaseTest.A" classname="BaseTest.A" time="0.25" status="run"/>
  <testcase name="BaseTest.B" classname="BaseTest.B" time="1.5" status="fail"><failure message="Failed"/></testcase>
  <testcase name="BaseTest.C" classname="BaseTest.C" time="0" status="notrun"><skipped message="SKIP"/></testcase>
  <testcase name="BaseTest.D" classname="BaseTest.D" time="0" status="disabled"/>
</testsuite>
"""


def row(test, outcome="passed", commit="a" * 40, seconds=1.0, part="behaviour", **more):
    return {"test": test, "seconds": seconds, "outcome": outcome, "commit": commit, "part": part, "date": ""} | more


def test_results_of_ctest_are_read(tmp_path):
    (tmp_path / "a.xml").write_text(CTEST)

    assert read_junit(tmp_path / "a.xml") == [
        ("BaseTest.A", 0.25, "passed"),
        ("BaseTest.B", 1.5, "failed"),
        ("BaseTest.C", 0, "skipped"),
        ("BaseTest.D", 0, "skipped"),
    ]


def test_results_of_pytest_have_the_names_by_which_it_takes_tests(tmp_path):
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite/test_some.py").write_text(
        "import pytest\n"
        "class TestOne:\n    def test_in_a_class(self): pass\n"
        "@pytest.mark.parametrize('a', ['x y', 'b'])\ndef test_rows(a): assert a == 'b'\n"
        "@pytest.fixture\ndef broken(): raise OSError\n"
        "def test_stands_on_it(broken): pass\n"
        "def test_skips(): pytest.skip('no')\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\njunit_family = xunit1\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", "out.xml", "suite"]
    subprocess.run(command, cwd=tmp_path, stdout=subprocess.DEVNULL)

    found = {name: outcome for name, _, outcome in read_junit(tmp_path / "out.xml")}

    assert found == {
        "suite/test_some.py::TestOne::test_in_a_class": "passed",
        "suite/test_some.py::test_rows[x y]": "failed",
        "suite/test_some.py::test_rows[b]": "passed",
        "suite/test_some.py::test_stands_on_it": "failed",
        "suite/test_some.py::test_skips": "skipped",
    }
    again = subprocess.run([*command, *found], cwd=tmp_path, stdout=subprocess.DEVNULL)
    assert again.returncode == 1


def test_results_of_our_own_runners_are_read():
    text = """\
ok   ddp                         5.1 s wall  0.006 s predicted
     a word of ours in 3.0 s
FAIL README.md: no such file
skip foreign_images
ok   docs/kubernetes.md  4.3 s
"""
    assert read_log(text) == [
        ("ddp", 5.1, "passed"),
        ("README.md", 0, "failed"),
        ("foreign_images", 0, "skipped"),
        ("docs/kubernetes.md", 4.3, "passed"),
    ]


def test_a_file_that_is_not_whole_has_no_results(tmp_path):
    (tmp_path / "a.xml").write_text(CTEST[:200])

    assert read_junit(tmp_path / "a.xml") == []
    assert read_junit(tmp_path / "none.xml") == []


def test_a_run_is_appended_beside_the_logs_and_kept_in_the_cache(tmp_path):
    for commit in ("one", "two"):
        run = History(commit, tmp_path / "logs", tmp_path / "cache")
        results = [("BaseTest.A", 0.251, "passed"), ("BaseTest.B", 1, "failed")]
        run.add("test-release", results, 12, False, 0.25, flaky=["BaseTest.B"])

    lines = (tmp_path / "logs/test-history.jsonl").read_text().splitlines()
    assert len(lines) == 6
    first = json.loads(lines[0])
    assert first.pop("date")
    assert first == {
        "test": "BaseTest.A", "seconds": 0.25, "outcome": "passed", "commit": "one", "part": "test-release",
    }  # fmt: skip
    assert [one["outcome"] for one in read(tmp_path / "cache")][:3] == ["passed", "flaky", "failed"]
    assert {one["commit"] for one in read(tmp_path / "cache")} == {"one", "two"}


def test_the_cache_keeps_the_newest_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(history, "RUNS_KEPT", 2)
    for date in ("2026-01-01", "2026-01-02", "2026-01-03"):
        (tmp_path / f"{date}.jsonl").write_text(json.dumps(row(date)) + "\n{half")

    History("one", tmp_path, tmp_path).forget_oldest()

    assert [one["test"] for one in read(tmp_path)] == ["2026-01-02", "2026-01-03"]


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
    rows += [row("flaky", "flaky", "good"), row("steady"), row("skipped", "skipped")]

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
