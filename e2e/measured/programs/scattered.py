"""Times operators whose work depends on where data lies: histograms, scattered sums, scans, sorts, selections, dropout.

python scattered.py FILE

Writes a line of JSON for each operator to FILE: microseconds of one (twenty in a row between CUDA events), and every
kernel of one with grid, block and the median of five durations in nanoseconds, as PyTorch's profiler gives them.
"""

import collections
import json
import os
import statistics
import sys
import tempfile
import time
import traceback

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

fp32, bf16 = torch.float32, torch.bfloat16
REPEATS, TRACED = 20, 5


def normal(*shape, dtype=fp32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def places(rows, *shape):
    return torch.randint(0, rows, shape, device="cuda")


def histograms():
    for n in (1 << 16, 1 << 20, 1 << 22, 1 << 24):
        for bins in (2, 16, 64, 256, 1024, 4096, 65536):
            x, index = torch.rand(n, device="cuda"), places(bins, n)
            yield dict(op="histc", n=n, bins=bins), lambda x=x, b=bins: x.histc(b, 0, 1)
            yield dict(op="bincount", n=n, bins=bins), lambda x=index, b=bins: torch.bincount(x, minlength=b)
    for n in (1 << 16, 1 << 20):  # All in one bin.
        x = torch.zeros(n, device="cuda")
        yield dict(op="histc", n=n, bins=64, one=True), lambda x=x: x.histc(64, 0, 1)


def scattered_sums():
    for dtype in (fp32, bf16):
        kind = str(dtype)[6:]
        for rows, width, n in (
            (128, 1024, 8192),
            (1024, 1024, 8192),
            (50304, 768, 8192),
            (50304, 768, 1024),
            (128256, 4096, 8192),
            (8192, 4096, 8192),
            (8192, 256, 65536),
            (1000000, 64, 65536),
            (1000000, 128, 8192),
            (16, 4096, 4096),
        ):
            shape = dict(dtype=kind, rows=rows, width=width, n=n)
            index, values, into = places(rows, n), normal(n, width, dtype=dtype), normal(rows, width, dtype=dtype)
            wide = index[:, None].expand(n, width)
            yield dict(op="index_add_", **shape), lambda o=into, i=index, v=values: o.index_add_(0, i, v)
            yield dict(op="scatter_add_", **shape), lambda o=into, i=wide, v=values: o.scatter_add_(0, i, v)
            yield (
                dict(op="index_put_ accumulate", **shape),
                lambda o=into, i=index, v=values: o.index_put_((i,), v, accumulate=True),
            )
            yield dict(op="index_copy_", **shape), lambda o=into, i=index, v=values: o.index_copy_(0, i, v)
            yield (
                dict(op="embedding backward", **shape),
                lambda g=values, i=index, r=rows: torch.ops.aten.embedding_dense_backward(g, i, r, -1, False),
            )
            yield dict(op="gather", **shape), lambda o=into, i=wide: o.gather(0, i)
            yield dict(op="index_select", **shape), lambda o=into, i=index: o.index_select(0, i)
    for rows, width, bags, each in ((1000000, 64, 2048, 32), (1000000, 128, 8192, 8), (100000, 64, 65536, 1)):
        weight, offsets = normal(rows, width).requires_grad_(), torch.arange(0, bags * each, each, device="cuda")
        index, g = places(rows, bags * each), normal(bags, width)
        shape = dict(rows=rows, width=width, bags=bags, each=each)
        yield (
            dict(op="embedding_bag", **shape),
            lambda w=weight, i=index, o=offsets: F.embedding_bag(i, w, o, mode="sum"),
        )
        yield (
            dict(op="embedding_bag, backward", **shape),
            lambda w=weight, i=index, o=offsets, g=g: torch.autograd.grad(F.embedding_bag(i, w, o, mode="sum"), w, g),
        )


def scans_and_sorts():
    for dtype in (fp32, bf16, torch.int64):
        kind = str(dtype)[6:]
        for rows, n in (
            (1, 4096),
            (1, 65536),
            (1, 1 << 20),
            (1, 1 << 24),
            (32, 1024),
            (1024, 1024),
            (8192, 128),
            (8192, 4096),
            (64, 32768),
            (512, 50304),
        ):
            x = places(1 << 20, rows, n) if dtype == torch.int64 else normal(rows, n, dtype=dtype)
            shape = dict(dtype=kind, rows=rows, n=n)
            yield dict(op="cumsum", **shape), lambda x=x: x.cumsum(-1)
            yield dict(op="sort", **shape), lambda x=x: x.sort(-1)
            yield dict(op="topk", k=8, **shape), lambda x=x: x.topk(8, -1)
            yield dict(op="argmax", **shape), lambda x=x: x.argmax(-1)
            if n >= 1024:
                yield dict(op="topk", k=100, **shape), lambda x=x: x.topk(100, -1)
            if n < 32768:
                columns = x.t().contiguous()
                yield dict(op="cumsum of columns", **shape), lambda x=columns: x.cumsum(0)
    for n in (1 << 12, 1 << 16, 1 << 20):
        half, index = torch.rand(n, device="cuda") > 0.5, places(1000, n)
        yield dict(op="nonzero", n=n), lambda x=half: x.nonzero()
        yield dict(op="unique", n=n), lambda x=index: x.unique()
        yield dict(op="randperm", n=n), lambda n=n: torch.randperm(n, device="cuda")
    for rows, n in ((8, 50304), (64, 128256), (1024, 32000)):
        x = torch.rand(rows, n, device="cuda")
        yield dict(op="multinomial", rows=rows, n=n), lambda x=x: x.multinomial(1)
    for tokens, experts in ((8192, 8), (8192, 64), (32768, 128), (32768, 256)):
        x = normal(tokens, experts)
        yield dict(op="top-2 of experts", tokens=tokens, experts=experts), lambda x=x: x.topk(2)


def random_numbers():
    for dtype in (fp32, bf16):
        for n in (1 << 12, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26):
            x, shape = normal(n, dtype=dtype), dict(dtype=str(dtype)[6:], n=n)
            yield dict(op="dropout", **shape), lambda x=x: F.dropout(x, 0.1)
            yield dict(op="normal_", **shape), lambda x=x: x.normal_()
            yield dict(op="uniform_", **shape), lambda x=x: x.uniform_()
            yield dict(op="bernoulli_", **shape), lambda x=x: x.bernoulli_(0.5)
            yield dict(op="masked_fill", **shape), lambda x=x, m=x > 0: x.masked_fill(m, 0.0)
            yield dict(op="where", **shape), lambda x=x, m=x > 0: torch.where(m, x, 0.0)


def kernels_of(run):
    """Every kernel of a run with the median of its durations."""
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        for _ in range(TRACED):
            run()
        torch.cuda.synchronize()
    path = os.path.join(tempfile.gettempdir(), f"scattered.{os.getpid()}.json")
    recorded.export_chrome_trace(path)
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    os.unlink(path)
    events = [e for e in events if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy") and e.get("ph") == "X"]
    events.sort(key=lambda e: e["ts"])
    if len(events) % TRACED:
        return [dict(failed=f"{len(events)} kernels of {TRACED} runs")]
    each = len(events) // TRACED
    kernels = []
    for place in range(each):
        same = events[place::each]
        args = same[0].get("args", {})
        row = dict(name=same[0]["name"], ns=round(statistics.median(e["dur"] for e in same) * 1e3))
        row |= {k: args[k] for k in ("grid", "block", "bytes") if k in args}
        if len({e["name"] for e in same}) > 1:
            row["names"] = dict(collections.Counter(e["name"] for e in same))
        kernels.append(row)
    return kernels


def microseconds(run, busy):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.mm(busy, busy)  # Keeps the GPU busy until all launches are in the queue.
    begin.record()
    for _ in range(REPEATS):
        run()
    end.record()
    end.synchronize()
    return round(begin.elapsed_time(end) * 1e3 / REPEATS, 2)


def write(path, groups, seconds=float("inf")):
    """Times what the groups yield, a description and a function each, and writes a line of JSON for each."""
    end = time.time() + seconds
    torch.manual_seed(0)
    busy = normal(8192, 8192)
    with open(path, "w") as file:
        for group in groups:
            try:
                for row, run in group():
                    try:
                        run()
                        row["us"] = microseconds(run, busy)
                        row["kernels"] = kernels_of(run)
                    except Exception as error:
                        row["failed"] = f"{type(error).__name__}: {str(error)[:200]}"
                    print(json.dumps(row), file=file, flush=True)
                    if time.time() > end:
                        print(f"stopped at the time limit: {row}")
                        return
            except Exception:  # What makes the next one failed.
                traceback.print_exc()
            torch.cuda.empty_cache()


def main():
    write(sys.argv[1], (histograms, scattered_sums, scans_and_sorts, random_numbers))


if __name__ == "__main__":
    main()
