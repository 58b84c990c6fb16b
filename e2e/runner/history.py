"""Keeps the result of every test of every run: its seconds and how it ended, in test-history.jsonl and in the cache.

A line is {"test", "seconds", "outcome", "commit", "part", "date"}; of a whole part "test" is empty and "share" says how much
of the part ran. Outcomes: passed, failed, skipped; a test that failed and then passed alone has a second line, flaky.
"""

import collections
import dataclasses
import datetime
import json
import re
import statistics

from runner.change import ROOT, cache_folder, read_rows

RUNS_KEPT = 60
RUNS_FOR_SECONDS = 5  # The newest whole runs of a part, of which the median is expected next.
RUNS_FOR_FLAKY = 10  # In these a test may be flaky once.
SLOW_SECONDS = 1.0
ROWS = 20
README = ROOT / "e2e" / "README.md"
BEGIN, END = "<!-- written by e2e/test --history --write -->", "<!-- end -->"


class History:
    """Appends what a run has found. One file of the cache for each run, so that runs beside each other do not mix."""

    def __init__(self, commit, logs, folder=None):
        self.folder = folder or cache_folder() / "test-history"
        self.commit = commit
        self.now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        name = f"{self.now.replace(':', '')[:17]}-{(commit or 'none')[:12]}.jsonl"
        self.files = [logs / "test-history.jsonl", self.folder / name]

    def add(self, part, results, seconds, good, share=1.0):
        rows = [self.row(part, one.test, one.seconds, one.outcome) for one in results]
        rows.append(self.row(part, "", seconds, "passed" if good else "failed") | {"share": round(share, 2)})
        self.append(rows)

    def add_flaky(self, part, result):
        self.append([self.row(part, result.test, result.seconds, "flaky")])

    def append(self, rows):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        for file in self.files:
            file.parent.mkdir(parents=True, exist_ok=True)
            with open(file, "a") as out:
                out.write(text)

    def row(self, part, test, seconds, outcome):
        own = {"test": test, "seconds": round(seconds, 2), "outcome": outcome}
        return own | {"commit": self.commit, "part": part, "date": self.now}

    def forget_oldest(self):
        for file in runs(self.folder)[:-RUNS_KEPT]:
            file.unlink(missing_ok=True)


def runs(folder):
    return sorted(folder.glob("*.jsonl"))


def read(folder=None, newest=RUNS_KEPT):
    """Every line of the cache, from the oldest run to the newest."""
    files = runs(folder or cache_folder() / "test-history")[-newest:]
    return [row for file in files for row in read_rows(file)]


def expected_seconds(rows):
    """Returns the seconds of all of each part: the median of the newest runs that passed with at least half of it."""
    found = collections.defaultdict(list)
    for row in rows:
        if not row["test"] and row["outcome"] == "passed" and row.get("share", 1) >= 0.5:
            found[row["part"]].append(row["seconds"] / row.get("share", 1))
    return {part: statistics.median_low(seconds[-RUNS_FOR_SECONDS:]) for part, seconds in found.items()}


def seconds_of_tests(rows):
    """{part: {test: seconds}} of the newest time that each test passed."""
    found = collections.defaultdict(dict)
    for row in rows:
        if row["test"] and row["outcome"] == "passed":
            found[row["part"]][row["test"]] = row["seconds"]
    return found


def flaky_tests(rows):
    return {(row["part"], row["test"]) for row in rows if row["outcome"] == "flaky"}


def slowest(rows):
    """[(seconds, part, test)] of the newest time that each test passed."""
    newest = [(took, part, test) for part, tests in seconds_of_tests(rows).items() for test, took in tests.items()]
    return sorted(newest, reverse=True)[:ROWS]


@dataclasses.dataclass
class Failures:
    """Failures of one test. A failure is real when the same commit never passed the test; others make it unsteady."""

    part: str
    test: str
    count: int  # Real ones.
    last: str | None  # Commit of the last real one.
    fixed: str | None  # The commit that passed next.
    unsteady: int

    def __str__(self):
        texts = []
        if self.count:
            end = f"passes at {short(self.fixed)}" if self.fixed else "fails still"
            texts.append(f"failed {self.count} x, last at {short(self.last)}, {end}")
        if self.unsteady:
            texts.append(f"failed and passed at one commit {self.unsteady} x")
        return f"{self.part:16} {self.test}: {'; '.join(texts)}"


def failures(rows):
    by_test = collections.defaultdict(list)
    for row in rows:
        if row["test"] and row["outcome"] != "skipped":
            by_test[row["part"], row["test"]].append(row)
    found = [failures_of(*names, mine) for names, mine in by_test.items()]
    return sorted((one for one in found if one.count or one.unsteady), key=lambda one: (-one.count, one.part, one.test))


def failures_of(part, test, rows):
    commits = {
        outcome: {row["commit"] for row in rows if row["outcome"] == outcome}
        for outcome in ("passed", "failed", "flaky")
    }
    steady = commits["failed"] - commits["passed"] - commits["flaky"]
    real = [at for at, row in enumerate(rows) if row["outcome"] == "failed" and row["commit"] in steady]
    unsteady = len(commits["flaky"] | commits["failed"] & commits["passed"])
    if not real:
        return Failures(part, test, 0, None, None, unsteady)
    fixed = next((row["commit"] for row in rows[real[-1] :] if row["outcome"] == "passed"), None)
    return Failures(part, test, len(real), rows[real[-1]]["commit"], fixed, unsteady)


def short(commit):
    return commit[:10] + "+" * commit.endswith("+") if commit else "-"


def write_history(rows):
    """Prints the history for people."""
    lines = ["slowest tests:", *(f"{seconds:8.1f} s  {part:16} {test}" for seconds, part, test in slowest(rows))]
    return "\n".join([*lines, "failed tests:", *(f"    {one}" for one in failures(rows))])


def table(rows, kept=()):
    """Returns the tables for e2e/README.md. `kept`: rows of failures that stand there, which outlive the cache."""
    lines = [BEGIN, "", "Slowest twenty:", "", "| seconds | part | test |", "| --- | --- | --- |"]
    lines += [f"| {seconds:.1f} | {part} | `{test}` |" for seconds, part, test in slowest(rows)]
    lines += ["", "Failed for a real reason (a commit that fails the test, and a later one that passes it):", ""]
    lines += ["| part | test | failed at | passes at |", "| --- | --- | --- | --- |"]
    ended = [one for one in failures(rows) if one.fixed]
    real = [f"| {one.part} | `{one.test}` | {short(one.last)} | {short(one.fixed)} |" for one in ended]
    lines += dict.fromkeys([*kept, *real])
    return "\n".join([*lines, "", END])


def failures_kept(text):
    """Rows of the second table of a README's text."""
    inside = text.partition(BEGIN)[2].partition(END)[0]
    return [line for line in inside.splitlines() if re.fullmatch(r"\| \S+ \| `[^`]+` \| \w+\+? \| \w+\+? \|", line)]


def write_readme(rows, file=README):
    text = file.read_text()
    if BEGIN not in text or END not in text:
        raise ValueError(f"{file} lacks '{BEGIN}' and '{END}'")
    before, _, rest = text.partition(BEGIN)
    file.write_text(before + table(rows, failures_kept(text)) + rest.partition(END)[2])
