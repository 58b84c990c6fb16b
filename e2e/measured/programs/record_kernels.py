#!/usr/bin/env python3
"""Times the kernels of common training operations on a GPU and writes them as JSON Lines. Needs PyTorch alone.

    python3 record_kernels.py OUT_DIR [--seconds 480] [--only gemm,attention,...] [--quick]

Each operation runs with a cold L2 cache (a 512 MiB buffer is cleared before each repetition) and warm (back to back).
Durations, grid, block, registers and shared memory come from the profiler's trace. Groups are written as they finish,
so that a run that is cut short still leaves whole groups.

header.json       GPU, driver, versions, clocks
kernels.jsonl.gz  a line per operation, size and cache state: its kernels with median, minimum and spread in nanoseconds
steps.jsonl.gz    whole training steps: every kernel with its start
facts.json        copies, launch gaps, sustained clocks, concurrency
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import tempfile
import time
import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, record_function

ap = argparse.ArgumentParser()
ap.add_argument("out")
ap.add_argument("--seconds", type=float, default=480)
ap.add_argument("--only", default="")
ap.add_argument("--quick", action="store_true")
a = ap.parse_args()
os.makedirs(a.out, exist_ok=True)
deadline = time.time() + a.seconds
dev, bf16, f16, f32 = "cuda", torch.bfloat16, torch.float16, torch.float32
flush = torch.empty((1 << 20 if a.quick else 512 << 20), dtype=torch.int8, device=dev)
REPS = 2 if a.quick else 9


def smi(query):
    try:
        return subprocess.run(
            ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], capture_output=True, text=True, timeout=20
        ).stdout.strip()
    except Exception as e:
        return f"unavailable: {type(e).__name__}"


def attempt(fn):
    try:
        return fn()
    except Exception as e:
        return f"unavailable: {type(e).__name__}"


def trace(run):
    """Runs run() under the profiler; annotations and kernels with times in ns, a kernel with the moment of its launch."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        run()
        torch.cuda.synchronize()
    f = tempfile.NamedTemporaryFile(suffix=".json", delete=False).name
    p.export_chrome_trace(f)
    events = json.load(open(f))["traceEvents"]
    os.unlink(f)
    spans = sorted(
        (e["ts"], e["ts"] + e["dur"], e["name"])
        for e in events
        if e.get("cat") == "user_annotation" and e.get("ph") == "X"
    )
    launched = {
        e["args"]["correlation"]: e["ts"]
        for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})
    }
    kernels = []
    for e in events:
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            g = e["args"]
            kernels.append(
                dict(
                    name=e["name"],
                    start_ns=round(e["ts"] * 1000),
                    ns=round(e["dur"] * 1000),
                    grid=g.get("grid"),
                    block=g.get("block"),
                    regs=g.get("registers per thread"),
                    smem=g.get("shared memory"),
                    stream=g.get("stream"),
                    bytes=g.get("bytes"),
                    launch=launched.get(g.get("correlation")),
                )
            )
    return spans, sorted(kernels, key=lambda k: k["start_ns"])


def measure(items, sink):
    """items: list of (description dict, callable). One line per item and cache state."""
    for label, fn in items:
        for _ in range(3):
            fn()
    torch.cuda.synchronize()

    def run():
        for i, (label, fn) in enumerate(items):
            for r in range(REPS):
                flush.zero_()
                with record_function(f"cold:{i}:{r}"):
                    fn()
            for r in range(REPS):
                with record_function(f"warm:{i}:{r}"):
                    fn()
            torch.cuda.synchronize()

    spans, kernels = trace(run)
    owned = {}
    kernels = [k for k in kernels if k["launch"] is not None]
    kernels.sort(key=lambda k: k["launch"])
    j = 0
    for t0, t1, name in spans:
        while j < len(kernels) and kernels[j]["launch"] < t0:
            j += 1
        mine = []
        while j < len(kernels) and kernels[j]["launch"] <= t1:
            mine.append(kernels[j])
            j += 1
        if ":" in name:
            owned[name] = mine
    for i, (label, fn) in enumerate(items):
        for state in ("cold", "warm"):
            reps = [owned.get(f"{state}:{i}:{r}", []) for r in range(REPS)]
            n = statistics.mode([len(x) for x in reps]) if reps else 0
            reps = [x for x in reps if len(x) == n]
            rows = []
            for q in range(n):
                ns = [x[q]["ns"] for x in reps]
                k = reps[0][q]
                rows.append(
                    dict(
                        name=k["name"],
                        grid=k["grid"],
                        block=k["block"],
                        regs=k["regs"],
                        smem=k["smem"],
                        bytes=k["bytes"],
                        median_ns=statistics.median(ns),
                        min_ns=min(ns),
                        spread_ns=max(ns) - min(ns),
                    )
                )
            sink.write(json.dumps(dict(label, cache=state, kernels=rows)) + "\n")


