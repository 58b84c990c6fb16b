"""Documents of small jobs, the server that runs them, and what is expected of how a job ends."""

import contextlib
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time

from server import ROOT, Server, verdict

LIGHT_RANKS = ROOT / "e2e/kube/jobs/light.py"
# First lines of a script without torch: they define `rank`; each rank.step(0) is an iteration.
LIGHT = """\
import os, sys, time, light
if int(os.environ["NPROC_PER_NODE"]) * int(os.environ["NNODES"]) == 1:
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
if "RANK" not in os.environ:
    sys.exit(light.launch())
rank = light.Rank(1 << 20)
"""
# First and last lines of a script of PyTorch whose ranks torchrun starts.
BEFORE_RANKS = """\
import os, torch, torch.distributed as dist
rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
"""
AFTER_RANKS = "dist.destroy_process_group()\n"


def prediction_of(job):
    """A job's prediction, with its folder called the same as every other job's, for comparing them."""
    return json.loads(re.sub(r"/job\d+/", "/job/", json.dumps(job["status"]["prediction"])))


def light_script(folder, script):
    """The script on top of LIGHT. Copies the module that LIGHT imports into the folder."""
    shutil.copy(LIGHT_RANKS, folder)
    return LIGHT + textwrap.dedent(script)


def starts_of_torch(script, command, ranks, servers, goes_on):
    """Number of processes of a job that import torch: torchrun's own, and its ranks unless they go on from it."""
    if any(word.endswith("torchrun") for word in command):
        return servers * (1 if goes_on else 1 + ranks)
    spawned = 1 + ranks if ranks > 1 else 1
    return servers * spawned if re.search(r"^\s*(import|from) .*\btorch\b", script, re.M) else 0


class World:
    """A running server with its build and folders. Tests submit jobs through it."""

    starts = 0  # Processes that import torch, over all jobs whose documents were made.

    def __init__(self, server, folder):
        self.server, self.folder, self.count = server, pathlib.Path(folder), 0
        self.build, self.python = server.build, server.python_environment

    def job(
        self,
        script,
        ranks=1,
        servers=1,
        gpu=None,
        command=None,
        measure=4,
        warmup=2,
        boundary="auto",
        extra="",
        cluster=None,
        outputs="{eventLog: true}",
        host="{kind: fixed}",
        light=False,
        nccl=False,
        starts=None,
    ):
        """The document of a job that runs `script` in every rank, by torchrun when there are several. `cluster` is
        described whole, or else servers with as many H100 as ranks. Ranks go on from torchrun's process, which spares
        each the import of torch, unless `extra` has an `env` of its own. `light`: without torch, on top of LIGHT. `nccl`:
        between BEFORE_RANKS and AFTER_RANKS. `starts`: processes that import torch, where starts_of_torch() is mistaken."""
        self.count += 1
        directory = self.folder / f"job{self.count}"
        directory.mkdir()
        script = textwrap.dedent(script)
        if nccl:
            script = BEFORE_RANKS + script + AFTER_RANKS
        (directory / "script.py").write_text(light_script(directory, script) if light else script)
        several = ranks * servers > 1 and not light
        command = command or (["torchrun", "script.py"] if several else ["python", "script.py"])
        if command[0].endswith("torchrun") and not re.search(r"^\s*env:", extra, re.M):
            extra = textwrap.dedent(extra).strip("\n") + '\nenv: [{name: RANKS_GO_ON, value: "1"}]\n'
        goes_on = "RANKS_GO_ON" in extra
        World.starts += starts_of_torch(script, command, ranks, servers, goes_on) if starts is None else starts
        gpu_line = f", gpu: {gpu}" if gpu else ""
        server = f"{{preset: dgx-h100, gpusPerServer: {ranks}{gpu_line}}}"
        cluster = json.dumps(cluster) if cluster else f"{{servers: {servers}, server: {server}}}"
        return textwrap.dedent(f"""\
            apiVersion: eidolon.dev/v1alpha1
            kind: SimulationJob
            metadata: {{name: job{self.count}}}
            spec:
              cluster: {cluster}
              servers: {servers}
              ranksPerServer: {ranks}
              command: {json.dumps(command)}
              code: {{directory: "{directory}"}}
              iterations: {{warmup: {warmup}, measure: {measure}, boundary: {boundary}}}
              hostModel: {host}
              outputs: {outputs}
            """) + textwrap.indent(textwrap.dedent(extra), "  ")

    def run(self, *args, **kwargs):
        """Runs a job to its end."""
        return self.server.run(self.job(*args, **kwargs), seconds=300)

    def completed(self, *args, **kwargs):
        """Runs a job and requires that it is Complete."""
        job = self.run(*args, **kwargs)
        expect_complete(job)
        return job

    def command(self, *words, **options):
        """Runs the command, by itself unless its words name a server."""
        options = {"capture_output": "stdout" not in options, "text": True, "timeout": 120, **options}
        return subprocess.run([self.build / "bin/eidolon", *words], **options)

    def eidolon(self, *words, seconds=120):
        """Runs the command, which finds this server by its data folder."""
        return self.command("--data-dir", self.server.data, *words, timeout=seconds)

    def fresh_folder(self):
        return pathlib.Path(tempfile.mkdtemp(dir=self.folder))

    def own_server(self, *arguments, kind=Server, **more):
        """A second server with a new data folder, not started yet."""
        more = {"arguments": arguments, **more} if arguments else more
        return kind(self.build, self.python, data=self.fresh_folder(), **more)

    def folder_of(self, job):
        """The folder of its script and of the files that the script wrote."""
        return self.folder / job["metadata"]["name"]

    def logs(self, job):
        return self.server.logs(job["metadata"]["name"])

    def event_logs(self, job):
        """The bytes of every event log of a job, by name."""
        folder = self.server.data / "events" / str(job["metadata"]["uid"])
        return {p.name: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def expect_failed(job, reason, *words):
    condition = verdict(job)
    assert condition["type"] == "Failed", f"ended as {condition}"
    assert condition["reason"] == reason, f"reason is {condition['reason']}, expected {reason}: {condition['message']}"
    for word in words:
        assert word in condition["message"], f"'{word}' is not in: {condition['message']}"
    print(f"{reason}: {condition['message']}")


def expect_complete(job):
    condition = verdict(job)
    assert condition["type"] == "Complete", f"ended as {condition}"


def lines_of(event_logs):
    return {name: log.splitlines(keepends=True) for name, log in event_logs.items()}


def first_difference(one, other):
    """Returns where lines by name differ first; None where they do not."""
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            pairs = itertools.zip_longest(one.get(name, ()), other.get(name, ()))
            return f"{name}: {next((pair for pair in pairs if pair[0] != pair[1]), 'only one has it')}"
    return None


def expect_same(world, run, again):
    """Both are Complete, and their event logs and predictions are the same to the last digit."""
    expect_complete(run)
    expect_complete(again)
    logs = world.event_logs(run)
    assert any(logs.values()), "the run has no event log"
    assert first_difference(lines_of(logs), lines_of(world.event_logs(again))) is None
    assert prediction_of(run) == prediction_of(again)


@contextlib.contextmanager
def busy():
    """Two processes for each processor of this machine, which work for nothing."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def await_that(what, holds, seconds=60):
    """Polls until holds(). `what` names the expectation, or is a function that returns the state found instead."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what() if callable(what) else what}"
        time.sleep(0.05)


def wait_for_line(server, name, line, seconds=60):
    await_that(lambda: f"'{line}' in {server.logs(name)[-2000:]}", lambda: line in server.logs(name), seconds)
