"""Hybrid sharding (HSDP): parameters are sharded within groups and replicated between them."""

import sys

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

shards = int(sys.argv[1])
dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(rank % torch.cuda.device_count())
mesh = init_device_mesh("cuda", (world // shards, shards), mesh_dim_names=("replicate", "shard"))
model = nn.Sequential(
    *(nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)) for _ in range(4))
).cuda()
for block in model:
    fully_shard(block, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(10):
    loss = model(torch.randn(2048, 1024, device="cuda")).square().mean()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
counts = [None] * world
dist.all_gather_object(counts, rank)
if rank == 0:
    print("ranks", counts[0], "to", counts[-1], "norm", type(norm).__name__, flush=True)
dist.destroy_process_group()
