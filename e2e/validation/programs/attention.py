"""FlashAttention 2 forward in the shapes of the FlashAttention-3 paper: 16384 tokens of 2048 numbers, by head size, mask and
length. Blocks of the longest sequences without a mask are too long to be counted and are left out. --cute: by FlashAttention
4, whose kernels for Hopper have the structure of FlashAttention 3's."""

import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

TOKENS, WIDTH = 16384, 2048
MASKS = {64: (0,), 128: (0, 1), 256: (1,)}
REPEATS = 5
CUTE = "--cute" in sys.argv
NAME = "FA4" if CUTE else "FA2"
if CUTE:
    from flash_attn.cute import flash_attn_func


def forward(size, causal, length):
    shape = (TOKENS // length, length, WIDTH // size, size)
    inputs = [torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3)]
    if CUTE:
        return lambda: flash_attn_func(*inputs, causal=bool(causal))
    inputs = [tensor.transpose(1, 2) for tensor in inputs]
    return lambda: F.scaled_dot_product_attention(*inputs, is_causal=bool(causal))


# Keeps the GPU busy until all launches are in the queue: the host takes no part.
busy = torch.empty(8192, 8192, device="cuda", dtype=torch.bfloat16)
for step in range(3):
    with torch.cuda.nvtx.range("step"), sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
        for size, masks in MASKS.items():
            for causal in masks:
                for length in (512, 1024, 2048, 4096, 8192, TOKENS):
                    if length == TOKENS and not causal and not CUTE:
                        continue
                    if length == TOKENS and size == 256 and CUTE:
                        continue
                    run = forward(size, causal, length)
                    run()
                    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                    torch.mm(busy, busy)
                    begin.record()
                    for _ in range(REPEATS):
                        run()
                    end.record()
                    end.synchronize()
                    if step == 2:
                        us = begin.elapsed_time(end) * 1e3 / REPEATS
                        print(f"operator {NAME} {size} {causal} {length}: {us:.2f} us", flush=True)
                    del run
                    torch.cuda.empty_cache()
