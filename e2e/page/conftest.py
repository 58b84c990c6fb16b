"""A browser, a server, and the jobs and sweeps that its page shows: each is made once, when a test first asks for it."""

import json
import pathlib
import shutil
import signal
import sqlite3
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "dashboards")]

from browser import Browser, fill_in, launched, submit
from page_jobs import GPUS, LOOP, STEPS, completed, create, job_spec, loop_spec

COPIES = 999  # With that job as many as a server keeps of finished ones.
FOLLOWED_MS = 300_000  # At most, beside other work on the machine.
ITERATIONS, PEAK = 10_000, 6543


def pytest_addoption(parser):
    parser.addoption("--pictures", metavar="DIR", help="keep a picture of each view of the page there")


@pytest.fixture(scope="session")
def pictures(pytestconfig):
    chosen = pytestconfig.getoption("pictures", None)
    if chosen:
        (ROOT / chosen).mkdir(parents=True, exist_ok=True)
    return ROOT / chosen if chosen else None


@pytest.fixture(scope="session")
def chromium():
    if not shutil.which("chromium"):
        pytest.fail("chromium is missing: run e2e/packages --tests", pytrace=False)
    with launched() as running:
        yield running


@pytest.fixture(scope="session")
def page_server(start_server):
    """Holds jobs of several tests, none of which counts the jobs."""
    with start_server("page") as running:
        yield running


@pytest.fixture
def browser(chromium, page_server, pictures):
    """Opens the browser of one test."""
    with Browser(chromium, page_server, pictures) as tabs:
        yield tabs


@pytest.fixture
def reader(chromium, pictures):
    """A browser of one test that shows files, without any server."""
    with Browser(chromium, None, pictures) as tabs:
        yield tabs


@pytest.fixture(scope="session")
def by_form(chromium, page_server, pictures, folder):
    """The browser with the tab that submitted the job "by-form" and followed it to its end."""
    spec = job_spec(folder, LOOP)
    with Browser(chromium, page_server, pictures) as tabs:
        tabs.followed = tab = tabs.tab("/submit")
        fill_in(tab, name="by-form", preset="", gpu=GPUS[0], gpus="2", directory=spec["code"]["directory"])
        fill_in(tab, tokens="8192", command="torchrun script.py")
        submit(tab, "h1:text-is('by-form')")
        tab.wait_for_selector(".job .tag.phase-complete", timeout=FOLLOWED_MS)
        tabs.expect_no_trouble()
        yield tabs


@pytest.fixture(scope="session")
def job(by_form):
    """The job that the form submitted."""
    return by_form.server.get("by-form")


@pytest.fixture(scope="session")
def traced(page_server, folder):
    """A job with a timeline and a recording."""
    kept = {"timeline": {"iterations": 1}, "recording": True}
    return completed(page_server, "traced", loop_spec(folder, measure=2, outputs=kept))


@pytest.fixture(scope="session")
def changed(page_server, folder):
    """A job with less work than "by-form"; the name of its program is markup, and stands in sentences about it."""
    script = LOOP.replace("8192, 4096", "2048, 4096")
    return completed(page_server, "changed", loop_spec(folder, script, file="<img src=x onerror=alert(7)>.py"))


@pytest.fixture(scope="session")
def by_form_sweep(chromium, page_server, pictures, folder):
    """The browser with the tab that submitted the sweep "swept" and followed it to its end."""
    spec = job_spec(folder, STEPS)
    with Browser(chromium, page_server, pictures) as tabs:
        tabs.followed = tab = tabs.tab("/submit?kind=sweep", "#field-kind")
        fill_in(tab, name="swept", preset="", gpu=GPUS[0], gpus="1", directory=spec["code"]["directory"])
        fill_in(tab, command="python script.py", tokens="4096", warmup="2", measure="3")
        matrix = f"cluster.server.gpu: [{GPUS[0]}, {GPUS[1]}]"
        written = tab.input_value("#document")
        assert matrix in written and "kind: SimulationSweep" in written, written
        price = f"  price: {{{GPUS[0]}: 2.5, {GPUS[1]}: 6}}\n  currency: EUR\n"
        tab.fill("#document", written.replace(matrix, f"{matrix}\n    replay.hostFactor: [1, 0.5]") + price)
        submit(tab, "h1:text-is('swept')")
        tab.wait_for_selector(".job-head .tag.phase-complete", timeout=FOLLOWED_MS)
        tabs.expect_no_trouble()
        yield tabs


