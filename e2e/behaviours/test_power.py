"""Clocks under power: a GPU that computes without pause slows down, and tells what it draws."""

import re

from jobs import expect_failed, lines_of
from server import verdict

# A step of some 30 ms: forward and backward passes of GEMMs that fill the GPU, then an optimizer.
STEP = """
    import torch
    kind = {"bias": False, "device": "cuda", "dtype": torch.bfloat16}
    model = torch.nn.Sequential(*[torch.nn.Linear(8192, 8192, **kind) for _ in range(8)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    batch = torch.ones(4096, 8192, device="cuda", dtype=torch.bfloat16)
    for step in range(10):
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        {pause}
"""


def run(world, pause="", gpu="H100-SXM5-80GB", **server):
    cluster = {"servers": 1, "server": {"preset": "dgx-h100", "gpusPerServer": 1, "gpu": gpu, **server}}
    return world.run(STEP.replace("{pause}", pause), cluster=cluster, warmup=5)


def gemm_seconds(job):
    assert verdict(job)["type"] == "Complete", f"{verdict(job)}"
    return sum(kernel["seconds"] for kernel in job["status"]["prediction"]["kernels"] if kernel["family"] == "gemm")


def test_gemms_slow_down_with_load_and_with_the_limit(world):
    busy, limited, paused = run(world), run(world, powerLimit=500), run(world, pause="import time; time.sleep(0.2)")
    at_700, at_500, in_bursts = gemm_seconds(busy), gemm_seconds(limited), gemm_seconds(paused)
    assert 1.05 * in_bursts < at_700 < 1.2 * in_bursts, f"busy {at_700}, in bursts {in_bursts}"
    # The cube root of the room above the floor, 565 and 367 W.
    assert 1.12 * at_700 < at_500 < 1.17 * at_700, f"500 W {at_500}, 700 W {at_700}"
    drawn = [job["status"]["prediction"]["energy"] for job in (busy, limited, paused)]
    assert 640 < drawn[0]["peakWatts"] <= 692 and 480 < drawn[1]["peakWatts"] <= 495, f"{drawn}"
    assert drawn[0]["meanWatts"] <= drawn[0]["peakWatts"] and drawn[2]["meanWatts"] < 300, f"{drawn}"
    # Slower clocks need less for the same work.
    assert drawn[1]["joules"] < drawn[0]["joules"], f"{drawn}"
    report = world.eidolon("get", limited["metadata"]["name"]).stdout
    assert re.search(r"energy +[\d.]+ J an iteration +4\d\d W a GPU, peak 4\d\d W", report), report
    assert "limited to 500 W" in report, report


def test_two_runs_under_the_limit_are_equal(world):
    first, second = (world.event_logs(run(world, powerLimit=400)) for _ in range(2))
    assert lines_of(first) == lines_of(second)


def test_a_gpu_whose_power_is_not_known_refuses_a_limit(world):
    expect_failed(run(world, gpu="A100-SXM4-80GB", powerLimit=300), "CommandFailed", "server.powerLimit")
