"""Checks the table of waiting calls (docs/waiting_calls.md) against what the shim exports and the tests there are."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
ROOMS = ROOT / "shim/program/time", ROOT / "shim/program/channel"
DRIVERS = "AHundredSecondsOfADriverPassAtOnce"
ROW = re.compile(r"^\| ((?:`\w+` ?)+)\| (answered|left) \| .* \| (\w+) \|$")


def rows():
    text = (ROOT / "docs" / "waiting_calls.md").read_text().split("## The calls")[1]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    for line in lines:
        found = ROW.match(line)
        assert found, f"not a row of the table: {line}"
        yield re.findall(r"`(\w+)`", found.group(1)), found.group(2), found.group(3)


def test_each_call_is_answered_or_left_as_the_table_says():
    exported = {name for room in ROOMS for name in (room / "exports.txt").read_text().split()}
    answered = [name for names, kind, _ in rows() for name in names if kind == "answered"]
    left = [name for names, kind, _ in rows() for name in names if kind == "left"]

    assert sorted(answered) == sorted(exported)
    assert set(left) & exported == set()


@pytest.mark.parametrize("test", sorted({test for _, _, test in rows()}))
def test_each_row_names_a_test_that_exists(test):
    sources = "".join(path.read_text() for room in ROOMS for path in room.glob("*_test.cc"))
    assert re.search(rf"TEST(_F|_P)?\(\w+,\s+{test}\)", sources)


TIMED = [name for names, kind, test in rows() for name in names if (kind, test) == ("answered", DRIVERS)]


@pytest.mark.parametrize("name", TIMED)
def test_each_timed_call_that_is_answered_has_a_row_of_its_own(name):
    source = (ROOT / "shim/program/time" / "waiting_calls_test.cc").read_text()
    assert ('"syscall ' if name == "syscall" else f'"{name}"') in source
