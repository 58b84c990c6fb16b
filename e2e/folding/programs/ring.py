"""Each rank passes a block to its neighbour in a ring, as context parallelism does, and sums gradients."""

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(rank % torch.cuda.device_count())
block = torch.randn(1024, 1024, device="cuda")
weight = torch.randn(1024, 1024, device="cuda")
for step in range(10):
    for _ in range(4):
        received = torch.empty_like(block)
        work = dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, block, (rank + 1) % world), dist.P2POp(dist.irecv, received, (rank - 1) % world)]
        )
        outcome = block @ weight
        for one in work:
            one.wait()
        block = received
    dist.all_reduce(outcome)
    torch.cuda.synchronize()
dist.destroy_process_group()