@pytest.fixture(scope="session")
def points(by_form_sweep):
    """Returns the points of the sweep that the form submitted."""
    path = "/api/v1/namespaces/default/simulationsweeps/swept"
    return by_form_sweep.server.request("GET", path)[1]["status"]["points"]


@pytest.fixture(scope="session")
def cluster(page_server):
    """A cluster that is kept by name."""
    spec = {"servers": 16, "server": {"preset": "dgx-h100"}}
    create(page_server, "/api/v1/namespaces/default/simulatedclusters", "pod", spec, None, "SimulatedCluster")


def copied_store(page_server, data):
    """Copies the store with the job "by-form" alone."""
    data.mkdir(mode=0o700)
    # The server holds its store for itself: while it stands still the files are as a crash would leave them.
    page_server.process.send_signal(signal.SIGSTOP)
    for file in page_server.store.glob("*.db*"):
        shutil.copy(file, data)
    page_server.process.send_signal(signal.SIGCONT)
    to = sqlite3.connect(next(data.glob("*.db")))
    with to:
        for table in ("sweeps", "requests"):
            to.execute(f"DELETE FROM {table}")
        to.execute("DELETE FROM jobs WHERE name != 'by-form'")
        # The store becomes one of version 2, whose rows get checksums when a server opens it: those that follow are not
        # damaged then.
        for table in ("jobs", "requests", "clusters", "sweeps"):
            for _, column, *_ in to.execute(f"PRAGMA table_info({table})").fetchall():
                if column.endswith("checksum"):
                    to.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        to.execute("PRAGMA user_version = 2")
    return to


@pytest.fixture(scope="session")
def crowded_server(job, page_server, start_server, folder):
    """A server with that job, a thousand copies of it, and nothing else."""
    to = copied_store(page_server, folder / "crowded")
    with to:
        columns = "namespace, created_unix_ns, version, status"
        *row, text = to.execute(f"SELECT {columns}, document FROM jobs").fetchone()
        for i in range(COPIES):
            copy = json.loads(text)
            copy["metadata"]["name"] = f"many-{i}"
            words = [*row, f"many-{i}", json.dumps(copy)]
            to.execute(f"INSERT INTO jobs ({columns}, name, document) VALUES (?, ?, ?, ?, ?, ?)", words)
    to.close()
    with start_server("crowded") as running:
        yield running


@pytest.fixture(scope="session")
def long_server(job, page_server, start_server, folder):
    """A server with that job alone, as if 10,000 iterations had been measured, of which one has a peak."""
    to = copied_store(page_server, folder / "long")
    with to:
        (text,) = to.execute("SELECT status FROM jobs").fetchone()
        status = json.loads(text)
        prediction = status["prediction"]
        first = prediction["iterationPicoseconds"][0]
        times = [first + i % 7 * first // 1000 for i in range(ITERATIONS)]
        times[PEAK] = 3 * first
        prediction.update(iterationPicoseconds=times, measuredIterations=ITERATIONS)
        to.execute("UPDATE jobs SET status = ?", [json.dumps(status)])
    to.close()
    with start_server("long") as running:
        yield running


@pytest.fixture
def crowded(chromium, crowded_server, pictures):
    """A browser of one test, on the page of that server."""
    with Browser(chromium, crowded_server, pictures) as tabs:
        yield tabs
