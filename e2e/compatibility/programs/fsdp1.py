"""FullyShardedDataParallel of torch 1.x, each block wrapped, in bfloat16."""

import functools
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy


def main():
    dist.init_process_group("nccl")
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    block = torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True, norm_first=True)
    model = torch.nn.TransformerEncoder(block, 4, enable_nested_tensor=False)
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={torch.nn.TransformerEncoderLayer})
    precision = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = FullyShardedDataParallel(model, auto_wrap_policy=policy, mixed_precision=precision, device_id=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(10):
        loss = model(torch.randn(4, 128, 256, device=device)).float().pow(2).mean()
        loss.backward()
        norm = model.clip_grad_norm_(1.0)
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(f"step {step} loss {loss.item():.4f} norm {norm.item():.4f}", flush=True)
    dist.destroy_process_group()


main()
