"""The process of a part, from its start until its results are read."""

import dataclasses
import os
import pathlib
import shlex
import signal
import subprocess
import threading
import time

from runner.results import Results


@dataclasses.dataclass
class Ended:
    """The end of a part. `status`: a number, or a sentence. `worked`: seconds of processors, of processes waited
    for."""

    part: object
    choice: object
    command: list
    log: pathlib.Path
    status: object
    seconds: float
    worked: float
    results: Results

    @property
    def good(self):
        return self.results.failed == 0


class Processes:
    """Starts parts and hands each over when it has ended, on a thread of the part's own. What runs when this process
    ends is killed."""

    def __init__(self, logs, root):
        self.logs, self.root = logs, root
        self.running = {}
        self.lock = threading.Lock()

    def start(self, part, choice, command, environment, hand_over):
        def follow():
            hand_over(self.follow(part, choice, command, environment, self.logs / f"{part.name}.log", part.junit))

        threading.Thread(target=follow, daemon=True).start()

    def follow(self, part, choice, command, environment, log, junit):
        """Runs the part to its end. One that cannot be run has failed."""
        seconds = worked = 0
        try:
            junit.parent.mkdir(parents=True, exist_ok=True)
            junit.unlink(missing_ok=True)
            status, seconds, worked = self.run(part.name, command, environment, log, part.minutes)
            text = log.read_text(errors="replace")
        except OSError as error:
            status = text = str(error)
        return Ended(part, choice, command, log, status, seconds, worked, Results(junit, text, status == 0))

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
    """Returns what this machine's processors have worked since it started."""
    with open("/proc/stat") as stat:
        user, nice, system = map(int, stat.readline().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")
