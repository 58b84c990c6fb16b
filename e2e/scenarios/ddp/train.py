"""DistributedDataParallel over a small transformer, with gradient accumulation of one."""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
dist.init_process_group("nccl")
layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.1, batch_first=True)
model = DistributedDataParallel(nn.TransformerEncoder(layer, 4).cuda(), device_ids=[local])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(12):
    x = torch.randn(8, 256, 512, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(x).float().pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    print(f"step {step} loss {loss.item():.4f}", flush=True)
dist.destroy_process_group()
