"""torch.distributed.pipelining: 1F1B, and interleaved 1F1B with two stages a rank."""

import os

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleaved1F1B


def block():
    return torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Linear(256, 256))


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    loss_of = torch.nn.functional.mse_loss
    for stages_each in (1, 2):
        count = stages_each * ranks
        stages = [PipelineStage(block().to(device), rank + ranks * i, count, device) for i in range(stages_each)]
        if stages_each == 1:
            schedule = Schedule1F1B(stages[0], n_microbatches=4, loss_fn=loss_of)
        else:
            schedule = ScheduleInterleaved1F1B(stages, n_microbatches=4, loss_fn=loss_of)
        optimizer = torch.optim.SGD([p for s in stages for p in s.submod.parameters()], lr=1e-2)
        for step in range(6):
            x = torch.randn(32, 256, device=device)
            losses = []
            inputs = (x,) if rank == 0 else ()
            is_last = rank == ranks - 1
            schedule.step(*inputs, target=x if is_last else None, losses=losses if is_last else None)
            optimizer.step()
            optimizer.zero_grad()
            if is_last:
                print(f"{stages_each} a rank, step {step} loss {torch.stack(losses).mean().item():.4f}", flush=True)
    dist.destroy_process_group()


main()
