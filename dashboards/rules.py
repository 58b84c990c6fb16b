#!/usr/bin/env python3
"""Asks promtool whether the chart's rules are well formed, and whether each fires when rules_test.yaml says so.

promtool is that of PATH, or the one that e2e/kube/cluster has built; where there is none, the check says so and ends with
77. Every rule must have a test: an alert that is named nowhere in rules_test.yaml fails. Every alert's link must lead to a
section of docs/runbooks that names it, and every section must be of an alert.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RULES = HERE.parent / "helm/eidolon/files/rules.yaml"
TEST = HERE / "rules_test.yaml"
RUNBOOKS = HERE.parent / "docs/runbooks/index.md"
VALUES = HERE.parent / "helm/eidolon/values.yaml"
SKIPPED = 77


def program_of_prometheus(name):
    """That of PATH, or the newest that e2e/kube/cluster has built; None: there is none."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "e2e-kube"
    built = sorted(cache.glob(f"*/bin/{name}"), key=lambda path: path.stat().st_mtime)
    return shutil.which(name) or (built[-1] if built else None)


def sections(page):
    """Returns the text of each section of the page by its anchor, as the docs site makes it of the heading."""
    parts = re.split(r"^## (.+)$", page, flags=re.M)[1:]
    return {
        re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-"): text
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }


def runbook_problems(rules, page, values):
    """Returns what is wrong between alerts, the sections that their links lead to, and the chart's default for their
    address."""
    address = re.search(r"^ *runbookUrl: (\S+)$", values, re.M).group(1)
    left = sections(page)
    for alert, rule in re.findall(r"- alert: (\S+)\n(.*?)(?=- alert: |\Z)", rules, re.S):
        link = re.search(r"runbook_url: (\S+)", rule)
        if link is None:
            yield f"{alert} has no runbook_url"
            continue
        before, _, anchor = link.group(1).partition("#")
        if before != address:
            yield f"the link of {alert} begins with {before}, which the chart would not replace: {address}"
        section = left.pop(anchor, None)
        if section is None:
            yield f"{RUNBOOKS.name} has no section '{anchor}' for {alert}"
        elif f"*{alert}*" not in section:
            yield f"section '{anchor}' does not name {alert}"
        elif not all(f"- **{word}.**" in section for word in ("See", "Do")):
            yield f"section '{anchor}' does not say what to see and what to do"
    yield from (f"section '{anchor}' is of no alert" for anchor in left)


def main():
    wrong = list(runbook_problems(RULES.read_text(), RUNBOOKS.read_text(), VALUES.read_text()))
    if wrong:
        print("\n".join(wrong))
        return 1
    names = re.findall(r"^ *- (?:alert|record): (\S+)$", RULES.read_text(), re.M)
    untested = [name for name in names if name not in TEST.read_text()]
    if untested:
        print(f"rules_test.yaml asks nothing of {', '.join(untested)}")
        return 1
    tool = program_of_prometheus("promtool")
    if tool is None:
        print("skipped: no promtool in PATH, and e2e/kube/cluster has built none; rules were not tested")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        test = pathlib.Path(folder) / "test.yaml"
        test.write_text(TEST.read_text().replace("RULES", str(RULES)))
        for command in (["check", "rules", RULES], ["test", "rules", test]):
            done = subprocess.run([tool, *command], capture_output=True, text=True)
            if done.returncode != 0:
                print(done.stdout + done.stderr)
                return 1
    print(f"{len(names)} rules: {len(names)} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
