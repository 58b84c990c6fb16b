"""What must hold of whole runs: determinism, clocks, failures and the messages users see."""

import json
import time

import pytest
from jobs import await_that, busy, expect_complete, expect_failed, expect_same, light_script, wait_for_line
from server import verdict

# A small data-parallel loop; DELAY is filled in by tests.
LOOP = """
    weight = torch.zeros(1024, 1024, device="cuda", requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    for step in range(10):
        loss = (torch.ones(256, 1024, device="cuda") @ weight).square().mean()
        loss.backward()
        dist.all_reduce(weight.grad)
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
        DELAY
"""


def loop(world, statement="pass", host="{kind: fixed}"):
    return world.run(LOOP.replace("DELAY", statement), ranks=2, measure=100, host=host, nccl=True)


@pytest.fixture(scope="module")
def undisturbed(world):
    return loop(world)


@pytest.mark.alone
def test_fixed_host_model_is_bit_identical_on_a_loaded_machine_and_with_delays(world, undisturbed):
    # Work of the CPU that calls nothing of the GPU costs nothing in the fixed model, however long it takes.
    delay = "sum(range(4_000_000)) if rank == 1 else None"

    def light(spin, measure):
        script = f"for step in range(10): rank.step({spin} * rank.rank)"
        return world.run(script, ranks=2, measure=measure, light=True)

    stopped, not_stopped = light(0, measure=4), light(0, measure=100)
    few, all_ = (sum(map(len, world.event_logs(job).values())) for job in (stopped, not_stopped))
    assert few < all_, "a job that is stopped after 6 of 10 iterations logs them all"
    with busy():
        expect_same(world, undisturbed, loop(world, delay))
        expect_same(world, stopped, light(4_000_000, measure=4))


def test_ranks_may_start_in_any_order(world):
    # Started one after another, ranks look for each other: they sleep between two looks, as often as the first one is
    # not there yet. The launcher's pause lasts a second of real time, asleep or at work.
    launched = """
        import os, subprocess, sys, time
        def pause():
            if os.environ["PAUSE"] == "sleep":
                for _ in range(10): time.sleep(0.1)
            else:
                end = os.times().user + 1
                while os.times().user < end: pass
        ranks = []
        for number in os.environ["ORDER"].split(","):
            environment = dict(os.environ, RANK=number, LOCAL_RANK=number, WORLD_SIZE="2")
            ranks.append(subprocess.Popen([sys.executable, "loop.py"], env=environment))
            pause()
        sys.exit(max(rank.wait() for rank in ranks))
    """
    results = []
    for order, pause in (("0,1", "sleep"), ("1,0", "sleep"), ("1,0", "work")):
        document = world.job(
            launched,
            ranks=2,
            command=["python", "script.py"],
            extra=f"env: [{{name: ORDER, value: '{order}'}}, {{name: PAUSE, value: {pause}}}]\n",
        )
        directory = world.folder / f"job{world.count}"
        (directory / "loop.py").write_text(light_script(directory, "for step in range(10): rank.step(0)"))
        results.append(world.server.run(document))
    for other in results[1:]:
        expect_same(world, results[0], other)


@pytest.mark.alone
def test_the_measured_host_model_keeps_the_gpus_work(world, undisturbed):
    predictions = {}
    for model, job in (("fixed", undisturbed), ("measured", loop(world, host="{kind: measured}"))):
        expect_complete(job)
        p = predictions[model] = job["status"]["prediction"]
        print(f"{model}: {p['iterationSeconds']['mean'] * 1e6:.1f} us, {json.dumps(p['breakdown'])}")
        assert abs(sum(p["breakdown"].values()) - 1) < 1e-6, "the shares do not add up to 1"
    # By kernels, not by shares of the time: a step that begins late on one rank makes that longer or shorter.
    kernels = {
        model: {kernel["name"]: kernel for kernel in p["kernels"] if not kernel["family"].startswith("nccl")}
        for model, p in predictions.items()
    }
    shortest, launches, seconds = (
        {model: {name: kernel[field] for name, kernel in found.items()} for model, found in kernels.items()}
        for field in ("shortestPicoseconds", "launches", "seconds")
    )
    assert len(shortest["fixed"]) >= 3, f"no kernels are listed: {shortest}"
    assert shortest["measured"] == shortest["fixed"], f"the same kernels take other times: {shortest}"
    assert launches["measured"] == launches["fixed"], f"the GPU does not do the same work: {launches}"
    # The host decides which kernels run beside collectives and are slowed down by them.
    gpu = {model: sum(found.values()) for model, found in seconds.items()}
    assert 0.9 * gpu["fixed"] < gpu["measured"] < 1.1 * gpu["fixed"], f"the GPU does not do the same work: {gpu}"
    # The prediction is that of two ranks.
    assert predictions["measured"]["iterationSeconds"]["mean"] > gpu["fixed"] / 2, "faster than its own kernels"
    assert 0 < predictions["measured"]["breakdown"]["host"] < 1, "the host costs nothing"


