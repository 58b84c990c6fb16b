"""`eidolon bench` as users call it: every figure is measured, and what must hold on any machine holds. Speeds
and megabytes are not compared with their goals here: other work on the machine, or its kernel, would decide the
test."""

import json
import subprocess

import pytest

# Counted, not timed, and without what the kernel chooses: the same on every machine.
COUNTED = ("torch.residentOfStock", "memory.growth", "replay.differences", "timeline.megabytes")

# One run's cost over another's: where there is next to none, other work on the machine may make it negative.
COMPARED = ("values.lazyAdd", "values.eagerAdd", "values.largeStep")


@pytest.fixture
def bench(build):
    def run(*arguments):
        command = [build / "bin/eidolon", "bench", "--quick", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=500)

    return run


def test_every_figure_is_measured(bench, torch_python):
    result = bench("--python", torch_python / "bin/python", "-o", "json")
    assert result.returncode == 0, result.stderr
    figures = {figure["key"]: figure for figure in json.loads(result.stdout)["figures"]}
    assert len(figures) >= 20
    for key, figure in figures.items():
        assert "value" in figure, f"{key}: {figure}"
        if key not in COMPARED:
            assert figure["value"] >= 0, f"{key}: {figure}"
        print(f"{key}: {figure['value']:.6g} {figure['unit']}", flush=True)
    for key in COUNTED:
        assert figures[key]["met"], figures[key]
    assert figures["shim.laterIndex"]["value"] < figures["shim.firstIndex"]["value"]


def test_without_torch_the_table_says_so_and_a_check_fails(bench):
    result = bench("--python", "no-such-python", "--check")
    assert result.returncode == 1, result.stderr
    lines = [line for line in result.stdout.splitlines() if line.startswith("stock torch")]
    assert len(lines) == 2, result.stdout
    for line in lines:
        assert "not measured" in line
        assert "no-such-python" in line
