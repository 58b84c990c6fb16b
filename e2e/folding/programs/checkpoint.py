"""FSDP2 with gradient clipping that saves and loads a distributed checkpoint, and exchanges Python objects.

Prints what the objects were, and ends with 1 if a loaded parameter has another shape.
"""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
rank, world = dist.get_rank(), dist.get_world_size()
model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(4))).to(device)
mesh = init_device_mesh("cuda", (world,))
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

folder = [tempfile.mkdtemp(dir=os.getcwd()) if rank == 0 else None]
dist.broadcast_object_list(folder, src=0)
gathered = [None] * world if rank == 0 else None
dist.gather_object({"rank": rank, "name": f"rank {rank}"}, gathered, dst=0)
mine = [None]
dist.scatter_object_list(mine, [f"part {place}" for place in range(world)] if rank == 0 else None, src=0)
if rank == 0:
    print("objects", gathered[0]["name"], "to", gathered[-1]["name"], "and", mine[0], flush=True)


def train(steps):
    for _ in range(steps):
        model(torch.randn(2048, 1024, device=device)).square().mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


train(6)
of_model, of_optimizer = get_state_dict(model, optimizer)
dcp.save({"model": of_model, "optimizer": of_optimizer}, checkpoint_id=folder[0])
dcp.load({"model": of_model, "optimizer": of_optimizer}, checkpoint_id=folder[0])
set_state_dict(model, optimizer, model_state_dict=of_model, optim_state_dict=of_optimizer)
train(6)
shapes = {tuple(parameter.shape) for parameter in model.parameters()}
dist.barrier()
dist.destroy_process_group()
if shapes != {(1024, 1024), (1024,)}:
    raise SystemExit(f"loaded parameters of shapes {shapes}")
