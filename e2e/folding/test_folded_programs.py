"""A program is predicted with a process for each rank, and folded: its iterations and its memory are the same. Both use the
fixed host model and GPUs that are alike."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest
from jobs import World

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "e2e" / "scenarios"
PROGRAMS = ROOT / "e2e" / "folding" / "programs"
TITAN = ["torchrun", "-m", "torchtitan.train", "--module", "llama3", "--config", "llama3_debugmodel"]
TITAN += ["--training.steps", "12", "--checkpoint.no-enable"]
# Folder and command of each; what parallelism it shows.
JOBS = {
    "fsdp2": (SCENARIOS / "quickstart", ["torchrun", "train.py", "--steps", "20"], "FSDP2"),
    "ddp": (SCENARIOS / "ddp", ["torchrun", "train.py"], "DDP"),
    "zero3": (SCENARIOS / "deepspeed_zero3", ["torchrun", "train.py"], "DeepSpeed ZeRO-3"),
    "hsdp": (PROGRAMS, ["torchrun", "hsdp.py", "2"], "HSDP, 2 shards"),
    "halves": (PROGRAMS, ["torchrun", "halves.py"], "two halves of other sizes"),
    "ring": (PROGRAMS, ["torchrun", "ring.py"], "sends in a ring"),
    "megatron": (SCENARIOS / "megatron_tp2", ["torchrun", "train.py"], "Megatron-core, TP 2 x DP"),
    "megatron_pp": (PROGRAMS, ["torchrun", "megatron_pipeline.py", "1", "2"], "Megatron-core, PP 2 x DP"),
    "pipeline": (PROGRAMS, ["torchrun", "pipeline.py", "2"], "torch pipelining, PP 2 x DDP"),
    "interleaved": (
        PROGRAMS,
        ["torchrun", "pipeline.py", "2", "Interleaved1F1B"],
        "interleaved pipeline, PP 2 x FSDP2",
    ),
    "zero_bubble": (PROGRAMS, ["torchrun", "pipeline.py", "2", "ZBVZeroBubble"], "zero-bubble pipeline, PP 2 x FSDP2"),
    "context": (PROGRAMS, ["torchrun", "context_parallel.py", "2"], "context parallel 2 (gathers) x FSDP2"),
    "context_ring": (
        PROGRAMS,
        ["torchrun", "context_parallel.py", "2", "alltoall"],
        "context parallel 2 (ring) x FSDP2",
    ),
    "experts": (PROGRAMS, ["torchrun", "expert_parallel.py", "2"], "experts on 2 ranks x DP"),
    "checkpoint": (PROGRAMS, ["torchrun", "checkpoint.py"], "FSDP2, clipping, DCP save and load, objects"),
    "gloo": (PROGRAMS, ["torchrun", "gloo.py"], "FSDP2, Gloo groups, asynchronous checkpoints"),
    "gloo_detail": (PROGRAMS, ["torchrun", "gloo.py", "detail"], "the same, TORCH_DISTRIBUTED_DEBUG=DETAIL"),
    "trainer": (PROGRAMS, ["torchrun", "trainer.py"], "Hugging Face Trainer, DDP"),
    "titan_fsdp": (SCENARIOS / "torchtitan_fsdp", TITAN, "TorchTitan, FSDP2"),
    "titan_tp": (
        SCENARIOS / "torchtitan_tp",
        [*TITAN, "--parallelism.tensor-parallel-degree", "2"],
        "TorchTitan, TP 2 x FSDP2",
    ),
    "titan_pp": (
        SCENARIOS / "torchtitan_fsdp",
        [*TITAN, "--parallelism.pipeline-parallel-degree", "2"],
        "TorchTitan, PP 2 x FSDP2",
    ),
    "titan_cp": (
        SCENARIOS / "torchtitan_fsdp",
        [*TITAN, "--parallelism.context-parallel-degree", "2"],
        "TorchTitan, context parallel 2 x FSDP2",
    ),
}
# With fewer, every rank of a stage is live.
RANKS_MIN = {"megatron_pp": 8, "pipeline": 8}
# Programs that need packages.txt.
WITH_PACKAGES = {"trainer"}
# Programs whose ranks are executed. The others' go on from torchrun's process, which spares each the import of torch.
EXECUTED = {"ddp", "gloo_detail"}
# Programs with torch.compile.
COMPILED = ("titan_fsdp", "titan_tp", "titan_pp", "titan_cp")
LIMIT = 0.001
# Those of the test command; the others are for developers.
CHECKED = (
    "fsdp2 ddp zero3 hsdp halves ring megatron megatron_pp interleaved context experts checkpoint gloo gloo_detail"
)
SECONDS = 400


def pytest_generate_tests(metafunc):
    if "program" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("program", None) or CHECKED.split()
        metafunc.parametrize("program", JOBS if chosen == ["all"] else chosen)


@pytest.fixture
def code(program, torch_python, tmp_path):
    """A copy of the program's folder, with the small inputs that it needs."""
    folder = tmp_path / "code"
    shutil.copytree(JOBS[program][0], folder)
    if (folder / "prepare.py").exists():
        subprocess.run([torch_python / "bin/python", "prepare.py"], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="session")
