#!/usr/bin/env python3
"""Measures how far software stacks that ran the same GEMM on the same GPU differ: what no model of their median can
foretell.

  gemm_noise_floor.py KERNELS_FOLDER [OUTPUT_FILE]     default: services/timing/model/data/gemm_noise_floor.csv

Reads what gemm_profiles.py reads and leaves out what it leaves out. Writes, for each GPU, type and how long a GEMM lasts,
the mean of |a - b| / mean(a, b) over all pairs of stacks and shapes, and over two parts of the pairs: two versions of one
stack, and the newest versions of two stacks. FP8 is each stack's GEMM less its own quantisation of x.
Needs NumPy. The same input gives the same output.
"""

import csv
import gzip
import itertools
import pathlib
import re
import sys

import gemm_profiles
import numpy as np

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "model/data/gemm_noise_floor.csv"
CLASSES = (("< 20 us", 0, 20), ("20 to 200 us", 20, 200), ("> 200 us", 200, np.inf))
HEADER = """\
# Written by fit/gemm_noise_floor.py: mean of |a - b| / mean(a, b) in thousandths over pairs of software
# stacks that ran one GEMM in short bursts, by the mean of the two times; all pairs, two versions of
# one stack, and the newest versions of two stacks. The stacks are those of profiles/. Source:
# github.com/ai-dynamo/aiconfigurator at commit 095f58a51c4c (2026-08-21), Apache License 2.0, tables of
# aic-core/src/aiconfigurator_core/systems/data/<gpu>/gemm.
gpu,type,lasts,pairs,all,versions,stacks
"""


def quantisation(folder, gpu, stack):
    """Microseconds of finding x's scale and casting x in one stack, by m and k."""
    parts = []
    for name in ("quantize_scale_matrix", "quantize_computescale"):
        with gzip.open(f"{folder}/{name}/{gpu}.csv.gz", "rt") as file:
            parts.append({(int(r["m"]), int(r["k"])): float(r[stack]) for r in csv.DictReader(file) if r.get(stack)})
    return {key: parts[0][key] + parts[1][key] for key in parts[0].keys() & parts[1].keys()}


def bursts(folder, gpu, kernel, shapes, stacks, times, wanted):
    """Times by stack, NaN where gemm_profiles.py would not count them."""
    found = {}
    for i, name in enumerate(stacks):
        if ":" in name or name in gemm_profiles.SUSTAINED.get(gpu, ()):
            continue
        if wanted is not None and name not in wanted:
            continue
        time = times[:, i].copy()
        time[time > gemm_profiles.DOUBTFUL.get((gpu, name), np.inf)] = np.nan
        if np.isfinite(time).any():
            found[name] = time
    with np.errstate(all="ignore"):
        middle = np.nanmedian(np.column_stack(list(found.values())), axis=1)
    for name, time in found.items():
        if name.startswith("vllm"):
            time[middle > gemm_profiles.RANDOM_DATA_ABOVE_US] = np.nan
        time[time * gemm_profiles.calls(gpu, name, shapes) > gemm_profiles.BURST_US] = np.nan
        if kernel == gemm_profiles.SCALED:
            costs = quantisation(folder, gpu, name)
            found[name], _ = gemm_profiles.less_quantisation(shapes, time, np.zeros(len(time)), costs)
    return found


def version(stack):
    return [int(number) for number in re.findall(r"[0-9]+", stack.partition("-")[2])]


def pairs(stacks):
    """All pairs; two versions of one stack; the newest versions of two stacks."""
    families = {}
    for name in sorted(stacks, key=version):
        families.setdefault(name.partition("-")[0], []).append(name)
    versions = [pair for names in families.values() for pair in itertools.combinations(names, 2)]
    newest = list(itertools.combinations([names[-1] for names in families.values()], 2))
    return list(itertools.combinations(stacks, 2)), versions, newest


def differences(found, chosen):
    """Mean and relative difference of each pair and shape that both measured."""
    means, apart = [np.array([])], [np.array([])]
    for a, b in chosen:
        mean = (found[a] + found[b]) / 2
        both = np.isfinite(mean)
        means.append(mean[both])
        apart.append(np.abs(found[a] - found[b])[both] / mean[both])
    return np.concatenate(means), np.concatenate(apart)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = sys.argv[1]
    text = HEADER
    for gpu, theirs, kind, dtype, kernel, wanted in gemm_profiles.PROFILES:
        shapes, stacks, times = gemm_profiles.read(f"{folder}/gemm/{theirs}.csv.gz", dtype)
        found = bursts(folder, theirs, kernel, shapes, stacks, times, wanted)
        measured = [differences(found, chosen) for chosen in pairs(list(found))]
        for name, low, high in CLASSES:
            cells = [gpu, kind, name]
            for at, (means, apart) in enumerate(measured):
                there = apart[(means >= low) & (means < high)]
                if at == 0:
                    cells.append(str(len(there)))
                cells.append(f"{1000 * there.mean():.1f}" if len(there) else "-")
            text += ",".join(cells) + "\n"
    pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else OUTPUT).write_text(text)


if __name__ == "__main__":
    main()
