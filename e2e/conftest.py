"""Fixtures and options of all suites. Nothing heavy is built or installed before a test asks for it."""

import contextlib
import pathlib
import resource
import subprocess
import tempfile

import pytest

E2E = pathlib.Path(__file__).resolve().parent
ROOT = E2E.parent
pytest_plugins = ["sampling"]
pytest.register_assert_rewrite("jobs")

import jobs
from alone import Alone
from server import Server

SERVER = pytest.StashKey[Server]()
STARTS = pytest.StashKey[int]()  # In the controller: starts of torch of all workers that have ended.
BEFORE = pytest.StashKey[tuple]()


def pytest_addoption(parser):
    parser.addoption("--build", default="build/release", metavar="DIR", help="build to test (default: build/release)")
    parser.addoption("--python", metavar="DIR", help="environment with PyTorch (default: what e2e/environment makes)")
    parser.addoption("--update", action="store_true", help="write what is compared, where a suite can")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Every run leaves its results, with seconds, in build/test-logs/SUITE.xml."""
    if not config.option.xmlpath and not config.option.collectonly:
        suite = next((pathlib.Path(a.split("::")[0]) for a in config.args if not a.startswith("-")), E2E)
        inside = suite.resolve().relative_to(E2E) if suite.resolve().is_relative_to(E2E) else pathlib.Path(suite.stem)
        config.option.xmlpath = str(ROOT / "build" / "test-logs" / f"{inside.parts[0] if inside.parts else 'e2e'}.xml")


def pytest_configure(config):
    config.stash[STARTS] = 0
    config.pluginmanager.register(Alone(config))


@pytest.fixture(scope="session")
def build(pytestconfig):
    """The folder of the build to test."""
    folder = (ROOT / pytestconfig.option.build).resolve()
    if not (folder / "bin" / "eidolon").exists():
        pytest.fail(f"there is no build in {folder}: run e2e/build, or name another one with --build", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def torch_python(pytestconfig):
    """The folder of the pinned Python environment with stock PyTorch, which e2e/environment makes."""
    if pytestconfig.option.python:
        return pathlib.Path(pytestconfig.option.python)
    made = subprocess.run([E2E / "environment"], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        pytest.fail("e2e/environment could not make the Python environment; see what it printed", pytrace=False)
    return pathlib.Path(made.stdout.strip())


@pytest.fixture(scope="session")
def folder():
    """A folder that is removed after the last test of this worker."""
    with contextlib.ExitStack() as stack:
        yield pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="eidolon-")))


@pytest.fixture(scope="session")
def start_server(build, torch_python, folder):
    """Starts a server whose data folder has that name, for `with`; `arguments` are those of `eidolon up`."""

    def start(name, arguments=()):
        data = folder / name
        data.mkdir(mode=0o700, exist_ok=True)
        return Server(build, torch_python, data, arguments)

    return start


@pytest.fixture(scope="session")
def server(pytestconfig, start_server):
    """A server of this worker's own."""
    with start_server("server") as running:
        pytestconfig.stash[SERVER] = running
        yield running


@pytest.fixture(scope="session")
def world(server, folder):
    """The server together with the documents of small jobs."""
    return jobs.World(server, folder)


def worked(config):
    """Starts of torch so far; processor seconds of this process, its ended children, the server and its ended jobs."""
    own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime
    server = config.stash.get(SERVER, None)
    return jobs.World.starts, seconds + (server.processor_seconds() if server else 0)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    for marker in item.iter_markers("starts"):
        jobs.World.starts += marker.args[0]
    item.stash[BEFORE] = worked(item.config)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item):
    """Records the cost of a test in its properties. The first test that uses a shared fixture carries its cost."""
    starts, seconds = (now - before for now, before in zip(worked(item.config), item.stash[BEFORE]))
    item.user_properties += [("starts_of_torch", starts), ("processor_seconds", round(seconds, 1))]


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["starts"] = jobs.World.starts


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    node.config.stash[STARTS] += getattr(node, "workeroutput", {}).get("starts", 0)


def pytest_terminal_summary(terminalreporter, config):
    if not config.option.collectonly:
        terminalreporter.write_line(f"starts of torch: {config.stash[STARTS] + jobs.World.starts}")
