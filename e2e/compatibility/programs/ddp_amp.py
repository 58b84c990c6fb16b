"""DistributedDataParallel with autocast, a gradient scaler and accumulation, as the tutorial has it."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("nccl")
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 10)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers).to(device), device_ids=[device])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for step in range(10):
        for part in range(2):
            x = torch.randn(64, 256, device=device)
            y = torch.randint(10, (64,), device=device)
            with model.no_sync() if part == 0 else torch.enable_grad():
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = torch.nn.functional.cross_entropy(model(x), y)
                scaler.scale(loss / 2).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(
                f"step {step} loss {loss.item():.4f} norm {norm.item():.4f} scale {scaler.get_scale():.0f}", flush=True
            )
    dist.destroy_process_group()


main()
