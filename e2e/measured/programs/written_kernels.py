"""Kernels that users write in Triton or have torch.compile write; prints microseconds of one by CUDA events.

python written_kernels.py [--once]      each alone and twenty times in a row; --once: each once between
                                        cudaProfilerStart and cudaProfilerStop, for a profiler
"""

import sys

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

bf16, fp32, fp8 = torch.bfloat16, torch.float32, torch.float8_e4m3fn


@triton.jit
def swiglu(a, b, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    kept = at < columns
    x = tl.load(a + row + at, mask=kept, other=0).to(tl.float32)
    y = tl.load(b + row + at, mask=kept, other=0)
    tl.store(out + row + at, (x * tl.sigmoid(x)).to(y.dtype) * y, mask=kept)


@triton.jit
def rms_norm(x, weight, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    kept = at < columns
    v = tl.load(x + row + at, mask=kept, other=0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, axis=0) / columns + 1e-6)
    tl.store(out + row + at, v * scale * tl.load(weight + at, mask=kept, other=0), mask=kept)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    kept = at < columns
    v = tl.load(x + row + at, mask=kept, other=-float("inf")).to(tl.float32)
    v = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row + at, v / tl.sum(v, axis=0), mask=kept)


@triton.jit
def cross_entropy(logits, targets, loss, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(targets + row)
    logits += row * columns
    most, total = -float("inf"), 0.0
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        v = tl.load(logits + at, mask=at < columns, other=-float("inf")).to(tl.float32)
        new = tl.maximum(most, tl.max(v, axis=0))
        total = total * tl.exp(most - new) + tl.sum(tl.exp(v - new), axis=0)
        most = new
    tl.store(loss + row, most + tl.log(total) - tl.load(logits + target).to(tl.float32))
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        v = tl.load(logits + at, mask=at < columns, other=-float("inf")).to(tl.float32)
        grad = tl.exp(v - most) / total - tl.where(at == target, 1.0, 0.0)
        tl.store(logits + at, grad, mask=at < columns)


@triton.jit
def rotate(x, cos, sin, length, HALF: tl.constexpr, HEADS: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    half = tl.arange(0, HALF)[None, :]
    c = tl.load(cos + (token % length) * HALF + half)
    s = tl.load(sin + (token % length) * HALF + half)
    at = x + token * HEADS * HALF * 2 + tl.arange(0, HEADS)[:, None] * HALF * 2 + half
    first, second = tl.load(at).to(tl.float32), tl.load(at + HALF).to(tl.float32)
    tl.store(at, first * c - second * s)
    tl.store(at + HALF, second * c + first * s)


@triton.jit
def dropout(x, out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(out + at, tl.where(tl.rand(seed, at) > 0.1, v / 0.9, 0.0), mask=at < n)


@triton.jit
def dequantise(x, scale, out, columns, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    at = part * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at).to(tl.float32)
    tl.store(out + row * columns + at, v * tl.load(scale + (row * columns + at) // GROUP))


@triton.jit
def transpose(x, out, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + r[:, None] * columns + c[None, :])
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(v))


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    program = tl.program_id(0)
    rows, columns = tl.cdiv(m, M), tl.cdiv(n, N)
    group = program // (GROUP * columns)
    size = min(rows - group * GROUP, GROUP)
    pm = group * GROUP + (program % (GROUP * columns)) % size
    pn = (program % (GROUP * columns)) // size
    i, j, at = pm * M + tl.arange(0, M), pn * N + tl.arange(0, N), tl.arange(0, K)
    pa, pb = a + i[:, None] * k + at[None, :], b + at[:, None] * n + j[None, :]
    total = tl.zeros((M, N), tl.float32)
    for _ in range(0, tl.cdiv(k, K)):
        total = tl.dot(tl.load(pa), tl.load(pb), total)
        pa += K
        pb += K * n
    tl.store(c + i[:, None] * n + j[None, :], total.to(tl.bfloat16))


@triton.jit
def attention(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    block, head = tl.program_id(0), tl.program_id(1).to(tl.int64) * length * D
    i, j, d = block * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    query = tl.load(q + head + i[:, None] * D + d[None, :])
    most, total = tl.full((M,), -float("inf"), tl.float32), tl.zeros((M,), tl.float32)
    result = tl.zeros((M, D), tl.float32)
    for begin in range(0, (block + 1) * M, N):
        key = tl.load(k + head + (begin + j)[None, :] * D + d[:, None])
        score = tl.dot(query, key) * scale
        score = tl.where(i[:, None] >= (begin + j)[None, :], score, -float("inf"))
        new = tl.maximum(most, tl.max(score, 1))
        p = tl.exp2(score - new[:, None])
        shrunk = tl.exp2(most - new)
        total = total * shrunk + tl.sum(p, 1)
        value = tl.load(v + head + (begin + j)[:, None] * D + d[None, :])
        result = tl.dot(p.to(tl.bfloat16), value, result * shrunk[:, None])
        most = new
    tl.store(out + head + i[:, None] * D + d[None, :], (result / total[:, None]).to(tl.bfloat16))


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


@triton.jit
def column_sum(x, out, rows, columns, R: tl.constexpr, C: tl.constexpr):
    c = tl.program_id(0) * C + tl.arange(0, C)
    total = tl.zeros((C,), tl.float32)
    for begin in range(0, rows, R):
        at = (begin + tl.arange(0, R))[:, None] * columns + c[None, :]
        total += tl.sum(tl.load(x + at).to(tl.float32), 0)
    tl.store(out + c, total)


def normal(*shape, dtype=bf16):
    return torch.randn(*shape, device="cuda").to(dtype)


def of_rows(kernel, rows, columns, inputs, warps=8, dtype=bf16):
    tensors = [normal(rows, columns, dtype=dtype) for _ in range(inputs)]
    out = torch.empty_like(tensors[0])
    block = triton.next_power_of_2(columns)
    return lambda: kernel[(rows,)](*tensors, out, columns, BLOCK=block, num_warps=warps)


def normed(rows, columns):
    x, w = normal(rows, columns), normal(columns)
    out = torch.empty_like(x)
    return lambda: rms_norm[(rows,)](x, w, out, columns, BLOCK=triton.next_power_of_2(columns), num_warps=8)


def losses(rows, columns, dtype):
    logits, targets = normal(rows, columns, dtype=dtype), words(rows, columns)
    loss = torch.empty(rows, device="cuda")
    return lambda: cross_entropy[(rows,)](logits, targets, loss, columns, BLOCK=8192, num_warps=16)


def rotated(tokens, heads):
    x, cos, sin = normal(tokens, heads, 128), normal(4096, 64, dtype=fp32), normal(4096, 64, dtype=fp32)
    return lambda: rotate[(tokens,)](x, cos, sin, 4096, HALF=64, HEADS=heads)


def flat(kernel, n, *more, block=1024):
    x = normal(n)
    out = torch.empty_like(x)
    return lambda: kernel[(triton.cdiv(n, block),)](x, out, n, *more, BLOCK=block)


def dequantised(rows, columns):
    x = torch.randint(-128, 127, (rows, columns), device="cuda", dtype=torch.int8)
    scale, out = normal(rows * columns // 64, dtype=fp32), torch.empty(rows, columns, device="cuda", dtype=bf16)
    return lambda: dequantise[(rows, columns // 1024)](x, scale, out, columns, GROUP=64, BLOCK=1024)


def transposed(rows, columns, dtype, block):
    x = normal(rows, columns, dtype=dtype)
    out = torch.empty(columns, rows, device="cuda", dtype=dtype)
    return lambda: transpose[(rows // block, columns // block)](x, out, rows, columns, BLOCK=block)


def multiplied(m, n, k, warps=4, stages=3, tile=(128, 128, 64)):
    a, b, c = normal(m, k), normal(k, n), normal(m, n)
    grid = (triton.cdiv(m, tile[0]) * triton.cdiv(n, tile[1]),)
    shape = dict(zip("MNK", tile, strict=True))
    return lambda: matmul[grid](a, b, c, m, n, k, **shape, GROUP=8, num_warps=warps, num_stages=stages)


def attended(batch_heads, length, depth):
    q, k, v = (normal(batch_heads, length, depth) for _ in range(3))
    out = torch.empty_like(q)
    grid = (length // 128, batch_heads)
    return lambda: attention[grid](q, k, v, out, length, 0.125, M=128, N=64, D=depth, num_warps=8, num_stages=3)


def counted(n, bins):
    x = torch.randint(0, bins, (n,), device="cuda", dtype=torch.int32)
    into = torch.zeros(bins, device="cuda", dtype=torch.int32)
    return lambda: histogram[(triton.cdiv(n, 1024),)](x, into, n, BLOCK=1024)


def summed(rows, columns):
    x, out = normal(rows, columns), torch.empty(columns, device="cuda")
    return lambda: column_sum[(columns // 64,)](x, out, rows, columns, R=64, C=64)


def compiled(function, *inputs):
    run = torch.compile(function, dynamic=False)
    return lambda: run(*inputs)


def eager(function, *inputs):
    return lambda: function(*inputs)


def words(count, vocabulary):
    return torch.randint(0, vocabulary, (count,), device="cuda")


def to_fp8(x):
    return (x * 0.5).clamp(-448, 448).to(fp8)


def gelu_and_norm(x, r, w):
    x = F.gelu(x, approximate="tanh") + r
    return F.layer_norm(x, (x.shape[-1],), w, w)


KERNELS = {
    "swiglu 8192x14336": lambda: of_rows(swiglu, 8192, 14336, 2),
    "swiglu 2048x5632": lambda: of_rows(swiglu, 2048, 5632, 2),
    "rms_norm 8192x4096": lambda: normed(8192, 4096),
    "rms_norm 65536x768": lambda: normed(65536, 768),
    "softmax 16384x4096": lambda: of_rows(softmax, 16384, 4096, 1),
    "softmax 4096x32768 fp32": lambda: of_rows(softmax, 4096, 32768, 1, 16, fp32),
    "cross_entropy 4096x128256": lambda: losses(4096, 128256, bf16),
    "cross_entropy 2048x32000 fp32": lambda: losses(2048, 32000, fp32),
    "rotate 16384 tokens, 32 heads": lambda: rotated(16384, 32),
    "dropout 64M": lambda: flat(dropout, 1 << 26, 123),
    "dropout 1M": lambda: flat(dropout, 1 << 20, 123),
    "dequantise int8 8192x8192": lambda: dequantised(8192, 8192),
    "transpose 8192x8192 bf16, 32": lambda: transposed(8192, 8192, bf16, 32),
    "transpose 8192x8192 bf16, 64": lambda: transposed(8192, 8192, bf16, 64),
    "transpose 8192x8192 fp8, 64": lambda: transposed(8192, 8192, fp8, 64),
    "matmul 4096": lambda: multiplied(4096, 4096, 4096),
    "matmul 8192x1024x4096, 8 warps": lambda: multiplied(8192, 1024, 4096, 8, 3, (128, 256, 64)),
    "matmul 1024x1024x8192": lambda: multiplied(1024, 1024, 8192, 4, 4, (64, 64, 64)),
    "attention 64 heads, 2048, 64": lambda: attended(64, 2048, 64),
    "attention 32 heads, 4096, 128": lambda: attended(32, 4096, 128),
    "histogram 64M in 1024": lambda: counted(1 << 26, 1024),
    "histogram 4M in 16": lambda: counted(1 << 22, 16),
    "column_sum 16384x4096": lambda: summed(16384, 4096),
    "inductor to fp8 8192x4096": lambda: compiled(to_fp8, normal(8192, 4096)),
    "inductor to fp8 transposed 8192x4096": lambda: compiled(lambda x: to_fp8(x).t().contiguous(), normal(8192, 4096)),
    "inductor both fp8 8192x14336": lambda: compiled(
        lambda x: (to_fp8(x), to_fp8(x).t().contiguous()), normal(8192, 14336)
    ),
    "inductor gelu, add, layer_norm 8192x4096": lambda: compiled(
        gelu_and_norm, normal(8192, 4096), normal(8192, 4096), normal(4096)
    ),
    "inductor softmax 16384x2048": lambda: compiled(lambda x: x.softmax(-1), normal(16384, 2048)),
    "inductor amax 8192x8192": lambda: compiled(lambda x: x.abs().amax(), normal(8192, 8192)),
    "inductor sum of columns 16384x4096": lambda: compiled(lambda x: x.float().sum(0), normal(16384, 4096)),
    "eager layer_norm 8192x4096": lambda: eager(
        lambda x, w: F.layer_norm(x, (4096,), w, w), normal(8192, 4096), normal(4096)
    ),
    "eager softmax 16384x4096": lambda: eager(lambda x: x.softmax(-1), normal(16384, 4096)),
    "eager log_softmax 32768x4096 fp32": lambda: eager(lambda x: x.log_softmax(-1), normal(32768, 4096, dtype=fp32)),
    "eager nll_loss 32768x4096 fp32": lambda: eager(F.nll_loss, normal(32768, 4096, dtype=fp32), words(32768, 4096)),
    "eager gelu 64M": lambda: eager(F.gelu, normal(1 << 26)),
    "eager add 1M": lambda: eager(lambda x: x + x, normal(1 << 20)),
    "eager sum 64M": lambda: eager(torch.sum, normal(1 << 26)),
    "eager transposed copy 8192x8192": lambda: eager(lambda x: x.t().contiguous(), normal(8192, 8192)),
    "eager avg_pool2d": lambda: eager(lambda x: F.avg_pool2d(x, 11), normal(16, 64, 512, 512, dtype=fp32)),
    "eager argmax of columns": lambda: eager(lambda x: x.argmax(1), normal(128, 4096, 1023, dtype=fp32)),
    "eager cumsum 4096x32768 fp32": lambda: eager(lambda x: x.cumsum(1), normal(4096, 32768, dtype=fp32)),
    "eager _sleep 1000000": lambda: lambda: torch.cuda._sleep(1000000),
}

REPEATS = 20


def main():
    once = "--once" in sys.argv[1:]
    # Keeps the GPU busy until all launches are in the queue: the host takes no part.
    busy = normal(8192, 8192)
    for name, make in KERNELS.items():
        try:
            run = make()
            run()
            if once:
                torch.cuda.synchronize()
                torch.cuda.profiler.start()
                run()
                torch.cuda.synchronize()
                torch.cuda.profiler.stop()
                print(f"once {name}", flush=True)
                continue
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda.synchronize()
            for _ in range(3):
                torch.mm(busy, busy)
            begin.record()
            for _ in range(REPEATS):
                run()
            end.record()
            end.synchronize()
            print(f"operator {name}: {begin.elapsed_time(end) * 1e3 / REPEATS:.2f} us", flush=True)
        except Exception as error:
            print(f"failed {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
