"""Prints, in a program that runs tests of others, a line where a test begins, and one with its result (suite.py)."""

import unittest


class Lines(unittest.TestResult):
    last_failed = None  # The test of which a part has failed.

    def startTest(self, test):
        super().startTest(test)
        print(f"begins: {name_of(test)}", flush=True)

    def addSuccess(self, test):
        print(f"passes: {name_of(test)}", flush=True)

    def addExpectedFailure(self, test, error):
        print(f"passes: {name_of(test)}", flush=True)

    def addSkip(self, test, reason):
        print(f"skipped: {name_of(test)}: {one_line(reason)}", flush=True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        said = [line for line in str(error[1]).splitlines() if line.strip()]
        last = next((line for line in reversed(said) if "Error" in line), said[-1] if said else error[0].__name__)
        print(str(error[1]), flush=True)
        print(f"wrong: {name_of(test)}: {one_line(last)}", flush=True)

    addError = addFailure

    def addSubTest(self, test, subtest, error):
        """Of a part of a test; the first that fails decides, since nothing is told of the whole then."""
        super().addSubTest(test, subtest, error)
        if error is not None and test is not self.last_failed:
            self.last_failed = test
            self.addFailure(test, error)


def name_of(test):
    """Names the test as the suite does; else by its method."""
    return getattr(test, "told_name", None) or getattr(test, "_testMethodName", "setUpClass")


def one_line(words):
    return " ".join(words.split())[:200]
