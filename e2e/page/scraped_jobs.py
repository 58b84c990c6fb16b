"""The jobs whose metrics the dashboards are drawn from: the quickstart's program on two GPUs, one that fails, and one that
still runs."""

import contextlib
import pathlib
import shutil
import subprocess
import time

from jobs import World
from page_jobs import STEPS, document, job_spec
from prometheus import INTERVAL_SECONDS, Prometheus
from rules import program_of_prometheus

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUICKSTART = ROOT / "e2e/scenarios/quickstart/train.py"
JOB, OTHER, BROKEN, RUNNING = "llama-h100", "llama-b200", "llama-broken", "llama-again"
GPU_OF = {JOB: "H100-SXM5-80GB", OTHER: "B200-SXM-180GB", RUNNING: "H100-SXM5-80GB"}
STEPS_DONE, STEPS_UNENDING = 80, 100_000
ARGUMENTS = ("--layers", "2", "--length", "2048", "--hidden", "4096")


def spec_of(name, folder, steps):
    place = folder / f"dashboards-{name}"
    place.mkdir()
    shutil.copy(QUICKSTART, place)
    World.starts += 1
    return {
        "cluster": {"servers": 1, "server": {"preset": "dgx-h100", "gpu": GPU_OF[name], "gpusPerServer": 2}},
        "ranksPerServer": 2,
        "command": ["torchrun", QUICKSTART.name, "--steps", str(steps + 10), *ARGUMENTS],
        "code": {"directory": str(place)},
        "iterations": {"warmup": 3, "measure": steps},
        "values": {"compute": False},
        "env": [{"name": "RANKS_GO_ON", "value": "1"}],
    }


@contextlib.contextmanager
def scraped(server, folder):
    """Runs the jobs beside a Prometheus; yields it with the times between which there is something to see, while the last
    job still runs."""
    if not program_of_prometheus("prometheus"):
        subprocess.run([ROOT / "e2e/kube/cluster/build.sh", "prometheus"], check=True)  # Minutes, once.
    program = program_of_prometheus("prometheus")
    home = folder / "prometheus"
    home.mkdir()
    with Prometheus(program, home, server.address, server.token()) as prometheus:
        start = time.time()
        for name in (JOB, OTHER):
            server.submit(document(name, spec_of(name, folder, STEPS_DONE)))
        script = STEPS.replace("optimizer.zero_grad()", "optimizer.zero_grad(); assert step < 6, 'no data'")
        server.submit(document(BROKEN, job_spec(folder, script, iterations={"warmup": 2, "measure": 20})))
        for name in (JOB, OTHER, BROKEN):
            server.wait(name, 300)
        server.submit(document(RUNNING, spec_of(RUNNING, folder, STEPS_UNENDING)))
        end = time.monotonic() + 120
        while server.get(RUNNING)["status"].get("progress", {}).get("iteration", 0) < 5:
            if time.monotonic() > end:
                raise RuntimeError(f"{RUNNING} measures nothing:\n{server.logs(RUNNING)[-2000:]}")
            time.sleep(0.2)
        time.sleep(3 * INTERVAL_SECONDS)
        yield prometheus, start, time.time()
        server.request("DELETE", server.jobs_path(RUNNING))
