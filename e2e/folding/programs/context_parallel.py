"""Attention over sequences that are cut into SHARDS pieces (torch's experimental context parallelism), with FSDP2.

context_parallel.py SHARDS [METHOD]

METHOD says how the pieces of keys and values go around: allgather (default) or alltoall.
"""

import os
import sys

import torch
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.experimental._attention import set_rotate_method

shards = int(sys.argv[1])
BATCH, LENGTH, HEADS, WIDTH = 2, 2048, 8, 64
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
torch.distributed.init_process_group("nccl", device_id=device)
world = torch.distributed.get_world_size()
mesh = init_device_mesh("cuda", (world // shards, shards), mesh_dim_names=("dp", "cp"))
set_rotate_method(sys.argv[2] if len(sys.argv) > 2 else "allgather")


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.split = torch.nn.Linear(HEADS * WIDTH, 3 * HEADS * WIDTH, bias=False)
        self.join = torch.nn.Linear(HEADS * WIDTH, HEADS * WIDTH, bias=False)

    def forward(self, x):
        heads = self.split(x).view(*x.shape[:2], 3, HEADS, WIDTH).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
        return x + self.join(mixed.transpose(1, 2).reshape(x.shape))


model = torch.nn.Sequential(*(Block() for _ in range(3))).to(device, torch.bfloat16)
for block in model:
    fully_shard(block, mesh=mesh["dp"])
fully_shard(model, mesh=mesh["dp"])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(8):
    batch = torch.randn(BATCH, LENGTH, HEADS * WIDTH, device=device, dtype=torch.bfloat16)
    with (
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION),
        context_parallel(mesh["cp"], buffers=(batch,), buffer_seq_dims=(1,)),
    ):
        model(batch).float().square().mean().backward()
    for parameter in model.parameters():
        torch.distributed.all_reduce(parameter.grad.to_local(), group=mesh["cp"].get_group())
    optimizer.step()
    optimizer.zero_grad()
torch.distributed.destroy_process_group()
