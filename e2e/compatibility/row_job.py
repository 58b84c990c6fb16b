"""Runs one row of the matrix as a job of its own, and says what came of it."""

import dataclasses
import json
import os
import re
import signal
import statistics
import subprocess
import time

from packages import python_path


@dataclasses.dataclass(frozen=True)
class Ended:
    status: dict  # Of the job; empty when it was stopped or never began.
    words: str  # What the program printed.
    trouble: str  # What `eidolon run` said, where it gave no status.
    wall: float


def run(eidolon, main, packages, row, command, folder):
    """Runs the row's command in `folder`, which is made, on an emulated server with the row's number of H100."""
    folder.mkdir()
    environment = {
        **os.environ,
        "PATH": f"{main}/bin:{packages}/bin:{os.environ['PATH']}",
        "PYTHONPATH": python_path(packages),
        "CUPY_CACHE_DIR": str(folder / "cupy"),
        "HF_HUB_OFFLINE": "1",
        "TMPDIR": str(folder),
    }
    if (toolkit := packages / "toolkit").exists():  # What DeepSpeed asks for its version.
        environment["CUDA_HOME"] = str(toolkit)
    said = folder / "said.txt"
    shell = ["sh", "-c", f'exec "$@" > {said} 2>&1', "sh", *command]
    launcher = list(command)[:1] == ["torchrun"]
    ranks = [] if launcher else ["--ranks-per-server", "1"]
    cluster = ["--gpu", "H100-SXM5-80GB", "--gpus-per-server", str(row.gpus)]
    # A job ends when its iterations are measured: these programs are to reach their own end.
    whole = ["--measure", "100000"]
    arguments = [eidolon, "run", *cluster, *ranks, *row.options, *whole, "-o", "json", "--", *shell]
    began = time.monotonic()
    job = subprocess.Popen(
        arguments, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, errors = ended_in_time(job, row.seconds, said if row.chunk else None)
    wall = time.monotonic() - began
    words = said.read_text(errors="replace") if said.exists() else ""
    try:
        status = json.loads(out)["status"]
    except (ValueError, KeyError):
        status = {}
    return Ended(status, words, errors.strip(), wall)


def ended_in_time(job, seconds, said):
    """Returns what the job prints until it ends, or is ended: after so many seconds, which begin anew with each test
    that begins, where the program tells that in the file `said`."""
    begun, since = 0, time.monotonic()
    while True:
        try:
            return job.communicate(timeout=2)
        except subprocess.TimeoutExpired:
            now = time.monotonic()
        count = said.read_bytes().count(b"\nbegins: ") if said is not None and said.exists() else 0
        if count != begun:
            begun, since = count, now
        if now - since > seconds:
            job.send_signal(signal.SIGINT)
            out, _ = job.communicate()
            return out, f"it took more than {seconds} s"


def complaint(ended):
    """The first line of why the job ended."""
    for condition in ended.status.get("conditions", []):
        if condition.get("type") == "Failed":
            return f"{condition.get('reason', '')}: {condition.get('message', '').splitlines()[0]}"
    last = (ended.trouble or "no reason given").splitlines()
    return last[-1]


def usual_seconds(picoseconds):
    """Returns the median of the iterations that are alike: those within a twentieth of the middle of the shortest
    interval that holds more than half of them. The controller finds the repeating iterations in another way. None: that
    interval is wider than a twentieth of its middle, so that no iteration repeats, as in a program that trains several
    things after one another."""
    ordered = sorted(picoseconds)
    half = len(ordered) // 2
    low = min(range(len(ordered) - half), key=lambda at: ordered[at + half] - ordered[at])
    middle = (ordered[low] + ordered[low + half]) / 2
    if ordered[low + half] - ordered[low] > middle / 20:
        return None
    return statistics.median(x for x in ordered if abs(x - middle) <= middle / 20) / 1e12


def headline(prediction):
    """Returns the steady iteration of the report, how far it is from the usual one where there is one, how many are
    near it, and the report's throughput."""
    seconds = prediction["steadyIteration"]["seconds"]
    usual = usual_seconds(prediction["iterationPicoseconds"])
    throughput = prediction.get("throughput", {})
    return {
        "seconds": seconds,
        "iterations": prediction["measuredIterations"],
        "alike": prediction["steadyIteration"]["alike"],
        **({} if usual is None else {"deviation": abs(seconds / usual - 1)}),
        **{key: throughput[key] for key in ("unit", "perSecond", "perIteration", "source") if key in throughput},
    }


def wrong_amount(row, result, before):
    """Returns why what the report says of an iteration's tokens or samples is wrong, or missing where it was there;
    None: it is right, or the report says nothing."""
    shown = result.get("headline", {})
    unit = shown.get("unit", "iterations")
    if unit == "iterations":
        had = (before or {}).get("headline", {}).get("unit", "iterations")
        return None if had == "iterations" else f"{had} are derived no more"
    said = f"{shown['perIteration']:g} {unit}"
    return f"{said} are derived, not {row.amount}" if row.amount and said != row.amount else None


def judged(row, ended):
    """Returns what the matrix keeps of a run."""
    prediction = ended.status.get("prediction", {})
    complete = ended.status.get("phase") == "Complete"
    result = {"outcome": "runs" if complete else "stops", "wall": round(ended.wall)}
    if not complete:
        result["message"] = complaint(ended)[:300]
    if row.suite:
        result["passed"] = len(re.findall(r"^passes: ", ended.words, re.M))
        result["failures"] = dict(re.findall(r"^wrong: ([^:\n]+)(?:: (.*))?$", ended.words, re.M))
        result["skipped"] = len(re.findall(r"^skipped: ", ended.words, re.M))
        result["left"] = len(re.findall(r"^left: ", ended.words, re.M))
        result["total"] = result["passed"] + len(result["failures"])
        # Some programs name only what is wrong.
        if told := re.search(r"^passed (\d+) of (\d+)$", ended.words, re.M):
            result["passed"], result["total"] = int(told.group(1)), int(told.group(2))
    if "iterationSeconds" in prediction:
        result |= {"seconds": prediction["iterationSeconds"]["mean"], "of": "iteration"}
        result["headline"] = headline(prediction)
    elif "program" in prediction:
        result |= {"seconds": prediction["program"]["seconds"], "of": "program"}
    result["coverage"] = prediction.get("coverage", {})
    result["unknownReads"] = prediction.get("unknownReads", 0)
    result["refused"] = sorted(call["name"] for call in prediction.get("unsupportedCalls", []))
    result["losses"] = [float(x) for x in re.findall(r"\bloss'?:? '?(-?[\d.]+(?:e-?\d+)?|nan|inf)", ended.words)][-1:]
    return result
