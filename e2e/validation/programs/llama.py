"""A Llama-3 8B training loop in plain PyTorch, as KempnerForge's MFU benchmark runs it: parameters in bf16,
full activation checkpointing, fused AdamW, gradient accumulation, FSDP2 when there are several ranks, and
torch.compile over the whole model."""

import argparse
import functools
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    apply_activation_checkpointing,
    checkpoint_wrapper,
)
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=32)
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--accumulate", type=int, required=True)
parser.add_argument("--length", type=int, default=4096)
parser.add_argument("--steps", type=int, default=5)
parser.add_argument("--compile", action="store_true")
flags = parser.parse_args()

WIDTH, HEADS, KEY_HEADS, HEAD, INNER, WORDS = 4096, 32, 8, 128, 14336, 128256


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)
        return (y * self.weight).to(x.dtype)


def rotate(x, angles):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * angles).flatten(-2).to(x.dtype)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, HEADS * HEAD, bias=False)
        self.key = nn.Linear(WIDTH, KEY_HEADS * HEAD, bias=False)
        self.value = nn.Linear(WIDTH, KEY_HEADS * HEAD, bias=False)
        self.out = nn.Linear(HEADS * HEAD, WIDTH, bias=False)

    def forward(self, x, angles):
        batch, length, _ = x.shape
        query = self.query(x).view(batch, length, HEADS, HEAD).transpose(1, 2)
        key = self.key(x).view(batch, length, KEY_HEADS, HEAD).transpose(1, 2)
        value = self.value(x).view(batch, length, KEY_HEADS, HEAD).transpose(1, 2)
        query, key = rotate(query, angles), rotate(key, angles)
        key = key.repeat_interleave(HEADS // KEY_HEADS, dim=1)
        value = value.repeat_interleave(HEADS // KEY_HEADS, dim=1)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).contiguous().view(batch, length, -1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.attention = RMSNorm(), Attention()
        self.mlp_norm = RMSNorm()
        self.gate = nn.Linear(WIDTH, INNER, bias=False)
        self.up = nn.Linear(WIDTH, INNER, bias=False)
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x, angles):
        x = x + self.attention(self.attention_norm(x), angles)
        y = self.mlp_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(flags.layers))
        self.norm = RMSNorm()
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.angles = None

    def forward(self, tokens):
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x, self.angles)
        return self.head(self.norm(x))


rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
torch.cuda.set_device(device)
if world > 1:
    dist.init_process_group("nccl")
torch.set_default_dtype(torch.bfloat16)
with device:
    model = Llama()
torch.set_default_dtype(torch.float32)
rates = 1 / 500000.0 ** (torch.arange(0, HEAD, 2, device=device).float() / HEAD)
turns = torch.outer(torch.arange(flags.length, device=device).float(), rates)
model.angles = torch.polar(torch.ones_like(turns), turns)
apply_activation_checkpointing(
    model,
    checkpoint_wrapper_fn=functools.partial(checkpoint_wrapper, checkpoint_impl=CheckpointImpl.NO_REENTRANT),
    check_fn=lambda module: isinstance(module, Block),
)
if world > 1:
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy)
    # KempnerForge says so for the root too (distributed/parallel.py at 01b461a), where FSDP2's default keeps it whole.
    fully_shard(model, mp_policy=policy, reshard_after_forward=True)
step_model = torch.compile(model) if flags.compile else model
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)

for step in range(flags.steps):
    total = 0.0
    for part in range(flags.accumulate):
        tokens = torch.randint(WORDS, (flags.batch, flags.length)).to(device)
        labels = torch.randint(WORDS, (flags.batch, flags.length)).to(device)
        if world > 1:
            model.set_requires_gradient_sync(part == flags.accumulate - 1)
        logits = step_model(tokens)
        loss = F.cross_entropy(logits.view(-1, WORDS), labels.view(-1))
        (loss / flags.accumulate).backward()
        total += loss.item()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    norm.item()
    optimizer.step()
    optimizer.zero_grad()
    if rank == 0:
        gib = 1024**3
        print(
            f"step {step} loss {total:.3f} allocated {torch.cuda.max_memory_allocated() / gib:.2f} GiB "
            f"reserved {torch.cuda.max_memory_reserved() / gib:.2f} GiB",
            flush=True,
        )
if world > 1:
    dist.destroy_process_group()
