"""Tests reports of iterations: uneven ones, turns of loops without an optimizer, programs that repeat nothing."""

from jobs import expect_failed
from server import verdict


def report_of(world, job):
    """The report as `eidolon get` prints it."""
    done = world.eidolon("get", job["metadata"]["name"])
    assert done.returncode == 0, f"{done}"
    return done.stdout


# One step of eight writes a checkpoint.
CHECKPOINT = """
    import time, torch
    model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(8):
        model(torch.ones(512, 2048, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 4:
            torch.save(model.state_dict(), "checkpoint.pt")
            time.sleep(2)
"""


def test_an_iteration_unlike_the_others_is_told(world):
    job = world.completed(CHECKPOINT, measure=6)
    prediction = job["status"]["prediction"]
    seconds, uneven = prediction["iterationSeconds"], prediction.get("unevenIterations")
    assert seconds["mean"] > 2 * seconds["p50"], f"{seconds}"
    assert uneven and uneven["count"] == 1, f"{prediction}"
    odd = uneven["iterations"][0]
    # An iteration ends with the optimizer: what comes behind it belongs to the next.
    assert odd["iteration"] == 6, f"{odd}"
    assert abs(odd["more"]["host"] - 2) < 0.1, f"{odd}"
    # 8 matrices of 2048 x 2048 float32 over PCIe, in pageable memory.
    assert 0.01 < odd["more"]["copiesToHost"] < 0.1, f"{odd}"
    report = report_of(world, job)
    assert (
        "1 of 6 iterations is far from the median" in report
        and "iteration 6: 2." in report
        and "more: host 2.0" in report
    ), report
    print(*(line for line in report.splitlines() if "iteration" in line), sep="\n")
    even = world.completed("for step in range(8): rank.step(0)", measure=6, light=True)
    assert "unevenIterations" not in even["status"]["prediction"], "even iterations are called uneven"


# A model whose weights come first, so that much is launched outside of loops. BODY uses it.
INFERENCE = """
    import torch
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True, device="cuda"), 4).eval()
    embed = torch.nn.Embedding(1000, 256, device="cuda")
    head = torch.nn.Linear(256, 1000, device="cuda")
    with torch.no_grad():
        BODY
"""

EVALUATION = """
        total = 0
        for batch in range(6):
            tokens = torch.full((8, 64), batch).cuda()
            logits = head(model(embed(tokens)))
            total += logits.argmax(-1).float().mean().item()
        print(torch.tensor([total], device="cuda").sum().item())
"""

GENERATION = """
        tokens = torch.full((2, 16), 3, device="cuda")
        for step in range(8):
            logits = head(model(embed(tokens)))[:, -1]
            tokens = torch.cat([tokens, logits.argmax(-1, keepdim=True)], dim=1)
            if (tokens[:, -1] == -1).all().item(): break
        print(tokens.shape)
"""

ONCE = """
        logits = head(model(embed(torch.full((8, 64), 1).cuda())))
        print(logits.float().mean().item())
"""


def test_turns_of_evaluation_and_generation_are_iterations(world):
    for name, body, turns in (("evaluation", EVALUATION, 6), ("generation", GENERATION, 8)):
        job = world.completed(INFERENCE.replace("        BODY\n", body[1:]), warmup=2, measure=100)
        prediction = job["status"]["prediction"]
        print(f"{name}: {verdict(job)['message']}, {prediction['iterationSeconds']['mean'] * 1e6:.1f} us")
        # What precedes the first turn is an iteration of its own.
        assert prediction["measuredIterations"] == turns - 1, f"{verdict(job)} {prediction}"
        assert "unevenIterations" not in prediction, f"{prediction['iterationPicoseconds']}"


def test_a_program_that_repeats_nothing_is_predicted_as_a_whole(world):
    job = world.completed(INFERENCE.replace("        BODY\n", ONCE[1:]))
    condition, prediction = verdict(job), job["status"]["prediction"]
    assert condition["reason"] == "NoIterations" and "iterations.boundary" in condition["message"], condition
    assert 0 < prediction["program"]["seconds"] < 1 and prediction["program"]["launches"] > 50, f"{prediction}"
    assert abs(sum(prediction["breakdown"].values()) - 1) < 1e-6, f"{prediction}"
    assert prediction["kernels"] and prediction["memory"]["fits"], f"{prediction}"
    report = report_of(world, job)
    assert "whole program" in report and "launches" in report and "compute" in report, report
    print(*report.splitlines()[:4], sep="\n")


