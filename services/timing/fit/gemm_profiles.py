#!/usr/bin/env python3
"""Turns published GEMM times into the profiles that the build embeds.

  gemm_profiles.py KERNELS_FOLDER OUTPUT_FOLDER

KERNELS_FOLDER holds gemm/<gpu>.csv.gz: dtype, m, n, k and one column a software stack, microseconds; and
likewise quantize_*/<gpu>.csv.gz by m and k. Writes one file for each GPU and type of PROFILES, GPU.TYPE.zst:
one value a shape, the median of the stacks that ran the kernel in short bursts.
docs/reference/generated/kernel_times.md says which stacks count and what the times mean. Needs NumPy and the
program zstd. The same input gives the same output.
"""

import csv
import gzip
import subprocess
import sys
import warnings

import numpy as np

VERSION = 1
SOURCE = (
    "https://github.com/ai-dynamo/aiconfigurator/tree/095f58a51c4ca8e61b66ec108d86f223f8d559ce/"
    "aic-core/src/aiconfigurator_core/systems/data"
)
SCALED = "FP8 with one scale a matrix, cuBLASLt (TensorRT-LLM's linear less its quantisation), y = x w^T"
LINEAR = "torch.nn.functional.linear: cuBLAS or cuBLASLt, y = x w^T"
# Bandwidth in GB/s, sustained rate in GFLOP/s and boost clock in MHz of the GPU model files: the roofline that rows
# are compared with.
ROOFS = {
    ("A100-SXM4-80GB", "bf16"): (2039, 271200, 1410),
    ("H100-SXM5-80GB", "bf16"): (3350, 794500, 1980),
    ("H200-SXM-141GB", "bf16"): (4800, 794500, 1980),
    ("B200-SXM-180GB", "bf16"): (7700, 1745000, 1965),
    ("GB200", "bf16"): (8000, 1822000, 2062),
    ("B300-SXM-288GB", "bf16"): (7750, 1840000, 1920),
    ("RTX-PRO-6000-Server", "bf16"): (1792, 417300, 2430),
    ("H100-SXM5-80GB", "fp8"): (3350, 1402600, 1980),
    ("H200-SXM-141GB", "fp8"): (4800, 1453400, 1980),
    ("B200-SXM-180GB", "fp8"): (7700, 3432500, 1965),
    ("GB200", "fp8"): (8000, 3615600, 2062),
    ("B300-SXM-288GB", "fp8"): (7750, 3430000, 1920),
    ("RTX-PRO-6000-Server", "fp8"): (1792, 834000, 2430),
}
# The other two agree with each other and are up to half slower below 200 us: another machine or library.
NEWER_RTX = ("sglang-0.5.14", "trtllm-1.3.0rc10", "trtllm-1.3.0rc20", "vllm-0.24.0")
# Quantises by matrix and calls cuBLASLt; the other stacks quantise by token and call kernels of their own.
TENSORRT = ("trtllm-1.3.0rc10", "trtllm-1.3.0rc20")
# Relative error of a quantisation's published time.
QUANTISATION_ERROR = 0.05
# Ours, theirs, type of ours, type of theirs, kernel, stacks that count (None: all).
PROFILES = [
    ("A100-SXM4-80GB", "a100_sxm", "bf16", "bfloat16", LINEAR, None),
    ("H100-SXM5-80GB", "h100_sxm", "bf16", "bfloat16", LINEAR, None),
    ("H200-SXM-141GB", "h200_sxm", "bf16", "bfloat16", LINEAR, None),
    ("B200-SXM-180GB", "b200_sxm", "bf16", "bfloat16", LINEAR, None),
    ("GB200", "gb200", "bf16", "bfloat16", LINEAR, None),
    ("B300-SXM-288GB", "b300_sxm", "bf16", "bfloat16", LINEAR, None),
    ("RTX-PRO-6000-Server", "rtx_pro_6000_server", "bf16", "bfloat16", LINEAR, NEWER_RTX),
    ("H100-SXM5-80GB", "h100_sxm", "fp8", "fp8", SCALED, TENSORRT),
    ("H200-SXM-141GB", "h200_sxm", "fp8", "fp8", SCALED, TENSORRT),
    ("B200-SXM-180GB", "b200_sxm", "fp8", "fp8", SCALED, TENSORRT),
    ("GB200", "gb200", "fp8", "fp8", SCALED, TENSORRT),
    ("B300-SXM-288GB", "b300_sxm", "fp8", "fp8", SCALED, TENSORRT),
    ("RTX-PRO-6000-Server", "rtx_pro_6000_server", "fp8", "fp8", SCALED, TENSORRT),
]
# Ran for 0.3 s or longer at the power limit: another meaning than the bursts of all others.
SUSTAINED = {
    "b200_sxm": ["trtllm-1.3.0rc15", "vllm-0.22.0"],
    "gb200": ["trtllm-1.3.0rc17", "vllm-0.22.0"],
    "h200_sxm": ["vllm-0.22.0"],
}
# Rows at odds with all other stacks of the GPU: above these microseconds (a throttled machine).
DOUBTFUL = {("gb200", "vllm-0.24.0"): 1000.0}
# Above, only stacks that multiply random numbers: vLLM's script leaves weights unwritten, and
# matrices that switch less draw less power.
RANDOM_DATA_ABOVE_US = 200.0
# A GPU runs into its power limit after some 40 ms of large GEMMs: SGLang, which calls each shape 54 times, falls
# behind TensorRT-LLM, which calls it 9 to 45 times, above 0.7 ms on H100, H200 and B200, and TensorRT-LLM follows
# above 4.5 ms. Longer measurements are neither bursts nor a steady state; they count where there is no burst.
BURST_US = 40000.0
CALLS = {"sglang": 54, "vllm": 54, "trtllm": 45}
# TensorRT-LLM from 1.3: with a weight that alone exceeds L2, and with smaller ones, of which there are five copies.
CALLS_OF_NEWER_TENSORRT = (9, 45)
L2_BYTES = {"a100_sxm": 40e6, "h100_sxm": 50e6, "h200_sxm": 50e6}
L2_BYTES_OTHERS = 126e6