def T(*s, dtype=bf16, grad=False):
    return torch.randn(*s, device=dev, dtype=dtype, requires_grad=grad)


def gemm():
    base = [256, 512, 1024, 2048, 4096, 8192]
    llm = [
        (t, n, k)
        for t in (2048, 4096, 8192, 16384)
        for n, k in (
            (4096, 4096),
            (6144, 4096),
            (14336, 4096),
            (28672, 4096),
            (4096, 14336),
            (1024, 4096),
            (128256, 4096),
            (8192, 8192),
            (28672, 8192),
            (8192, 28672),
            (5120, 5120),
            (13824, 5120),
            (768, 768),
            (3072, 768),
            (768, 3072),
            (50304, 768),
        )
    ]
    cube = [(m, n, k) for m in base for n in base for k in base if m * n * k <= 2**37]
    for dt, shapes in ((bf16, cube + llm), (f16, llm[:16]), (f32, cube[::5])):
        for m, n, k in shapes[:3] if a.quick else shapes:
            if (m * n + m * k + n * k) * dt.itemsize > 20 << 30:
                continue
            x, w = T(m, k, dtype=dt), T(n, k, dtype=dt)
            yield dict(op="linear", dtype=str(dt), m=m, n=n, k=k), (lambda x=x, w=w: F.linear(x, w))
            if dt is bf16 and (m, n, k) in llm:
                b, g = T(n), T(m, n)
                yield dict(op="linear_bias", dtype=str(dt), m=m, n=n, k=k), (lambda x=x, w=w, b=b: F.linear(x, w, b))
                yield dict(op="dgrad", dtype=str(dt), m=m, n=n, k=k), (lambda g=g, w=w: g @ w)
                yield dict(op="wgrad", dtype=str(dt), m=m, n=n, k=k), (lambda g=g, x=x: g.t() @ x)
    for bsz, m, n, k in ((32, 512, 512, 64), (256, 1024, 1024, 128), (8, 4096, 4096, 128), (64, 128, 128, 128)):
        x, w = T(bsz, m, k), T(bsz, k, n)
        yield dict(op="bmm", dtype="bf16", b=bsz, m=m, n=n, k=k), (lambda x=x, w=w: torch.bmm(x, w))
    for m, n, k in llm[::2]:
        try:
            x, w, s = T(m, k).to(torch.float8_e4m3fn), T(n, k).to(torch.float8_e4m3fn), torch.ones((), device=dev)
            torch._scaled_mm(x, w.t(), scale_a=s, scale_b=s, out_dtype=bf16)
        except Exception:
            continue
        yield (
            dict(op="scaled_mm", dtype="e4m3", m=m, n=n, k=k),
            (lambda x=x, w=w, s=s: torch._scaled_mm(x, w.t(), scale_a=s, scale_b=s, out_dtype=bf16)),
        )


