"""Trains a Llama-like decoder on random tokens with FSDP2: plain PyTorch, nothing of a simulator in it.

    torchrun --nproc-per-node 8 train.py --steps 20
"""
import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


class Attention(nn.Module):
    def __init__(self, width, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.head_size = heads, kv_heads, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, kv_heads * self.head_size, bias=False)
        self.v = nn.Linear(width, kv_heads * self.head_size, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, self.heads, self.head_size).transpose(1, 2)
        k = self.k(x).view(batch, length, self.kv_heads, self.head_size).transpose(1, 2)
        v = self.v(x).view(batch, length, self.kv_heads, self.head_size).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, -1))


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)


class Block(nn.Module):
    def __init__(self, width, heads, kv_heads, hidden):
        super().__init__()
        self.attention_norm = nn.RMSNorm(width)
        self.attention = Attention(width, heads, kv_heads)
        self.ffn_norm = nn.RMSNorm(width)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        y = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self, vocabulary, width, layers, heads, kv_heads, hidden, length):
        super().__init__()
        self.length, self.head_size = length, width // heads
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, heads, kv_heads, hidden) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        position = torch.arange(tokens.shape[1], device=tokens.device, dtype=torch.float32)
        frequency = 1.0 / 500000 ** (
            torch.arange(0, self.head_size, 2, device=tokens.device, dtype=torch.float32) / self.head_size)
        angle = torch.outer(position, frequency)
        cos, sin = angle.cos(), angle.sin()
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.head(self.norm(x))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--batch", type=int, default=2)
    p.add_argument("--length", type=int, default=4096)
    p.add_argument("--layers", type=int, default=16)
    p.add_argument("--width", type=int, default=2048)
    p.add_argument("--heads", type=int, default=32)
    p.add_argument("--kv-heads", type=int, default=8)
    p.add_argument("--hidden", type=int, default=8192)
    p.add_argument("--vocabulary", type=int, default=128256)
    a = p.parse_args()

    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    mesh = init_device_mesh("cuda", (world,))

    with torch.device("meta"):
        model = Decoder(a.vocabulary, a.width, a.layers, a.heads, a.kv_heads, a.hidden, a.length)
    parameters = sum(p.numel() for p in model.parameters())
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    model.to_empty(device=device)
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.02)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    if rank == 0:
        print(f"{parameters / 1e9:.2f} B parameters on {world} x {torch.cuda.get_device_name()}", flush=True)

    generator = torch.Generator().manual_seed(rank)
    last = time.perf_counter()
    for step in range(a.steps):
        tokens = torch.randint(a.vocabulary, (a.batch, a.length + 1), generator=generator)
        tokens = tokens.pin_memory().to(device, non_blocking=True)
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        value = loss.item()
        now = time.perf_counter()
        if rank == 0:
            speed = world * a.batch * a.length / (now - last)
            print(f"step {step:3d}  loss {value:.4f}  {now - last:.4f} s  {speed:,.0f} tokens/s  "
                  f"{torch.cuda.max_memory_allocated() / 2**30:.2f} GiB", flush=True)
        last = now
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
