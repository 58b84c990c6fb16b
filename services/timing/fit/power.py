#!/usr/bin/env python3
"""Fits the power of kernels, and prints the `power` map of each GPU's model file with its errors.

  power.py KERNELS_FOLDER

KERNELS_FOLDER holds gemm/<gpu>.csv.gz and quantize_scale_matrix/<gpu>.csv.gz as
docs/reference/generated/kernel_times.md describes them. Some stacks ran each GEMM for 0.3 s or longer and read the
board's power; others ran the same GEMM for some milliseconds.
Two things are fitted together, by the least mean error: the power of rows that were measured for a second (shorter
ones hold what the board did before), and by how much the rows at the power limit are slower than the short ones. No
training step is used. Needs NumPy. The same input gives the same output.
"""

import csv
import gzip
import sys
import zlib

import numpy as np

# Peak in TFLOP/s (dense bf16), bandwidth in TB/s and power limit in W of the GPU model files; stacks with power, and
# those that ran the same kernels in bursts.
GPUS = {
    "b200_sxm": (
        2250,
        7.7,
        1000,
        {
            "trtllm-1.3.0rc15": ("trtllm-1.3.0rc10", "trtllm-1.3.0rc20"),
            "vllm-0.22.0": ("vllm-0.19.0", "vllm-0.24.0"),
        },
    ),
    "gb200": (
        2500,
        8.0,
        1200,
        {"trtllm-1.3.0rc17": ("trtllm-1.3.0rc10", "trtllm-1.3.0rc20"), "vllm-0.22.0": ("vllm-0.19.0",)},
    ),
    "h200_sxm": (989.4, 4.8, 700, {"vllm-0.22.0": ("vllm-0.19.0", "vllm-0.24.0")}),
}
TYPES = {"bfloat16": (2, 1), "fp8": (1, 2), "nvfp4": (0.5625, 4)}  # Bytes of an operand, times the peak of bf16.
# Power above the floor goes with f x V^2, and V about with f: Mudge, IEEE Computer 34(4), 2001. The memory's chips
# draw 3.9 pJ a bit whatever the clock: O'Connor et al., MICRO 2017 (gpu_model.h).
MEMORY_JOULES_PER_BYTE = 3.9e-12 * 8
NEWTON_STEPS = 5
# Kernels of less were repeated for 0.3 s, longer ones for 1 s.
MEASURED_FOR_A_SECOND_US = 100
# Of burst times whose ratio counts: shorter ones hold launch gaps, longer ones reach the limit (kernel_times.md).
RATIO_US = (20, 700)
# Rows at the limit: their power over it.
AT_LIMIT = 0.95
# Slowed down by the limit, though the board's power, which lags behind, reads much less.
SLOWED, BELOW_LIMIT = 1.06, 0.9
# Multiplies weights that nobody wrote, often zeros, which draw less: no slowdown is fitted where another stack has one.
UNWRITTEN = "vllm"
# Of the peak: matrix units that are asked for less are not all at work.
FILLED = 0.05
FOLDS = 5


def table(folder, family, gpu):
    """Columns of a table; the first one as text."""
    with gzip.open(f"{folder}/{family}/{gpu}.csv.gz", "rt") as f:
        rows = csv.reader(f)
        names = next(rows)
        columns = list(zip(*rows, strict=True))
    return {
        name: np.array(column) if name == "dtype" else np.array([float(value or "nan") for value in column])
        for name, column in zip(names, columns, strict=True)
    }


class Rows:
    """GEMMs of one stack and type whose power was read: loads at the burst clock, and what was seen."""

    def __init__(self, data, gpu, stack, bursts, kind):
        peak, bandwidth, self.limit, _ = GPUS[gpu]
        size, rate = TYPES[kind]
        power, seconds = data[f"power_w:{stack}"], data[stack]
        known = (data["dtype"] == kind) & ~np.isnan(power) & ~np.isnan(seconds)
        short = np.array([data[burst] for burst in bursts])[:, known]
        m, n, k = (data[name][known] for name in "mnk")
        self.power, self.us = power[known], seconds[known]
        count = np.sum(~np.isnan(short), axis=0)
        self.burst_us = np.where(count > 0, np.nansum(short, axis=0) / np.maximum(count, 1), np.nan)
        us = np.where(np.isnan(self.burst_us), self.us, self.burst_us)
        self.rate = 2 * m * n * k / us / 1e6 / (peak * rate)
        self.bytes = (size * (m * k + n * k) + 2 * m * n) / us / 1e6 / bandwidth
        # FP8's scale of a matrix: x is read twice in bf16 and written once, by kernels bound by memory.
        self.cast_bytes = (5 * m * k / us / 1e6 / bandwidth) if kind == "fp8" else np.zeros_like(us)
        self.chips = (self.bytes + self.cast_bytes) * bandwidth * 1e12 * MEMORY_JOULES_PER_BYTE
        self.fold = np.array(
            [zlib.crc32(f"{a:.0f} {b:.0f} {c:.0f}".encode()) % FOLDS for a, b, c in zip(m, n, k, strict=True)]
        )
        self.slower = self.us / self.burst_us
        lagging = (self.slower > SLOWED) & (self.power < BELOW_LIMIT * self.limit)
        self.settled = (self.us >= MEASURED_FOR_A_SECOND_US) & ~lagging
        self.throttled = (self.power > AT_LIMIT * self.limit) & (self.burst_us > RATIO_US[0])
        self.throttled &= self.burst_us < RATIO_US[1]
        self.tells_slowdown = not stack.startswith(UNWRITTEN) or len(GPUS[gpu][3]) == 1

    def loads(self):
        return np.stack([np.minimum(self.rate / FILLED, 1), self.rate, self.bytes], axis=1)


