#!/usr/bin/env python3
"""Fits the constants by which GEMM times of measured GPUs are carried to another GPU.

  fit_gemm_transfer.py [OUTPUT_FILE]     default: services/timing/model/data/gemm_transfer.csv

Reads the published rows (services/timing/model/profiles) and the GPU model files, and writes one line of constants for
each GPU that has rows, fitted to all rows but those of that GPU, and one line fitted to all. Needs NumPy and the program
zstd; takes under a minute. The same input gives the same output: the search is seeded.
"""

import pathlib
import re
import subprocess
import sys

import numpy as np

TIMING = pathlib.Path(__file__).resolve().parent.parent
TILES = (64, 128, 256)
SPLITS = (1, 2, 4, 8, 16)
# Of TransferSeconds in services/timing/model/gemm_transfer.cc, not fitted: an L2 keeps what is used again up to about
# three quarters of its size, and weights are repeated after six copies.
L2_SHARE = 0.75
COPIES = 6
# Clocks of the kernel, of a wave and of splitting k, and bytes of L2 a multiprocessor and clock.
START = np.array([3000.0, 200.0, 6000.0, 64.0])
SAMPLE = 1500  # Shapes.
STEPS = 400
SHORT = 20e-6  # Shorter GEMMs count half: they are mostly the kernel's own latency.
HEADER = """\
# Written by fit/fit_gemm_transfer.py: constants of gemm_transfer.cc, fitted to the published rows of
# all GPUs but `without` ("-": of all): clocks of a kernel, of a wave of tiles and of splitting k, and
# bytes that L2 gives a multiprocessor and clock.
without,fixed_clocks,wave_clocks,split_clocks,l2_bytes_per_clock
"""


def number(text, name):
    """The number of a field of a GPU model file, in the units it is written in."""
    return float(re.search(rf"^{name}: ([0-9.]+)", text, re.M).group(1))


def rates(text, name):
    block = re.search(rf"^{name}:.*\n((?:  .*\n|#.*\n)+)", text, re.M).group(1)
    return {kind: float(value) * 1e12 for kind, value in re.findall(r"  (\w+): ([0-9.]+) TFLOP/s", block)}


def hardware(gpu, kind):
    """Returns what TransferHardwareOf reads from the model file."""
    text = (TIMING / f"gpu_model/models/{gpu}.yaml").read_text()
    bandwidth = re.search(r"^memory_bandwidth: ([0-9.]+) (TB|GB)/s", text, re.M)
    peak = rates(text, "peak_flops")
    return {
        "multiprocessors": number(text, "multiprocessors"),
        "clock": number(text, "boost_clock") * 1e6,
        "l2": number(text, "l2") * 2**20,
        "bandwidth": float(bandwidth.group(1))
        * (1e12 if bandwidth.group(2) == "TB" else 1e9)
        * number(text, "attained_memory_share"),
        "rate": rates(text, "sustained_flops")["bf16"] * peak[kind] / peak["bf16"],
        "input_bytes": 1.0 if kind == "fp8" else 2.0,
        "architecture": number(text, "compute_capability") // 1,
    }


def read(path):
    """Seconds by (m, n, k)."""
    text = subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True, text=True).stdout
    head, _, rows = text.partition("\nrows\n")
    axes = {name: [float(size) for size in line.split()] for name, line in re.findall(r"^([mnk]) (.*)$", head, re.M)}
    found = {}
    lines = iter(rows.splitlines())
    for n in axes["n"]:
        for k in axes["k"]:
            for m, word in zip(axes["m"], next(lines).split()):
                if word != "-":
                    found[m, n, k] = float(word.partition(":")[0]) * 1e-6
    return found


