"""Runs a suite of many tests as jobs of some tests each, so that one that crashes or hangs ends no other.

The suite's program prints `test: NAME` for each of its tests when it is asked with `--list TOPIC`, and with names of tests
`begins: NAME` and then `passes: NAME`, `skipped: NAME: WHY` or `wrong: NAME: WHY` for each.
"""

import re
import time

from kept import Job
from row_job import Ended, complaint, run

VERDICT = re.compile(r"^(begins|passes|skipped|wrong): (\w+)(?:: (.*))?$", re.M)
# A job says so of ranks that end as a test wants them to end; all other reasons are failures of the test as well.
DEATHS = ("RankLost", "CommandFailed")


def failure(ended):
    """The reason why the job failed; empty when it completed."""
    if ended.status.get("phase") == "Complete":
        return ""
    reasons = [c.get("reason", "") for c in ended.status.get("conditions", []) if c.get("type") == "Failed"]
    return reasons[0] if reasons else "Stopped"


def said_last(words, name):
    """The last error that a process printed since the test began."""
    since = words[words.rfind(f"begins: {name}") :]
    errors = re.findall(r"^(?:.*\] )?(\w*(?:Error|Exception)): (.*)$", since, re.M)
    return ": ".join(errors[-1])[:200] if errors else ""


def verdicts(ended, chunk):
    """Returns what came of the tests of a job, as far as it tells: their kinds and reasons by name. A job ends some
    time after what ended it: a test that it cuts short and that had printed no error is only at fault when it was
    the first."""
    found = {name: (kind, why) for kind, name, why in VERDICT.findall(ended.words)}
    failed = failure(ended)
    why = f"the job ended: {complaint(ended)}".replace("\n", " ")[:300] if failed else ""
    cut = next((name for name, (kind, _) in found.items() if kind == "begins"), None)
    if cut is not None:
        error = said_last(ended.words, cut) if failed in DEATHS else ""
        if error or cut == chunk[0]:
            found[cut] = ("wrong", error or why or "the program ended without a word of it")
        else:
            del found[cut]
    elif found and failed and failed not in DEATHS:
        last = list(found)[-1]
        if last == chunk[0]:
            found[last] = ("wrong", f"{found[last][0]}, and {why}")
        else:
            del found[last]
    return found or {chunk[0]: ("wrong", f"did not begin: {why}")}


def lines_of(found):
    for name, (kind, why) in found.items():
        yield f"{kind}: {name}" + (f": {why}" if why else "")


def whole_status(jobs):
    """Merges the status of all jobs of a suite: what was unknown and refused in any of them."""
    refused = {call["name"]: call for job in jobs for call in job.prediction["unsupportedCalls"]}
    return {
        "phase": "Complete",
        "prediction": {
            "unknownReads": sum(job.prediction["unknownReads"] for job in jobs),
            "unsupportedCalls": [refused[name] for name in sorted(refused)],
        },
    }


def job_of(ended, chunk):
    prediction = ended.status.get("prediction", {})
    told = {
        "unknownReads": prediction.get("unknownReads", 0),
        "unsupportedCalls": prediction.get("unsupportedCalls", []),
    }
    return Job(verdicts(ended, chunk), told, ended.wall)


def run_named(eidolon, main, packages, row, command, folder, names):
    """Works as row_job.run, for these tests of the suite in one job."""
    ended = run(eidolon, main, packages, row, (*command, *names), folder)
    return ended, "\n".join(lines_of(verdicts(ended, names)))


def run_suite(eidolon, main, packages, row, command, folder, kept, tell, seconds=float("inf")):
    """Works as row_job.run, for all tests of the row's topic but those of the jobs `kept`, which gets the others as
    they end. `tell` is called with a line for each test. After so many seconds no job begins: tests without a
    verdict are `left`."""
    began = time.monotonic()
    folder.mkdir()
    listed = run(eidolon, main, packages, row, (*command, "--list", row.topic), folder / "list")
    names = re.findall(r"^test: (\w+)$", listed.words, re.M)
    if not names:
        return listed
    jobs = kept.ended()
    while left := [name for name in names if not any(name in job.found for job in jobs)]:
        if time.monotonic() - began >= seconds:
            break
        chunk = left[: row.chunk]
        ended = run(eidolon, main, packages, row, (*command, *chunk), folder / str(len(jobs)))
        jobs.append(job_of(ended, chunk))
        kept.keep(jobs[-1])
        for line in lines_of(jobs[-1].found):
            tell(line)
    found = {name: came for job in jobs for name, came in job.found.items()}
    found |= {name: ("left", "") for name in left}
    return Ended(whole_status(jobs), "\n".join(lines_of(found)), "", sum(job.wall for job in jobs))
