"""The diagnosis of a job names the fault that its program has, and no other program's."""

import re

import pytest

# Two ranks, each step of which writes 10 GiB and adds up 1 MiB. BEFORE is run by each rank before its step.
PROGRAM = """
    import ctypes
    big = light.Rank(256 << 20)
    def write(times):
        for _ in range(times):
            big.runtime.cudaMemsetAsync(big.source, 0, ctypes.c_size_t(big.size), big.stream)
        big.runtime.cudaStreamSynchronize(big.stream)
    def allocate(times):
        pointer = ctypes.c_void_p()
        for _ in range(times):
            big.runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(1 << 20))
            big.runtime.cudaFree(pointer)
    for step in range(8):
        BEFORE
        write(40)
        rank.step(0)
"""


def diagnosed(world, before):
    """The rules that hold, and the findings by rule."""
    job = world.completed(PROGRAM.replace("BEFORE", before), ranks=2, light=True)
    prediction = job["status"]["prediction"]
    for finding in prediction["diagnosis"]:
        print(finding["sentence"])
        least = finding.get("leastSeconds")
        if least is not None:
            seconds = prediction["steadyIteration"]["seconds"]
            assert abs(finding["change"] - (least / seconds - 1)) < 1e-9 and finding["change"] < 0, finding
    report = world.eidolon("get", job["metadata"]["name"]).stdout
    labels = re.findall(r"^  (\w+) ", report, re.M)
    assert labels[:2] == ["throughput", "diagnosis"], report
    assert f"  diagnosis        {prediction['diagnosis'][0]['sentence']}\n" in report, report
    return {finding["rule"]: finding for finding in prediction["diagnosis"]}, prediction


def test_a_program_without_a_fault_is_limited_by_the_work_of_its_gpus(world):
    found, _ = diagnosed(world, "pass")
    assert set(found) == {"compute"}, found


def test_a_program_that_calls_more_than_its_gpu_computes_is_limited_by_python(world):
    found, prediction = diagnosed(world, "allocate(100)")
    assert set(found) == {"host"}, found
    host = found["host"]
    assert host["sentence"].startswith("Limited by Python: "), host
    # Without its host a step is its GPU's work.
    parts = prediction["breakdown"]
    busy = (parts["compute"] + parts["exposedCommunication"]) * prediction["steadyIteration"]["seconds"]
    assert abs(host["leastSeconds"] / busy - 1) < 1e-9, (host, parts)


def test_a_program_that_waits_for_its_data_is_limited_by_input(world):
    found, _ = diagnosed(world, "time.sleep(0.005)")
    assert set(found) == {"input"}, found
    # At least the sleep without the host's own work, which may lie in it as far as the report can distinguish them.
    work = found["input"]["evidence"]["hostWorkSeconds"]
    assert 0.005 - work <= found["input"]["costSeconds"] < 0.0051, found


def test_a_program_that_adds_up_much_is_limited_by_communication(world):
    found, prediction = diagnosed(world, "big.step(0)")
    assert set(found) == {"communication"}, found
    exposed = prediction["breakdown"]["exposedCommunication"] * prediction["steadyIteration"]["seconds"]
    assert 0.9 * exposed < found["communication"]["costSeconds"] <= exposed, (found, exposed)


def test_a_rank_that_works_more_is_named(world):
    found, _ = diagnosed(world, "write(20 if rank.rank == 1 else 0)")
    assert set(found) == {"stragglers"}, found
    slow = found["stragglers"]
    assert slow["evidence"]["slowestRank"] == 1 and slow["sentence"].startswith("Limited by rank 1: "), slow
    # A third of rank 1's work more than that of rank 0, so a sixth more than the mean.
    assert slow["change"] == pytest.approx(-1 / 6, abs=0.02), slow
