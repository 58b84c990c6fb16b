"""Stock torch on emulated devices: each section of torch_program.py runs to its end in a process of its own,
with nothing refused."""

import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(__file__).with_name("torch_program.py")
SECTIONS = {
    "device_queries": ["queries"],
    "memory": ["memory", "copies", "printing"],
    "streams_and_ranges": ["streams", "ranges"],
    "training_step": ["training", "attention"],
    "convolutions": ["convolution"],
    "graphs": ["graphs"],
    "expandable_segments": ["segments"],
    "profiler": ["profiler"],
    "run_time_compiled_kernels": ["compiled_by_nvrtc"],
}


@pytest.mark.parametrize("sections", SECTIONS.values(), ids=SECTIONS)
def test_sections_run_to_their_end(sections, build, torch_python):
    agent = [build / "probes/eidolon_lone_agent", build / "lib"]
    done = subprocess.run(
        [*agent, torch_python / "bin/python", "-W", "ignore", PROGRAM, *sections],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "refused" not in done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == sections
    print(done.stdout, end="")
