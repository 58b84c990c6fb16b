"""Documents of the jobs that the tests of the page look at."""

import itertools
import json
import pathlib
import textwrap

from jobs import World, expect_complete, light_script

GPUS = ["H100-SXM5-80GB", "B200-SXM-180GB"]
LOOP = """
    import os, time, torch, torch.distributed as dist
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    weight = torch.zeros(4096, 4096, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    optimizer = torch.optim.AdamW([weight], lr=0.1)
    for step in range(12):
        loss = (torch.ones(8192, 4096, device="cuda", dtype=torch.bfloat16) @ weight).square().mean()
        loss.backward()
        dist.all_reduce(weight.grad)
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item()}", flush=True)  # One write: the ranks share a pipe.
    dist.destroy_process_group()
"""
STEPS = """
    import torch
    weight = torch.zeros(2048, 2048, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    optimizer = torch.optim.AdamW([weight], lr=0.1)
    for step in range(8):
        loss = (torch.ones(4096, 2048, device="cuda", dtype=torch.bfloat16) @ weight).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""
numbers = itertools.count()


def job_spec(folder, script, directory=None, file="script.py", **more):
    """Returns the spec of a job of one rank. `more`: other fields of the spec."""
    place = folder / (directory or f"code{next(numbers)}")
    place.mkdir()
    (place / file).write_text(textwrap.dedent(script))
    World.starts += "torch" in script
    return {
        "cluster": {"servers": 1, "server": {"gpu": GPUS[0], "gpusPerServer": 1}},
        "command": ["python", file],
        "code": {"directory": str(place)},
        "iterations": {"warmup": 2, "measure": 3, "tokens": 4096},
        "hostModel": {"kind": "fixed"},
        **more,
    }


def loop_spec(folder, script=LOOP, file="script.py", measure=8, **more):
    """Returns the spec of a job of two ranks. They go on from torchrun's process, which spares each the import of
    torch."""
    return job_spec(
        folder,
        script,
        file=file,
        cluster={"servers": 1, "server": {"preset": "dgx-h100", "gpusPerServer": 2}},
        ranksPerServer=2,
        command=["torchrun", file],
        iterations={"warmup": 2, "measure": measure},
        env=[{"name": "RANKS_GO_ON", "value": "1"}],
        **more,
    )


def light_spec(folder):
    """Returns the spec of a job of one rank without torch."""
    spec = job_spec(folder, "", iterations={"warmup": 1, "measure": 2})
    place = pathlib.Path(spec["code"]["directory"])
    (place / "script.py").write_text(light_script(place, "for _ in range(8):\n    rank.step(0)\n"))
    return spec


def document(name, spec, labels=None, kind="SimulationJob"):
    metadata = {"name": name, "labels": labels or {}}
    return json.dumps({"apiVersion": "eidolon.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec})


def create(server, path, *of_document):
    status, answer = server.request("POST", path, document(*of_document), "application/json")
    assert status == 201, answer


def completed(server, name, spec):
    """The job once it is complete."""
    job = server.run(document(name, spec))
    expect_complete(job)
    return job
