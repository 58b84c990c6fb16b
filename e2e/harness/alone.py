"""Runs tests that are marked `alone` after all others and with nothing beside them, whatever the number of workers.

Workers of pytest-xdist mark them in their identifiers, so that the scheduler knows them; reports do not show the mark.
Requires pytest-xdist 3.8 and its distribution "worksteal".
"""

import fcntl
import tempfile

import pytest
from xdist.scheduler.worksteal import MIN_PENDING, WorkStealingScheduling

MARK = "@alone"


class AloneLast(WorkStealingScheduling):
    """Holds tests that are marked back until no others are left to share out; then one worker gets them all."""

    held = None

    def check_schedule(self):
        if self.held is None and self.pending:
            self.held = [index for index in self.pending if self.collection[index].endswith(MARK)]
            self.pending = [index for index in self.pending if index not in self.held]
        up = [(node, pending) for node, pending in self.node2pending.items() if not node.shutting_down]
        over = not self.pending and self.steal_requested_from_node is None
        if self.held and up and over and all(len(pending) < MIN_PENDING for _, pending in up):
            for node, _ in up[1:]:
                node.shutdown()  # Runs its last test, which it has held back for a successor.
            self.pending, self.held = self.held, []
            self._send_tests(up[0][0], len(self.pending))
        super().check_schedule()

    @property
    def tests_finished(self):
        return not self.held and super().tests_finished

    @property
    def has_pending(self):
        return bool(self.held) or super().has_pending


class Alone:
    """The plugin."""

    def __init__(self, config):
        self.lock = getattr(config, "workerinput", {}).get("alone")  # Only workers have it.
        self.made = None if self.lock else tempfile.NamedTemporaryFile(prefix="alone-")

    def pytest_configure_node(self, node):
        node.workerinput["alone"] = self.made.name

    def pytest_xdist_make_scheduler(self, config, log):
        return AloneLast(config, log) if config.option.dist == "worksteal" else None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items.sort(key=lambda item: item.get_closest_marker("alone") is not None)
        for item in items:
            if self.lock and item.get_closest_marker("alone"):
                item._nodeid += MARK

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        if not self.lock:
            report.nodeid = report.nodeid.removesuffix(MARK)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """The last tests of other workers may still run when the first marked one is due."""
        if not self.lock:
            return (yield)
        with open(self.lock) as file:
            fcntl.flock(file, fcntl.LOCK_EX if item.nodeid.endswith(MARK) else fcntl.LOCK_SH)
            return (yield)