@pytest.fixture(scope="module")
def story(world):
    """A job, and the lines of its program: facts of its GPU, and what a clock and events measured of each step. In the end
    it takes more and more memory."""
    script = """
        import pynvml, time, torch
        free, total = torch.cuda.mem_get_info()
        p = torch.cuda.get_device_properties(0)
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        print("facts", torch.cuda.device_count(), torch.cuda.get_device_capability(), p.multi_processor_count,
              pynvml.nvmlDeviceGetName(handle), total == pynvml.nvmlDeviceGetMemoryInfo(handle).total,
              0 < free < total, sep="|", flush=True)
        x, keep = torch.zeros(8192, 8192, device="cuda", dtype=torch.bfloat16), []
        for step in range(8):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda.nvtx.range_push("step")
            t = time.perf_counter()
            begin.record()
            for _ in range(20): x = x @ x
            end.record()
            torch.cuda.synchronize()
            print("story", time.perf_counter() - t, begin.elapsed_time(end) / 1000, flush=True)
            torch.cuda.nvtx.range_pop()
        while True: keep.append(torch.empty(8 << 30, dtype=torch.uint8, device="cuda"))
    """
    job = world.run(script, measure=100, boundary="{nvtx: step}")
    return job, world.logs(job).splitlines()


def test_events_clocks_and_report_tell_one_story(story):
    job, log = story
    lines = [line.split()[1:] for line in log if line.startswith("story")]
    assert len(lines) > 5, f"a line of the program is missing: {lines} {verdict(job)}"
    clock, event = (float(x) for x in lines[5])
    report = job["status"]["prediction"]["iterationSeconds"]["mean"]
    print(f"perf_counter {clock:.6f} s, events {event:.6f} s, report {report:.6f} s")
    assert abs(clock - event) / event < 0.02 and abs(report - event) / event < 0.02, "they differ"


def test_device_queries_answer_as_the_emulated_gpu(story):
    facts = [line for line in story[1] if line.startswith("facts")]
    assert facts == ["facts|1|(9, 0)|132|NVIDIA H100 80GB HBM3|True|True"]


def test_a_virtual_hour_fires_no_watchdog_and_waits_return(world):
    script = """
        import threading, time
        x = torch.ones(1024, 1024, device="cuda")
        for step in range(8):
            torch.cuda.nvtx.range_push("step")
            dist.all_reduce(x)
            if step == 3:
                t = time.time(); time.sleep(3600); slept = round(time.time() - t)
                t = time.time(); threading.Event().wait(0.5); waited = round(time.time() - t, 3)
                # One write: two ranks share the pipe, and print() writes each of its words alone.
                os.write(1, f"slept {slept}\\nwaited {waited}\\n".encode())
            x.sum().item()
            torch.cuda.nvtx.range_pop()
        event = torch.cuda.Event(); event.record()
        while not event.query(): pass
    """
    job = world.completed(script, ranks=2, nccl=True, measure=100, boundary="{nvtx: step}")
    log = world.logs(job)
    assert "slept 3600" in log, log[-2000:]
    assert "waited 0.5" in log, log[-2000:]


def test_out_of_memory_is_a_verdict(story):
    job, log = story
    expect_failed(job, "OutOfMemory", "GiB")
    assert any("torch.OutOfMemoryError" in line for line in log), log[-20:]


