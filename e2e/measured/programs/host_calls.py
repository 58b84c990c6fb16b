"""Measures what calls of PyTorch cost the host: many operators on tensors of a few bytes, so that the GPU waits for
each of them.

Prints a line of JSON for each: nanoseconds of one, the least and the median of nine runs.
"""

import json
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

x = torch.randn(8, 8, device="cuda")
y = torch.randn(8, 8, device="cuda")
g = torch.randn(8, 8, device="cuda", requires_grad=True)
long = torch.randint(0, 8, (8,), device="cuda")
pinned = torch.randn(8, 8).pin_memory()
pageable = torch.randn(8, 8)
linear, norm = nn.Linear(8, 8).cuda(), nn.LayerNorm(8).cuda()
event, stream = torch.cuda.Event(), torch.cuda.Stream()
parameters = [torch.randn(8, device="cuda", requires_grad=True) for _ in range(64)]
for p in parameters:
    p.grad = torch.randn_like(p)
fused = torch.optim.AdamW(parameters, fused=True)
foreach = torch.optim.AdamW(parameters, foreach=True)
single = torch.optim.AdamW(parameters, foreach=False)


def backward():
    F.linear(g, x).sum().backward()
    g.grad = None


CALLS = {
    "add_": (lambda: x.add_(y), 2000),
    "add": (lambda: x + y, 2000),
    "mm": (lambda: x @ y, 2000),
    "empty": (lambda: torch.empty(8, 8, device="cuda"), 2000),
    "view": (lambda: x.view(64), 2000),
    "transpose": (lambda: x.t(), 2000),
    "sum": (lambda: x.sum(), 2000),
    "softmax": (lambda: x.softmax(-1), 2000),
    "cat": (lambda: torch.cat([x, y]), 2000),
    "to bf16": (lambda: x.to(torch.bfloat16), 2000),
    "layer_norm": (lambda: norm(x), 1000),
    "linear": (lambda: linear(x), 1000),
    "gelu": (lambda: F.gelu(x), 2000),
    "embedding": (lambda: F.embedding(long, x), 1000),
    "index": (lambda: x[long], 1000),
    "linear, sum, backward": (backward, 500),
    "copy from pinned": (lambda: x.copy_(pinned, non_blocking=True), 1000),
    "copy from pageable": (lambda: x.copy_(pageable), 500),
    "copy to pageable": (lambda: x.cpu(), 500),
    "item": (lambda: x[0, 0].item(), 500),
    "event record": (lambda: event.record(), 2000),
    "event query": (lambda: event.query(), 2000),
    "stream wait": (lambda: stream.wait_event(event), 2000),
    "stream query": (lambda: stream.query(), 2000),
    "synchronize": (lambda: torch.cuda.synchronize(), 1000),
    "add and synchronize": (lambda: (x.add_(y), torch.cuda.synchronize()), 1000),
    "AdamW fused, 64 tensors": (fused.step, 100),
    "AdamW foreach, 64 tensors": (foreach.step, 100),
    "AdamW alone, 64 tensors": (single.step, 20),
    "clip_grad_norm_, 64 tensors": (lambda: nn.utils.clip_grad_norm_(parameters, 1.0), 50),
}


def main():
    for name, (call, times) in CALLS.items():
        runs = []
        for _ in range(9):
            torch.cuda.synchronize()
            begin = time.perf_counter_ns()
            for _ in range(times // 2):
                call()
            runs.append((time.perf_counter_ns() - begin) / (times // 2))
            torch.cuda.synchronize()
        print(
            json.dumps(dict(call=name, least_ns=round(min(runs)), median_ns=round(statistics.median(runs)))), flush=True
        )


if __name__ == "__main__":
    main()
