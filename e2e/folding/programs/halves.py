"""Two halves of the job that exchange blocks of other sizes in groups of their own: two classes of ranks, which the first
attempt of a folded job finds."""

import os

import torch
import torch.distributed as dist

device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
rank, half = dist.get_rank(), dist.get_world_size() // 2
lower, upper = dist.new_group(list(range(half))), dist.new_group(list(range(half, 2 * half)))
group, width = (lower, 1024) if rank < half else (upper, 2048)
block, weight = torch.randn(width, width, device=device), torch.randn(width, width, device=device)
for step in range(10):
    dist.all_reduce(block @ weight, group=group)
    torch.cuda.synchronize()
dist.destroy_process_group()
