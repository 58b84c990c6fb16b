"""torch's own tests of torch.distributed, which are in its wheel, with NCCL and as many ranks as there are devices.

Started as upstream's test_distributed_spawn.py starts them: each test in processes of its own. Arguments: names of
tests, or I/N for each N-th test from the I-th on; none: all of them.
"""

import os
import sys
import tempfile
import unittest

os.environ.setdefault("BACKEND", "nccl")
os.environ.setdefault("WORLD_SIZE", "2")
os.environ.setdefault("TEMP_DIR", tempfile.mkdtemp())

import torch
from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend


class TestDistributedSpawn(TestDistBackend, DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._spawn_processes()
        torch.backends.cudnn.flags(enabled=True, allow_tf32=False).__enter__()


class Lines(unittest.TestResult):
    """One line for each test."""

    passed = 0

    def addSuccess(self, test):
        self.passed += 1
        print(f"passes: {test._testMethodName}", flush=True)

    def addSkip(self, test, reason):
        print(f"skipped: {test._testMethodName}: {reason}", flush=True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        said = [line for line in str(error[1]).splitlines() if line.strip()]
        last = next((line for line in reversed(said) if "Error" in line), said[-1] if said else error[0].__name__)
        print(f"wrong: {test._testMethodName}: {last.strip()[:200]}", flush=True)

    addError = addFailure


def chosen(words):
    names = unittest.TestLoader().getTestCaseNames(TestDistributedSpawn)
    names = [name for name in names if not hasattr(getattr(TestDistributedSpawn, name), "__unittest_skip__")]
    if not words:
        return names
    if "/" in words[0]:
        first, step = map(int, words[0].split("/"))
        return names[first::step]
    return words


if __name__ == "__main__":
    result = Lines()
    unittest.TestSuite(TestDistributedSpawn(name) for name in chosen(sys.argv[1:])).run(result)
    failed = len(result.failures) + len(result.errors)
    print(f"passed {result.passed} of {result.passed + failed}", flush=True)