def predicted(constants, rows, floor, held, memory=0):
    """Power, and time over that of a burst. `memory`: of casts, which are not fitted here."""
    room = held - floor
    watts = rows.loads() @ constants + rows.cast_bytes * memory
    chips = np.minimum(rows.chips, watts)
    # The clock at which (watts - chips) x clock^3 + chips x clock is what there is room for.
    clock = np.ones_like(watts)
    for _ in range(NEWTON_STEPS):
        over = ((watts - chips) * clock**2 + chips) * clock - room
        clock = np.minimum(clock - over / (3 * (watts - chips) * clock**2 + chips + 1e-9), 1)
    return floor + np.minimum(watts, room), 1 / clock


def loss(constants, parts, floor, held, fold):
    sums = []
    for rows in parts:
        kept = rows.fold != fold
        power, slower = predicted(constants, rows, floor, held)
        settled, throttled = rows.settled & kept, rows.throttled & kept
        if settled.any():
            sums.append(np.mean(np.abs(power / rows.power - 1)[settled]))
        if throttled.any() and rows.tells_slowdown:
            sums.append(np.mean(np.abs(slower - rows.slower)[throttled]))
    return sum(sums)


def fit(parts, floor, held, fold=None):
    """Coordinate search from one start: four digits are more than the rows tell."""
    constants = np.array([0.2, 1.8, 0.3]) * (held - floor)
    steps = np.full(3, 0.2) * (held - floor)
    best = loss(constants, parts, floor, held, fold)
    for step in range(240):
        at = step % 3
        for sign in (1, -1):
            tried = constants.copy()
            tried[at] = max(0, tried[at] + sign * steps[at])
            value = loss(tried, parts, floor, held, fold)
            if value < best:
                best, constants = value, tried
                steps[at] *= 1.3
                break
        else:
            steps[at] *= 0.6
    return constants


def memory_watts(folder, gpu, floor):
    """Of kernels bound by memory at the whole bandwidth: casts of bf16 to FP8 that ran for a second."""
    _, bandwidth, _, stacks = GPUS[gpu]
    data = table(folder, "quantize_scale_matrix", gpu)
    found = []
    for stack in stacks:
        if f"power_w:{stack}" not in data:
            continue
        us, power = data[stack], data[f"power_w:{stack}"]
        share = 3 * data["m"] * data["k"] / us / 1e6 / bandwidth
        settled = (us >= MEASURED_FOR_A_SECOND_US) & ~np.isnan(power) & (share < 1)
        found += list((power - floor)[settled] / share[settled])
    return np.median(found), len(found)


def errors(constants_of, rows, floor, held, memory):
    """Means over rows that the constants do not know: of power, and of the slowdown, absolute and signed."""
    power, slower = np.empty_like(rows.power), np.empty_like(rows.power)
    for fold in range(FOLDS):
        each = predicted(constants_of[fold], rows, floor, held, memory)
        left_out = rows.fold == fold
        power[left_out], slower[left_out] = each[0][left_out], each[1][left_out]
    off, late = power / rows.power - 1, slower - rows.slower

    def text(values):
        return f"{np.mean(np.abs(values)):.1%} ({np.mean(values):+.1%})" if len(values) else "-"

    return [
        f"{rows.settled.sum()}",
        text(off[rows.settled]),
        f"{len(off)}",
        text(off),
        f"{rows.throttled.sum()}",
        text(late[rows.throttled]),
    ]


def main():
    folder = sys.argv[1]
    lines = []
    for gpu, (_, _, limit, stacks) in GPUS.items():
        data = table(folder, "gemm", gpu)
        parts = {
            (stack, kind): Rows(data, gpu, stack, bursts, kind)
            for stack, bursts in stacks.items()
            for kind in TYPES
            if np.any(~np.isnan(data[f"power_w:{stack}"][data["dtype"] == kind]))
        }
        fitted = [rows for (_, kind), rows in parts.items() if kind == "bfloat16"]
        floor = min(rows.power.min() for rows in fitted)
        held = np.median(np.concatenate([rows.power[rows.power > AT_LIMIT * limit] for rows in fitted]))
        constants = fit(fitted, floor, held)
        memory, casts = memory_watts(folder, gpu, floor)
        print(f"{gpu}:\n  floor: {floor:.0f} W\n  held: {held / limit:.3f}")
        for name, value in zip(("matrix", "matrix_rate", "matrix_bytes"), constants, strict=True):
            print(f"  {name}: {value:.0f} W")
        print(f"  memory: {memory:.0f} W  # {casts} casts")
        folds = [fit(fitted, floor, held, fold) for fold in range(FOLDS)]
        for (stack, kind), rows in parts.items():
            lines.append([gpu, stack, kind, *errors(folds, rows, floor, held, memory)])
    print("\n| GPU | stack | type | rows of a second | power | all rows | power | rows at the limit | slowdown |")
    print("|" + " --- |" * 9)
    for line in lines:
        print("| " + " | ".join(line) + " |")


if __name__ == "__main__":
    main()
