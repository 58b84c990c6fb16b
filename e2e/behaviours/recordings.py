"""Programs that several suites record or replay, and how."""

import re

from jobs import expect_complete, prediction_of

# FSDP2 over a small stack.
SHARDED = """
    import os, torch, torch.nn as nn, torch.distributed as dist
    from torch.distributed.fsdp import fully_shard
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(4)]).cuda()
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(9):
        model(torch.randn(64, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
    dist.destroy_process_group()
"""

# Two stages that send activations and gradients to each other.
PIPELINE = """
    import os, torch, torch.nn as nn, torch.distributed as dist
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    stage = nn.Sequential(nn.Linear(4096, 4096), nn.GELU(), nn.Linear(4096, 4096)).cuda()
    optimizer = torch.optim.SGD(stage.parameters(), lr=1e-3)
    for step in range(9):
        for part in range(3):
            if rank == 0:
                out = stage(torch.randn(1024, 4096, device="cuda"))
                dist.send(out.detach(), 1)
                gradient = torch.empty_like(out)
                dist.recv(gradient, 1)
                out.backward(gradient)
            else:
                x = torch.empty(1024, 4096, device="cuda")
                dist.recv(x, 0)
                x.requires_grad_()
                stage(x).square().mean().backward()
                dist.send(x.grad, 0)
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()
"""


def record(world, script, measure=3, outputs="{eventLog: true, recording: true}", **arguments):
    """A job, its document, and its recording."""
    document = world.job(script, measure=measure, outputs=outputs, **arguments)
    job = world.server.run(document, seconds=300)
    expect_complete(job)
    name = job["metadata"]["name"]
    file = world.folder / f"{name}.eidrec"
    done = world.eidolon("recording", name, "-o", file)
    assert done.returncode == 0 and "eidolon replay" in done.stderr, f"eidolon recording: {done.stderr}"
    return job, document, file


def replay(world, document, file, change=lambda text: text, options=""):
    world.count += 1
    text = re.sub(r"metadata: \{name: \w+\}", f"metadata: {{name: job{world.count}}}", document)
    text = text.replace(", recording: true", "") + f'  replay: {{recording: "{file}"{options}}}\n'
    return world.server.run(change(text), seconds=120)


def expect_equal(world, run, again):
    expect_complete(again)
    logs, repeated = world.event_logs(run), world.event_logs(again)
    assert any(logs.values()), "the run has no event log"
    for name, log in logs.items():
        pairs = zip(log.splitlines(), repeated.get(name, b"").splitlines())
        different = next((pair for pair in pairs if pair[0] != pair[1]), None)
        assert different is None and repeated.get(name) == log, f"{name} differs first at {different}"
    one, other = prediction_of(run), prediction_of(again)
    for key in one:
        assert one[key] == other.get(key), f"{key}: {one[key]} in the run, {other.get(key)} in the replay"
    assert one.keys() == other.keys(), f"{one.keys() ^ other.keys()} in one only"
