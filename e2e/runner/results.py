"""Reads the results of a part's tests: from the JUnit file that pytest and ctest write, or from the lines of our own
runners."""

import re
import typing
import xml.etree.ElementTree

from runner.graph import name_of

LINE = re.compile(r"(ok  |FAIL|skip) ([\w./-]+):?(?:.*?\(?\b(\d+\.\d+) s\b)?")
OUTCOMES = {"ok  ": "passed", "FAIL": "failed", "skip": "skipped"}
COUNTS = re.compile(r"(\d+) passed, (\d+) failed")
STARTS = re.compile(r"^starts of torch: (\d+)$", re.M)
LINES_MAX = 300
REASON_MAX = 300  # Characters.


class Result(typing.NamedTuple):
    """The result of a test. Where it failed, `words` are lines that it printed, and `reason` is what it expected and
    saw, in a line."""

    test: str
    seconds: float
    outcome: str
    words: tuple = ()
    reason: str = ""


def read_junit(file):
    """The results; None when the file is not there or not whole."""
    try:
        root = xml.etree.ElementTree.parse(file).getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return None
    return [read_case(case) for case in root.iter("testcase")]


def read_case(case):
    name = name_of(case.get("name"))
    if path := case.get("file"):  # Of pytest: the id by which it takes the test.
        inside = case.get("classname", "").removeprefix(path.removesuffix(".py").replace("/", ".")).strip(".")
        name = "::".join([path, *inside.split("."), name] if inside else [path, name])
    outcome = outcome_of(case)
    texts = [part.text or part.get("message") or "" for part in case if part.tag != "properties"]
    words = [line for text in texts for line in text.splitlines()] if outcome == "failed" else []
    reason = reason_of(case) if outcome == "failed" else ""
    return Result(name, float(case.get("time") or 0), outcome, tuple(beginning_and_end(words)), reason)


def reason_of(case):
    """The first line of a failure's message. CTest has none: then the first that GoogleTest printed of a failure."""
    of_googletest = re.search(r": Failure\n((?:.+\n){1,4})", case.findtext("system-out") or "")
    if of_googletest:
        return " ".join(of_googletest[1].split())[:REASON_MAX]
    messages = [part.get("message") or "" for part in case if part.tag in ("failure", "error")]
    return "".join(messages[:1]).strip().partition("\n")[0][:REASON_MAX]


def outcome_of(case):
    status, skipped = case.get("status"), case.find("skipped")
    if case.find("failure") is not None or case.find("error") is not None or status == "fail":
        return "failed"
    if status == "notrun" and not (skipped is not None and skipped.get("message", "").startswith("SKIP")):
        return "failed"  # Of ctest: its program is not there.
    if status in ("notrun", "disabled"):
        return "skipped"
    return "passed" if skipped is None or skipped.get("type") == "pytest.xfail" else "skipped"


def beginning_and_end(lines):
    """Returns the first lines of long output and, since a test's reason stands there, more of the last ones."""
    return lines if len(lines) <= 80 else [*lines[:15], "...", *lines[-64:]]


def read_log(text):
    """The results of the lines of our own runners. What a test printed stands above its line."""
    results, above = [], []
    for line in text.splitlines():
        if found := LINE.match(line):
            outcome = OUTCOMES[found[1]]
            words = (*above[-40:], line) if outcome == "failed" else ()
            results.append(Result(found[2], float(found[3] or 0), outcome, words))
            above = []
        else:
            above.append(line)
    return results


class Results:
    """The results of a part that has ended. `failed` is never 0 when the part failed."""

    def __init__(self, junit, text, good):
        found = read_junit(junit)
        self.tests = read_log(text) if found is None else found
        printed = COUNTS.findall(text) if found is None else []
        if printed:
            self.passed, self.failed = map(int, printed[-1])
        elif found is None and not self.tests:
            self.passed, self.failed = int(good), int(not good)
        else:
            self.passed, self.failed = (sum(one.outcome == word for one in self.tests) for word in ("passed", "failed"))
        self.failed = self.failed if good else max(1, self.failed)
        self.text = text

    def of_failed(self):
        return list({one.test: one for one in self.tests if one.outcome == "failed"}.values())

    def words(self):
        """Returns what was printed of each failed test, or else the end of the log."""
        lines = [line for one in self.of_failed() for line in (f"{one.test}:", *one.words)]
        return lines[:LINES_MAX] or self.text.splitlines()[-60:]

    def starts_of_torch(self):
        """Processes that imported torch, as suites count them (e2e/conftest.py)."""
        return sum(map(int, STARTS.findall(self.text)))
