"""The registry of the faults of e2e/torture.

A fault is a function that takes the world, does its harm, undoes what would not end by itself, and returns what it did
in words. It writes into every job that it may meet which reasons it makes true: a job that nothing met must end as its
kind does.
"""

import functools
import os

FAULTS, NEEDS = {}, {}
NOBODY = "no process to meet"


class Nothing(Exception):
    """There is nothing that a fault could meet; its text is what the fault returns."""


def one_of(world, found, otherwise=NOBODY):
    """One of those that a fault may meet."""
    found = list(found)
    if not found:
        raise Nothing(otherwise)
    return world.chance.choice(found)


def fault(function):
    @functools.wraps(function)
    def run(world):
        try:
            return function(world)
        except Nothing as nothing:
            return str(nothing)

    FAULTS[function.__name__] = run
    return run


def needing(what):
    """Marks a fault that is left out where the machine has not what it needs: disk, threads or root."""

    def mark(function):
        NEEDS[function.__name__] = what
        return fault(function)

    return mark


def missing(world):
    """{what a fault may need and this machine has not: why}"""
    lacks = {"disk": world.disk.why_not, "threads": world.threads.why_not}
    lacks["root"] = "" if os.geteuid() == 0 else "needs root to become another user"
    return {what: why for what, why in lacks.items() if why}
