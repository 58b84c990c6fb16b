#!/usr/bin/env python3
"""The flow engine beside SimGrid on the same traffic in the same run.

    compare.py --eidolon BIN [--simgrid DRIVER] [--repeat N] [--only WORD] [--work DIR]

Cases and goals: cases.txt. Without --simgrid the driver is built from simgrid_driver.cpp when Debian's
libsimgrid-dev is there. Figures are of processor time, the best of N runs; 'apart' is the largest difference
between the two simulators' finish times of a flow, for cases that both play to the end.
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def read_cases():
    for line in (HERE / "cases.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, arguments, flags, goal, limit = (field.strip() for field in line.split("|"))
            value, unit = goal.split()
            yield name, arguments.split(), flags.split(), float(value), unit, limit


def build_driver(work):
    driver = work / "simgrid_driver"
    command = ["g++", "-O2", "-std=c++17", str(HERE / "simgrid_driver.cpp"), "-o", str(driver), "-lsimgrid"]
    done = subprocess.run(command, capture_output=True, text=True)
    return driver if done.returncode == 0 else None


def play(command, repeat):
    best = None
    for _ in range(repeat):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return {"error": done.stderr.strip()[-200:]}
        result = json.loads(done.stdout.strip().splitlines()[-1])
        if best is None or result["cpu_sim_s"] < best["cpu_sim_s"]:
            best = result
    return best


def figure(result, unit):
    return result["events_per_s"] if unit == "events/s" else result["cpu_first_solve_s"] * 1e3


def apart(first, second):
    if not (first.exists() and second.exists()):
        return "-"
    pairs = zip(first.read_text().split(), second.read_text().split())
    return f"{max(abs(float(a) - float(b)) for a, b in pairs):.0f} ns"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--eidolon", required=True)
    parser.add_argument("--simgrid")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--work", default="build/network_bench")
    a = parser.parse_args()
    work = pathlib.Path(a.work)
    work.mkdir(parents=True, exist_ok=True)
    driver = a.simgrid or build_driver(work)
    print("| workload | flows | goal | Eidolon | | SimGrid | Eidolon / SimGrid | apart | MiB |")
    print("| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    missed = 0
    for name, arguments, flags, goal, unit, limit in read_cases():
        if a.only not in name:
            continue
        stem = "_".join(arguments).replace("--", "")
        flows = work / f"{stem}.flows"
        if not flows.exists():
            subprocess.run([sys.executable, str(HERE / "generate.py"), *arguments, "-o", str(flows)], check=True)
        ours_dump, theirs_dump = work / f"{stem}.ours", work / f"{stem}.theirs"
        for dump in (ours_dump, theirs_dump):
            dump.unlink(missing_ok=True)
        dumps = not flags
        ours = play(
            [a.eidolon, "net", "flows", str(flows), *flags, *(["--dump", str(ours_dump)] if dumps else [])], a.repeat
        )
        theirs = {"error": "not built"}
        if driver:
            theirs = play(
                [str(driver), str(flows), "--limit", limit, *flags, *(["--dump", str(theirs_dump)] if dumps else [])], 1
            )
        if "error" in ours:
            print(f"| {name} | | | {ours['error']} |")
            missed += 1
            continue
        value = figure(ours, unit)
        met = value >= goal if unit == "events/s" else value <= goal
        missed += not met
        other, ratio = theirs.get("error", ""), "-"
        if "error" not in theirs:
            other = f"{figure(theirs, unit):.3g}" + (" (stopped)" if theirs["truncated"] and dumps else "")
            quotient = value / figure(theirs, unit)
            ratio = f"{quotient if unit == 'events/s' else 1 / quotient:.1f}"
        print(
            f"| {name} | {ours['flows']} | {goal:.3g} {unit} | {value:.3g} | {'met' if met else 'MISSED'} "
            f"| {other} | {ratio} | {apart(ours_dump, theirs_dump)} | {ours['rss_mib']:.0f} |",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
