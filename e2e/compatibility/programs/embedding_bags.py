"""A recommender: tables of embedding bags spread over the ranks, exchanged, and replicated dense layers."""

import os

import torch
import torch.distributed as dist
from torch.distributed.nn.functional import all_to_all_single
from torch.nn.parallel import DistributedDataParallel

BATCH, WIDTH, TABLES = 256, 32, 4  # Of a rank.


def main():
    dist.init_process_group("nccl")
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    ranks = dist.get_world_size()
    tables = torch.nn.ModuleList(torch.nn.EmbeddingBag(10000, WIDTH, mode="sum", sparse=True) for _ in range(TABLES))
    tables.to(device)
    bottom = torch.nn.Sequential(torch.nn.Linear(13, 64), torch.nn.ReLU(), torch.nn.Linear(64, WIDTH))
    top = torch.nn.Sequential(
        torch.nn.Linear(WIDTH * (TABLES * ranks + 1), 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)
    )
    bottom, top = (DistributedDataParallel(each.to(device), device_ids=[device]) for each in (bottom, top))
    dense = torch.optim.Adagrad([*bottom.parameters(), *top.parameters()], lr=1e-2)
    sparse = torch.optim.SGD(tables.parameters(), lr=1e-2)
    for step in range(8):
        counts = torch.randint(1, 5, (BATCH * ranks,))
        offsets = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)[:-1]]).to(device)
        total = int(counts.sum())
        bags = [each(torch.randint(10000, (total,), device=device), offsets) for each in tables]
        sent = torch.stack(bags, 1).contiguous()
        mine = all_to_all_single(torch.empty_like(sent), sent).view(ranks, BATCH, TABLES * WIDTH)
        joined = torch.cat([bottom(torch.randn(BATCH, 13, device=device)), *mine.unbind(0)], 1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            top(joined).squeeze(1), torch.randint(2, (BATCH,), device=device).float()
        )
        loss.backward()
        for optimizer in (dense, sparse):
            optimizer.step()
            optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


main()
