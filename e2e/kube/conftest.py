"""Kubernetes: which tests run, the line that each prints, and what they stand on.

A test prints one line, its name, seconds and docstring, and below it what it found, or why it failed.
"""

import contextlib
import itertools
import json
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from cluster_commands import CLUSTER, PATIENCE_SECONDS, Failure, apply, call, kubectl, state_of, team
from monitoring import NAMESPACE as MONITORING
from monitoring import Prometheus, make_image
from simulation_jobs import AS_USER, complete, embedded_first, iterations, leaves_nothing, light, nodes_of, submit
from runner.change import Git
from sampling import GROUPS, group_of
from standing import Cluster, missing

REPORTS, OVER = pytest.StashKey(), pytest.StashKey()
# Time of a test alone, without what it stands on: two jobs on a machine that is busy with other things.
TEST_SECONDS = 2 * PATIENCE_SECONDS
SECOND = 2  # Number of the second node.


# --- which tests, in which order -----------------------------------------------------
def pytest_addoption(parser):
    group = parser.getgroup("kubernetes")
    forms = ("short", "whole", "all")
    group.addoption("--form", choices=forms, help="in a cluster of its own; short: those marked fixed, and a sample")
    group.addoption("--group", type=int, choices=range(GROUPS), help="of the sample; by default the commit's")
    group.addoption("--step", action="append", default=[], help="test_STEP and test_STEP_*, in a kept cluster if any")
    group.addoption("--keep", action="store_true", help="leave the cluster running")
    group.addoption("--queued", type=int, default=40, help="jobs of the step queue, at least 32; 200 take some minutes")
    group.addoption("--jobs", type=int, default=200, help="of the steps torture and hostile")
    group.addoption("--deaths", type=int, default=30, help="of the steps torture and hostile")
    group.addoption("--seed", type=int, default=1, help="of the steps torture and hostile")


def group_of_commit():
    """Returns the group of the commit's number on the first-parent line, as of e2e/test; of a shallow clone the
    number is not known."""
    git = Git()
    counting = git.counting()
    return (len(counting) - 1) % GROUPS if counting else group_of(git.head() or "")


def is_wanted(item, config):
    """Returns whether one of our tests runs."""
    options, is_named = config.option, item.get_closest_marker("named")
    if options.step:
        return any(f"{item.originalname}_".startswith(f"test_{step}_") for step in options.step)
    if options.form == "all":
        return True
    if options.form:
        sampled = options.form == "whole" or group_of(item.nodeid) == options.group
        return not is_named and bool(sampled or item.get_closest_marker("fixed"))
    asked = " ".join([options.keyword, *(name.rpartition("::")[2] for name in config.args if "::" in name)])
    return not is_named or item.originalname.removeprefix("test_") in asked


def pytest_collection_modifyitems(config, items):
    options = config.option
    if options.form == "short" and options.group is None:
        options.group = group_of_commit()
    mine = {item for item in items if item.path.parent == HERE and item.path.name != "test_forms.py"}
    others = not (options.form or options.step)
    chosen = [item for item in items if (is_wanted(item, config) if item in mine else others)]
    if options.step and not chosen:
        raise pytest.UsageError(f"no step is called {', '.join(options.step)}; --list shows the tests of all")
    for item in mine:
        item.user_properties.append(("sentence", sentence_of(item)))
        if not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TEST_SECONDS, func_only=True))
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    # No test needs another one, but some take away what they all stand on.
    place = lambda marker: marker.args[0] if marker else 0
    items[:] = sorted(chosen, key=lambda item: place(item.get_closest_marker("last")))


def pytest_report_collectionfinish(config):
    return f"the short form, with group {config.option.group} of {GROUPS}" if config.option.form == "short" else ""


# --- a line of each ------------------------------------------------------------------
def sentence_of(item):
    """Returns the sentence of the test, or of the function that it was given to try."""
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    words = next((what.__doc__ for what in given if callable(what)), item.function.__doc__)
    return " ".join((words or "").split("\n\n")[0].split())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    item.stash.setdefault(REPORTS, []).append(report)
    return report


def pytest_report_teststatus(report, config):
    """The line of a test: its seconds, its sentence, and below it what it found, or first why it failed."""
    sentence = dict(report.user_properties).get("sentence")
    if sentence is None or report.skipped or (report.passed and report.when != "call") or OVER in config.stash:
        return None
    found = report.capstdout.rstrip().splitlines() if report.passed else [reason_of(report)]
    lines = "\n     ".join([f"{report.duration:6.1f} s  {sentence}", *found])
    if report.passed:
        return "passed", ".", f"PASSED {lines}"
    return ("failed", "F", f"FAILED {lines}") if report.when == "call" else ("error", "E", f"ERROR {lines}")


