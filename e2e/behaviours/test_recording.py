"""A replay of a recording says what the run said, and what another cluster would do."""

import json
import re
import subprocess
import time

import pytest
from jobs import expect_complete, expect_failed, expect_same, prediction_of
from recordings import PIPELINE, SHARDED, record, replay

# Data parallel, with a split communicator, a second stream, events, and waits in the middle of a step.
STEP = """
    pair = dist.new_group([0, 1])
    weight = torch.zeros(2048, 2048, device="cuda", requires_grad=True)
    optimizer = torch.optim.AdamW([weight], lr=0.1)
    batch = torch.ones(256, 2048).pin_memory()
    side, done = torch.cuda.Stream(), torch.cuda.Event()
    for step in range(9):
        with torch.cuda.stream(side):
            data = batch.to("cuda", non_blocking=True)
            done.record()
        torch.cuda.current_stream().wait_event(done)
        loss = (data @ weight).square().mean()
        loss.backward()
        dist.all_reduce(weight.grad, group=pair)
        norm = torch.nn.utils.clip_grad_norm_([weight], 1.0).item()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.3f}", flush=True)
"""

# Arithmetic in one kernel, memory in the other.
TWO_BOUNDS = """
    import torch
    a, b = (torch.empty(8192, 8192, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    x, y = (torch.empty(1 << 28, device="cuda") for _ in range(2))
    for step in range(9):
        torch.mm(a, b)
        x.add_(y)
        torch.cuda.synchronize()
"""

# Two stages of four ranks, whose classes are found; what the ranks tell each other of themselves is guessed for the others.
STAGES = """
    stages = [dist.new_group(list(range(first, first + 4))) for first in (0, 4)]
    layer = torch.nn.Linear(2048, 2048).cuda()
    for step in range(9):
        x = torch.randn(512, 2048, device="cuda")
        if rank >= 4:
            dist.recv(x, rank - 4)
        out = layer(x)
        if rank < 4:
            dist.send(out.detach(), rank + 4)
        out.square().mean().backward()
        dist.all_reduce(layer.weight.grad, group=stages[rank // 4])
        dist.all_gather_object([None] * 8, rank * rank)
        torch.cuda.synchronize()
"""


@pytest.fixture(scope="module")
def pipeline(world):
    return record(world, PIPELINE, ranks=1, servers=2, nccl=True)


@pytest.fixture(scope="module")
def two_bounds(world):
    return record(world, TWO_BOUNDS, gpu="A100-SXM4-80GB")  # No power limit slows it down.


def mean(job):
    return job["status"]["prediction"]["iterationSeconds"]["mean"]


def steady(job):
    """The headline: seconds of the iteration that repeats."""
    return job["status"]["prediction"]["steadyIteration"]["seconds"]


def wall(job):
    return job["status"]["simulation"]["wallSeconds"]


def expect_replay_to_equal(world, run, document, file):
    again = replay(world, document, file)
    expect_same(world, run, again)
    print(f"run {wall(run):.1f} s, replay {wall(again):.2f} s, {file.stat().st_size} bytes")
    return again


