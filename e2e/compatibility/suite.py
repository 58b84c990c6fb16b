"""Runs a suite of many tests as jobs of some tests each, so that one that crashes or hangs ends no other.

The suite's program prints `test: NAME` for each of its tests when it is asked with `--list TOPIC`, and with names of tests
`begins: NAME` and then `passes: NAME`, `skipped: NAME: WHY` or `wrong: NAME: WHY` for each.
"""

import re

from trial import Ended, complaint, run

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
    """What came of the tests of a job, as far as it tells: their kinds and reasons by name. A job ends some time after
    what ended it: a test that it cuts short and that had printed no error is only at fault when it was the first."""
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


def whole_status(statuses):
    """Of all jobs of a suite: what was unknown and refused in any of them."""
    predictions = [status.get("prediction", {}) for status in statuses]
    refused = {call["name"]: call for p in predictions for call in p.get("unsupportedCalls", [])}
    unknown = sum(p.get("unknownReads", 0) for p in predictions)
    return {
        "phase": "Complete",
        "prediction": {"unknownReads": unknown, "unsupportedCalls": [refused[name] for name in sorted(refused)]},
    }


def run_suite(eidolon, main, packages, row, command, folder, tell):
    """As trial.run, of all tests of the row's topic. `tell` is called with a line for each test."""
    folder.mkdir()
    listed = run(eidolon, main, packages, row, (*command, "--list", row.topic), folder / "list")
    names = re.findall(r"^test: (\w+)$", listed.words, re.M)
    if not names:
        return listed
    wall, found, statuses = 0, {}, []
    while names:
        chunk = names[: row.chunk]
        ended = run(eidolon, main, packages, row, (*command, *chunk), folder / str(len(statuses)))
        wall += ended.wall
        statuses.append(ended.status)
        came = verdicts(ended, chunk)
        for line in lines_of(came):
            tell(line)
        found |= came
        names = [name for name in names if name not in found]
    return Ended(whole_status(statuses), "\n".join(lines_of(found)), "", wall)
