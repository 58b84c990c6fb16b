#!/usr/bin/env python3
"""The catalogue of metrics, dashboards/metrics.csv, against the sources, the documentation, the dashboards and rules.

    metrics.py            one line for each difference, exit 1 when there are some
    metrics.py --write    write docs/reference/generated/metrics.md from the catalogue

A metric that a service registers must be in the catalogue with the same help, and the other way round. Labels, types
and the number of series are compared with what a running server answers by e2e/page/run.
"""

import csv
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CATALOGUE = ROOT / "dashboards/metrics.csv"
PAGE = ROOT / "docs/reference/generated/metrics.md"
CHART = ROOT / "helm/eidolon/files"
# A name that a service registers, and the texts of its help after it.
REGISTERED = re.compile(
    r'"(eidolon_[a-z_]+|process_[a-z_]+|DCGM_FI_[A-Z_]+)"\s*(?:\)\s*\.Help\(|,)\s*((?:"(?:[^"\\]|\\.)*"\s*)+)'
)
UNITS = ("seconds", "bytes", "ratio", "joules", "watts", "total", "rows", "items", "entries")
# Names of NVIDIA's dcgm-exporter, which have units and counters of their own, and of Prometheus' client libraries.
FOREIGN = ("DCGM_FI_", "process_")
# Families that a service counts without a unit of its own.
WITHOUT_UNIT = re.compile(
    r"_(?:jobs|gpus|state|points|agents|sessions|flows|messages|operations|connections|transitions|second|suspended|writable|library|info)$"
    r"|_mailbox_\w+$"
)
HEAD = """# Metrics

Generated from `dashboards/metrics.csv` by `dashboards/metrics.py --write`. `eidolon up` shows those of controller,
timing and network on one page, `/metrics`; on Kubernetes each program has a page of its own. *Series* says how many
there are at most: the labels of a job are gone when the job is deleted, or when 200 others have ended after it; so are
those of a sweep, when it is deleted or 200 other sweeps have ended after it. The agent's `DCGM_FI_*` have the names,
labels and units of NVIDIA's dcgm-exporter; [NVML](../../nvml.md) says what each is. Those that begin with `process_` are
of the program whose page it is, under the names of Prometheus' client libraries.

The dashboards, drawn by Grafana's own components from the data of a real run (`e2e/page/dashboards` draws them anew):
[job](../../dashboards/job.png), [fleet](../../dashboards/fleet.png), [sweep](../../dashboards/sweep.png),
[fabric](../../dashboards/fabric.png).
"""


def catalogue():
    with CATALOGUE.open(newline="") as file:
        return list(csv.DictReader(file))


def registered():
    """Name to help, of every service."""
    found = {}
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--", "services/*.cc", "services/*.h"], capture_output=True, text=True
    )
    for name in listed.stdout.split():
        if "_test." in name or not (ROOT / name).exists():
            continue
        for match in REGISTERED.finditer((ROOT / name).read_text()):
            found[match[1]] = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match[2]))
    return found


def page_of(rows):
    lines = [HEAD, "| metric | type | labels | series | what |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        labels = ", ".join(f"`{label}`" for label in row["labels"].split())
        lines.append(f"| `{row['name']}` | {row['type']} | {labels} | {row['series']} | {row['help']} |")
    return "\n".join(lines) + "\n"


def used():
    """(file, metric, its labels in that query) of dashboards and rules."""
    for path in sorted(CHART.glob("dashboards/*.json")) + [CHART / "rules.yaml"]:
        text = path.read_text()
        for name, selector in re.findall(r"\b(eidolon_[a-z_]+)(?:\{([^}]*)\})?", text):
            yield path.name, name, re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector)


def problems():
    rows = catalogue()
    known = {row["name"]: row for row in rows}
    code = registered()
    if [row["name"] for row in rows] != sorted(known):
        yield "the catalogue is not in alphabetical order, or names something twice"
    for name in sorted(code.keys() - known.keys()):
        yield f"{name} is registered, but not in the catalogue"
    for name in sorted(known.keys() - code.keys()):
        yield f"{name} is in the catalogue, but no service registers it"
    for name in sorted(code.keys() & known.keys()):
        if code[name].rstrip(".") != known[name]["help"].rstrip("."):
            yield f"{name}: the catalogue says '{known[name]['help']}', the service '{code[name]}'"
    for row in rows:
        is_foreign = row["name"].startswith(FOREIGN)
        counter = row["name"].endswith("_total")
        if not is_foreign and counter != (row["type"] == "counter"):
            yield f"{row['name']}: counters, and they alone, end in _total"
        if not is_foreign and not row["name"].endswith(UNITS) and not WITHOUT_UNIT.search(row["name"]):
            yield f"{row['name']} names no unit"
        if not row["series"]:
            yield f"{row['name']}: how many series are there at most?"
    recorded = set(re.findall(r"record: (\S+)", (CHART / "rules.yaml").read_text()))
    for where, name, labels in used():
        base = re.sub(r"_(?:bucket|sum|count)$", "", name)
        row = known.get(name) or known.get(base)
        if row is None:
            if name not in recorded:
                yield f"{where} uses {name}, which is not in the catalogue"
            continue
        # Prometheus and relabelling add these labels, and every histogram has "le".
        allowed = {*row["labels"].split(), "namespace", "job", "pod", "instance", "le", "service", "container"}
        for label in labels:
            if label not in allowed and not label.startswith(("exported_", "eidolon_dev_")):
                yield f"{where}: {name} has no label {label}"
    if not PAGE.exists() or PAGE.read_text() != page_of(rows):
        yield "docs/reference/generated/metrics.md differs from the catalogue: run dashboards/metrics.py --write"


def differences(text):
    """Compares the catalogue with a scraped page: help, type and names of labels of every family that is there."""
    known = {row["name"]: row for row in catalogue()}
    for name, help_text in re.findall(r"^# HELP ((?:eidolon|process|DCGM_FI)_\w+) (.*)$", text, re.M):
        row = known.get(name)
        if row is None:
            yield f"{name} is not in the catalogue"
            continue
        if json.loads(f'"{help_text}"').rstrip(".") != row["help"].rstrip("."):
            yield f"{name}: help '{help_text}'"
        kind = re.search(rf"^# TYPE {name} (\w+)$", text, re.M)[1]
        if kind != row["type"]:
            yield f"{name} is a {kind}"
        for labels in re.findall(rf"^{name}(?:_bucket|_sum|_count)?\{{(.*)\}} ", text, re.M):
            names = set(re.findall(r'(\w+)="(?:[^"\\]|\\.)*"', labels)) - {"le"}
            if names != set(row["labels"].split()):
                yield f"{name} has labels {sorted(names)}, the catalogue says {row['labels'].split()}"
                break


def main():
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page_of(catalogue()))
        return 0
    found = list(problems())
    print("\n".join(found) or f"{len(catalogue())} metrics are as the catalogue says")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