def test_out_of_memory_keeps_the_memory_report(story):
    peak = story[0]["status"]["prediction"]["memory"]["peakBytes"]
    assert 70 << 30 < peak < 81 << 30, f"high-water mark {peak}"


def test_a_crashing_script_is_reported_with_its_last_lines(world):
    expect_failed(world.run("raise ValueError('bad batch')"), "CommandFailed", "exit status 1", "bad batch")


def test_a_missing_command_is_named(world):
    expect_failed(world.run("", command=["no-such-program"]), "CommandFailed", "no-such-program")


def seconds_after(world, word, *args, **kwargs):
    """Runs a job; the job, and the real seconds from its line `word` to its end."""
    name = world.server.submit(world.job(*args, **kwargs))
    wait_for_line(world.server, name, word, 120)
    started = time.monotonic()
    return world.server.wait(name, 120), time.monotonic() - started


@pytest.mark.alone
@pytest.mark.parametrize("servers, ranks, victim", [(1, 2, 1), (2, 1, 1)])
def test_a_killed_rank_takes_the_job_down_within_five_seconds(world, servers, ranks, victim):
    script = f"""
        import signal
        x = torch.ones(1024, device="cuda")
        dist.all_reduce(x); torch.cuda.synchronize()
        if rank == {victim}:
            print("dies", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        dist.all_reduce(x); torch.cuda.synchronize()
    """
    job, seconds = seconds_after(world, "dies", script, servers=servers, ranks=ranks, nccl=True)
    expect_failed(job, "RankLost", f"rank {victim}", "SIGKILL")
    print(f"{seconds:.1f} s after its death, {servers} server(s)")
    assert seconds < 5, f"the job ended {seconds:.1f} s after the rank's death"


def test_a_rank_that_never_joins_is_a_deadlock(world):
    script = """
        import threading
        rank.size = 4000
        rank.step(0)
        if rank.rank == 1:
            print("hangs", flush=True)
            threading.Event().wait()
        rank.step(0)
    """
    job, seconds = seconds_after(world, "hangs", script, ranks=2, light=True)
    expect_failed(job, "Deadlock", "all_reduce", "1000 float32", "rank 0 waits", "rank 1 has not called it")
    print(f"{seconds:.1f} s after the hang")
    assert seconds < 10, f"the verdict took {seconds:.1f} s"


def test_a_rank_that_never_reaches_its_gpu_is_named_with_the_call_that_it_waits_in(world):
    job = world.run(
        """
        import ctypes, os, subprocess, sys
        if "RANK" not in os.environ:
            places = [{**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(2)]
            ranks = [subprocess.Popen([sys.executable, "script.py"], env=place) for place in places]
            sys.exit(max(rank.wait() for rank in ranks))
        if os.environ["RANK"] == "1":
            os.read(os.pipe()[0], 1)
        class Id(ctypes.Structure):
            _fields_ = [("bytes", ctypes.c_byte * 128)]
        identity, communicator, nccl = Id(), ctypes.c_void_p(), ctypes.CDLL("libnccl.so.2")
        nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, Id, ctypes.c_int]
        ctypes.CDLL("libcudart.so.13").cudaSetDevice(0)
        nccl.ncclGetUniqueId(ctypes.byref(identity))
        nccl.ncclCommInitRank(ctypes.byref(communicator), 2, identity, 0)
    """,
        ranks=2,
        command=["python", "script.py"],
    )
    expect_failed(job, "Deadlock", "its rank 1 has not come", "; rank 1, which has used no GPU yet, (pid ", "waits in ")


def test_work_outside_the_gpu_is_not_a_deadlock(world):
    script = """
        import subprocess
        # 8 s of a processor's time, so at least as much real time: the job's clocks would not tell.
        work = "import os\\nuntil = os.times().user + 8\\nwhile os.times().user < until: sum(range(100_000))"
        for step in range(4):
            rank.step(0)
            if rank.rank == 1 and step == 1: subprocess.run([sys.executable, "-c", work], check=True)
            if rank.rank == 1 and step == 2: exec(work)
    """
    world.completed(script, ranks=2, measure=100, light=True)


