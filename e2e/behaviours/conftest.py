"""Fixtures that only behaviours use."""

import pathlib
import subprocess

import pytest

E2E = pathlib.Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def cuda12():
    """The folder of the environment with PyTorch for CUDA 12."""
    return pathlib.Path(subprocess.run([E2E / "cuda12"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
