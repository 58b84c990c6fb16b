"""FSDP2 beside a Gloo group of all ranks and one of a row each, with checkpoints that are written while it trains.

    gloo.py [detail]

"detail" has PyTorch compare all collectives over Gloo. Ends with 1 if a collective gives anything but what all ranks would.
"""

import os
import sys
import tempfile

if "detail" in sys.argv:
    os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("cpu:gloo,cuda:nccl", device_id=device)
rank, world = dist.get_rank(), dist.get_world_size()
everybody = dist.new_group(backend="gloo")
row = [r for r in range(world) if r % 2 == rank % 2]
for start in range(2):
    made = dist.new_group([r for r in range(world) if r % 2 == start], backend="gloo")
    if start == rank % 2:
        neighbours = made
model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(4))).to(device)
mesh = init_device_mesh("cuda", (world,))
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)


def expect(what, got, wanted):
    if got != wanted:
        raise SystemExit(f"rank {rank}: {what} gives {got} instead of {wanted}")


def exchange(step):
    """Every collective that Gloo has, of integers."""
    dist.barrier(everybody)
    mine = torch.tensor([rank, 7 * step])
    total = mine.clone()
    dist.all_reduce(total, group=everybody)
    expect("all_reduce", total.tolist(), [sum(range(world)), 7 * step * world])
    largest, members = torch.tensor([step]), torch.tensor([1.0])
    dist.all_reduce(largest, dist.ReduceOp.MAX, group=neighbours)
    dist.all_reduce(members, group=neighbours)
    expect("all_reduce of a row", [*largest.tolist(), *members.tolist()], [step, len(row)])
    every = [torch.zeros_like(mine) for _ in range(world)]
    dist.all_gather(every, mine, group=everybody)
    expect("all_gather", [int(one[0]) for one in every], list(range(world)))
    floats = torch.zeros(world)
    dist.all_gather_into_tensor(floats, torch.tensor([0.5]), group=everybody)
    expect("all_gather of numbers", floats.tolist(), [0.5] * world)
    first = mine.clone()
    dist.broadcast(first, src=0, group=everybody)
    expect("broadcast", first.tolist(), [0, 7 * step])
    dist.gather(mine, every if rank == 0 else None, dst=0, group=everybody)
    expect("gather", [int(one[0]) for one in every], list(range(world)))
    parts = [torch.tensor([r * r, step]) for r in range(world)] if rank == 0 else None
    part = torch.zeros_like(mine)
    dist.scatter(part, parts, src=0, group=everybody)
    expect("scatter", part.tolist(), [rank * rank, step])
    total = mine.clone()
    dist.reduce(total, dst=0, group=everybody)
    if rank == 0:
        expect("reduce", total.tolist(), [sum(range(world)), 7 * step * world])
    sent, received = torch.tensor([rank * 100 + r for r in range(world)]), torch.zeros(world, dtype=torch.int64)
    dist.all_to_all_single(received, sent, group=everybody)
    expect("all_to_all", received.tolist(), [r * 100 + rank for r in range(world)])
    objects = [None] * world
    dist.all_gather_object(objects, {"step": step, "name": "the same"}, group=everybody)
    expect("objects", objects, [{"step": step, "name": "the same"}] * world)
    # PyTorch numbers what passes here by rank, and DETAIL takes that for a difference.
    if "detail" not in sys.argv:
        dist.monitored_barrier(everybody)


folder = [tempfile.mkdtemp(dir=os.getcwd()) if rank == 0 else None]
dist.broadcast_object_list(folder, src=0, group=everybody)
for step in range(12):
    model(torch.randn(2048, 1024, device=device)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    exchange(step)
    if step == 2:
        saving = dcp.async_save({"model": get_model_state_dict(model)}, checkpoint_id=folder[0])
    if step == 5:
        saving.result()
        expect("the checkpoint", os.path.exists(f"{folder[0]}/__{rank}_0.distcp"), True)
dist.barrier()
dist.destroy_process_group()
