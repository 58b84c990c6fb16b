"""A user's program with kernels of its own: SwiGLU and a GEMM in Triton, on one GPU."""

import torch
import triton
import triton.language as tl


@triton.jit
def swiglu(gate, up, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gate + at, at < count).to(tl.float32)
    u = tl.load(up + at, at < count).to(tl.float32)
    tl.store(out + at, (g * tl.sigmoid(g) * u).to(tl.bfloat16), at < count)


@triton.jit
def matmul(a, b, c, size, TILE: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    depth = tl.arange(0, DEPTH)
    total = tl.zeros((TILE, TILE), tl.float32)
    for start in range(0, size, DEPTH):
        left = tl.load(a + rows[:, None] * size + (start + depth)[None, :])
        right = tl.load(b + (start + depth)[:, None] * size + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * size + columns[None, :], total.to(tl.bfloat16))


gate, up, out = (torch.zeros(1024, 1024, device="cuda", dtype=torch.bfloat16) for _ in range(3))
for step in range(10):
    swiglu[(1024,)](gate, up, out, gate.numel(), BLOCK=1024)
    matmul[(8, 8)](out, gate, up, 1024, TILE=128, DEPTH=64)
torch.cuda.synchronize()
