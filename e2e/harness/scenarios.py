"""Runs the scenarios in e2e/scenarios and compares each with its golden result.

    scenarios.py --build DIR --python DIR [--update] [--kernels] [NAME ...]

A scenario is a folder with job.yaml (a SimulationJob; @DIRECTORY@ stands for a private copy of the folder),
the user's unmodified script, and golden.json: what the fixed host model predicts, to the last digit.
prepare.py, when present, makes small inputs (a tokenizer, a text) in that copy first. pending.txt, when
present, says why a scenario does not pass yet; it is then skipped unless it is named.

Every kernel, library call, copy and collective of a scenario must have an estimate, none may be free, and what
is assumed must stay below a bound. --kernels lists them all. Where a scenario declares its tokens, its launches have to
tell as many.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from server import ROOT, Server, verdict

SCENARIOS = ROOT / "e2e" / "scenarios"
ASSUMED_LIMIT = 0.01
SOURCES = ("measured", "interpolated", "modelled", "assumed")


def result_of(job):
    """What must not change unnoticed."""
    prediction = job["status"]["prediction"]
    return {
        key: prediction.get(key)
        for key in ("iterationSeconds", "breakdown", "memory", "coverage", "unsupportedCalls", "unknownReads")
    }


def silent_zeros(prediction):
    """What ran without an estimate, or for nothing."""
    kernels = prediction.get("kernels") or []
    if not kernels:
        yield "no kernel was reported"
    if len(kernels) != prediction.get("kernelCount", 0):
        yield f"only {len(kernels)} of {prediction.get('kernelCount')} kernels are listed"
    for kernel in kernels:
        words = f"{kernel['family'] or 'nameless family'}: {kernel['name'] or 'nameless kernel'}"
        if not kernel["family"] or not kernel["name"] or kernel["source"] not in SOURCES:
            yield f"without an estimate: {words} ({kernel['source']})"
        if kernel["shortestPicoseconds"] <= 0:
            yield f"free: {words}, {kernel['launches']} launches"


def other_tokens(prediction):
    """Where a job declares its tokens, its launches have to tell the same."""
    declared, derived = prediction.get("tokensPerIteration"), prediction.get("tokensDerived")
    if declared != derived:
        yield f"{declared} tokens are declared, launches tell {derived}: {prediction.get('tokensNotDerived')}"


def failures_of(name, job, golden):
    condition = verdict(job)
    if condition["type"] != "Complete":
        yield f"ended as {condition['type']}: {condition.get('reason')}: {condition.get('message')}"
        return
    result = result_of(job)
    if result["unsupportedCalls"]:
        yield f"refused calls: {result['unsupportedCalls']}"
    if result["coverage"]["assumed"] > ASSUMED_LIMIT:
        yield f"assumed share {result['coverage']['assumed']:.3f} is above {ASSUMED_LIMIT}"
    yield from silent_zeros(job["status"]["prediction"])
    yield from other_tokens(job["status"]["prediction"])
    if golden is None:
        yield "has no golden.json; run with --update"
    elif result != {key: golden.get(key) for key in result}:
        for key in sorted(result):
            if result[key] != golden.get(key):
                yield f"{key}: golden {json.dumps(golden.get(key))}, now {json.dumps(result[key])}"


def run(server, name, python, update):
    source = SCENARIOS / name
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as copy:
        directory = pathlib.Path(copy) / name
        shutil.copytree(source, directory)
        if (directory / "prepare.py").exists():
            subprocess.run([f"{python}/bin/python", "prepare.py"], cwd=directory, check=True, capture_output=True)
        document = (source / "job.yaml").read_text().replace("@DIRECTORY@", str(directory))
        document = document.replace("@HOST_MODEL@", "fixed")
        job = server.run(document, seconds=900)
    path = source / "golden.json"
    golden = json.loads(path.read_text()) if path.exists() else None
    failures = list(failures_of(name, job, golden))
    if update and verdict(job)["type"] == "Complete":
        path.write_text(json.dumps(result_of(job), indent=1) + "\n")
        failures = [f for f in failures if not f.startswith(("has no", *golden_keys(job)))]
    return job, failures


def golden_keys(job):
    return tuple(f"{key}: " for key in result_of(job))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--kernels", action="store_true", help="list what ran, its time, launches and source")
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    names = a.names or sorted(p.parent.name for p in SCENARIOS.glob("*/job.yaml"))
    failed = skipped = 0
    with Server(a.build, a.python) as server:
        for name in names:
            pending = SCENARIOS / name / "pending.txt"
            if pending.exists() and not a.names:
                print(f"skip {name:24} {pending.read_text().strip()}", flush=True)
                skipped += 1
                continue
            started = time.monotonic()
            try:
                job, failures = run(server, name, a.python, a.update)
            except Exception as error:  # One broken scenario must not hide the others.
                job, failures = None, [f"{type(error).__name__}: {error}"]
            seconds = time.monotonic() - started
            prediction = (job or {}).get("status", {}).get("prediction") or {}
            mean = (prediction.get("iterationSeconds") or {}).get("mean")
            print(
                f"{'FAIL' if failures else 'ok  '} {name:24} {seconds:6.1f} s wall  "
                f"{mean if mean is not None else '-'} s predicted",
                flush=True,
            )
            for failure in failures:
                print(f"     {failure}", flush=True)
            for kernel in prediction.get("kernels", []) if a.kernels else []:
                print(
                    f"     {kernel['seconds'] * 1e6:12.1f} us {kernel['launches']:7} x {kernel['source']:12} "
                    f"{kernel['family']}: {kernel['name'][:120]}",
                    flush=True,
                )
            if failures and job is not None:
                print("     last lines: " + "\n       ".join(server.logs(job["metadata"]["name"]).splitlines()[-12:]))
            failed += bool(failures)
    print(f"scenarios: {len(names) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