def seconds(constants, gpu, m, n, k):
    """The formula of TransferSeconds, over arrays."""
    fixed, wave, split, l2_bytes = constants
    a, w, out = m * k * gpu["input_bytes"], n * k * gpu["input_bytes"], m * n * 2
    l2_rate = l2_bytes * gpu["multiprocessors"] * gpu["clock"]
    used = (COPIES * w + a + out) / (L2_SHARE * gpu["l2"])
    missed = used**2 / (1 + used**2)
    memory = (a + w + out) * (missed / gpu["bandwidth"] + 1 / l2_rate)
    rate = gpu["rate"] / gpu["multiprocessors"]
    best = np.full(len(m), np.inf)
    for tile_m in TILES:
        for tile_n in TILES:
            tiles = np.ceil(m / tile_m) * np.ceil(n / tile_n)
            for parts in SPLITS:
                depth = np.maximum(k / parts, 64)
                waves = np.ceil(tiles * parts / gpu["multiprocessors"])
                time = waves * (2 * tile_m * tile_n * depth / rate + wave / gpu["clock"])
                if parts > 1:  # Only what does not fill the GPU is split.
                    time = time + split / gpu["clock"] + parts * m * n * 8 / l2_rate
                    time = np.where(tiles < gpu["multiprocessors"], time, np.inf)
                best = np.minimum(best, time)
    return fixed / gpu["clock"] + np.cbrt(best**3 + memory**3)


def mean_error(constants, tables, shapes):
    """Mean absolute logarithm of carried over measured time: within architectures, and between them."""
    ratios = {key: np.log(time) - np.log(seconds(constants, gpu, *shapes)) for key, (gpu, time) in tables.items()}
    errors = []
    for (name, kind), (gpu, time) in tables.items():
        weight = np.where(time < SHORT, 0.5, 1)
        by_architecture = {}
        for (other, other_kind), (reference_gpu, _) in tables.items():
            if other != name and other_kind == kind:
                by_architecture.setdefault(reference_gpu["architecture"], []).append(ratios[other, kind])
        means = {architecture: np.mean(found, axis=0) for architecture, found in by_architecture.items()}
        same = means.pop(gpu["architecture"], None)
        for carried in [] if same is None else [same]:
            errors.append(np.average(np.abs(carried - ratios[name, kind]), weights=weight))
        if means:
            carried = np.mean(list(means.values()), axis=0)
            errors.append(np.average(np.abs(carried - ratios[name, kind]), weights=weight))
    return np.mean(errors)


def search(tables, shapes):
    """Random descent."""
    rng = np.random.default_rng(0)
    constants, width = START, 0.3
    best = mean_error(constants, tables, shapes)
    for step in range(STEPS):
        tried = constants * np.exp(rng.normal(0, width, len(constants)) * (rng.random(len(constants)) < 0.6))
        error = mean_error(tried, tables, shapes)
        if error < best:
            constants, best = tried, error
        if step % (STEPS // 4) == STEPS // 4 - 1:
            width *= 0.5
    return constants, best


def main():
    output = sys.argv[1] if len(sys.argv) > 1 else TIMING / "model/data/gemm_transfer.csv"
    rows = {}
    for path in sorted((TIMING / "model/profiles").glob("*.zst")):
        gpu, kind, _ = path.name.rsplit(".", 2)
        rows[gpu, kind] = read(path)
    common = sorted(set.intersection(*(set(found) for found in rows.values())))
    picked = np.random.default_rng(1).choice(len(common), SAMPLE, replace=False)
    picked = [common[at] for at in sorted(picked)]
    shapes = np.array(picked).T
    tables = {key: (hardware(*key), np.array([found[shape] for shape in picked])) for key, found in rows.items()}
    text = HEADER
    for without in [*sorted({gpu for gpu, _ in tables}), "-"]:
        known = {key: table for key, table in tables.items() if key[0] != without}
        constants, error = search(known, shapes)
        print(f"without {without}: {', '.join(f'{value:.1f}' for value in constants)}, mean error {100 * error:.2f} %")
        text += ",".join([without, *(f"{value:.1f}" for value in constants)]) + "\n"
    pathlib.Path(output).write_text(text)


if __name__ == "__main__":
    main()
