"""Checks the table of waiting calls (docs/waiting_calls.md) against what the shim exports and the tests there are.

waiting_calls_check.py [-v]
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| ((?:`\w+` ?)+)\| (answered|left) \| .* \| (\w+) \|$")


def rows():
    text = (ROOT / "docs" / "waiting_calls.md").read_text().split("## The calls")[1]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    for line in lines:
        found = ROW.match(line)
        assert found, f"not a row of the table: {line}"
        yield re.findall(r"`(\w+)`", found.group(1)), found.group(2), found.group(3)


class WaitingCallsCheck(unittest.TestCase):
    def test_each_call_is_answered_or_left_as_the_table_says(self):
        exported = set((ROOT / "shim" / "time" / "exports.txt").read_text().split())
        answered = [name for names, kind, _ in rows() for name in names if kind == "answered"]
        left = [name for names, kind, _ in rows() for name in names if kind == "left"]

        self.assertEqual(sorted(answered), sorted(exported))
        self.assertEqual(set(left) & exported, set())

    def test_each_row_names_a_test_that_exists(self):
        sources = "".join(path.read_text() for path in (ROOT / "shim" / "time").glob("*_test.cc"))
        for names, _, test in rows():
            with self.subTest(names[0]):
                found = re.search(rf"TEST(_F|_P)?\(\w+,\s+{test}\)", sources)
                self.assertTrue(found, f"there is no test {test}")

    def test_each_timed_call_that_is_answered_has_a_row_of_its_own(self):
        source = (ROOT / "shim" / "time" / "waiting_calls_test.cc").read_text()
        for names, kind, test in rows():
            if kind != "answered" or test != "AHundredSecondsOfADriverPassAtOnce":
                continue
            for name in names:
                with self.subTest(name):
                    row = '"syscall ' if name == "syscall" else f'"{name}"'
                    self.assertTrue(row in source, f"no row {row} in waiting_calls_test.cc")


if __name__ == "__main__":
    unittest.main()
