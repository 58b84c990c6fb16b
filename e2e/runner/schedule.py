"""Decides when each part starts: as many at a time as keep the processors busy, the longest chain of parts first."""

import dataclasses
import os


@dataclasses.dataclass(frozen=True)
class Task:
    """`seconds` are expected; `processors` is how many it keeps busy."""

    name: str
    seconds: float
    processors: float = 1
    needs: tuple = ()
    alone: bool = False
    first: bool = False


class Schedule:
    """Owns what has not started. `room` is how much of the processors all that run may take together: somewhat more than
    there are, because parts wait for disks and for each other."""

    def __init__(self, tasks, cores=None):
        cores = cores or os.cpu_count() or 2
        self.room = cores + 0.5
        self.tasks = {task.name: task for task in tasks}
        self.waiting = dict(self.tasks)
        self.running = {}  # Task by name, and when it is expected to end.
        self.passed, self.failed = set(), set()
        self.length = {}
        for name in self.tasks:
            self.length_from(name)

    def length_from(self, name):
        """Seconds from the start of a task to the end of the longest chain that needs it."""
        if name not in self.length:
            after = [other.name for other in self.tasks.values() if name in other.needs]
            self.length[name] = self.tasks[name].seconds + max(map(self.length_from, after), default=0)
        return self.length[name]

    def order(self, task):
        """What is quick and most often red goes first, what must run alone goes last: it empties the machine."""
        return (task.alone, not task.first, -self.length[task.name], task.name)

    def is_ready(self, task):
        return all(name in self.passed or name not in self.tasks for name in task.needs)

    def used(self):
        return sum(task.processors for task, _ in self.running.values())

    def fits(self, task, used):
        return used == 0 or used + min(task.processors, self.room) <= self.room

    def due(self, now):
        """The tasks to start now; they count as running. A task that does not fit keeps its place: one of lower rank starts
        before it only if it ends before the other one could start, or if there is room for both."""
        started = []
        if any(task.alone for task, _ in self.running.values()):
            return started
        blocked = None
        for task in sorted(filter(self.is_ready, self.waiting.values()), key=self.order):
            if task.alone:
                # It waits also for others that become ready later.
                if self.running or any(map(self.comes_first, self.waiting.values())):
                    continue
                self.start(task, now)
                return [*started, task]
            if not self.fits(task, self.used()):
                blocked = blocked or task
                continue
            if blocked and not self.leaves_room(task, blocked, now):
                continue
            self.start(task, now)
            started.append(task)
        return started

    def leaves_room(self, task, blocked, now):
        begin = self.could_start(blocked, now)
        later = [one for one, end in self.running.values() if end > begin]
        return now + task.seconds <= begin or self.fits(blocked, sum(one.processors for one in later) + task.processors)

    def could_start(self, task, now):
        """Returns when a task that does not fit is expected to."""
        used, at = self.used(), now
        for one, end in sorted(self.running.values(), key=lambda pair: pair[1]):
            if self.fits(task, used):
                break
            used, at = used - one.processors, max(end, now)
        return at

    def start(self, task, now):
        del self.waiting[task.name]
        self.running[task.name] = (task, now + task.seconds)

    def comes_first(self, task):
        """Returns whether a waiting task can run before any that must run alone."""
        if task.alone:
            return False
        waiting = [self.waiting[name] for name in task.needs if name in self.waiting]
        return all(map(self.comes_first, waiting))

    def ended(self, name, good):
        """Records how a task ended; answers {task that cannot run any more: needs of it that failed}."""
        del self.running[name]
        (self.passed if good else self.failed).add(name)
        dropped = {}
        while True:
            lost = [t for t in self.waiting.values() if self.failed & set(t.needs)]
            if not lost:
                return dropped
            for task in lost:
                dropped[task.name] = sorted(self.failed & set(task.needs))
                del self.waiting[task.name]
            self.failed.update(task.name for task in lost)

    def leave_out(self, name):
        """Forgets a waiting task on which no other stands."""
        del self.waiting[name]

    def is_over(self):
        return not self.waiting and not self.running


def simulate(tasks, cores):
    """[(start, end, task)] when all takes as long as expected, in the order of starts, and the seconds of all together."""
    schedule, now, line = Schedule(tasks, cores), 0.0, []
    while True:
        line += [(now, now + task.seconds, task) for task in schedule.due(now)]
        if not schedule.running:
            break
        name, (_, now) = min(schedule.running.items(), key=lambda item: (item[1][1], item[0]))
        schedule.ended(name, True)
    if schedule.waiting:
        raise ValueError(f"never started: {', '.join(sorted(schedule.waiting))}")
    return line, now
