"""Stock programs and tests of others run under Eidolon as well as in the results that are kept."""

import datetime
import functools
import os
import pathlib
import re
import tempfile

import pytest
from jobs import World, starts_of_torch
from kept import Jobs, file_for
from packages import built_by_nvcc, environments, older_environments, versions_of
from page import RESULTS, ROOT, kept_results, write_page
from row_file import write_rows
from row_job import judged, run, wrong_amount
from rows import ROWS
from suite import run_named, run_suite

HEADLINE_ERROR = 0.01  # Of the iteration that is shown, against those that repeat.
LAST_LINES = 40  # Of what a program said that does worse than before.


@functools.cache
def environments_for(older):
    """The folders of the main environment and of packages beside it, and the versions of what they hold."""
    main, packages = (older_environments if older else environments)(ROOT)
    return main, packages, versions_of(main, packages)


def without_a_usual_iteration(result, before):
    """Returns whether no iteration repeats any more, in a row that had one that does."""
    had = "deviation" in (before or {}).get("headline", {})
    return had and "deviation" not in result.get("headline", {})


def without_numbers(result):
    """Returns why it stopped, whichever rank and process did."""
    return re.sub(r"\d+", "N", result["message"])


def fell_behind(row, result, before):
    """Returns why the row does worse than the last result that was kept; None: it does not."""
    if before is None:
        return None
    if before["outcome"] == "runs" and result["outcome"] != "runs":
        return f"it ran on {before['date']}"
    if before["outcome"] == result["outcome"] == "stops" and without_numbers(before) != without_numbers(result):
        return f"it stopped otherwise on {before['date']}: {before['message']}"
    if not result.get("left") and result.get("passed", 0) < before.get("passed", 0):
        return f"{before['passed']} tests passed on {before['date']}"
    return None


@pytest.fixture
def options(pytestconfig, monkeypatch):
    """Those of conftest.py. In the short form the ranks of torchrun share its import of torch."""
    if pytestconfig.option.markexpr == "short":
        monkeypatch.setenv("RANKS_GO_ON", os.environ.get("RANKS_GO_ON", "1"))
    return pytestconfig.option


@pytest.fixture(scope="session")
def keep(pytestconfig):
    """Keeps the result of a row where --keep is given, which writes the page in the end."""

    def kept(key, result):
        write_rows(RESULTS, {**kept_results(), key: result})  # Another process may have run other rows.

    wanted = pytestconfig.getoption("keep", False)
    yield kept if wanted else lambda key, result: None
    if wanted:
        write_page()


@pytest.fixture
def world(row, build):
    """Returns what row_job.run takes."""
    main, packages, _ = environments_for(row.older)
    with tempfile.TemporaryDirectory(dir=os.environ.get("EIDOLON_COMPAT_DIR")) as name:
        place, command = pathlib.Path(name), row.command
        if row.key == "nvcc":
            command = [built_by_nvcc(main, packages, place, pathlib.Path(__file__).parent)]
        yield build / "bin/eidolon", main, packages, row, command, place / row.key


def pytest_generate_tests(metafunc):
    only = metafunc.config.getoption("only", None)
    if unknown := set(only.split(",") if only else ()) - {row.key for row in ROWS}:
        raise pytest.UsageError(f"no such row: {', '.join(sorted(unknown))}; e2e/compat --list prints them")
    rows = [row for row in ROWS if not only or row.key in only.split(",")]
    metafunc.parametrize("row", [pytest.param(row, id=row.key, marks=[pytest.mark.short] * row.short) for row in rows])


def count_starts(row):
    """Counts the starts of PyTorch, as the job's program has it."""
    text = "".join(pathlib.Path(word).read_text() for word in row.command if word.endswith(".py"))
    World.starts += starts_of_torch(text, row.command, row.gpus, 1, "RANKS_GO_ON" in os.environ)


def expect_some_tests(world, options):
    """Expects, in a suite, the tests of the option --tests."""
    names = options.tests.split(",")
    assert world[3].chunk, f"{world[3].key} is not a suite whose tests have names"
    ended, lines = run_named(*world, names)
    print(f"{ended.words}\n{lines}" if options.said else lines)
    assert len(re.findall("^passes: ", lines, re.M)) == len(names)


# Each row has a limit of its own.
@pytest.mark.timeout(0)
def test_a_program_does_as_well_as_before(row, world, build, options, keep):
    if options.tests:
        return expect_some_tests(world, options)
    if row.chunk:
        jobs = Jobs(file_for(row, build, *world[1:3]), anew=not options.go_on)
        ended = run_suite(*world, jobs, print, 60 * options.minutes)
    else:
        count_starts(row)
        ended = run(*world)
    print("\n".join(ended.words.splitlines()[0 if options.said else -LAST_LINES :]))
    versions = environments_for(row.older)[2]
    result = judged(row, ended)
    result |= {"date": str(datetime.date.today()), "version": versions.get(row.package, "?")}
    shown = f"passed {result['passed']} of {result['total']}" if "passed" in result else result["outcome"]
    print(f"{row.key}: {shown} {result.get('message', '')} [{result['wall']} s]")
    before = kept_results().get(row.key)
    worse = fell_behind(row, result, before)
    keep(row.key, result)
    assert not worse, f"worse than before: {worse}"
    assert not without_a_usual_iteration(result, before), "no iteration repeats any more"
    wrong = wrong_amount(row, result, before)
    assert not wrong, wrong
    if shown := result.get("headline"):
        print(f"{row.key}: headline {shown}")
        if "deviation" in shown:
            assert shown["deviation"] <= HEADLINE_ERROR
            assert 2 * shown["alike"] >= shown["iterations"], "the report says that no iteration repeats"
