"""Runs operators once each, for Nsight Compute to count what their kernels do.

ncu --profile-from-start off --clock-control none --nvtx --csv --page raw --metrics ... python counted_operators.py
"""

import torch
from written_kernels import KERNELS

fp32 = torch.float32


def operators():
    unit, index = torch.rand(1 << 22, device="cuda"), torch.randint(0, 16, (1 << 22,), device="cuda")
    square = torch.randn(4096, 4096, device="cuda")
    words, into = torch.randint(0, 50304, (8192,), device="cuda"), torch.zeros(50304, 768, device="cuda")
    gradient = torch.randn(8192, 768, device="cuda")
    whole = torch.randint(0, 1 << 30, (1024, 4096), device="cuda")
    real = whole.to(fp32)
    return {
        "column_sum": KERNELS["column_sum 16384x4096"](),
        "nll": KERNELS["eager nll_loss 32768x4096 fp32"](),
        "add1M": KERNELS["eager add 1M"](),
        "gelu": KERNELS["eager gelu 64M"](),
        "histc16": lambda: unit.histc(16, 0, 1),
        "bincount16": lambda: torch.bincount(index, minlength=16),
        "seg_sort_i64": lambda: whole.sort(-1),
        "seg_sort_f32": lambda: real.sort(-1),
        "topk_f32": lambda: square.topk(64, -1),
        "argmax": lambda: square.argmax(-1),
        "index_put": lambda: into.index_put_((words,), gradient, accumulate=True),
        "cumsum": lambda: square.cumsum(-1),
        "randperm": lambda: torch.randperm(1 << 20, device="cuda"),
    }


def main():
    runs = operators()
    for run in runs.values():
        run()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    for name, run in runs.items():
        torch.cuda.nvtx.range_push(name)
        run()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
    torch.cuda.profiler.stop()


if __name__ == "__main__":
    main()
