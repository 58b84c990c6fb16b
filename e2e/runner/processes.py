"""The process of a part, from its start until its log says how it ended."""

import dataclasses
import os
import pathlib
import shlex
import signal
import subprocess
import threading
import time

from runner.history import results_of
from runner.words import counts_in, names_of_failed


@dataclasses.dataclass
class Ended:
    """How a part ended. `flaky`: of the failed tests those that passed on the second try."""

    part: object
    choice: object
    command: list
    log: pathlib.Path
    status: object  # A number, or a sentence.
    seconds: float
    worked: float  # Seconds of processors, of its processes that were waited for.
    text: str
    results: list
    passed: int
    failed: int
    names: tuple = ()  # Of failed tests.
    flaky: tuple = ()

    @property
    def good(self):
        return self.failed == 0


def second_junit(part):
    return part.junit.with_suffix(".again.xml")


def failed_tests(results, text):
    return tuple(name for name, _, outcome in results if outcome == "failed") or tuple(names_of_failed(text))


class Processes:
    """Starts parts and hands each over when it has ended, on a thread of the part's own. What runs when this process
    ends is killed."""

    def __init__(self, logs, root):
        self.logs, self.root = logs, root
        self.running = {}
        self.lock = threading.Lock()

    def start(self, part, choice, command, environment, hand_over, again=None):
        """`again`: from the names of failed tests to a command that runs these, or to None."""

        def follow():
            try:
                ended = self.follow(part, choice, command, environment, again)
            except Exception as error:  # The others still run.
                log = self.logs / f"{part.name}.log"
                ended = Ended(part, choice, command, log, str(error), 0, 0, str(error), [], 0, 1)
            hand_over(ended)

        threading.Thread(target=follow, daemon=True).start()

    def follow(self, part, choice, command, environment, again):
        log = self.logs / f"{part.name}.log"
        part.junit.parent.mkdir(parents=True, exist_ok=True)
        part.junit.unlink(missing_ok=True)
        status, seconds, worked = self.run(part.name, command, environment, log, part.minutes)
        text = log.read_text(errors="replace")
        results = results_of(part.junit, text)
        passed, failed = counts_in(text) or ((1, 0) if status == 0 else (0, 1))
        if status != 0 and failed == 0:
            failed = 1
        names = failed_tests(results, text) if failed else ()
        ended = Ended(part, choice, command, log, status, seconds, worked, text, results, passed, failed, names)
        if names and again and (second := again(names)):
            self.run_again(ended, second, environment)
        return ended

    def run_again(self, ended, command, environment):
        """Finds out which of the failed tests pass on the second try. The part has failed all the same."""
        log = self.logs / f"{ended.part.name}.again.log"
        second_junit(ended.part).unlink(missing_ok=True)
        try:
            status, seconds, worked = self.run(ended.part.name, command, environment, log, ended.part.minutes)
        except OSError:
            return  # It proves nothing.
        text = log.read_text(errors="replace")
        still = failed_tests(results_of(second_junit(ended.part), text), text)
        ended.seconds, ended.worked = ended.seconds + seconds, ended.worked + worked
        if counts_in(text) and (status == 0 or still):
            ended.flaky = tuple(name for name in ended.names if name not in still)

    def run(self, name, command, environment, log, minutes):
        """(status or a sentence, seconds, seconds of processors)."""
        started = time.monotonic()
        with open(log, "wb") as out:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        with self.lock:
            self.running[name] = process.pid
        late = threading.Event()

        def end():
            late.set()
            self.kill(name)

        limit = threading.Timer(minutes * 60, end)
        limit.daemon = True
        limit.start()
        _, status, usage = os.wait4(process.pid, 0)
        limit.cancel()
        with self.lock:
            del self.running[name]
        process.returncode = os.waitstatus_to_exitcode(status)
        result = f"no end within {minutes} minutes" if late.is_set() else process.returncode
        return result, time.monotonic() - started, usage.ru_utime + usage.ru_stime

    def kill(self, name):
        with self.lock:
            if name in self.running:
                os.killpg(self.running[name], signal.SIGKILL)

    def end(self):
        for name in list(self.running):
            self.kill(name)


def shown(command):
    return shlex.join(map(str, command))


def processor_seconds():
    """What this machine's processors have worked since it started."""
    with open("/proc/stat") as stat:
        user, nice, system = map(int, stat.readline().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")