def read(path, dtype):
    """Shapes, stacks and times of one type; NaN where nothing was measured."""
    with gzip.open(path, "rt") as file:
        rows = csv.reader(file)
        header = next(rows)
        stacks = [name for name in header[4:] if not name.startswith("power_w:")]
        columns = [header.index(name) for name in stacks]
        shapes, times = [], []
        for row in rows:
            if row[0] != dtype:
                continue
            shapes.append([int(cell) for cell in row[1:4]])
            times.append([float(row[i]) if row[i] else np.nan for i in columns])
    return np.array(shapes), stacks, np.array(times)


def calls(gpu, stack, shapes):
    """Returns how often the stack's program calls a GEMM of each shape, warm-up included."""
    framework, version = stack.split("-")
    if framework != "trtllm" or version < "1.3":
        return np.full(len(shapes), CALLS[framework])
    weights = 2.0 * shapes[:, 1] * shapes[:, 2]
    return np.where(weights > L2_BYTES.get(gpu, L2_BYTES_OTHERS), *CALLS_OF_NEWER_TENSORRT)


def bursts_where_there_are(gpu, stacks, shapes, times):
    """Times without measurements that were too long for a burst, for shapes that have a shorter one."""
    long = np.column_stack([times[:, i] * calls(gpu, name, shapes) > BURST_US for i, name in enumerate(stacks)])
    burst = np.isfinite(times) & ~long
    return np.where(long & burst.any(axis=1)[:, None], np.nan, times)


