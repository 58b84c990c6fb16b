"""Searches whose points another program proposes, or whose results it brings."""

import json
import os
import pathlib
import subprocess
import sys
import time

import environments
import pytest
from test_search import Search

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIGHT = {"space": {"parts": [1, 2, 4], "gib": [1, 500]}, "constraints": ["gib < 9 or parts == 1"]}


def asked(search, *words, status=0, lines=()):
    """The answers to points of the flags, or to lines of JSON."""
    given = "".join(json.dumps(line) + "\n" for line in lines)
    words = [*words, "--lines"] if lines else words
    done = subprocess.run([*search.command(), *words], input=given, capture_output=True, text=True, timeout=300)
    assert done.returncode == status, f"eidolon search {words}: {done.returncode}: {done.stdout}{done.stderr}"
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def tuned(world):
    """Answers to a tuner's points, in their order."""
    search = Search(world, **LIGHT)
    points = [{"gib": 1, "parts": 2}, {"gib": 500, "parts": 1}, {"gib": 500, "parts": 2}, {"gib": 1, "parts": 3}]
    return search, asked(search, "ask", status=3, lines=[*points, {"gib": 1.0, "parts": 2}])


def test_each_point_of_a_tuner_is_answered_by_its_verdict(tuned):
    search, answers = tuned
    assert [answer["verdict"] for answer in answers] == ["predicted", "does not fit", "cut", "refused", "predicted"]
    first = answers[0]["objective"]
    assert first["field"] == "iterationSeconds" and first["low"] < first["value"] < first["high"], f"{first}"
    assert answers[0] == answers[4], "the same point is answered in two ways"
    assert answers[2]["why"] == "'gib < 9 or parts == 1' does not hold", f"{answers[2]}"
    assert answers[3]["why"] == "parts: 3 is none of its values, 1, 2, 4", f"{answers[3]}"
    assert search.journal() == ["gib=1 parts=2", "gib=500 parts=1"], f"{search.journal()}"


def test_a_search_goes_on_with_what_a_tuner_has_asked_and_told(tuned):
    search, answers = tuned
    told = {"iterationSeconds": 1e-6, "peakMemoryBytes": 1, "memoryCapacityBytes": 2}
    [taken] = asked(search, "tell", "--point", "gib=1", "parts=4", "--result", json.dumps(told))
    assert taken["objective"]["value"] == 1e-6 and taken["row"]["memoryHeadroom"] == 0.5, f"{taken}"
    [again] = asked(search, "ask", "--point", "parts=4", "gib=1")
    assert again == taken, "the point was predicted although its result is known"
    done = search.run("-o", "json")
    assert done.stderr.count("eidolon: point") == 1, f"only gib=1 parts=1 was open: {done.stderr}"
    answer = json.loads(done.stdout)
    assert answer["best"]["name"] == "gib=1 parts=4", f"{answer['best']}"
    rows = {row["name"]: row for row in answer["points"]}
    assert rows["gib=1 parts=2"]["iterationSeconds"] == answers[0]["objective"]["value"]
    assert "gib=1 parts=4 (told)" in search.run().stdout


def test_a_killed_session_loses_and_repeats_no_point(world):
    search = Search(world, constraints=["gib < 9"], space={"parts": [1, 2, 3, 4], "gib": [1, 2]})
    points = [{"parts": parts, "gib": gib} for parts in (4, 3, 2, 1) for gib in (2, 1)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*search.command(), "ask", "--lines"], **pipes, text=True) as first:
        first.stdin.write("".join(json.dumps(point) + "\n" for point in points))
        first.stdin.flush()
        seen = [json.loads(first.stdout.readline()) for _ in range(2)]
        time.sleep(0.2)
        first.kill()
    known = search.journal()
    answers = asked(search, "ask", lines=points)
    assert answers[:2] == seen, "an answer of the killed session is another now"
    assert 2 <= len(known) < 8 and len(search.journal()) == 8, f"{known} were known: {search.journal()}"
    assert len(set(search.journal())) == 8, "a point was predicted twice"


def test_two_sessions_at_once_predict_a_point_once(world):
    search = Search(world, **LIGHT)
    words = [*search.command(), "ask", "--point", "gib=1", "parts=1"]
    with (
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as one,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as other,
    ):
        answers = [json.loads(process.communicate(timeout=300)[0]) for process in (one, other)]
    assert answers[0] == answers[1] and search.journal() == ["gib=1 parts=1"], f"{search.journal()}: {answers}"


def test_optuna_finds_the_point_that_the_whole_grid_finds(world):
    search = Search(world, **LIGHT)
    [packages] = environments.made("e2e/search/environment").glob("lib/python*/site-packages")
    path = f"{world.python}/bin:{world.build}/bin:{os.environ['PATH']}"
    search.command()
    tuner = subprocess.run(
        [sys.executable, ROOT / "e2e/search/tune.py", search.file, "12"],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert tuner.returncode == 0, tuner.stderr
    value, point = tuner.stdout.strip().split(" ", 1)
    asked_for = len(search.journal())
    best = json.loads(search.run("-o", "json").stdout)
    row = best["points"][0]
    assert json.loads(point) == best["best"]["point"] and float(value) == row["iterationSeconds"], tuner.stdout
    assert 1 <= asked_for <= 4 and "Trial 11 " in tuner.stderr, f"{asked_for} points: {tuner.stderr}"
