"""Documents of small jobs, the server that runs them, and what is expected of how a job ends."""

import contextlib
import json
import pathlib
import re
import shutil
import subprocess
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
    ):
        """The document of a job that runs `script` in every rank, by torchrun when there are several. `cluster` is
        described whole, or else servers with as many H100 as ranks. Ranks go on from torchrun's process, which spares
        each the import of torch, unless `extra` has an `env` of its own. `light`: without torch, on top of LIGHT."""
        self.count += 1
        directory = self.folder / f"job{self.count}"
        directory.mkdir()
        (directory / "script.py").write_text(light_script(directory, script) if light else textwrap.dedent(script))
        several = ranks * servers > 1 and not light
        command = command or (["torchrun", "script.py"] if several else ["python", "script.py"])
        if command[0] == "torchrun" and not re.search(r"^\s*env:", extra, re.M):
            extra = textwrap.dedent(extra).strip("\n") + '\nenv: [{name: RANKS_GO_ON, value: "1"}]\n'
        World.starts += starts_of_torch(script, command, ranks, servers, "RANKS_GO_ON" in extra)
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

    def eidolon(self, *words, seconds=120):
        """Runs the command, which finds this server by its data folder."""
        command = [self.build / "bin/eidolon", "--data-dir", self.server.data, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds)

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


def await_that(what, holds, seconds=60):
    """Polls until holds(). `what` names the expectation, or is a function that returns the state found instead."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what() if callable(what) else what}"
        time.sleep(0.05)


def wait_for_line(server, name, line, seconds=60):
    await_that(lambda: f"'{line}' in {server.logs(name)[-2000:]}", lambda: line in server.logs(name), seconds)


def descendants(pid):
    """Processes below `pid`; threads and processes that end meanwhile are passed over."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in list(pathlib.Path(f"/proc/{pid}/task").iterdir()):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                for child in (task / "children").read_text().split():
                    yield int(child)
                    yield from descendants(int(child))
