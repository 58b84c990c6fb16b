"""What a part's log says: how many tests passed, which failed, and what was printed of these."""

import re

CTEST = re.compile(r"(\d+)% tests passed, (\d+) tests failed out of (\d+)")
PYTEST = re.compile(r"^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s\b.*$", re.M)
PLAIN = re.compile(r"(\d+) passed, (\d+) failed")
STARTS = re.compile(r"^starts of torch: (\d+)$", re.M)
OF_CTEST = re.compile(r"^\s+\d+ - (\S+) \((.*)\)", re.M)
OF_PYTEST = re.compile(r"^(?:FAILED|ERROR) (\S+\.py(?:::.+?)?)(?: - .*)?$", re.M)
OF_OURS = re.compile(r"^FAIL (\S+)", re.M)
ENDED = re.compile(r"(ok  |FAIL|skip) ")
SECTION = re.compile(r"^_{3,} .* _{3,}$")
SECTIONS = re.compile(r"^=+ (ERRORS|FAILURES) =+$")
# Tests may print lines of the same form.
AFTER_SECTIONS = re.compile(
    r"^=+ (warnings summary|X?PASSES|XFAILURES|slowest .*|short test summary info|.* in [\d.]+s.*) =+$"
)
LINES_MAX = 300


def counts_in(text):
    """(passed, failed) that a part's own runner printed last; None when it printed none."""
    if ctest := CTEST.findall(text):
        failed, total = int(ctest[-1][1]), int(ctest[-1][2])
        return total - failed, failed
    if pytest := [line for line in PYTEST.findall(text) if re.search(r"passed|failed|error|skipped|deselected", line)]:
        counts = {word.removesuffix("s"): int(count) for count, word in re.findall(r"(\d+) ([a-z]+)", pytest[-1])}
        return counts.get("passed", 0) + counts.get("xfailed", 0), sum(
            map(counts.get, ("failed", "error", "xpassed"), (0, 0, 0))
        )
    plain = PLAIN.findall(text)
    return (int(plain[-1][0]), int(plain[-1][1])) if plain else None


def starts_of_torch(text):
    """Processes that imported torch, as suites count them (e2e/conftest.py)."""
    return sum(map(int, STARTS.findall(text)))


def names_of_failed(text):
    """The tests that ctest, pytest or a runner of ours names as failed, each once."""
    found = [name for name, why in OF_CTEST.findall(text) if why not in ("Skipped", "Disabled")]
    found = found or OF_PYTEST.findall(text) or OF_OURS.findall(text)
    return list(dict.fromkeys(found))


def beginning_and_end(lines):
    """Of long output the first lines and, since a test's reason stands there, more of the last ones."""
    return lines if len(lines) <= 80 else [*lines[:15], "...", *lines[-64:]]


def of_pytest(lines):
    """The sections of errors and failures, long ones shortened."""
    kept, section, inside = [], [], False
    for line in lines:
        begins = bool(SECTIONS.match(line))
        if begins or AFTER_SECTIONS.match(line):
            inside = begins
        elif inside and not SECTION.match(line):
            section.append(line)
            continue
        kept += beginning_and_end(section)
        section = [line] if inside and not begins else []
    return kept + beginning_and_end(section)


def of_ctest_and_ours(lines):
    failed = re.compile(r"\s*\d+/\d+ Test +#\d+: .*\*\*\*(?!Skipped|Not Run \(Disabled)")
    another = re.compile(r"\s*(\d+/\d+ Test +#|Start +\d+:)")
    kept = []
    for at, line in enumerate(lines):
        if failed.match(line):
            end = next((i for i in range(at + 1, len(lines)) if another.match(lines[i])), len(lines))
            kept += beginning_and_end(lines[at:end])
        elif line.startswith("FAIL "):
            # Its words come before its name or, of the cluster test, after it.
            begin = max((i for i in range(at) if ENDED.match(lines[i])), default=-1)
            end = next((i for i in range(at + 1, len(lines)) if ENDED.match(lines[i])), len(lines))
            kept += [line[:1000] for line in lines[max(begin + 1, at - 20) : min(end, at + 20)]]
    return kept


def words_of_failed(text):
    """What was printed of each failed test, or else the end of the text."""
    lines = text.splitlines()
    kept = of_pytest(lines) or of_ctest_and_ours(lines)
    return kept[:LINES_MAX] or lines[-60:]