def pytest_sessionfinish(session):
    session.config.stash[OVER] = True  # pytest's own summary names failed tests by its own words.


def pytest_terminal_summary(terminalreporter):
    for report in [*terminalreporter.stats.get("failed", ()), *terminalreporter.stats.get("error", ())]:
        if hasattr(report, "duration"):
            line = f"failed after {report.duration:.1f} s: {report.nodeid}: {reason_of(report)}"
            terminalreporter.write_line(line)


def reason_of(report):
    """The first line of what a failed test expected and saw."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return (crash.message if crash else str(report.longrepr)).strip().partition("\n")[0]


# --- what tests stand on -------------------------------------------------------------
@pytest.fixture(scope="session")
def cluster(request, pytestconfig, build):
    """The test's Kubernetes with the chart. Without --form one that was kept is used, and stays."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    made = Cluster(build, capture.global_and_fixture_disabled)
    kept = not pytestconfig.option.form and made.is_there()
    with contextlib.ExitStack() as stack:
        try:
            if reason := missing():
                raise Failure(reason)
            if not kept:
                made.refuse_another()
                if not pytestconfig.option.keep:
                    stack.callback(made.stop)
                made.start()
            made.bring()
        except Exception:
            request.session.shouldfail = "without the cluster no test runs"
            raise
        yield made


@pytest.fixture(autouse=True)
def standing(request, cluster):
    """Before each test the release, the team's cluster and code are there; a failed test leaves nothing to the next."""
    cluster.bring()
    yield
    if any(report.failed for report in request.node.stash.get(REPORTS, [])):
        cluster.tidy()


@pytest.fixture
def first(standing):
    """The status of the job `first`, which runs now if nobody has run it."""
    said = team("get", "simjob", "first", "--ignore-not-found", "-o", "json", check=False)
    status = json.loads(said).get("status", {}) if said.strip() else {}
    return status if status.get("phase") == "Complete" and "timeline" in status else submit()


@pytest.fixture(scope="session")
def undisturbed(cluster):
    """Iterations of a light job to which nothing happens, on one node."""
    cluster.bring()
    apply(light("undisturbed", podTemplate={**AS_USER, "nodeSelector": {"kubernetes.io/hostname": "node-1"}}))
    status = complete("undisturbed", attempts=[1])
    assert nodes_of("undisturbed") == [1]
    leaves_nothing("undisturbed")
    return iterations(status)


@pytest.fixture(scope="session")
def embedded(server):
    """Runs a job in embedded mode, to its completion."""

    numbers = itertools.count()

    def run(job):
        job["metadata"]["name"] = f"embedded-{next(numbers)}"
        ended = server.run(json.dumps(job), seconds=PATIENCE_SECONDS)
        assert ended["status"]["phase"] == "Complete", json.dumps(ended["status"]["conditions"])
        return ended

    return run


@pytest.fixture(scope="session")
def first_embedded(embedded):
    """The job `first` after its run in embedded mode."""
    return embedded(embedded_first())


@pytest.fixture
def second_node(cluster):
    """A second node takes pods meanwhile. It has no images of frameworks, so that other tests stay on the first."""
    if not (state_of(SECOND) / "run/holder.pid").exists():
        call(CLUSTER / "add_node.sh", SECOND, *cluster.archives("services", "injection"), timeout=600)
    kubectl("uncordon", f"node-{SECOND}")
    yield SECOND
    kubectl("cordon", f"node-{SECOND}")


@pytest.fixture(scope="module")
def prometheus(cluster):
    """The Prometheus of the cluster, built and started where there is none."""
    cluster.bring()
    if not kubectl("get", "pod", "prometheus", "-n", MONITORING, "--ignore-not-found"):
        cluster.build_programs()
        make_image(cluster.cache, cluster.images)
        cluster.load("prometheus")
        Prometheus.start()
    return Prometheus()


@pytest.fixture(scope="module")
def tenants(cluster):
    """Two tenants of the cluster, with a namespace each."""
    from tenants import BLUE, RED, Tenants

    cluster.bring()
    made = Tenants()
    cluster.lasting |= {BLUE, RED}
    try:
        made.come()
        yield made
    finally:
        made.go()
        cluster.lasting -= {BLUE, RED}
