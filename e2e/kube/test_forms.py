"""Which steps a form has, and what a failed test does to the others. Needs no cluster."""

import os
import re
import subprocess
import sys

import pytest

import forms
from cluster_commands import HERE

HANDFUL = 2 * forms.GROUPS - 1
MINUTES_MAX = 8


@pytest.fixture(autouse=True)
def standing():
    """No cluster."""


# --- forms ---------------------------------------------------------------------------
def test_each_test_belongs_to_a_step_and_each_step_has_one():
    files = [path for path in HERE.glob("test_*.py") if path.name != "test_forms.py"]
    found = [name for path in files for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)]
    steps = [*forms.STEPS, *forms.NAMED]
    assert {forms.step_of(name) for name in found} == set(steps)
    assert len(steps) == len(set(steps)) and len(found) == len(set(found))


def test_each_test_says_what_it_asks():
    for path in HERE.glob("test_*.py"):
        for name, sentence in re.findall(r'^def (test_\w+)\(.*\):\n    ("""\w)?', path.read_text(), re.M):
            assert sentence or path.name == "test_forms.py", name


def test_each_sampled_step_is_in_one_group():
    assert sorted(name for group in forms.groups() for name in group) == sorted(forms.SAMPLED)


def test_a_handful_of_consecutive_commits_runs_every_step():
    hashes = [f"{number // forms.GROUPS:040x}" for number in range(400)]
    chosen = [forms.group_of(number, block) for number, block in enumerate(hashes)]
    for start in range(len(chosen) - HANDFUL):
        assert set(chosen[start : start + HANDFUL]) == set(range(forms.GROUPS)), start


def test_pushes_of_several_commits_meet_every_group():
    pushed = [forms.group_of(number, f"{number // forms.GROUPS:040x}") for number in range(0, 400, forms.GROUPS)]
    assert set(pushed) == set(range(forms.GROUPS))


def test_the_sample_is_that_of_the_commit_and_bounded_in_time():
    sentence, steps = forms.short_form()
    assert (sentence, steps) == forms.short_form()
    for group in forms.groups():
        assert forms.seconds_of(group) < 60 * MINUTES_MAX, group
    sampled = [name for name in steps if name in forms.SAMPLED]
    assert sorted(sampled) in [sorted(group) for group in forms.groups()]
    assert {*forms.FIXED, *forms.LAST} <= set(steps)
    for name in sampled:
        assert name in sentence


# --- which tests run -------------------------------------------------------------------
def pytest_of(*words, folder=HERE, **variables):
    """Output of pytest."""
    path = os.pathsep.join(map(str, [HERE, HERE.parent / "harness"]))
    words = [sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": path, "LOG": str(folder / "log")}
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.run(words, cwd=folder, env=environment, timeout=120, **piped).stdout


def collected(*words):
    """Names of the tests that would run, in order."""
    said = pytest_of("-c", HERE.parent / "pytest.ini", "--rootdir", HERE.parent, HERE, "--collect-only", "-q", *words)
    return re.findall(r"^kube/test_\w+\.py::(\S+)", said, re.M)


def test_a_form_has_the_tests_of_its_steps_and_removes_the_chart_last():
    whole = collected("--form", "whole")
    assert {forms.step_of(name.partition("[")[0]) for name in whole} == set(forms.STEPS)
    assert whole[-1] == "test_uninstalls" and whole[-2] == "test_deletes"
    short = collected("--form", "short")
    assert {forms.step_of(name.partition("[")[0]) for name in short} == set(forms.short_form()[1])
    assert short == [name for name in whole if name in short]


def test_steps_are_chosen_by_name_and_some_only_so():
    assert collected("--step", "rest") == ["test_rest_permissions", "test_rest_roles", "test_rest"]
    assert collected("--step", "torture") == ["test_torture"]
    assert "test_deaths[pod]" in collected("-k", "deaths")
    assert collected("-k", "hostile") == ["test_hostile"]
    assert not {f"test_{name}" for name in forms.NAMED} & set(collected())
    assert "no step is called nothing" in pytest_of(HERE, "--step", "nothing", "--collect-only")


# --- what a failed test does to the others ---------------------------------------------
TESTS = '''
import os
import pathlib
import conftest as kube
import pytest

kube.HERE = pathlib.Path(__file__).parent
kube.forms.step_of = lambda name: "rest"

class Cluster:
    def log(self, what):
        with open(os.environ["LOG"], "a") as log:
            print(what, file=log)

    def bring(self):
        self.log("bring")

    def tidy(self):
        self.log("tidy")

if {cluster}:
    cluster = pytest.fixture(lambda: Cluster(), scope="session", name="cluster")
else:
    kube.missing = lambda: "needs root"
    build = pytest.fixture(lambda tmp_path_factory: tmp_path_factory.mktemp("build"), scope="session", name="build")

def test_fails():
    """Says what is wrong."""
    raise kube.Failure("wrong")

def test_trips():
    """Has no status."""
    return {{}}["status"]

def test_passes():
    """Stands."""
    print("found")
'''


def inner(folder, cluster, *words):
    """(output, what was asked of the cluster) of three tests, of which two fail."""
    (folder / "test_inner.py").write_text(TESTS.format(cluster=cluster))
    said = pytest_of("-p", "conftest", "test_inner.py", *words, folder=folder)
    return said, (folder / "log").read_text().split() if cluster else []


def test_a_failed_test_is_tidied_up_after_and_hides_no_other(tmp_path):
    said, log = inner(tmp_path, cluster=True)
    assert log == ["bring", "tidy", "bring", "tidy", "bring"]
    assert "2 failed, 1 passed" in said and "KeyError: 'status'" in said and "wrong" in said


def test_the_line_of_a_failed_test_has_its_seconds_its_sentence_and_the_reason(tmp_path):
    said, _ = inner(tmp_path, True, "-v")
    said = re.sub(r"\d+\.\d s", "0.0 s", said)
    lines = [line.split("  [")[0].strip() for line in said.splitlines()]
    for name, found in [
        ("test_fails FAILED    0.0 s  Says what is wrong.", "cluster_commands.Failure: wrong"),
        ("test_trips FAILED    0.0 s  Has no status.", "KeyError: 'status'"),
        ("test_passes PASSED    0.0 s  Stands.", "found"),
    ]:
        at = lines.index(f"test_inner.py::{name}")
        assert lines[at + 1] == found
    assert "failed after 0.0 s: test_inner.py::test_fails: cluster_commands.Failure: wrong" in lines
    assert any(line.startswith("FAILED test_inner.py::test_trips - KeyError") for line in lines)


def test_nothing_runs_without_the_cluster(tmp_path):
    said, _ = inner(tmp_path, cluster=False)
    assert "needs root" in said and "without the cluster no test runs" in said
    assert re.search(r"=+ 1 error in ", said), said
