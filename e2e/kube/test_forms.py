"""Which tests a form has, and what a failed test does to the others. Needs no cluster."""

import os
import re
import subprocess
import sys

import pytest

from cluster_commands import HERE, Failure, wait
from sampling import GROUPS

FIXED = {
    "install",
    "refusals",
    "submit",
    "timelines",
    "recordings",
    "readme",
    "rest",
    "tenants",
    "deletes",
    "uninstalls",
}
NAMED = {"test_cpu_torch", "test_torture", "test_hostile"}


@pytest.fixture(autouse=True)
def standing():
    """No cluster."""


# --- which tests run -------------------------------------------------------------------
def pytest_of(*words, folder=HERE, **variables):
    """Output of pytest."""
    path = os.pathsep.join(map(str, [HERE, HERE.parent / "harness", HERE.parent]))
    words = [sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": path, "LOG": str(folder / "log")}
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.run(words, cwd=folder, env=environment, timeout=120, **piped).stdout


def collected(*words):
    """Names of the tests that would run, in order."""
    said = pytest_of("-c", HERE.parent / "pytest.ini", "--rootdir", HERE.parent, HERE, "--collect-only", "-q", *words)
    return re.findall(r"^kube/test_\w+\.py::(\S+)", said, re.M)


@pytest.fixture(scope="module")
def whole():
    return collected("--form", "whole")


@pytest.fixture(scope="module")
def short():
    """Returns the tests by group."""
    return [collected("--form", "short", "--group", group) for group in range(GROUPS)]


def test_each_test_says_what_it_asks():
    for path in HERE.glob("test_*.py"):
        for name, sentence in re.findall(r'^def (test_\w+)\(.*\):\n    ("""\w)?', path.read_text(), re.M):
            assert sentence or path.name == "test_forms.py", name


def test_the_whole_form_has_every_test_but_those_that_run_only_when_named(whole):
    every = collected("--form", "all")
    assert set(every) - set(whole) == NAMED
    assert len(every) == len(set(every)) == len(whole) + len(NAMED)


def test_the_chart_is_removed_last(whole, short):
    for names in (whole, *short):
        assert names[-2:] == ["test_deletes", "test_uninstalls"]


def test_each_short_form_has_the_fixed_tests(short):
    for names in short:
        assert {f"test_{name}" for name in FIXED} <= {name.partition("[")[0] for name in names}


def test_the_short_forms_of_four_consecutive_commits_run_every_test(whole, short):
    assert set().union(*short) == set(whole)


def test_no_short_form_has_many_more_tests_than_others(short):
    assert max(map(len, short)) < 1.4 * min(map(len, short))


def test_a_short_form_keeps_the_order_of_the_whole_one(whole, short):
    for names in short:
        assert names == [name for name in whole if name in names]


def test_the_group_is_that_of_the_commit(short):
    chosen = collected("--form", "short")
    assert chosen == collected("--form", "short") and chosen in short


def test_steps_are_chosen_by_name_and_some_only_so():
    assert collected("--step", "rest") == ["test_rest_permissions", "test_rest_roles", "test_rest"]
    assert collected("--step", "torture") == ["test_torture"]
    assert "test_deaths[pod]" in collected("-k", "deaths")
    assert collected("-k", "hostile") == ["test_hostile"]
    assert not NAMED & set(collected())
    assert "no step is called nothing" in pytest_of(HERE, "--step", "nothing", "--collect-only")


# --- what a failed test says and does to the others ---------------------------------------------
TESTS = '''
import os
import pathlib
import conftest as kube
import pytest

kube.HERE = pathlib.Path(__file__).parent

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


def test_a_wait_in_vain_says_what_was_seen_instead():
    with pytest.raises(Failure, match="a pod is there: not within 0.01 s; seen: two jobs"):
        wait("a pod is there", lambda: [], 0.01, lambda: "two jobs")


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
