"""Fixtures and options of all suites. Nothing heavy is built or installed before a test asks for it."""

import contextlib
import pathlib
import subprocess
import tempfile

import pytest

E2E = pathlib.Path(__file__).resolve().parent
ROOT = E2E.parent


def pytest_addoption(parser):
    parser.addoption("--build", default="build/release", metavar="DIR", help="build to test (default: build/release)")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Every run leaves its results, with seconds, in build/test-logs/SUITE.xml."""
    if not config.option.xmlpath and not config.option.collectonly:
        suite = next((pathlib.Path(a.split("::")[0]) for a in config.args if not a.startswith("-")), E2E)
        inside = suite.resolve().relative_to(E2E) if suite.resolve().is_relative_to(E2E) else suite
        config.option.xmlpath = str(ROOT / "build" / "test-logs" / f"{inside.parts[0] if inside.parts else 'e2e'}.xml")


@pytest.fixture(scope="session")
def build(pytestconfig):
    """The folder of the build to test."""
    folder = (ROOT / pytestconfig.option.build).resolve()
    if not (folder / "bin" / "eidolon").exists():
        pytest.fail(f"there is no build in {folder}: run e2e/build, or name another one with --build", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def torch_python():
    """The folder of the pinned Python environment with stock PyTorch, which e2e/environment makes."""
    made = subprocess.run([E2E / "environment"], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        pytest.fail("e2e/environment could not make the Python environment; see what it printed", pytrace=False)
    return pathlib.Path(made.stdout.strip())


@pytest.fixture(scope="session")
def folder():
    """A folder that is removed after the last test."""
    with contextlib.ExitStack() as stack:
        yield pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="eidolon-")))


@pytest.fixture(scope="session")
def server(build, torch_python, folder):
    """A server of this worker's own."""
    from server import Server

    data = folder / "server"
    data.mkdir(mode=0o700)
    with Server(build, torch_python, data=data) as running:
        yield running


@pytest.fixture(scope="session")
def world(server, folder):
    """What behaviours use: the server, and documents of small jobs."""
    from trial import World

    made = World(server.build, server.python_environment, folder)
    made.server = server
    return made
