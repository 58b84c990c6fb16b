#!/usr/bin/env python3
"""Predicts layouts from two steps of few micro-batches each, and tells a search what a whole step takes.

    extend.py SHORT.yaml WHOLE.yaml --sequences 2048 [--only NAME=VALUE ...] [--folder WHOLE.search]

A step that accumulates gradients gets longer by the same time for each further micro-batch, once its pipeline is full.
Both documents have the parameters tp, pp and micro; SHORT.yaml has also `sequences`, those of a step. For each layout
that WHOLE.yaml does not cut and has no row of, SHORT.yaml is asked for 2 * pp and 4 * pp micro-batches, but at least 2
and 4. The line through both gives the whole step's time, with the widest relative band of the two and of their
difference, and the second one's peak of memory. Their rows in the search's table are marked as told. A layout that
runs out of memory in a short step does so in a whole one. One whose whole step has no more micro-batches than that is
predicted whole. Exit status 1: a layout had no answer.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys


class Asker:
    """A search that answers for points, one after another."""

    def __init__(self, document, folder, word="ask"):
        command = ["eidolon", "search", "-f", document, *(["--folder", folder] if folder else []), word, "--lines"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, line):
        print(json.dumps(line), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"extend.py: {' '.join(self.process.args)} has ended")
        return json.loads(answer)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def extend(two, counts, whole):
    """The result of a step of `whole` micro-batches, from two rows for fewer."""
    first, second = (row["iterationSeconds"] for row in two)
    seconds = second + (second - first) / (counts[1] - counts[0]) * (whole - counts[1])
    result = {"iterationSeconds": seconds}
    for name, wider in (("iterationSecondsLow", min), ("iterationSecondsHigh", max)):
        if not all(name in row for row in two):
            continue
        # The relative band of one short step, of the other, and of the micro-batches that they differ in.
        of_steps = [row[name] / row["iterationSeconds"] for row in two]
        result[name] = seconds * wider(*of_steps, (two[1][name] - two[0][name]) / (second - first))
    for name in ("peakMemoryBytes", "memoryCapacityBytes"):
        if name in two[1]:
            result[name] = two[1][name]
    return result


def predict(point, flags, short):
    """The result to tell of one layout; None: it has to run whole."""
    replicas = flags.gpus // (point["tp"] * point["pp"])
    whole = flags.sequences // (point["micro"] * replicas)
    counts = [max(2, 2 * point["pp"]), max(4, 4 * point["pp"])]
    if whole <= counts[1]:
        return None
    rows = []
    for count in counts:
        answer = short.send({**point, "sequences": count * point["micro"] * replicas})
        row = answer.get("row") or {}
        if answer["verdict"] in ("cut", "refused"):
            return {"failed": answer.get("why", "")}  # The whole search says the same.
        if row.get("reason") == "OutOfMemory":
            needed, capacity = row["neededMemoryBytes"], row["memoryCapacityBytes"]
            return {"outOfMemory": True, "neededMemoryBytes": needed, "memoryCapacityBytes": capacity}
        if row.get("phase") != "Complete" or "iterationSeconds" not in row:
            return {"failed": answer.get("why") or row.get("message") or "no prediction"}
        rows.append(row)
    return extend(rows, counts, whole)


def read_value(text):
    try:
        return int(text)
    except ValueError:
        return text


def read_journal(file):
    """The points that have a row."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line)["point"] for line in lines if line.startswith("{") and line.endswith("}")]


def points_of(space):
    points = [{}]
    for name, values in space.items():
        points = [{**point, name: value} for point in points for value in values]
    return points


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("short")
    parser.add_argument("whole")
    parser.add_argument("--sequences", type=int, required=True, help="of a whole step")
    parser.add_argument("--gpus", type=int, default=64)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME=VALUE", help="layouts with these values alone")
    parser.add_argument("--folder", help="of the whole search; default: beside its document")
    flags = parser.parse_args()
    only = {name: read_value(value) for name, _, value in (word.partition("=") for word in flags.only)}
    space = json.loads(subprocess.check_output(["eidolon", "search", "-f", flags.whole, "space"]))["space"]
    known = read_journal(
        pathlib.Path(flags.folder or pathlib.Path(flags.whole).with_suffix(".search")) / "results.jsonl"
    )
    short, asked = Asker(flags.short, None), Asker(flags.whole, flags.folder)
    teller = Asker(flags.whole, flags.folder, "tell")
    status = 0
    for point in points_of(space):
        if point in known or any(point.get(name) != value for name, value in only.items()):
            continue
        result = predict(point, flags, short)
        answer = asked.send(point) if result is None else teller.send({"point": point, **result})
        status |= not (answer.get("row") or answer.get("verdict") == "cut")
        seconds = (answer.get("row") or {}).get("iterationSeconds", math.nan)
        print(f"{answer.get('verdict')}: {answer.get('name')}: {seconds:.3f} s {answer.get('why', '')}", flush=True)
    for one in (short, asked, teller):
        one.end()
    return status


if __name__ == "__main__":
    sys.exit(main())
