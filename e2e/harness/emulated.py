"""Marks of tests."""

import pytest


def todo_emulated(reason):
    """What a real GPU does and the shim does not yet. The test has to fail: one that succeeds fails the run, because the
    mark is then to be removed. shim/core/probe/todo_emulated.h is the same for tests in C++."""
    return pytest.mark.xfail(strict=True, raises=AssertionError, reason=f"not emulated: {reason}")