def test_a_program_whose_boundary_never_comes_fails_and_keeps_what_is_known(world):
    script = """
        from ctypes import c_size_t
        for size in (1000, 3000, 2000):
            rank.runtime.cudaMemsetAsync(rank.target, 0, c_size_t(size), rank.stream)
        rank.runtime.cudaStreamSynchronize(rank.stream)
    """
    whole = world.completed(script, light=True)
    named = world.run(script, boundary="{nvtx: step}", light=True)
    expect_failed(named, "NoIterations", "iterations.boundary")
    assert named["status"]["prediction"]["program"] == whole["status"]["prediction"]["program"], "another program"


STOPPED = """
    import torch
    layers = [torch.nn.Linear(512, 512).cuda() for _ in range(30)]
    for layer in layers:
        torch.nn.init.normal_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
        torch.cuda.synchronize()
    raise SystemExit("stopped before a step")
"""


def test_a_program_that_stops_before_its_first_step_claims_no_iteration(world):
    job = world.run(STOPPED)
    expect_failed(job, "CommandFailed", "stopped before a step")
    prediction = job["status"]["prediction"]
    assert prediction["measuredIterations"] == 0 and "iterationSeconds" not in prediction, f"{prediction}"
    report = report_of(world, job)
    assert "until it failed" in report and "\n  iteration " not in report, report


# Two optimizers of one kind and as many parameters.
TURNS = """
    import torch
    maker = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 2048)).cuda()
    judge = torch.nn.Sequential(torch.nn.Linear(2048, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 256)).cuda()
    optimizers = [torch.optim.Adam(part.parameters(), fused=True) for part in (judge, maker)]
    for step in range(6):
        for optimizer in optimizers:
            judge(maker(torch.ones(64, 256, device="cuda"))).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
"""

# An optimizer whose kernel is told the number of the step.
NUMBERED = """
    import torch, triton
    import triton.language as tl

    @triton.jit(do_not_specialize=["step"])
    def adam_update(weight, gradient, step, count, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        change = tl.load(gradient + at, at < count) / (step + 1)
        tl.store(weight + at, tl.load(weight + at, at < count) - change, at < count)

    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]).cuda()
    for step in range(60):
        model(torch.ones(64, 512, device="cuda")).square().mean().backward()
        for weight in model.parameters():
            adam_update[(triton.cdiv(weight.numel(), 1024),)](weight, weight.grad, step, weight.numel(), 1024)
        model.zero_grad()
        torch.cuda.synchronize()
        print(f"step {step}", flush=True)
"""


def test_optimizers_that_take_turns_or_count_steps_end_iterations(world):
    turns = world.completed(TURNS, warmup=2, measure=100)
    assert turns["status"]["prediction"]["measuredIterations"] == 4, f"{verdict(turns)}"
    numbered = world.completed(NUMBERED, warmup=3, measure=5)
    assert numbered["status"]["prediction"]["measuredIterations"] == 5, f"{verdict(numbered)}"
    # Ten updates that all differ are needed, and the job ends at the next place where it may.
    steps = world.logs(numbered).count("step ")
    assert 8 <= steps <= 14, f"the job ended after {steps} steps"


# Threads that drive a GPU each, in an order that differs from step to step.
THREADS = """
    import concurrent.futures, time, torch
    pool = concurrent.futures.ThreadPoolExecutor(2)
    weights = [torch.ones(1024, 1024, device=f"cuda:{gpu}", requires_grad=True) for gpu in range(2)]

    def turn(gpu, step):
        if gpu == step % 3 % 2:
            time.sleep(0.001)
        for layer in range(4):
            loss = (torch.ones(256, 1024, device=f"cuda:{gpu}") @ weights[gpu]).tanh().mean()
        loss.backward()
        with torch.no_grad():
            weights[gpu] -= 0.1 * weights[gpu].grad
        weights[gpu].grad = None
        return loss

    for step in range(12):
        losses = [turning.result() for turning in [pool.submit(turn, gpu, step) for gpu in range(2)]]
        losses[0].item()
"""


def test_gpus_that_a_thread_each_drives_have_iterations(world):
    cluster = {"servers": 1, "server": {"preset": "dgx-h100", "gpusPerServer": 2}}
    job = world.completed(THREADS, warmup=2, measure=100, cluster=cluster)
    prediction = job["status"]["prediction"]
    print(f"{verdict(job)['message']}, {prediction['iterationSeconds']['p50'] * 1e6:.1f} us")
    # What precedes the first step may be an iteration of its own.
    assert prediction.get("measuredIterations") in (10, 11), f"{verdict(job)}"
