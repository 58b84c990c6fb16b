#!/usr/bin/env python3
"""Fits the formulas of GEMMs to published measurements and writes their constants.

  fit_gemm.py GROUND_TRUTH_FOLDER OUTPUT_FOLDER

Reads xla_matmul_h100_b200.csv and neusight_kernels_fp32_a100_h100.csv, writes gemm_smooth.csv (past the tables, and
FP32) and gemm_waves.csv (GPUs without a table) and prints the formulas' errors. Needs NumPy.
The same input gives the same output: the search is seeded.
"""

import csv
import sys

import numpy as np

TYPES = {  # Table name: (our name, bytes of an input element, bytes of an output element).
    "bf16xbf16->bf16": ("bf16", 2, 2),
    "f32xf32->f32": ("tf32", 4, 4),
    "f8e4m3fnxf8e4m3fn->bf16": ("fp8", 1, 2),
}
GPUS = {  # Table name: (GPU model, bandwidth, sustained rates); numbers of the GPU model files.
    "H100 (sm_90)": ("H100-SXM5-80GB", 3.35e12, {"bf16": 794.5e12, "tf32": 403e12, "fp8": 1402.6e12}),
    "B200 (sm_100)": ("B200-SXM-180GB", 7.7e12, {"bf16": 1745e12, "tf32": 873e12, "fp8": 3432.5e12}),
}
FP32_GPUS = {  # Part of the NeuSight table: (bandwidth, sustained fp32 rate).
    "NVIDIA A100-PCIE-40GB": (1.555e12, 17.9e12),
    "NVIDIA H100 80GB HBM3": (3.35e12, 51e12),
}
GRID = [256, 512, 1024, 2048, 4096]
BATCHES = [1, 2, 4]
# Of fixed, per_k and efficiency: beyond the first two it is the measuring program's overhead.
LIMITS = np.array([8e-6, 2e-9, 1.2])
SPLIT_K = 4096  # Longer sums are split over blocks, so that their latency stops growing.
MULTIPROCESSORS = {"H100 (sm_90)": 132, "B200 (sm_100)": 148}
# Of fixed, wave, efficiency, memory and small: a GPU's clock and bandwidth do not rise much above the published.
WAVE_LIMITS = np.array([8e-6, 4e-6, 1.1, 1.0, 1.0])
ATTAINED = 0.9  # Share of the bandwidth that large kernels reach.


def smooth(p, b, m, n, k, bandwidth, rate, in_bytes, out_bytes):
    """Seconds: fixed cost, latency along k, and the larger of operations and bytes, rounded off."""
    fixed, per_k, efficiency = p
    compute = 2 * b * m * n * k / (rate * efficiency)
    memory = (b * (m * k + n * k) * in_bytes + b * m * n * out_bytes) / (bandwidth * ATTAINED)
    return fixed + np.minimum(k, SPLIT_K) * per_k + (compute**4 + memory**4) ** 0.25


def waves(p, b, m, n, k, bandwidth, rate, in_bytes, out_bytes, multiprocessors):
    """Seconds: fixed cost, and the larger of bytes and whole waves of the best tiles, rounded off."""
    fixed, wave, efficiency, memory, small = p
    best = np.inf
    for tile_m in (64, 128, 256):
        for tile_n in (64, 128, 256):
            share = min(tile_m * tile_n / (128 * 256), 1) ** small
            tiles = b * np.ceil(m / tile_m) * np.ceil(n / tile_n)
            seconds = 2 * tile_m * tile_n * k / (rate / multiprocessors * efficiency * share) + wave
            best = np.minimum(best, np.ceil(tiles / multiprocessors) * seconds)
    moved = (b * (m * k + n * k) * in_bytes + b * m * n * out_bytes) / (bandwidth * memory)
    return fixed + (best**4 + moved**4) ** 0.25


def log_error(p, shape, seconds, args):
    formula = smooth if len(p) == 3 else waves
    return np.log(formula(p, *shape, *args) / seconds)


def search(shapes, start, limits=LIMITS, seed=0, steps=4000):
    """Random descent on the mean absolute log error over [(shape, seconds, args)]."""
    rng = np.random.default_rng(seed)
    cost = lambda p: np.mean([np.abs(log_error(p, *s)).mean() for s in shapes])
    best, p, width = cost(start), np.array(start), 0.4
    for step in range(steps):
        q = p * np.exp(rng.normal(0, width, len(p)) * (rng.random(len(p)) < 0.6))
        q = np.minimum(q, limits)
        c = cost(q)
        if c < best:
            p, best = q, c
        if step % 800 == 799:
            width *= 0.6
    return p, best


def load_table(path):
    cells = {}
    with open(path, newline="") as f:
        for line, row in enumerate(csv.DictReader(f), start=2):
            if row["dtype"] not in TYPES:
                continue
            b, m, n, k = (int(row[c]) for c in "bmnk")
            seconds = 2 * b * m * n * k / (float(row["tflops_reported"]) * 1e12)
            cells[row["gpu"], row["dtype"], b, m, n, k] = (seconds, line)
    return cells


def show(what, errors):
    e = np.abs(errors)
    print(f"{what:58} mean {e.mean():6.1%}  p95 {np.percentile(e, 95):6.1%}  bias {errors.mean():+6.1%}")


