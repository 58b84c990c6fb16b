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
sys.path.insert(0, str(HERE))

import forms
from cluster_commands import CLUSTER, PATIENCE_SECONDS, Failure, apply, call, kubectl, state_of, team
from monitoring import NAMESPACE as MONITORING
from monitoring import Prometheus, make_image
from simulation_jobs import AS_USER, complete, embedded_first, iterations, leaves_nothing, light, nodes_of, submit
from standing import Cluster, missing

REPORTS, SENTENCE, OVER = pytest.StashKey(), pytest.StashKey(), pytest.StashKey()
# Of a test alone, without what it stands on: two jobs on a machine that is busy with other things.
TEST_SECONDS = 2 * PATIENCE_SECONDS
SECOND = 2  # Number of the second node.


# --- which tests, in which order -----------------------------------------------------
def pytest_addoption(parser):
    group = parser.getgroup("kubernetes")
    group.addoption(
        "--form", choices=("short", "whole", "all"), help="in a cluster of its own; short: a sample by the commit"
    )
    group.addoption(
        "--step", action="append", default=[], help="the tests of this step, in a kept cluster if there is one"
    )
    group.addoption("--keep", action="store_true", help="leave the cluster running")
    group.addoption("--queued", type=int, default=40, help="jobs of the step queue, at least 32; 200 take some minutes")
    group.addoption("--jobs", type=int, default=200, help="of the steps torture and hostile")
    group.addoption("--deaths", type=int, default=30, help="of the steps torture and hostile")
    group.addoption("--seed", type=int, default=1, help="of the steps torture and hostile")


def wanted_steps(options, arguments):
    """(a sentence about them, names of the steps to run)."""
    steps = [*forms.STEPS, *forms.NAMED]
    if unknown := sorted(set(options.step) - set(steps)):
        raise pytest.UsageError(f"no step is called {', '.join(unknown)}; there are {', '.join(steps)}")
    if options.step:
        return "", options.step
    if options.form == "short":
        sentence, chosen = forms.short_form()
        left_out = [name for name in forms.STEPS if name not in chosen]
        return f"the short form, with the sample of {sentence}; without {', '.join(left_out)}", chosen
    if options.form == "all":
        return "", steps
    asked = " ".join([options.keyword, *(name.rpartition("::")[2] for name in arguments if "::" in name)])
    return "", [*forms.STEPS, *(name for name in forms.NAMED if name in asked)]


def pytest_collection_modifyitems(config, items):
    mine = {item: step for item in items if item.path.parent == HERE and (step := forms.step_of(item.originalname))}
    config.stash[SENTENCE], steps = wanted_steps(config.option, config.args)
    only_mine = config.option.form or config.option.step
    chosen = [item for item in items if (mine[item] in steps if item in mine else not only_mine)]
    for item in mine:
        item.user_properties.append(("sentence", sentence_of(item)))
        if not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TEST_SECONDS, func_only=True))
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    # No test needs another one, but the job of submit is there for those that come later, and the chart until the last.
    order = [None, *forms.STEPS, *forms.NAMED]
    items[:] = sorted(chosen, key=lambda item: order.index(mine.get(item)))


def pytest_report_collectionfinish(config):
    return config.stash.get(SENTENCE, "")


# --- a line of each ------------------------------------------------------------------
def sentence_of(item):
    """Of the test, or of the function that it was given to try."""
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
        assert ended["status"]["phase"] == "Complete", json.dumps(ended["status"]["conditions"], indent=1)
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