def packages(torch_python, folder):
    """A folder with what packages.txt names."""
    names = pathlib.Path(__file__).with_name("packages.txt")
    pip = [torch_python / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--target", folder / "packages", "-r", names], check=True)
    return folder / "packages"


@pytest.fixture
def predict(program, code, build, torch_python, request):
    """Predicts the program; its seconds of an iteration, peak bytes by rank, and seconds of this machine."""
    ranks = max(request.config.getoption("ranks", 4), RANKS_MIN.get(program, 0))
    per_server = min(ranks, 4)
    head = [build / "bin/eidolon", "run", "--preset", "dgx-h100", "--gpus-per-server", str(per_server), "-o", "json"]
    head += ["--servers", str(ranks // per_server), "--host-model", "fixed", "--variation", "none"]
    environment = os.environ | {"PATH": f"{torch_python}/bin:{os.environ['PATH']}"}
    if program not in EXECUTED:
        environment["RANKS_GO_ON"] = "1"
    if program in WITH_PACKAGES:
        environment["PYTHONPATH"] = str(request.getfixturevalue("packages"))

    def predicted(fold):
        started = time.monotonic()
        command = [*head, "--fold", fold, "--", *JOBS[program][1]]
        done = subprocess.run(command, cwd=code, env=environment, capture_output=True, text=True, timeout=SECONDS)
        wall = time.monotonic() - started
        status = json.loads(done.stdout[re.search(r"^\{", done.stdout, re.M).start() :])["status"]
        ended = [c for c in status["conditions"] if c["type"] in ("Complete", "Failed") and c["status"] == "True"]
        assert done.returncode == 0, f"--fold {fold}: {ended[-1]['message'] if ended else done.stderr[-400:]}"
        prediction = status["prediction"]
        memory = {rank["rank"]: rank["peakBytes"] for rank in prediction["memory"]["ranks"]}
        World.starts += 1 + (program in EXECUTED) * len(memory)
        return prediction["iterationSeconds"]["mean"], memory, wall

    return predicted


def differing_peaks(all_live, folded):
    """Peak bytes of each rank that is live in both and differs: with all ranks live, and folded."""
    return {rank: (all_live[rank], peak) for rank, peak in folded.items() if all_live[rank] != peak}


def test_folding_changes_nothing(program, predict):
    seconds, memory, wall = predict("off")
    folded_seconds, folded_memory, folded_wall = predict("required")
    if program in COMPILED and differing_peaks(memory, folded_memory):
        # The first run may have filled the compilers' caches, and tried kernels on buffers that the next does not need.
        print(f"{program}: again, since the first run may have found the compilers' caches empty")
        seconds, memory, wall = predict("off")
    differing, apart = differing_peaks(memory, folded_memory), 100 * (folded_seconds / seconds - 1)
    figures = (
        f"{seconds * 1e3:.4f} | {folded_seconds * 1e3:.4f} | {apart:+.3f} % | {'differs' if differing else 'equal'}"
    )
    print(f"| {JOBS[program][2]} | {figures} | {wall:.0f} / {folded_wall:.0f} |")
    assert not differing
    assert folded_seconds == pytest.approx(seconds, rel=LIMIT)
