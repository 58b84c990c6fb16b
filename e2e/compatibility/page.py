"""docs/reference/generated/compatibility.md, from the results of e2e/compat."""

import pathlib
import re

import yaml
from row_file import read_rows
from rows import HERE, ROWS

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = HERE / "results.json"
PAGE = ROOT / "docs/reference/generated/compatibility.md"

HEADING = """\
| program | version | date | outcome | predicted | measured, modelled, assumed | last loss | unknown reads | refused calls |
| --- | --- | --- | --- | ---: | --- | ---: | ---: | --- |"""


def reasons():
    """(class, why) by row, or by row:test."""
    return {
        ":".join((row, test) if test else (row,)): (reason["class"], reason["why"])
        for reason in yaml.safe_load((HERE / "reasons.yaml").read_text())
        for row in reason["rows"]
        for test in reason.get("tests", [""])
    }


REASONS = reasons()


def time_of(result):
    if "seconds" not in result:
        return ""
    seconds = result["seconds"]
    text = f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.2f} ms"
    return text if result["of"] == "iteration" else f"{text} in all"


def coverage_of(result):
    shares = result["coverage"]
    if not shares:
        return ""
    measured = shares.get("measured", 0) + shares.get("interpolated", 0)
    return ", ".join(
        f"{100 * share:.0f} %" for share in (measured, shares.get("modelled", 0), shares.get("assumed", 0))
    )


def outcome_of(row, result):
    words = result["outcome"]
    if "total" in result:
        words = f"passes {result['passed']} of {result['total']}"
        if result.get("skipped"):
            words += f", {result['skipped']} skipped"
        if result.get("left"):
            words += f", {result['left']} not run"
        if result["outcome"] != "runs":
            words += f"; stops: {result['message']}"
    elif words != "runs":
        words += f": {result['message']}"
    if row.key in REASONS:
        kind, why = REASONS[row.key]
        words += f" ({kind}: {why})"
    return words.replace("|", "\\|")


def rows_of(rows, results):
    for row in rows:
        result = results.get(row.key)
        if result is None:
            yield f"| {row.name} | {row.package} | never | not run | | | | | |"
            continue
        refused = ", ".join(f"`{name}`" for name in result["refused"]) or "none"
        loss = f"{result['losses'][0]:.3g}" if result.get("losses") else ""
        yield (
            f"| {row.name} | {row.package} {result['version']} | {result['date']} | {outcome_of(row, result)} "
            f"| {time_of(result)} | {coverage_of(result)} | {loss} | {result['unknownReads']} | {refused} |"
        )


def failures_of(rows, results):
    """Every test that does not pass, with its class."""
    for row in rows:
        failures = results.get(row.key, {}).get("failures")
        if not failures:
            continue
        yield f"\n### {row.package}: {row.name}\n"
        yield "| test | whose | why |"
        yield "| --- | --- | --- |"
        for name, said in sorted(failures.items()):
            kind, why = REASONS.get(f"{row.key}:{name}", ("not classed", said or "the results differ"))
            yield f"| {name} | {kind} | {why.replace('|', chr(92) + '|')} |"


def page(rows, results, root):
    torch = re.search(r"^torch==(\S+)", (root / "e2e/requirements.txt").read_text(), re.M).group(1)
    introduction, without = (
        (HERE / f"{name}.md").read_text().replace("TORCH_VERSION", torch) for name in ("introduction", "without_a_row")
    )
    lines = [introduction]
    for group in dict.fromkeys(row.group for row in rows):
        lines += [f"## {group}\n", HEADING, *rows_of([r for r in rows if r.group == group], results), ""]
    lines += [without]
    failures = list(failures_of(rows, results))
    if failures:
        lines += [
            "## Tests that do not pass\n",
            "*ours*: a defect or a limit of Eidolon. *wheel*: the test or the package itself. *values*: the test compares",
            "results of kernels or library routines that are not computed.",
            *failures,
            "",
        ]
    return "\n".join(lines)


def kept_results():
    return read_rows(RESULTS)


def write_page():
    PAGE.write_text(page(ROWS, kept_results(), ROOT))
