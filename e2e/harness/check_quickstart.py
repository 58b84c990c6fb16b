"""Checks that the script's own log lines and the report agree within 1 % about the measured iterations:
check_quickstart.py JOB LOG"""

import json
import pathlib
import re
import sys

job = json.loads(pathlib.Path(sys.argv[1]).read_text())
lines = pathlib.Path(sys.argv[2]).read_text().splitlines()
iterations = job["spec"]["iterations"]
seconds = [float(m.group(1)) for m in (re.search(r"step\s+\d+ .*? (\d+\.\d+) s ", line) for line in lines) if m]
# The job may go on for some steps after the last measured one.
counted = seconds[iterations["warmup"] : iterations["warmup"] + iterations["measure"]]
if not counted:
    sys.exit("quickstart: the script printed no step after the warm-up")
script = sum(counted) / len(counted)
report = job["status"]["prediction"]["iterationSeconds"]["mean"]
difference = abs(script - report) / report
print(f"script says {script:.4f} s per step, the report {report:.4f} s: they differ by {100 * difference:.2f} %")
sys.exit(0 if difference <= 0.01 else "quickstart: script and report differ by more than 1 %")