def attention():
    from torch.nn.attention import SDPBackend, sdpa_kernel

    for be in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION):
        for d, h, hk in ((128, 32, 32), (128, 32, 8), (64, 16, 16), (64, 12, 12)):
            for s in (512, 1024, 2048, 4096, 8192, 16384, 32768):
                for causal in (True, False):
                    b = max(1, 16384 // s)
                    q, k, v = T(b, h, s, d, grad=True), T(b, h, s, d, grad=True), T(b, h, s, d, grad=True)
                    if hk != h:
                        k, v = T(b, hk, s, d, grad=True), T(b, hk, s, d, grad=True)

                    def fwd(q=q, k=k, v=v, c=causal, be=be, gqa=hk != h):
                        with sdpa_kernel([be]):
                            return F.scaled_dot_product_attention(q, k, v, is_causal=c, enable_gqa=gqa)

                    try:
                        o = fwd()
                        o.sum().backward()
                    except Exception:
                        continue
                    g = torch.randn_like(o)

                    def both(fwd=fwd, g=g, q=q, k=k, v=v):
                        torch.autograd.grad(fwd(), (q, k, v), g)

                    yield dict(op="sdpa_fwd_bwd", backend=be.name, b=b, h=h, hk=hk, s=s, d=d, causal=causal), both
                    if a.quick:
                        return


def elementwise():
    ops = {
        "add": lambda x, y: x + y,
        "mul_": lambda x, y: x.mul_(y),
        "silu": lambda x, y: F.silu(x),
        "gelu": lambda x, y: F.gelu(x),
        "copy_": lambda x, y: x.copy_(y),
        "to_f32": lambda x, y: x.float(),
        "to_bf16": lambda x, y: x.to(bf16),
        "zero_": lambda x, y: x.zero_(),
        "add_scalar": lambda x, y: x + 1,
        "where": lambda x, y: torch.where(x > 0, x, y),
        "dropout": lambda x, y: F.dropout(x, 0.1),
        "rsqrt": lambda x, y: torch.rsqrt(x),
        "sin": lambda x, y: torch.sin(x),
        "transpose_copy": lambda x, y: x.view(-1, 1024).t().contiguous(),
        "sum": lambda x, y: x.sum(),
        "sum_dim": lambda x, y: x.view(-1, 1024).sum(-1),
        "amax": lambda x, y: x.amax(),
        "isfinite_all": lambda x, y: torch.isfinite(x).all(),
        "cat": lambda x, y: torch.cat([x, y]),
        "cumsum": lambda x, y: x.cumsum(0),
        "sort": lambda x, y: x[: 1 << 22].sort(),
        "topk": lambda x, y: x.view(-1, 1024).topk(8),
    }
    for dt in (bf16, f32):
        for p in (12,) if a.quick else (10, 12, 14, 16, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28):
            x, y = T(1 << p, dtype=dt), T(1 << p, dtype=dt)
            for name, fn in ops.items():
                yield dict(op=name, dtype=str(dt), n=1 << p), (lambda x=x, y=y, fn=fn: fn(x, y))


def normalisation():
    for rows in (2048, 8192, 16384, 65536):
        for c in (768, 2048, 4096, 8192, 16384):
            for dt in (bf16, f32):
                if rows * c > 1 << 29:
                    continue
                x, w, b = T(rows, c, dtype=dt, grad=True), T(c, dtype=dt, grad=True), T(c, dtype=dt, grad=True)
                g = T(rows, c, dtype=dt)
                yield (
                    dict(op="layer_norm_fwd_bwd", dtype=str(dt), rows=rows, c=c),
                    (lambda x=x, w=w, b=b, g=g, c=c: torch.autograd.grad(F.layer_norm(x, (c,), w, b), (x, w, b), g)),
                )
                yield (
                    dict(op="rms_norm_fwd_bwd", dtype=str(dt), rows=rows, c=c),
                    (lambda x=x, w=w, g=g, c=c: torch.autograd.grad(F.rms_norm(x, (c,), w), (x, w), g)),
                )
                yield (
                    dict(op="softmax_fwd_bwd", dtype=str(dt), rows=rows, c=c),
                    (lambda x=x, g=g: torch.autograd.grad(x.softmax(-1), x, g)),
                )
                if a.quick:
                    return
    for rows, v in ((2048, 32000), (4096, 50304), (8192, 128256), (16384, 128256)):
        x = T(rows, v, dtype=f32, grad=True)
        t = torch.randint(0, v, (rows,), device=dev)
        yield (
            dict(op="cross_entropy_fwd_bwd", dtype="f32", rows=rows, c=v),
            (lambda x=x, t=t: torch.autograd.grad(F.cross_entropy(x, t), x)),
        )


def optimizer():
    for n, count in ((1 << 16, 64), (1 << 20, 128), (1 << 24, 32), (1 << 27, 6)):
        for kind in ("fused", "foreach"):
            ps = [T(n, dtype=f32) for _ in range(count)]
            for p in ps:
                p.grad = torch.randn_like(p)
            o = torch.optim.AdamW(ps, 1e-4, **{kind: True})
            yield dict(op=f"adamw_{kind}", dtype="f32", n=n, tensors=count), o.step
        yield (
            dict(op="clip_grad_norm", dtype="f32", n=n, tensors=count),
            (lambda ps=ps: torch.nn.utils.clip_grad_norm_(ps, 1.0, foreach=True)),
        )
        if a.quick:
            return


def indexing():
    for v, c, t in ((50304, 768, 8192), (128256, 4096, 16384), (32000, 5120, 8192)):
        w = T(v, c, grad=True)
        i = torch.randint(0, v, (t,), device=dev)
        g = T(t, c)
        yield (
            dict(op="embedding_fwd_bwd", v=v, c=c, t=t),
            (lambda w=w, i=i, g=g: torch.autograd.grad(F.embedding(i, w), w, g)),
        )
        yield dict(op="index_select", v=v, c=c, t=t), (lambda w=w, i=i: w.index_select(0, i))
        o = torch.zeros(v, c, device=dev, dtype=bf16)
        yield dict(op="index_add_", v=v, c=c, t=t), (lambda o=o, i=i, g=g: o.index_add_(0, i, g))
        yield dict(op="bincount", v=v, t=t), (lambda i=i: torch.bincount(i, minlength=64))
        if a.quick:
            return


def convolution():
    for n, c, hw, k, r, s in (
        (256, 3, 224, 64, 7, 2),
        (256, 64, 56, 64, 3, 1),
        (256, 256, 56, 64, 1, 1),
        (256, 128, 28, 128, 3, 1),
        (256, 256, 14, 256, 3, 1),
        (256, 512, 7, 512, 3, 1),
        (256, 1024, 14, 2048, 1, 2),
    ):
        x = T(n, c, hw, hw, dtype=f16).to(memory_format=torch.channels_last).requires_grad_()
        w = T(k, c, r, r, dtype=f16).to(memory_format=torch.channels_last).requires_grad_()
        o = F.conv2d(x, w, stride=s, padding=r // 2)
        g = torch.randn_like(o)
        yield (
            dict(op="conv_fwd_bwd", dtype="f16", n=n, c=c, hw=hw, k=k, r=r, stride=s),
            (lambda x=x, w=w, g=g, s=s, r=r: torch.autograd.grad(F.conv2d(x, w, stride=s, padding=r // 2), (x, w), g)),
        )
        if a.quick:
            return


class Block(torch.nn.Module):
    def __init__(s, d, h, hk, f):
        super().__init__()
        s.h, s.hk, s.d = h, hk, d // h
        L = lambda i, o: torch.nn.Linear(i, o, bias=False)
        s.q, s.k, s.v, s.o, s.g, s.u, s.dn = L(d, d), L(d, hk * s.d), L(d, hk * s.d), L(d, d), L(d, f), L(d, f), L(f, d)
        s.n1, s.n2 = torch.nn.RMSNorm(d), torch.nn.RMSNorm(d)

    def forward(s, x):
        b, t, d = x.shape
        y = s.n1(x)
        q, k, v = (z(y).view(b, t, -1, s.d).transpose(1, 2) for z in (s.q, s.k, s.v))
        x = x + s.o(
            F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=s.hk != s.h)
            .transpose(1, 2)
            .reshape(b, t, d)
        )
        y = s.n2(x)
        return x + s.dn(F.silu(s.g(y)) * s.u(y))


class Llama(torch.nn.Module):
    def __init__(s, v, d, n, h, hk, f):
        super().__init__()
        s.e = torch.nn.Embedding(v, d)
        s.b = torch.nn.ModuleList(Block(d, h, hk, f) for _ in range(n))
        s.n = torch.nn.RMSNorm(d)
        s.out = torch.nn.Linear(d, v, bias=False)

    def forward(s, t, y):
        x = s.e(t)
        for b in s.b:
            x = b(x)
        return F.cross_entropy(s.out(s.n(x)).flatten(0, 1).float(), y.flatten())


def steps(path):
    """Whole training steps, every kernel with its start: order, gaps, overlaps. Names the script's own models."""
    cases = [
        ("llama8b_dims_4_layers", dict(v=128256, d=4096, n=4, h=32, hk=8, f=14336), 2, 8192),
        ("llama1b", dict(v=32000, d=2048, n=16, h=32, hk=8, f=5632), 4, 2048),
        ("gpt125m_like", dict(v=50304, d=768, n=12, h=12, hk=12, f=3072), 16, 1024),
    ]
    if a.quick:
        cases = [("tiny", dict(v=512, d=64, n=1, h=2, hk=2, f=128), 1, 64)]
    with gzip.open(path, "wt") as sink:
        for name, cfg, b, t in cases:
            for mode in ("eager", "compile"):
                if time.time() > deadline - 60:
                    return
                try:
                    torch.manual_seed(0)
                    torch.cuda.reset_peak_memory_stats()
                    m = Llama(**cfg).to(dev)
                    o = torch.optim.AdamW(m.parameters(), 1e-4, fused=True)
                    f = torch.compile(m) if mode == "compile" else m
                    x = torch.randint(0, cfg["v"], (b, t), device=dev)

                    def step():
                        with torch.autocast("cuda", bf16):
                            loss = f(x, x)
                        loss.backward()
                        torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
                        o.step()
                        o.zero_grad(set_to_none=True)
                        return loss

                    for _ in range(4):
                        step().item()
                    t0 = time.perf_counter()
                    for _ in range(5):
                        step()
                    torch.cuda.synchronize()
                    wall = (time.perf_counter() - t0) / 5
                    spans, kernels = trace(lambda: [step() for _ in range(2)])
                    base = kernels[0]["start_ns"] if kernels else 0
                    for k in kernels:
                        k["start_ns"] -= base
                        k.pop("launch")
                    sink.write(
                        json.dumps(
                            dict(
                                step=name,
                                mode=mode,
                                config=cfg,
                                batch=b,
                                seq=t,
                                wall_ms=wall * 1e3,
                                peak_allocated=torch.cuda.max_memory_allocated(),
                                peak_reserved=torch.cuda.max_memory_reserved(),
                                two_steps=kernels,
                            )
                        )
                        + "\n"
                    )
                    print(f"step {name} {mode}: {wall * 1e3:.2f} ms, {len(kernels)} kernels in two steps", flush=True)
                    m = o = f = None
                    torch.cuda.empty_cache()
                    torch._dynamo.reset()
                except Exception as e:
                    print(f"step {name} {mode}: {type(e).__name__}: {str(e)[:200]}", flush=True)


def facts():
    r = {}

    def timed(fn, n=20):
        s, e = torch.cuda.Event(True), torch.cuda.Event(True)
        for _ in range(3):
            fn()
        torch.cuda.synchronize()
        s.record()
        for _ in range(n):
            fn()
        e.record()
        torch.cuda.synchronize()
        return s.elapsed_time(e) / n * 1e6

    r["copies_ns"] = []
    for p in (10, 14, 18, 20, 22, 24, 26, 28):
        h, pin, d, d2 = (
            torch.empty(1 << p, dtype=torch.uint8),
            torch.empty(1 << p, dtype=torch.uint8).pin_memory(),
            torch.empty(1 << p, dtype=torch.uint8, device=dev),
            torch.empty(1 << p, dtype=torch.uint8, device=dev),
        )
        r["copies_ns"].append(
            dict(
                bytes=1 << p,
                h2d_pinned=timed(lambda: d.copy_(pin, non_blocking=True)),
                d2h_pinned=timed(lambda: pin.copy_(d, non_blocking=True)),
                h2d_pageable=timed(lambda: d.copy_(h)),
                d2h_pageable=timed(lambda: h.copy_(d)),
                d2d=timed(lambda: d2.copy_(d)),
                memset=timed(lambda: d.zero_()),
            )
        )
    x = torch.zeros(1, device=dev)
    t = time.perf_counter()
    for _ in range(20000):
        x.add_(1)
    r["host_ns_per_eager_launch"] = (time.perf_counter() - t) / 20000 * 1e9
    torch.cuda.synchronize()
    r["device_ns_per_tiny_launch"] = timed(lambda: x.add_(1), 2000)
    g = torch.cuda.CUDAGraph()
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        x.add_(1)
    torch.cuda.synchronize()
    with torch.cuda.graph(g):
        for _ in range(200):
            x.add_(1)
    r["graph_ns_per_tiny_node"] = timed(g.replay) / 200
    if not a.quick:
        w = T(8192, 8192)
        samples = []
        t0 = time.time()
        while time.time() - t0 < 12:
            ns = timed(lambda: w @ w, 40)
            samples.append(
                dict(
                    s=round(time.time() - t0, 2),
                    tflops=2 * 8192**3 / ns / 1e3,
                    smi=smi("clocks.sm,power.draw,temperature.gpu"),
                )
            )
        r["sustained_8192_bf16"] = samples
        big, big2 = (
            torch.empty(4 << 30, dtype=torch.uint8, device=dev),
            torch.empty(4 << 30, dtype=torch.uint8, device=dev),
        )
        side = torch.cuda.Stream()
        alone_g, alone_c = timed(lambda: w @ w, 10), timed(lambda: big2.copy_(big), 5)

        def together():
            with torch.cuda.stream(side):
                big2.copy_(big)
            for _ in range(2):
                w @ w
            torch.cuda.current_stream().wait_stream(side)
            side.wait_stream(torch.cuda.current_stream())

        r["concurrency_ns"] = dict(gemm_alone=alone_g, copy_alone=alone_c, copy_beside_two_gemms=timed(together, 5))
    return r


def main():
    free0, total = torch.cuda.mem_get_info()
    p = torch.cuda.get_device_properties(0)
    json.dump(
        dict(
            gpu=p.name,
            sms=p.multi_processor_count,
            cc=[p.major, p.minor],
            total=total,
            free_at_start=free0,
            torch=torch.__version__,
            cuda=torch.version.cuda,
            cudnn=attempt(torch.backends.cudnn.version),
            smi=smi("name,driver_version,clocks.max.sm,clocks.max.mem,power.limit,vbios_version"),
            props=str(p),
            time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        ),
        open(f"{a.out}/header.json", "w"),
        indent=1,
    )
    if not a.only or "facts" in a.only.split(","):
        try:
            json.dump(facts(), open(f"{a.out}/facts.json", "w"), indent=1)
        except Exception as e:
            print("facts:", type(e).__name__, str(e)[:300], flush=True)
    groups = dict(
        elementwise=elementwise,
        normalisation=normalisation,
        optimizer=optimizer,
        indexing=indexing,
        attention=attention,
        convolution=convolution,
        gemm=gemm,
    )
    if not a.only or "steps" in a.only.split(","):
        steps(f"{a.out}/steps.jsonl.gz")
    with gzip.open(f"{a.out}/kernels.jsonl.gz", "wt") as sink:
        for name, make in groups.items():
            if a.only and name not in a.only.split(","):
                continue
            batch, done, t0 = [], 0, time.time()

            def drain():
                nonlocal batch, done
                try:
                    measure(batch, sink)
                    done += len(batch)
                except Exception as e:
                    print(name, type(e).__name__, str(e)[:200], flush=True)
                batch = []
                sink.flush()
                torch.cuda.empty_cache()

            for item in make():
                batch.append(item)
                if len(batch) == 24 or torch.cuda.memory_allocated() > 40 << 30:
                    drain()
                if time.time() > deadline:
                    print(name, "stopped at the time limit", flush=True)
                    break
            drain()
            print(f"{name}: {done} operations in {time.time() - t0:.0f} s", flush=True)
    print("done", smi("clocks.sm,power.draw,temperature.gpu"))


main()
