"""Tests that are marked `alone` run after all others, and with nothing beside them."""

import pathlib
import subprocess
import sys

HARNESS = pathlib.Path(__file__).resolve().parents[1] / "harness"
CONFTEST = """
import sys
sys.path.insert(0, HARNESS)
from alone import Alone

def pytest_configure(config):
    config.addinivalue_line("markers", "alone: runs alone")
    config.pluginmanager.register(Alone(config))
"""
# The marked ones come first in the file. Workers are of different speed, so that one is done before the others.
TESTS = """
import os, pathlib, pytest, time

def last(name, seconds):
    began = time.monotonic()
    time.sleep(seconds)
    pathlib.Path(f"{name}.ran").write_text(f"{began} {time.monotonic()}")

@pytest.mark.alone
@pytest.mark.parametrize("number", range(3))
def test_marked(number): last(f"marked{number}", 0.05)

@pytest.mark.parametrize("number", range(16))
def test_other(number): last(f"other{number}", 0.05 + 0.15 * int(os.environ["PYTEST_XDIST_WORKER"][2:]))
"""


def test_marked_tests_run_last_and_with_nothing_beside_them(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST.replace("HARNESS", repr(str(HARNESS))))
    (tmp_path / "test_order.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "--rootdir", tmp_path, "-n", "4", "--dist", "worksteal"]
    done = subprocess.run(
        [*command, "--junitxml=results.xml"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 0 and "19 passed" in done.stdout, done.stdout + done.stderr
    assert "@alone" not in (tmp_path / "results.xml").read_text(), "results show the mark"
    ran = {path.stem: tuple(map(float, path.read_text().split())) for path in tmp_path.glob("*.ran")}
    order = sorted(ran, key=ran.get)
    assert set(order[-3:]) == {"marked0", "marked1", "marked2"}, ran
    for at, name in enumerate(order[-3:], len(order) - 3):
        assert max(ran[before][1] for before in order[:at]) <= ran[name][0], ran
