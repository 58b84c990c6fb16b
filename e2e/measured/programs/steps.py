"""Whole training steps of common models on one GPU, as users write them. Prints a line of JSON for each case.

python steps.py [--only NAMES] [--trace FOLDER]

`synchronised_ms`: steps that end with torch.cuda.synchronize(); `free_ms`: the mean of steps of which only the last does.
"""

import argparse
import contextlib
import gzip
import json
import os
import statistics
import time
import traceback

import torch
import torch.nn.functional as F
from torch import nn

bf16 = torch.bfloat16


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, width=768, layers=12, heads=12, vocabulary=50304, length=1024):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), targets.flatten())


def stepper(model, loss_of, precision=bf16, clip=True, **how):
    """A step with autocast, clipping and AdamW, as most scripts have it."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **how)
    cast = torch.autocast("cuda", precision) if precision else contextlib.nullcontext()

    def step():
        with cast:
            loss = loss_of(model)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def gpt2(batch, length, compiled=False, **shape):
    model = GPT2(length=length, **shape).cuda()
    if compiled:
        model = torch.compile(model)
    tokens = torch.randint(0, 50304, (batch, length + 1), device="cuda")
    return stepper(model, lambda m: m(tokens[:, :-1], tokens[:, 1:]), fused=True)


def hugging_face(kind, batch, length, precision=bf16, dtype=None, checkpointing=False, **shape):
    import transformers

    config = getattr(transformers, kind + "Config")(**shape)
    auto = transformers.AutoModelForMaskedLM if kind == "Bert" else transformers.AutoModelForCausalLM
    model = auto.from_config(config).to("cuda", dtype)
    if checkpointing:
        model.gradient_checkpointing_enable()
    model.train()
    tokens = torch.randint(0, config.vocab_size, (batch, length), device="cuda")
    return stepper(model, lambda m: m(input_ids=tokens, labels=tokens).loss, precision)


def picture(name, batch, precision, channels_last):
    import torchvision

    model = getattr(torchvision.models, name)().cuda()
    pictures = torch.randn(batch, 3, 224, 224, device="cuda")
    if channels_last:
        model, pictures = model.to(memory_format=torch.channels_last), pictures.to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch,), device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cuda", enabled=precision == torch.float16)

    def step():
        with torch.autocast("cuda", precision) if precision else contextlib.nullcontext():
            loss = F.cross_entropy(model(pictures), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)

    return step


def multilayer(width, layers, batch):
    parts = [m for _ in range(layers) for m in (nn.Linear(width, width), nn.ReLU())]
    model = nn.Sequential(*parts).cuda()
    x = torch.randn(batch, width, device="cuda")
    return stepper(model, lambda m: m(x).square().mean(), precision=None, clip=False, foreach=False)


def recurrent(batch, length, width):
    model = nn.LSTM(width, width, num_layers=2, batch_first=True).cuda()
    x = torch.randn(batch, length, width, device="cuda")
    return stepper(model, lambda m: m(x)[0].square().mean(), precision=None, clip=False)


LLAMA_1B = dict(
    vocab_size=32000,
    hidden_size=2048,
    intermediate_size=5632,
    num_hidden_layers=16,
    num_attention_heads=32,
    num_key_value_heads=8,
    max_position_embeddings=4096,
)
LLAMA_8B_4 = LLAMA_1B | dict(
    vocab_size=128256,
    hidden_size=4096,
    intermediate_size=14336,
    num_hidden_layers=4,
    max_position_embeddings=8192,
)

CASES = {
    "gpt2 124M b1 t128": lambda: gpt2(1, 128),
    "gpt2 124M b4 t512": lambda: gpt2(4, 512),
    "gpt2 124M b16 t1024": lambda: gpt2(16, 1024),
    "gpt2 1.5B b4 t1024": lambda: gpt2(4, 1024, width=1600, layers=48, heads=25),
    "mlp 256 x 32 fp32 foreach=False": lambda: multilayer(256, 32, 64),
    "mlp 4096 x 16 fp32 foreach=False": lambda: multilayer(4096, 16, 4096),
    "hf llama 1B b4 t2048": lambda: hugging_face("Llama", 4, 2048, **LLAMA_1B),
    "hf llama 1B b1 t512 bf16 parameters": lambda: hugging_face("Llama", 1, 512, None, bf16, **LLAMA_1B),
    "hf llama 8B 4 layers b1 t8192 checkpointing": lambda: hugging_face(
        "Llama", 1, 8192, checkpointing=True, **LLAMA_8B_4
    ),
    "hf bert base b32 t512": lambda: hugging_face("Bert", 32, 512),
    "hf gpt2 b8 t1024": lambda: hugging_face("GPT2", 8, 1024),
    "resnet50 b256 fp16 channels last": lambda: picture("resnet50", 256, torch.float16, True),
    "resnet50 b64 fp32": lambda: picture("resnet50", 64, None, False),
    "resnet50 b16 bf16": lambda: picture("resnet50", 16, bf16, False),
    "vit_b_16 b128 bf16": lambda: picture("vit_b_16", 128, bf16, False),
    "convnext_tiny b64 bf16 channels last": lambda: picture("convnext_tiny", 64, bf16, True),
    "lstm 1024 x 2 b64 t256 fp32": lambda: recurrent(64, 256, 1024),
    "gpt2 124M b16 t1024 compiled": lambda: gpt2(16, 1024, compiled=True),
    "gpt2 124M b1 t128 compiled": lambda: gpt2(1, 128, compiled=True),
}


def traced(step, folder, name):
    """Writes every kernel, copy and call of two steps, as PyTorch's profiler gives them."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recorded:
        step()
        step()
        torch.cuda.synchronize()
    path = os.path.join(folder, "raw.json")
    recorded.export_chrome_trace(path)
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    os.unlink(path)
    kinds = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver")
    rows = [(e["ts"], e) for e in events if e.get("cat") in kinds and e.get("ph") == "X"]
    rows.sort(key=lambda row: row[0])
    first = rows[0][0]
    kept = []
    for start, e in rows:
        args = e.get("args", {})
        row = [e["cat"], e["name"], round((start - first) * 1e3), round(e["dur"] * 1e3), args.get("correlation")]
        if e["cat"] == "kernel":
            row += [args.get(k) for k in ("grid", "block", "registers per thread", "shared memory", "stream")]
        elif e["cat"].startswith("gpu"):
            row.append(args.get("bytes"))
        kept.append(row)
    with gzip.open(os.path.join(folder, f"{name.replace(' ', '_').replace('=', '_')}.json.gz"), "wt") as file:
        json.dump(kept, file)


