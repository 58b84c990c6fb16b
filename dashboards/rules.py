#!/usr/bin/env python3
"""Asks promtool whether the chart's rules are well formed, and whether each fires when rules_test.yaml says so.

promtool is that of PATH, or the one that e2e/kube/cluster has built; where there is none, the check says so and ends with
77. Every rule must have a test: an alert that is named nowhere in rules_test.yaml fails.
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
SKIPPED = 77


def promtool():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "e2e-kube"
    built = sorted(cache.glob("*/bin/promtool"), key=lambda path: path.stat().st_mtime)
    return shutil.which("promtool") or (built[-1] if built else None)


def main():
    names = re.findall(r"^ *- (?:alert|record): (\S+)$", RULES.read_text(), re.M)
    untested = [name for name in names if name not in TEST.read_text()]
    if untested:
        print(f"rules_test.yaml asks nothing of {', '.join(untested)}")
        return 1
    tool = promtool()
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