def robust(gpu, stacks, shapes, times, wanted):
    """One value a shape and its relative spread between stacks, in percent (0: one stack)."""
    times = times.copy()
    for i, name in enumerate(stacks):
        if name in SUSTAINED.get(gpu, ()) or (wanted is not None and name not in wanted):
            times[:, i] = np.nan
        limit = DOUBTFUL.get((gpu, name))
        if limit is not None:
            times[times[:, i] > limit, i] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # Shapes without any time.
        middle = np.nanmedian(times, axis=1)
        unwritten = [i for i, name in enumerate(stacks) if name.startswith("vllm")]
        others = [i for i in range(len(stacks)) if i not in unwritten]
        long = middle > RANDOM_DATA_ABOVE_US
        drop = long & np.isfinite(times[:, others]).any(axis=1)
        times[np.ix_(drop, unwritten)] = np.nan
        times = bursts_where_there_are(gpu, stacks, shapes, times)
        middle = np.nanmedian(times, axis=1)
        # 1.48 x the median deviation is the standard deviation of normal errors.
        spread = 1.48 * np.nanmedian(np.abs(times / middle[:, None] - 1), axis=1)
    used = [name for i, name in enumerate(stacks) if np.isfinite(times[:, i]).any()]
    return middle, np.rint(np.minimum(spread, 0.99) * 100), used


def quantisation(folder, gpu):
    """Microseconds of finding x's scale and casting x, by m and k: medians of the stacks of TENSORRT."""
    parts = []
    for name in ("quantize_scale_matrix", "quantize_computescale"):
        with gzip.open(f"{folder}/{name}/{gpu}.csv.gz", "rt") as file:
            rows = csv.DictReader(file)
            found = {}
            for row in rows:
                times = [float(row[stack]) for stack in TENSORRT if row.get(stack)]
                if times:
                    found[int(row["m"]), int(row["k"])] = float(np.median(times))
            parts.append(found)
    return {key: parts[0][key] + parts[1][key] for key in parts[0].keys() & parts[1].keys()}


def less_quantisation(shapes, middle, spread, costs):
    """GEMMs alone, out of GEMMs with the quantisation of x; between the next m where that was not measured."""
    known = {}
    for m, k in sorted(costs):
        known.setdefault(k, []).append((np.log(m), costs[m, k]))
    middle, spread = middle.copy(), spread.copy()
    for i, (m, _, k) in enumerate(shapes.tolist()):
        if k not in known:
            middle[i] = np.nan
            continue
        cost = np.interp(np.log(m), *zip(*known[k]))
        alone = middle[i] - cost
        if not alone > 0.1 * cost:  # Nothing is left but noise.
            middle[i] = np.nan
            continue
        spread[i] = min(np.hypot(spread[i] * middle[i], 100 * QUANTISATION_ERROR * cost) / alone, 99)
        middle[i] = alone
    return middle, np.rint(spread)


def text_of(gpu, kind, kernel, shapes, middle, spread, used):
    """The profile as text: services/timing/model/gemm_rows.h describes it."""
    known = {tuple(s): f"{t:.4g}:{p:.0f}" for s, t, p in zip(shapes.tolist(), middle, spread) if np.isfinite(t)}
    axes = [sorted({shape[axis] for shape in known}) for axis in range(3)]
    lines = [
        f"eidolon-gemm-rows {VERSION}",
        f"gpu {gpu}",
        f"type {kind}",
        f"kernel {kernel}",
        "roof {} {} {}".format(*ROOFS[gpu, kind]),
        f"source {SOURCE}",
        "licence Apache-2.0",
        f"stacks {' '.join(used)}",
    ]
    lines += [f"{name} {' '.join(map(str, axis))}" for name, axis in zip("mnk", axes)]
    lines.append("rows")
    for n in axes[1]:
        for k in axes[2]:
            lines.append(" ".join(known.get((m, n, k), "-") for m in axes[0]))
    return "\n".join(lines) + "\n", len(known)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for gpu, theirs, kind, dtype, kernel, wanted in PROFILES:
        shapes, stacks, times = read(f"{sys.argv[1]}/gemm/{theirs}.csv.gz", dtype)
        middle, spread, used = robust(theirs, stacks, shapes, times, wanted)
        if kernel == SCALED:
            middle, spread = less_quantisation(shapes, middle, spread, quantisation(sys.argv[1], theirs))
        text, rows = text_of(gpu, kind, kernel, shapes, middle, spread, used)
        path = f"{sys.argv[2]}/{gpu}.{kind}.zst"
        command = ["zstd", "-q", "-19", "-f", f"--stream-size={len(text)}", "-o", path]
        subprocess.run(command, input=text.encode(), check=True)
        print(f"{path}: {rows} rows of {', '.join(used)}")


if __name__ == "__main__":
    main()
