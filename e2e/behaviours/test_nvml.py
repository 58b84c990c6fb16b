"""NVML's sensors in virtual time: what they read of an emulated GPU is what the report says."""

import json

from jobs import expect_complete

# `mm` is a GEMM of some 1.6 ms on an H100, `read` what the sensors say. Without torch, which takes longer than a job here.
HEAD = """
    import ctypes, json, os, time, pynvml
    runtime, blas = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libcublas.so.13")
    n, memory, handle, one, zero = 8192, ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float(1), ctypes.c_float(0)
    rank = int(os.environ.get("RANK", 0))
    assert runtime.cudaSetDevice(rank) == 0
    assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(6 * n * n)) == 0
    assert blas.cublasCreate_v2(ctypes.byref(handle)) == 0
    a, b, c = (ctypes.c_void_p(memory.value + i * 2 * n * n) for i in range(3))
    def mm():
        assert blas.cublasGemmEx(handle, 0, 0, n, n, n, ctypes.byref(one), a, 14, n, b, 14, n,
                                 ctypes.byref(zero), c, 14, n, 68, -1) == 0
    pynvml.nvmlInit()
    gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    def read(gpu=gpu):
        joules, watts = pynvml.nvmlDeviceGetTotalEnergyConsumption(gpu) / 1e3, pynvml.nvmlDeviceGetPowerUsage(gpu) / 1e3
        percent = pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu
        return dict(time=time.perf_counter(), joules=joules, watts=watts, percent=percent,
                    megahertz=pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM),
                    reasons=pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu))
    def show(reading): print("read", json.dumps(reading), flush=True)
"""
STEPS = """
    show(read())
    for step in range(100):
        for _ in range(10): mm()
        runtime.cudaDeviceSynchronize()
        show(read())
        print("step", flush=True)
    time.sleep(2)
    show(read())
"""


def run(world, script, gpu="H100-SXM5-80GB", warmup=60, ranks=1, command=None, **server):
    cluster = {"servers": 1, "server": {"preset": "dgx-h100", "gpusPerServer": ranks, "gpu": gpu, **server}}
    # More iterations than there are: the program is not stopped before its end.
    command = command or ["python", "script.py"]
    options = dict(cluster=cluster, ranks=ranks, command=command, warmup=warmup, measure=5000)
    job = world.run(HEAD + script, **options)
    expect_complete(job)
    lines = [line.partition("read ")[2] for line in world.logs(job).splitlines()]
    return job, [json.loads(line) for line in lines if line]


def test_energy_over_time_is_the_mean_power_of_the_report(world):
    job, readings = run(world, STEPS)
    energy = job["status"]["prediction"]["energy"]
    assert len(readings) == 102
    first, last = readings[60], readings[100]
    watts = (last["joules"] - first["joules"]) / (last["time"] - first["time"])
    print(f"read {watts:.2f} W, mean of a second {last['watts']:.2f} W, report {energy['meanWatts']:.2f} W")
    assert 640 < watts < 700 and abs(watts / energy["meanWatts"] - 1) < 0.01
    assert abs(last["watts"] / watts - 1) < 0.01, "the last second held the same steps"


def test_clocks_and_utilization_follow_the_load(world):
    _, readings = run(world, STEPS)
    before, busy, idle = readings[0], readings[100], readings[101]
    assert before["megahertz"] == 1980 and before["percent"] == 0, f"{before}"
    # The cube root of what the limit leaves of the GEMM's draw, as in docs/timing_power.md.
    assert 1500 < busy["megahertz"] < 1900 and busy["reasons"] == 4 and busy["percent"] == 100, f"{busy}"
    assert idle["megahertz"] == 1980 and idle["reasons"] == 1 and idle["percent"] == 0, f"{idle}"
    assert 100 < idle["watts"] < 150, f"{idle}"


def test_two_runs_read_the_same(world):
    (_, first), (_, second) = run(world, STEPS), run(world, STEPS)
    assert first == second


def test_a_rank_reads_the_gpu_of_another_at_its_own_time(world):
    # Rank 1 works without pause, rank 0 a tenth of the time.
    script = """
    for step in range(20):
        for _ in range(1 if rank == 0 else 20): mm()
        runtime.cudaDeviceSynchronize()
        if rank == 0:
            time.sleep(0.015)
            show(read(pynvml.nvmlDeviceGetHandleByIndex(1)))
            print("step", flush=True)
    """
    command = ["bash", "-c", "for r in 0 1; do RANK=$r LOCAL_RANK=$r WORLD_SIZE=2 python script.py & done; wait"]
    (_, first), (_, second) = (run(world, script, ranks=2, warmup=2, command=command) for _ in range(2))
    assert first == second and len(first) == 20
    assert all(reading["percent"] > 95 for reading in first), f"{first}"
    joules = [reading["joules"] for reading in first]
    assert joules == sorted(joules)


def test_a_lower_limit_is_read_and_held(world):
    script = """
    enforced, default = pynvml.nvmlDeviceGetEnforcedPowerLimit(gpu), pynvml.nvmlDeviceGetPowerManagementDefaultLimit(gpu)
    print("limits", enforced, default, flush=True)
    """
    job, readings = run(world, script + STEPS, powerLimit=500)
    assert "limits 500000 700000" in world.logs(job)
    assert 460 < readings[99]["watts"] <= 500 and readings[99]["reasons"] == 4, f"{readings[99]}"


def test_a_gpu_whose_power_is_not_known_has_no_sensor_of_it(world):
    script = """
    for call in (pynvml.nvmlDeviceGetPowerUsage, pynvml.nvmlDeviceGetTotalEnergyConsumption):
        try: print("answered", call(gpu), flush=True)
        except pynvml.NVMLError_NotSupported: print("no sensor", flush=True)
    for step in range(5):
        mm()
        runtime.cudaDeviceSynchronize()
        print("step", pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM), flush=True)
    """
    job, _ = run(world, script, gpu="A100-SXM4-80GB", warmup=2)
    log = world.logs(job)
    assert log.count("no sensor") == 2 and "answered" not in log and "step 1410" in log, log
    assert job["status"]["prediction"].get("energy") is None
