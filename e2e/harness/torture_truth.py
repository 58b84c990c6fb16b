"""Determines which ends of a job are true, by what its program does and what the faults did to it.

Every fault that meets a job says which reasons it makes true. A reason that neither the program nor a fault of
the job accounts for is false, and so is a message that names a signal that was not sent, a process that was not
stopped, or a limit that was not reached.
"""

import calendar
import dataclasses
import re
import signal
import time

from torture_programs import KINDS, OWN_SIGNALS

STILL_SECONDS = 8
WALL_SECONDS = 90
# Time from the limit until everything is killed that does not end by itself, and what a busy machine adds.
END_SECONDS = 45
GUARDIAN_STOPPED = "its guardian stopped"
NO_THREADS, NO_THREADS_LEFT = "no threads", "a job that took all threads"
# Words that a Stuck job must say when the fault met it.
STUCK_WORDS = {
    GUARDIAN_STOPPED: "its guardian (pid",
    NO_THREADS: "its agent has said nothing",
    NO_THREADS_LEFT: "its agent has said nothing",
}
# What a Stuck job of these kinds must say: its program waits for ever, and the service that would have named the deadlock
# could not answer in time for lack of threads.
WAITING_WORDS = {"absent": "not finished: call"}
ROUNDING_SECONDS = 1  # Times of a status are whole seconds.
# Words by which a defect of our own shows in messages, whatever the fault.
ABORTS = re.compile(r"terminate called|status 134|signal (4|6|7|8|11) ")
BY_SIGNAL = re.compile(r"\(pid (\d+)\) died: killed by signal (\d+)")
COMMAND_BY_SIGNAL = re.compile(r"the command failed: killed by signal (\d+)")
STOPPED = re.compile(r"\(pid (\d+), [^)]*\) is stopped")


@dataclasses.dataclass
class Watched:
    """A job that was submitted, what met it, and what was seen of it."""

    name: str
    kind: str
    key: str
    submitted: float
    accepted: bool = False
    verdict: dict | None = None  # The condition that ended it.
    shown: str | None = None  # All that was stored of its end.
    harms: dict = dataclasses.field(default_factory=dict)  # Faults that met it, and the reasons that each makes true.
    signals: set = dataclasses.field(default_factory=set)  # (process, signal) that faults sent to its processes.
    has_whole_log: bool = True
    status: int | None = None  # What the last submission was answered.
    is_damaged: bool = False  # A fault changed its record in the store.

    def meet(self, what, *reasons):
        self.harms.setdefault(what, set()).update(reasons)

    def struck(self, pid, number, what, *reasons):
        self.signals.add((pid, int(number)))
        self.meet(what, *reasons)

    def processes_of(self, number):
        return {pid for pid, sent in self.signals if sent == number}


def seconds_of(item):
    """Returns the seconds from the start of a job to its end; None where it did not start."""
    try:
        begin, end = (
            calendar.timegm(time.strptime(item["status"][name], "%Y-%m-%dT%H:%M:%SZ"))
            for name in ("startTime", "completionTime")
        )
    except (KeyError, ValueError):
        return None
    return end - begin


def false_words(job, message):
    """Returns what a message says of signals and processes that is not so."""
    own = OWN_SIGNALS.get(job.kind, set())
    for pid, number in BY_SIGNAL.findall(message):
        # A launcher terminates the ranks that are left.
        if int(number) in own | {int(signal.SIGTERM)} or (int(pid), int(number)) in job.signals:
            continue
        yield f"no fault sent signal {number} to process {pid}"
    for number in COMMAND_BY_SIGNAL.findall(message):
        if not job.processes_of(int(number)):
            yield f"no fault sent signal {number} to a process of the job"
    if "Stuck" not in KINDS[job.kind][1]:
        for pid in STOPPED.findall(message):
            if int(pid) not in job.processes_of(signal.SIGSTOP):
                yield f"no fault stopped process {pid}"
    if ABORTS.search(message) and not own:
        yield "a process of Eidolon aborted"


def names_its_cause(job, message):
    """Returns whether the message of a job that is Stuck names what a fault stopped, where that is known beforehand."""
    waiting = WAITING_WORDS.get(job.kind)
    if waiting and waiting in message and job.harms.keys() & {NO_THREADS, NO_THREADS_LEFT}:
        return True
    return any("Stuck" in reasons and STUCK_WORDS.get(what, "") in message for what, reasons in job.harms.items())


def falsehoods(job, item, ended):
    """Returns what is false about the end of a job, as sentences."""
    kind, reason, message = ended["type"], ended["reason"], ended["message"]
    expected = KINDS[job.kind][1]
    caused = set().union(*job.harms.values())
    if kind == "Complete":
        if "golden" not in expected:
            yield f"a program that is {job.kind} cannot be Complete"
    elif reason not in expected | caused:
        yield "neither the program nor a fault accounts for this reason"
    elif reason == "Stuck" and reason not in expected and not names_its_cause(job, message):
        yield "it does not name what a fault has done"
    yield from false_words(job, message)
    if "its guardian (pid" in message and GUARDIAN_STOPPED not in job.harms:
        yield "it names a guardian that no fault has stopped"
    seconds = seconds_of(item)
    if seconds is None:
        return
    least = {"DeadlineExceeded": WALL_SECONDS, "Stuck": STILL_SECONDS}.get(reason, 0)
    if seconds < least - ROUNDING_SECONDS:
        yield f"it ended after {seconds} s, its limit is {least} s"
    if seconds > WALL_SECONDS + END_SECONDS:
        yield f"it ended {seconds} s after its start, its limit is {WALL_SECONDS} s"
