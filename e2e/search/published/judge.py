#!/usr/bin/env python3
"""Judges searches by a published sheet of layouts: regret of the pick, order of the times, and who runs out of memory.

    judge.py SHEET.csv FOLDER.search [FOLDER.search ...]    what the searches have found
    judge.py SHEET.csv --run DOCUMENT.yaml                  runs the search first, with the `eidolon` of PATH

The sheets are not in this tree: they are those of arXiv 2311.05610 (CC BY-NC-SA 4.0), with the columns step_s, recompute,
attention_kernel, micro_batch, tp, pp, sequence_parallel and outcome. A search may be incomplete: what it has is judged, and
the number of layouts says how much that is. Nothing is fitted to the sheets.
"""

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

# The sheets' names of attention and norm kernels, as the script's flag has them.
KERNELS = {
    "flash_attention2 + RMS kernel": "flash2_rms",
    "flash_attention2": "flash2",
    "flash_attentionv1.0.8": "flash1",
    "fused": "fused",
    "torch": "torch",
}
FLAGS = ("attention", "micro", "pp", "recompute", "sp", "tp")


def read_sheet(file):
    """Measured seconds by layout; None: out of memory. A layout that was measured again has the mean."""
    measured = {}
    with open(file) as lines:
        for row in csv.DictReader(lines):
            if row["outcome"] not in ("ok", "oom"):
                continue  # It failed for another reason.
            layout = (
                KERNELS[row["attention_kernel"]],
                int(row["micro_batch"]),
                int(row["pp"]),
                row["recompute"],
                row["sequence_parallel"].lower() or "false",
                int(row["tp"]),
            )
            seconds = float(row["step_s"]) if row["outcome"] == "ok" else None
            measured.setdefault(layout, []).append(seconds)
    return {
        layout: None if None in values else sum(values) / len(values)  # None: in one of several measurements is enough.
        for layout, values in measured.items()
    }


def read_found(folders):
    """The last row of each layout in the searches' journals."""
    found = {}
    for folder in folders:
        for line in (pathlib.Path(folder) / "results.jsonl").read_text().splitlines():
            if line.startswith("{") and line.endswith("}"):
                row = json.loads(line)
                point = {"sp": "false", **row["point"]}
                found[tuple(point[flag] for flag in FLAGS)] = row
    return found


def is_without_memory(row):
    return row.get("reason") == "OutOfMemory"


def kendall(pairs):
    """Tau-b of two orders, and the number of pairs in which they agree and disagree."""
    agree = differ = tied_here = tied_there = 0
    for i, (one, other) in enumerate(pairs):
        for here, there in pairs[:i]:
            order = (one - here) * (other - there)
            agree += order > 0
            differ += order < 0
            tied_here += one == here and other != there
            tied_there += other == there and one != here
    both = agree + differ
    scale = ((both + tied_here) * (both + tied_there)) ** 0.5
    return ((agree - differ) / scale if scale else float("nan")), agree, differ


def name_of(layout):
    return " ".join(f"{flag}={value}" for flag, value in zip(FLAGS, layout))


