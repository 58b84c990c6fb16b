"""Keeps a run within its minutes: where too much is left, parts that would run whole are sampled, and the last are left out.

How long the rest takes is the plan's estimate, times how much slower than expected this machine has been so far. Both are
printed, neither counts as passed, and the next run takes these parts whole.
"""

import dataclasses
import time

from runner.schedule import simulate

MINUTES = 70  # Of a run without --all and --only. Continuous integration ends a run after 90.
OVERRUN = 1.1  # Of the limit: parts are left out when samples do not help.
TELLING_SECONDS = 30  # Parts that are expected to take less say nothing about the machine's pace.


class Limit:
    """Holds when a run has to end, and the pace of the machine. `seconds`: None for no limit."""

    def __init__(self, seconds, cores, now=None):
        self.seconds, self.cores = seconds, cores
        self.started = time.monotonic() if now is None else now
        self.took = self.expected = 0.0

    def learn(self, expected, seconds):
        """Takes note of a part that has ended."""
        if expected >= TELLING_SECONDS:
            self.expected += expected
            self.took += seconds

    @property
    def pace(self):
        return max(1.0, self.took / self.expected) if self.expected else 1.0

    def share(self, schedule, now):
        """Returns the share of the limit that will have passed when all that has not ended has."""
        if not self.seconds:
            return 0.0
        waiting = [dataclasses.replace(task, seconds=task.seconds * self.pace) for task in schedule.waiting.values()]
        running = [
            dataclasses.replace(task, seconds=max(1.0, end - now), needs=(), alone=False)
            for task, end in schedule.running.values()
        ]
        rest = simulate([*running, *waiting], self.cores)[1] if waiting or running else 0.0
        return (now - self.started + rest) / self.seconds

    def is_exceeded(self, schedule, now):
        return self.share(schedule, now) > 1

    def is_exceeded_by_far(self, schedule, now):
        return self.share(schedule, now) > OVERRUN


def longest(tasks):
    return max(tasks, key=lambda task: task.seconds * task.processors, default=None)