def test_a_replay_equals_its_run_to_the_picosecond_and_answers_for_other_clusters(world):
    run, document, file = record(world, STEP, ranks=2, nccl=True)
    again = expect_replay_to_equal(world, run, document, file)
    assert wall(run) > 5 * wall(again), f"the replay took {wall(again)} s, the run {wall(run)} s"

    # A GPU with more of everything is faster, a host without work too, a slow host slower.
    with_b200 = lambda text: text.replace("gpusPerServer: 2", "gpusPerServer: 2, gpu: B200-SXM-180GB")
    faster = replay(world, document, file, with_b200)
    half_clock = lambda text: text.replace("gpusPerServer: 2", "gpusPerServer: 2, gpuClock: 0.5")
    clocked = replay(world, document, file, half_clock, options=", hostFactor: 0")
    idle = replay(world, document, file, options=", hostFactor: 0")
    slow = replay(world, document, file, options=", hostFactor: 3")
    for job in (faster, idle, slow, clocked):
        expect_complete(job)
    assert mean(idle) < mean(run) < mean(slow), f"host: {mean(idle)}, {mean(run)}, {mean(slow)}"
    assert mean(faster) < mean(run), f"B200 {mean(faster)}, H100 {mean(run)}"
    assert mean(idle) <= mean(clocked) <= 2 * mean(idle), f"half the clock {mean(clocked)}, the whole {mean(idle)}"
    # Nobody knows what a third rank would do.
    more = replay(world, document, file, lambda text: text.replace("ranksPerServer: 2", "ranksPerServer: 1"))
    expect_failed(more, "StartFailed", "2 ranks", "job has 1")
    # Damage is refused.
    damaged = world.folder / "damaged.eidrec"
    whole = file.read_bytes()
    damaged.write_bytes(whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 1]) + whole[len(whole) // 2 + 1 :])
    expect_failed(replay(world, document, damaged), "StartFailed", "damaged")


# Questions of `eidolon what-if`, and the replays whose slowest is its answer.
ASKED = {
    "no host time": ["--host-factor 0"],
    "a host twice as fast": ["--host-factor 0.5"],
    "GPU B200-SXM-180GB": ["--gpu B200-SXM-180GB"],
    "communication hidden as well as can be": ["--communication-factor 0", "--host-factor 0 --kernel-factor 0"],
    "all hosts as fast as the fastest": ["--even-hosts"],
    "NICs of 800 Gbit/s": ["--nic-gbps 800"],
    "all servers in one NVLink domain": ["--cluster {domain}"],
}


def test_what_would_help_is_replayed_and_not_guessed(world, pipeline):
    run, _, file = pipeline

    def ask(*words):
        done = world.eidolon(*words, "-o", "json")
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return json.loads(done.stdout)

    domain = world.folder / "domain.json"
    server = {"preset": "dgx-h100", "gpusPerServer": 1, "serversPerDomain": 2}
    kind = {"apiVersion": "eidolon.dev/v1alpha1", "kind": "SimulatedCluster", "metadata": {"name": "domain"}}
    domain.write_text(json.dumps({**kind, "spec": {"servers": 2, "server": server}}))
    answers = ask("what-if", file)
    assert answers["iterationSeconds"] == steady(run), (
        f"{answers['iterationSeconds']} as it is, {steady(run)} in the run"
    )
    by_name = {answer["name"]: answer for answer in answers["whatIfs"]}
    assert by_name.keys() == ASKED.keys(), f"{by_name.keys() ^ ASKED.keys()}"
    seconds = [answer["iterationSeconds"] for answer in answers["whatIfs"]]
    assert seconds == sorted(seconds), f"what helps most does not come first: {seconds}"
    for name, replays in ASKED.items():
        slowest = max(steady(ask("replay", file, *flags.format(domain=domain).split())) for flags in replays)
        assert by_name[name]["iterationSeconds"] == slowest, f"{name}: {by_name[name]}, {slowest} in the replay"
        change = slowest / steady(run) - 1
        assert abs(by_name[name]["change"] - change) < 1e-12, f"{name}: {by_name[name]}, {change}"


def test_one_refused_replay_leaves_the_others_their_answers(world, two_bounds):
    *_, file = two_bounds
    asked = world.eidolon("what-if", file, "-o", "json")
    assert asked.returncode == 0, f"what-if: {asked.stderr}"
    no_such_gpu = ["what-if", file, "--gpu", "no-such-gpu"]
    answered = world.eidolon(*no_such_gpu, "-o", "json")
    assert answered.returncode == 3, f"status {answered.returncode}: {answered.stderr}"
    answers, whole = json.loads(answered.stdout), json.loads(asked.stdout)
    assert (answers["notAnswered"], whole["notAnswered"]) == (1, 0), f"not answered: {answers['notAnswered']}"
    refused = answers["whatIfs"][-1]
    assert refused["name"] == "GPU no-such-gpu" and "no-such-gpu" in refused["message"], f"refused: {refused}"
    others = [answer for answer in whole["whatIfs"] if not answer["name"].startswith("GPU ")]
    assert answers["whatIfs"][:-1] == others, f"{answers['whatIfs'][:-1]} beside it, else {others}"
    told = world.eidolon(*no_such_gpu)
    assert told.returncode == 3 and "not answered     GPU no-such-gpu: " in told.stdout, told.stdout + told.stderr


def test_a_replay_at_another_clock_says_what_a_run_at_that_clock_says_of_each_kernel(world, two_bounds):
    run, document, file = two_bounds
    at_half = lambda text: re.sub(r"gpusPerServer: (\d+)", r"gpusPerServer: \1, gpuClock: 0.5", text)
    again = replay(world, document, file, at_half)
    world.count += 1
    named = re.sub(r"metadata: \{name: \w+\}", f"metadata: {{name: job{world.count}}}", document)
    expect_same(world, world.server.run(at_half(named.replace(", recording: true", "")), seconds=300), again)
    # Arithmetic lasts as much longer as the clock is slower, memory knows nothing of it.
    lengths = {}
    for job in (run, again):
        for kernel in job["status"]["prediction"]["kernels"]:
            lengths.setdefault(kernel["name"], []).append(kernel["shortestPicoseconds"])
    ratios = {("mm" if "gemm" in name else "add"): second / first for name, (first, second) in lengths.items()}
    assert ratios.keys() == {"mm", "add"}, f"kernels: {sorted(lengths)}"
    assert 1.9 < ratios["mm"] <= 2, f"a GEMM at half the clock lasts {ratios['mm']} times as long"
    assert 1 <= ratios["add"] < 1.01, f"an addition of large tensors lasts {ratios['add']} times as long"


def test_a_replay_of_a_sharded_program_finds_iterations_where_lines_ended_them(world):
    expect_replay_to_equal(world, *record(world, SHARDED, ranks=2, nccl=True, boundary="{log: 'step \\d+'}"))


def test_a_replay_of_a_pipelined_program_equals_its_run(world, pipeline):
    run, document, file = pipeline
    expect_replay_to_equal(world, run, document, file)
    # Half the rate of the network between the servers shows.
    slower_network = lambda text: text.replace("gpusPerServer: 1", "gpusPerServer: 1, nics: {gbps: 50}")
    slower = replay(world, document, file, slower_network)
    expect_complete(slower)
    assert mean(slower) > mean(run), f"with NICs of 50 Gbit/s {mean(slower)}, else {mean(run)}"


def test_a_replay_of_a_folded_job_equals_its_run_and_runs_on_other_clusters(world):
    folded = "folding: {mode: required}\n"
    run, document, file = record(world, STAGES, ranks=4, servers=2, nccl=True, extra=folded)
    again = expect_replay_to_equal(world, run, document, file)
    folding = prediction_of(again)["folding"]
    assert folding["live"] == [0, 3, 4, 7] and folding["classes"] == 2 and folding["mirrored"] == 4, (
        f"folding: {folding}"
    )
    assert folding["guessedCollectives"] > 0, f"nothing was guessed: {folding}"

    # The program on another cluster, and the recording there, say the same to the last digit.
    def elsewhere(text):
        server = "gpusPerServer: 4, gpuClock: 0.5, powerLimit: 400, nics: {count: 2, gbps: 50}"
        return text.replace("gpusPerServer: 4", server)

    world.count += 1
    other = re.sub(r"metadata: \{name: \w+\}", f"metadata: {{name: job{world.count}}}", document)
    other = world.server.run(elsewhere(other.replace(", recording: true", "")), seconds=300)
    expect_same(world, other, replay(world, document, file, elsewhere))
    assert mean(other) > mean(run), f"slower GPUs and NICs take {mean(other)}, the others {mean(run)}"

    # The same number of ranks on other servers is a different job.
    smaller = lambda text: text.replace("ervers: 2", "ervers: 4").replace("erServer: 4", "erServer: 2")
    expect_failed(replay(world, document, file, smaller), "StartFailed", "8 ranks, 2 on a server", "8, 4 on a server")
    whole = lambda text: text.replace("mode: required", "mode: off")
    expect_failed(replay(world, document, file, whole), "StartFailed", "/spec/folding/mode", "was folded")


def test_a_sweep_that_was_killed_goes_on_and_ranks_what_it_replayed_and_ran(world):
    document = world.job("for step in range(9): rank.step(1_000_000)", ranks=2, measure=3, light=True)
    folder = world.folder / "sweep"
    folder.mkdir()
    (folder / "job.yaml").write_text(document)
    sweep = folder / "sweep.yaml"
    sweep.write_text(
        "job: job.yaml\n"
        "matrix: {env.MARK: [a, b], cluster.server.gpu: [H100-SXM5-80GB, B200-SXM-180GB], replay.hostFactor: [1, 0]}\n"
        "price: {H100-SXM5-80GB: 2, B200-SXM-180GB: 5}\n"
    )
    environment = f"PATH={world.python}/bin:{world.build}/bin:/usr/bin:/bin"
    command = ["env", environment, world.build / "bin/eidolon", "sweep", "-f", sweep, "-o", "json"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        results = folder / "sweep.sweep/results.jsonl"
        deadline = time.monotonic() + 300
        while not (results.exists() and "{" in results.read_text()) and time.monotonic() < deadline:
            time.sleep(0.01)
        first.kill()
    known = [json.loads(line)["name"] for line in results.read_text().splitlines() if line.endswith("}")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"eidolon sweep: {done.stderr}"
    rows = json.loads(done.stdout)
    assert len(rows) == 8 and all(row["phase"] == "Complete" for row in rows), f"rows: {rows}"
    asked = done.stderr.count("eidolon: point")
    assert 0 < len(known) < 8 and asked == 8 - len(known), f"{known} were known, {asked} were predicted again"
    # A variable that the program does not read changes nothing; a host without time does.
    by_name = {row["name"]: row["iterationSeconds"] for row in rows}
    for name, seconds in by_name.items():
        assert by_name[name.replace("MARK=a", "MARK=b")] == seconds, f"{name}: {by_name}"
    front = [row["name"] for row in rows if row["front"]]
    assert front and all("hostFactor=0" in name for name in front), f"front: {front}"
    assert len(list((folder / "sweep.sweep").glob("*.eidrec"))) == 2, "two values of MARK are two runs"
    assert "<svg" in (folder / "sweep.sweep/front.svg").read_text(), "no picture"
