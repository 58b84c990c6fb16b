"""The frame of the page's tests (e2e/page)."""

import pathlib

import jobs
from jobs import expect_complete  # noqa: F401

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


class World(jobs.World):
    def __init__(self, build, python, folder):
        self.build, self.python, self.server, self.count = build, python, None, 0
        self.folder = pathlib.Path(folder)