def test_an_unsupported_call_is_named(world):
    script = """
        import ctypes
        library = ctypes.CDLL("libcuda.so.1")
        print("answer", library.cuGraphicsUnregisterResource(None), flush=True)
        for _ in range(8): rank.step(0)
    """
    job = world.completed(script, light=True)
    calls = {call["name"]: call["count"] for call in job["status"]["prediction"]["unsupportedCalls"]}
    assert "cuGraphicsUnregisterResource" in calls, calls
    script = """
        import ctypes
        ctypes.CDLL("libcuda.so.1").cuGraphicsUnregisterResource(None)
    """
    strict = world.run(script, extra="strict: true\n", light=True)
    expect_failed(strict, "UnsupportedCall", "cuGraphicsUnregisterResource")


def test_bad_documents_are_answered_field_by_field(world):
    document = world.job("pass")
    cases = [
        (document.replace("gpusPerServer: 1", "gpusPerServer: 1, gpu: H100-SXM-80GB"), "gpu", "H100-SXM5-80GB"),
        (document.replace("  servers: 1", "  servers: 0"), "servers", "1"),
        (document.replace('["python", "script.py"]', "[]"), "command", ""),
        (document.replace("hostModel", "hostModell"), "hostModell", "hostModel"),
    ]
    for text, pointer, word in cases:
        status, answer = world.server.request("POST", world.server.jobs_path(), text)
        assert status in (400, 422), f"answered {status}: {answer}"
        errors = answer["errors"]
        found = [e for e in errors if pointer in e["pointer"] and word in e["detail"]]
        assert found, f"no problem names {pointer} and '{word}': {errors}"
        print(f"{found[0]['pointer']}: {found[0]['detail']}")


def test_jobs_survive_the_controllers_death(world):
    with world.own_server() as server:
        name = server.submit(world.job("while True: time.sleep(1); rank.runtime.cudaDeviceSynchronize()", light=True))
        running = lambda c: c["type"] == "Running" and c["status"] in ("True", True)
        await_that("the job runs", lambda: any(map(running, server.get(name)["status"]["conditions"])))
        server.kill()
        server.start()
        condition = verdict(server.wait(name, 30))
        assert condition["type"] == "Interrupted", f"came back as {condition}"
        print(f"{condition['type']}: {condition['message']}")


def test_gemms_of_experts_take_the_time_of_their_tokens(world):
    """Their kernel finds its sizes in device memory, and its grid says nothing."""
    script = """
        import torch
        experts, width, hidden = 8, 2048, 4096
        weights = torch.zeros(experts, width, hidden, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        for tokens in (16384, 65536):
            inputs = torch.zeros(tokens, width, device="cuda", dtype=torch.bfloat16, requires_grad=True)
            ends = torch.arange(1, experts + 1, device="cuda", dtype=torch.int32) * (tokens // experts)
            optimizer = torch.optim.SGD([inputs], lr=0.1)
            for step in range(4):
                gemm = torch._grouped_mm(inputs, weights, offs=ends)
                gemm.backward(torch.ones_like(gemm))
                optimizer.step()
                optimizer.zero_grad()
                weights.grad = None
                torch.cuda.synchronize()
    """
    job = world.completed(script, measure=100)
    prediction = job["status"]["prediction"]
    assert prediction["coverage"]["assumed"] == 0, f"coverage: {prediction['coverage']}"
    [log] = world.event_logs(job).values()
    lines = [line.split() for line in log.decode().splitlines() if "GroupProblemShape" in line]
    assert len(lines) == 2 * 4 * 3, f"not three GEMMs an iteration: {lines}"
    seconds = [(int(words[-1]) - int(words[-3])) * 1e-12 for words in lines]
    few, many = sum(seconds[:12]) / 4, sum(seconds[12:]) / 4
    rate = 3 * 2 * 65536 * 2048 * 4096 / many
    assert 4.5e14 < rate < 9e14, f"{rate:.3g} operations a second of an H100"
    assert 3.2 < many / few < 4.8, f"four times the tokens take {many / few:.2f} times as long"
