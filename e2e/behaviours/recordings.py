"""Programs that several suites run, and how they are recorded and replayed."""

import re

from jobs import expect_complete

# 4096 rows of 1024 numbers through a layer of 4096, in 32 bits. For its backward pass are kept: what the first layer
# gives (64 MiB), what GELU gives (64 MiB), and what the second layer gives (16 MiB). BEFORE comes first, CALL calls it.
MLP = """
    import torch
    from torch.utils.checkpoint import checkpoint
    BEFORE
    torch.cuda.set_device(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), OPTIONS)
    x = torch.randn(4096, 1024, device="cuda")
    for step in range(8):
        optimizer.zero_grad()
        loss = (CALL).square().mean()
        loss.backward()
        optimizer.step()
"""


def mlp(before="", call="model(x)", options="fused=True"):
    return MLP.replace("BEFORE", before).replace("CALL", call).replace("OPTIONS", options)


# FSDP2 over a small stack.
SHARDED = """
    import torch.nn as nn
    from torch.distributed.fsdp import fully_shard
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
        print(f"step {step}", flush=True)
"""

# Two stages that send activations and gradients to each other.
PIPELINE = """
    import torch.nn as nn
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
