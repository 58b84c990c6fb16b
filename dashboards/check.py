#!/usr/bin/env python3
"""Rules of the dashboards (see README.md); exit 1 with one line for each breach."""

import json
import pathlib
import re
import subprocess
import sys

import pictures

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "helm/eidolon/files/dashboards"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def known_metrics():
    text = subprocess.run(
        ["git", "-C", str(ROOT), "grep", "-hoE", '"eidolon_[a-z_]+"', "--", "services/*.cc"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return set(text.replace('"', "").split())


def check_panel(panel, metrics):
    for field in ("title", "description"):
        if not panel.get(field):
            yield f"no {field}"
    if not panel["fieldConfig"]["defaults"].get("unit"):
        yield "no unit"
    if panel.get("datasource") != SOURCE:
        yield "another data source than the variable's"
    if not panel.get("targets"):
        yield "no query"
    for target in panel.get("targets", []):
        query = target["expr"]
        if not target.get("legendFormat"):
            yield f"no legend: {query}"
        if target.get("datasource") != SOURCE:
            yield f"another data source than the variable's: {query}"
        for name in re.findall(r"\beidolon_[a-z_]+(?=[{\[ )]|$)", query):
            if name not in metrics:
                yield f"no service has {name}"
        for name, _, interval in re.findall(r"(eidolon_[a-z_]+_total)(\{[^}]*\})?(\[[^\]]*\])?", query):
            ratio = re.search(rf"sum\({name}\) / |\+ sum\({name}\)", query)
            if interval != "[$__rate_interval]" and not ratio:
                yield f"a bare counter: {name}"


def check(path, metrics):
    board = json.loads(path.read_text())
    wanted = {"id": None, "editable": False, "graphTooltip": 1, "timezone": "", "uid": f"eidolon-{path.stem}"}
    for field, value in wanted.items():
        if board.get(field, "absent") != value:
            yield f"{field} is not {value!r}"
    if board["templating"]["list"][0]["name"] != "datasource":
        yield "the first variable is not the data source"
    names = [variable["name"] for variable in board["templating"]["list"]]
    text = json.dumps(board["panels"])
    for name in set(re.findall(r"\$\{?(\w+)", text)) - set(names) - {"__rate_interval"}:
        yield f"no variable ${name}"
    for panel in board["panels"]:
        for problem in check_panel(panel, metrics):
            yield f"panel '{panel.get('title')}': {problem}"


def main():
    metrics = known_metrics()
    problems = [f"{path.name}: {problem}" for path in sorted(FOLDER.glob("*.json")) for problem in check(path, metrics)]
    problems += pictures.problems_of(pictures.PICTURES)
    print("\n".join(problems) or f"{len(list(FOLDER.glob('*.json')))} dashboards are as they should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