def judge(measured, found):
    """The figures by name."""
    judged = [layout for layout in measured if layout in found]
    failed = [one for one in judged if found[one]["phase"] != "Complete" and not is_without_memory(found[one])]
    for layout in failed:
        print(f"  failed: {name_of(layout)}: {found[layout].get('message', '')[:160]}")
    judged = [one for one in judged if one not in failed]
    timed = [one for one in judged if measured[one] and not is_without_memory(found[one])]
    full = {one for one in judged if measured[one] is None}
    said = {one for one in judged if is_without_memory(found[one])}
    right = len(full & said) + len(judged) - len(full | said)
    figures = {
        "layouts": f"{len(judged)} of {len(measured)} ({len(failed)} failed)",
        "out of memory": f"{100 * right / max(len(judged), 1):.1f} % right; precision "
        f"{len(full & said)}/{len(said)}, recall {len(full & said)}/{len(full)}",
    }
    for layout in sorted(full ^ said):
        row = found[layout]
        peak = max(row.get("peakMemoryBytes", 0), row.get("neededMemoryBytes", 0)) / (1 << 30)
        fact = "out of memory" if layout in full else f"{measured[layout]:.1f} s"
        print(f"  wrong on memory: {name_of(layout)}: {fact}; here {peak:.1f} GiB")
    if not timed:
        return figures
    seconds = {one: found[one]["iterationSeconds"] for one in timed}
    tau, agree, differ = kendall([(measured[one], seconds[one]) for one in timed])
    ratios = sorted(seconds[one] / measured[one] for one in timed)
    figures["order"] = f"Kendall's tau {tau:.3f} over {len(timed)} timed layouts ({agree} pairs alike, {differ} not)"
    figures["time over measured"] = f"median {ratios[len(ratios) // 2]:.3f}, {ratios[0]:.3f} to {ratios[-1]:.3f}"
    best = min(filter(None, (measured[one] for one in judged)))
    able = [one for one in judged if one not in said]
    pick = min(able, key=lambda one: found[one]["iterationSeconds"])
    worst = found[pick]["iterationSecondsHigh"]
    alike = [one for one in able if found[one]["iterationSecondsLow"] <= worst]
    figures["pick"] = f"{name_of(pick)}: " + (
        f"regret {100 * (measured[pick] / best - 1):.1f} %" if measured[pick] else "ran out of memory"
    )
    of_set = [measured[one] for one in alike if measured[one]]
    figures["cannot be told apart"] = f"{len(alike)} layouts, {len(alike) - len(of_set)} of them out of memory; " + (
        f"regret {100 * (min(of_set) / best - 1):.1f} to {100 * (max(of_set) / best - 1):.1f} %" if of_set else "-"
    )
    spent = [found[one].get("spentSeconds", 0) for one in judged]
    figures["cost"] = f"{sum(spent):.0f} s of all points, each up to {max(spent):.0f} s"
    return figures


class PeakMemory(threading.Thread):
    """Samples the memory of a process and all below it, shared pages counted in parts."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.peak = process, 0

    def run(self):
        while self.process.poll() is None:
            parents = {}
            for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
                try:
                    parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
                except OSError:
                    continue
            family = {self.process.pid}
            while more := {child for child, parent in parents.items() if parent in family} - family:
                family |= more
            total = 0
            for process in family:
                try:
                    lines = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
                except OSError:
                    continue
                total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
            self.peak = max(self.peak, total)
            time.sleep(2)


def run(document):
    """Runs the search; returns its folder and what it took."""
    folder = pathlib.Path(document).with_suffix(".search")
    begin = time.monotonic()
    with subprocess.Popen(["eidolon", "search", "-f", document], stdout=subprocess.DEVNULL) as search:
        memory = PeakMemory(search)
        memory.start()
    return folder, f"{(time.monotonic() - begin) / 60:.1f} min of wall time on {os.cpu_count()} processors, " + (
        f"{memory.peak / (1 << 30):.1f} GiB at most"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sheet")
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--run", metavar="DOCUMENT")
    parser.add_argument("--layouts", action="store_true", help="print each timed layout, as measured and here")
    flags = parser.parse_args()
    took = None
    if flags.run:
        folder, took = run(flags.run)
        flags.folders.append(folder)
    measured, found = read_sheet(flags.sheet), read_found(flags.folders)
    figures = judge(measured, found)
    if took:
        figures["search"] = took
    if flags.layouts:
        for layout in sorted(filter(measured.get, measured), key=measured.get):
            if layout in found and "iterationSeconds" in found[layout]:
                print(f"  {measured[layout]:7.2f} s {found[layout]['iterationSeconds']:7.2f} s  {name_of(layout)}")
    for name, value in figures.items():
        print(f"{name:22}{value}")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