def show_shared(what, residual, bf16):
    """Returns what the waves leave over of bf16 on H100 and of another table: shared, or a library's choices?"""
    print(
        f"{what:58} residual {residual.std():5.1%}, with that of bf16 on H100 {np.corrcoef(residual, bf16)[0, 1]:+.2f}"
    )


def fit_table(cells, constants):
    grid = np.array([(b, m, n, k) for b in BATCHES for m in GRID for n in GRID for k in GRID], float)
    shape = tuple(grid.T)
    wave_constants, residuals = None, {}
    for dtype, (name, in_bytes, out_bytes) in TYPES.items():
        fits, wave_fits = [], []
        for gpu, (_, bandwidth, rates) in GPUS.items():
            seconds = np.array([cells[gpu, dtype, *map(int, g)][0] for g in grid])
            args = (bandwidth, rates[name], in_bytes, out_bytes)
            fits.append((shape, seconds, args))
            wave_fits.append((shape, seconds, (*args, MULTIPROCESSORS[gpu])))
        half = np.random.default_rng(1).permutation(len(grid)) < len(grid) // 2
        cut = lambda fit, keep: (tuple(x[keep] for x in fit[0]), fit[1][keep], fit[2])
        for gpu, fit in zip(GPUS, fits):
            p, _ = search([cut(fit, half)], [4e-6, 1e-9, 1.0])
            show(f"{name} {gpu} smooth formula: fit half, test half", log_error(p, *cut(fit, ~half)))
        if wave_constants is None:  # BF16 comes first; of B200 and of the other types nothing is used.
            wave_constants, _ = search([wave_fits[0]], [4e-6, 1e-6, 1.0, 0.9, 0.3], WAVE_LIMITS, steps=12000)
        for gpu, fit in zip(GPUS, wave_fits):
            show(f"{name} {gpu} waves with the constants of bf16 on H100", log_error(wave_constants, *fit))
        residuals[name] = log_error(wave_constants, *wave_fits[0])
        show_shared(f"H100 {name}", residuals[name], residuals["bf16"])
        if name == "bf16":
            show_shared("B200 bf16", log_error(wave_constants, *wave_fits[1]), residuals["bf16"])
        p, _ = search(fits, [4e-6, 1e-9, 1.0])
        for model, bandwidth, rates in GPUS.values():
            constants.append((model, name, *p, bandwidth, rates[name]))
    return wave_constants


def fit_fp32(path, constants):
    fits = {}
    with open(path, newline="") as f:
        for row in csv.DictReader(f):
            # Shorter ones are mostly launch overhead.
            long = float(row["latency_ms"]) > 0.1
            if long and row["op"] in ("linear", "bmm") and row["device"] in FP32_GPUS:
                b, m, n, k = (float(row[c] or 1) for c in "BMNK")
                fits.setdefault(row["device"], []).append((b, m, n, k, float(row["latency_ms"]) * 1e-3))
    args = {gpu: (*FP32_GPUS[gpu], 4, 4) for gpu in fits}
    data = {gpu: np.array(rows).T for gpu, rows in fits.items()}
    one = lambda gpu: (tuple(data[gpu][:4]), data[gpu][4], args[gpu])
    p, _ = search([one("NVIDIA A100-PCIE-40GB")], [4e-6, 1e-9, 1.0], steps=1500)
    show("fp32 A100 formula, fitted", log_error(p, *one("NVIDIA A100-PCIE-40GB")))
    show("fp32 H100 from A100's fit", log_error(p, *one("NVIDIA H100 80GB HBM3")))
    p, _ = search([one(gpu) for gpu in fits], [4e-6, 1e-9, 1.0], steps=1500)
    constants.append(("", "fp32", *p, *FP32_GPUS["NVIDIA H100 80GB HBM3"]))


def main():
    source, target = sys.argv[1:]
    constants = []
    wave_constants = fit_table(load_table(f"{source}/xla_matmul_h100_b200.csv"), constants)
    fit_fp32(f"{source}/neusight_kernels_fp32_a100_h100.csv", constants)
    with open(f"{target}/gemm_smooth.csv", "w") as f:
        f.write("# Written by fit/fit_gemm.py: fixed + k x per_k + max(compute, memory).\n")
        f.write("# bandwidth and rate are those of the GPU that the table of this type was measured on.\n")
        f.write("gpu,type,fixed_ps,per_k_fs,efficiency_millionths,bandwidth_gbps,rate_gflops\n")
        for gpu, name, fixed, per_k, efficiency, bandwidth, rate in constants:
            numbers = (fixed * 1e12, per_k * 1e15, efficiency * 1e6, bandwidth / 1e9, rate / 1e9)
            f.write(",".join([gpu, name, *(str(round(x)) for x in numbers)]) + "\n")
    with open(f"{target}/gemm_waves.csv", "w") as f:
        f.write("# Written by fit/fit_gemm.py: fixed + max(waves of tiles, memory), fitted on bf16 on H100.\n")
        f.write("fixed_ps,wave_ps,efficiency_millionths,memory_millionths,small_millionths\n")
        fixed, wave, *shares = wave_constants
        numbers = (fixed * 1e12, wave * 1e12, *(share * 1e6 for share in shares))
        f.write(",".join(str(round(x)) for x in numbers) + "\n")


if __name__ == "__main__":
    main()
