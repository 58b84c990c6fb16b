"""Llama-3.1 8B as TorchTitan trained it at the end of 2024 (commit 9dec370), in plain PyTorch: FSDP2 with
fp32 parameters, bf16 compute and fp32 reduction, selective activation checkpointing by operation, foreach
AdamW, foreach gradient clipping, a loss over fp32 logits. --compile compiles each block, as it did. --compile-loss and
--fused are what it did with the loss and AdamW by August 2025, --cudnn its attention on Blackwell since then. --float8 is
torchao's training in float8, scaled by tensor, with weights gathered in float8 and their scales computed after each step.

Attention is FlashAttention 2: PyTorch's choice on an H100 from pull request 138522 (October 2024) until cuDNN 9.15
(pytorch issue 142132 shows it for a nightly of December 2024). Today's would choose cuDNN, which is faster, and which
the list of saved operations does not know, so that its outputs would be computed again instead of kept."""

import argparse
import functools
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=32)
parser.add_argument("--batch", type=int, default=2)
parser.add_argument("--length", type=int, default=8192)
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--compile", action="store_true")
parser.add_argument("--compile-loss", action="store_true")
parser.add_argument("--fused", action="store_true")
parser.add_argument("--cudnn", action="store_true")
parser.add_argument("--float8", action="store_true")
flags = parser.parse_args()

WIDTH, HEADS, KEY_HEADS, HEAD, INNER, WORDS = 4096, 32, 8, 128, 14336, 128256
SAVED = {
    torch.ops.aten.mm.default,
    torch.ops.aten._scaled_dot_product_efficient_attention.default,
    torch.ops.aten._scaled_dot_product_flash_attention.default,
    torch.ops._c10d_functional.reduce_scatter_tensor.default,
    torch.ops.aten.max.default,
}


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt((y * y).mean(-1, keepdim=True) + 1e-5)
        return y.type_as(x) * self.weight


def rotate(query, key, angles):
    def turn(x):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * angles[: x.shape[1]].view(1, x.shape[1], 1, -1)).flatten(3).type_as(x)

    return turn(query), turn(key)


def repeat(x):
    batch, length, heads, size = x.shape
    times = HEADS // KEY_HEADS
    return x[:, :, :, None, :].expand(batch, length, heads, times, size).reshape(batch, length, HEADS, size)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq = nn.Linear(WIDTH, HEADS * HEAD, bias=False)
        self.wk = nn.Linear(WIDTH, KEY_HEADS * HEAD, bias=False)
        self.wv = nn.Linear(WIDTH, KEY_HEADS * HEAD, bias=False)
        self.wo = nn.Linear(HEADS * HEAD, WIDTH, bias=False)

    def forward(self, x, angles):
        batch, length, _ = x.shape
        query, key, value = self.wq(x), self.wk(x), self.wv(x)
        query = query.view(batch, length, HEADS, HEAD)
        key, value = (y.view(batch, length, KEY_HEADS, HEAD) for y in (key, value))
        query, key = rotate(query, key, angles)
        query, key, value = (y.transpose(1, 2) for y in (query, repeat(key), repeat(value)))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.wo(mixed.transpose(1, 2).contiguous().view(batch, length, -1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.attention, self.ffn_norm = RMSNorm(), Attention(), RMSNorm()
        self.w1 = nn.Linear(WIDTH, INNER, bias=False)
        self.w2 = nn.Linear(INNER, WIDTH, bias=False)
        self.w3 = nn.Linear(WIDTH, INNER, bias=False)

    def forward(self, x, angles):
        x = x + self.attention(self.attention_norm(x), angles)
        y = self.ffn_norm(x)
        return x + self.w2(F.silu(self.w1(y)) * self.w3(y))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleDict({str(i): Block() for i in range(flags.layers)})
        self.norm = RMSNorm()
        self.output = nn.Linear(WIDTH, WORDS, bias=False)
        rates = 1 / 500000.0 ** (torch.arange(0, HEAD, 2)[: HEAD // 2].float() / HEAD)
        turns = torch.outer(torch.arange(flags.length), rates).float()
        self.register_buffer("angles", torch.polar(torch.ones_like(turns), turns), persistent=False)

    def forward(self, tokens):
        x = self.words(tokens)
        for layer in self.layers.values():
            x = layer(x, self.angles)
        return self.output(self.norm(x))


def save_every_second_gemm():
    """Keeps what is dear to compute again, and every second GEMM."""
    counts = {"forward": 0, "recompute": 0}

    def policy(context, function, *_, **__):
        mode = "recompute" if context.is_recompute else "forward"
        gemm = function == torch.ops.aten.mm.default
        counts[mode] += gemm
        keep = function in SAVED and not (gemm and counts[mode] % 2 == 0)
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
torch.backends.cuda.enable_cudnn_sdp(flags.cudnn)
torch.backends.cuda.enable_flash_sdp(not flags.cudnn)
dist.init_process_group("nccl")
with torch.device("meta"):
    model = Llama()
if flags.float8:
    from torchao.float8 import (
        Float8LinearConfig,
        convert_to_float8_training,
        precompute_float8_dynamic_scale_for_fsdp,
    )

    convert_to_float8_training(
        model,
        config=Float8LinearConfig(enable_fsdp_float8_all_gather=True),
        module_filter_fn=lambda _, name: name != "output",
    )
for name, block in model.layers.items():
    block = checkpoint_wrapper(block, context_fn=save_every_second_gemm, preserve_rng_state=False)
    model.layers[name] = torch.compile(block, fullgraph=True) if flags.compile else block
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for name, block in model.layers.items():
    fully_shard(block, mp_policy=policy, reshard_after_forward=int(name) < flags.layers - 1)
fully_shard(model, mp_policy=policy)
model.to_empty(device=device)
with torch.no_grad():
    for weight in model.parameters():
        weight.fill_(0.01)
model.train()
kind = "fused" if flags.fused else "foreach"
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, **{kind: True})
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, functools.partial(max, 0.1))


def loss_of(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(0, 1))


if flags.compile_loss:
    loss_of = torch.compile(loss_of)

for step in range(flags.steps):
    batch = torch.randint(WORDS, (flags.batch, flags.length + 1))
    tokens, labels = batch[:, :-1].to(device), batch[:, 1:].to(device)
    optimizer.zero_grad()
    logits = model(tokens)
    loss = loss_of(logits, labels)
    del logits
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
    optimizer.step()
    if flags.float8:
        precompute_float8_dynamic_scale_for_fsdp(model)
    schedule.step()
    if step == flags.steps - 1 and dist.get_rank() == 0:
        gib = 1024**3
        print(
            f"step {step} loss {loss.item():.3f} allocated {torch.cuda.max_memory_allocated() / gib:.2f} GiB "
            f"reserved {torch.cuda.max_memory_reserved() / gib:.2f} GiB",
            flush=True,
        )
dist.destroy_process_group()
