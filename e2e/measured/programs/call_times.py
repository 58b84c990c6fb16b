"""Summarises the time of calls within steps, and of the work between them, from what call_times.cc wrote.

python call_times.py CASE FILE [EMULATED]

Prints a line of JSON: medians over the steps, which end with cudaDeviceSynchronize. EMULATED: the same steps emulated on
the same machine, whose rows count in the tick of FILE, since an emulated program reads virtual clocks.
"""

import collections
import json
import sys

import numpy as np

ROW = np.dtype([("begin", "u8"), ("end", "u8"), ("first", "u8"), ("call", "u4"), ("thread", "u4")])
FEWEST_CALLS = 50  # Of a step.


def read(path):
    with open(path, "rb") as file:
        return json.loads(file.readline()), np.frombuffer(file.read(), dtype=ROW)


def steps(names, rows):
    """The steps that make the same number of calls as most."""
    rows = rows[np.argsort(rows["begin"], kind="stable")]
    ends = [place for place, call in enumerate(rows["call"]) if names[call] == "cudaDeviceSynchronize"]
    parts = [rows[a : b + 1] for a, b in zip(ends, ends[1:], strict=False) if b - a >= FEWEST_CALLS]
    usual = collections.Counter(map(len, parts)).most_common(1)[0][0]
    return [part for part in parts if len(part) == usual]


def between(step, tick):
    """Nanoseconds of work before each call of a step, whichever thread did it."""
    ended = np.maximum.accumulate(step["end"].astype(np.int64))
    return np.maximum(step["begin"].astype(np.int64)[1:] - ended[:-1], 0) * tick


def work(parts, tick):
    gaps = np.array([between(part, tick) for part in parts])
    by_place = dict(median=np.median(gaps, axis=0).sum(), second_smallest=np.sort(gaps, axis=0)[1].sum())
    return (
        [round(float(ns) / 1e6, 2) for ns in gaps.sum(1)],
        {name: round(float(ns) / 1e6, 2) for name, ns in by_place.items()},
    )


def main():
    case, path, *emulated = sys.argv[1:]
    head, rows = read(path)
    tick, parts = head["ns_per_tick"], steps(head["names"], rows)
    inside = np.median([(part["end"] - part["begin"])[1:] * tick for part in parts], axis=0)
    calls = collections.defaultdict(list)
    for call, ns in zip(parts[0]["call"][1:], inside, strict=True):
        calls[head["names"][call]].append(ns)
    row = dict(case=case, steps=len(parts))
    row["wall_ms"] = round(float(np.median([(p["end"][-1] - p["end"][0]) * tick for p in parts])) / 1e6, 3)
    row["between_ms"], row["between_by_place_ms"] = work(parts, tick)
    row["calls"] = {
        name: dict(number=len(ns), sum_us=round(sum(ns) / 1e3, 1), median_us=round(float(np.median(ns)) / 1e3, 2))
        for name, ns in sorted(calls.items())
    }
    if emulated:
        head, rows = read(emulated[0])
        row["emulated_between_ms"], row["emulated_between_by_place_ms"] = work(steps(head["names"], rows), tick)
    print(json.dumps(row))


if __name__ == "__main__":
    main()
