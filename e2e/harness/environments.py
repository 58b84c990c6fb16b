"""Packages of the small environments that suites have beside the one that runs the tests."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def made(program, *words):
    """Returns what a program of the tree prints that makes an environment once: its folder. It uses this Python's
    version."""
    done = subprocess.run(
        [ROOT / program, *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "EIDOLON_PYTHON": sys.executable},
    )
    if done.returncode:
        raise RuntimeError(f"{program} could not make its environment; see what it printed")
    return pathlib.Path(done.stdout.strip())


def bring(program):
    """Lets this process import what is in that environment, after what is in its own."""
    [packages] = made(program).glob("lib/python*/site-packages")
    if str(packages) not in sys.path:
        sys.path.append(str(packages))