def measured(make, folder, name, steps):
    torch.manual_seed(0)
    torch.cuda.reset_peak_memory_stats()
    step = make()
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    apart = []
    for _ in range(steps):
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        apart.append((time.perf_counter() - begin) * 1e3)
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    issued = (time.perf_counter() - begin) * 1e3 / steps
    torch.cuda.synchronize()
    together = (time.perf_counter() - begin) * 1e3 / steps
    if folder:
        traced(step, folder, name)
    return dict(
        case=name,
        synchronised_ms=round(statistics.median(apart), 4),
        least_ms=round(min(apart), 4),
        free_ms=round(together, 4),
        issued_ms=round(issued, 4),
        peak_allocated=torch.cuda.max_memory_allocated(),
        peak_reserved=torch.cuda.max_memory_reserved(),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="names of cases, separated by commas")
    parser.add_argument("--trace", default="", help="folder for the kernels and calls of two steps")
    parser.add_argument("--steps", type=int, default=10)
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    for name, make in CASES.items():
        if arguments.only and name not in arguments.only.split(","):
            continue
        try:
            print(json.dumps(measured(make, arguments.trace, name, arguments.steps)), flush=True)
        except Exception as error:
            print(json.dumps(dict(case=name, failed=f"{type(error).__name__}: {str(error)[:300]}")), flush=True)
            traceback.print_exc()
        torch.cuda.empty_cache()
        torch._dynamo.reset()


if __name__ == "__main__":
    main()
