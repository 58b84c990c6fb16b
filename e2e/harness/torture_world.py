"""The world of e2e/torture: a server that can die, jobs that are watched, and what must hold.

An invariant that is broken is a Finding; it never stops the run, so that one defect does not hide another.
"""

import contextlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error

from processes import content_of, everybody, has_ended, name_of
from server import Server, verdict
from torture_machine import Disk, Threads
from torture_truth import END_SECONDS, STILL_SECONDS, WALL_SECONDS, Watched, falsehoods

PROGRAM = pathlib.Path(__file__).with_name("torture_programs.py")
# A job that waits for its turn behind others is not late.
LONGEST_SECONDS = 240
# A server holds every job in every list; older ones are deleted, and stay away.
KEPT_JOBS = 60
ANSWER_SECONDS = 5
# A guardian gives an agent that is stopped 20 s to end in order.
LEFT_SECONDS = 30


def is_damaged(item):
    """Returns whether a record is listed as one that is not what was stored."""
    status = item.get("status", {})
    reasons = {condition.get("reason", "") for condition in status.get("conditions", [])}
    return status.get("phase") == "Damaged" or bool(reasons & {"Damaged", "RecordDamaged", "StoreDamaged"})


def shown_of(item):
    """All that an end has shown: its condition and every figure. None of it may ever change."""
    return json.dumps([verdict(item), item["status"].get("prediction")], sort_keys=True)


class World:
    def __init__(self, build, python, seed, keep=False):
        self.build, self.seed, self.chance = build, seed, random.Random(seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="torture-", dir="/tmp"))
        # Others may come as far as the folders that the server has to close itself.
        os.chmod(self.folder, 0o755)
        self.disk, self.threads = Disk(self.folder), Threads(self.folder.name)
        self.lasting = []  # Faults of meeting_all that are at work.
        self.data = self.disk.folder / "data"
        self.data.mkdir(mode=0o700)
        self.run_root = self.folder / "run"
        self.mark = f"mark-{self.folder.name}"
        self.server = Server(build, python, data=self.data, arguments=["--run-root", str(self.run_root), "--jobs", "3"])
        self.server.before_exec = self.threads.enter
        self.jobs, self.findings, self.count, self.keep = {}, [], 0, keep
        self.golden, self.deleted, self.gone, self.forgotten = {}, {}, set(), []
        self.afterwards = []  # What is looked at when all jobs have ended.
        self.held = []  # Processes that keep up a fault until the round is over.

    def begin_fault(self, number):
        """The same fault draws the same numbers, whatever the faults before it have met."""
        self.chance = random.Random(f"{self.seed} {number}")

    # --- findings -------------------------------------------------------------------
    def find(self, what, text):
        self.findings.append((what, text))
        print(f"     {what}: {text}", flush=True)

    # --- jobs -------------------------------------------------------------------------
    def document(self, name, kind):
        return {
            "apiVersion": "eidolon.dev/v1alpha1",
            "kind": "SimulationJob",
            "metadata": {"name": name},
            "spec": {
                "cluster": {"servers": 1, "server": {"preset": "dgx-h100", "gpusPerServer": 2}},
                "servers": 1,
                "ranksPerServer": 2,
                "command": [sys.executable, str(PROGRAM), kind, f"{self.mark}-{name}"],
                "iterations": {"warmup": 1, "measure": 1000},
                "hostModel": {"kind": "fixed"},
                "limits": {"wallSeconds": WALL_SECONDS, "stillSeconds": STILL_SECONDS},
            },
        }

    def submit(self, kind):
        """Submits with a key, as clients do that may ask again. Returns the job, accepted or not."""
        self.count += 1
        name = f"t{self.count}-{kind.replace('_', '-')}"
        job = self.jobs[name] = Watched(name, kind, f"key-{self.count}", time.monotonic())
        for what, reasons in self.lasting:
            job.meet(what, *reasons)
        self.submit_again(job)
        return job

    def submit_again(self, job):
        try:
            status, answer = self.server.request(
                "POST",
                self.server.jobs_path(),
                json.dumps(self.document(job.name, job.kind)),
                kind="application/json",
                headers={"Idempotency-Key": job.key},
            )
        except OSError:
            job.status = None
            return None  # Nobody answers at present; whether it was taken is not known.
        job.status = status
        if status in (200, 201):
            job.accepted = True
        elif status not in (429, 503, 507):
            self.find("refused", f"{job.name}: {status}: {str(answer)[:300]}")
        elif not (isinstance(answer, dict) and answer.get("detail")):
            self.find("unnamed", f"{job.name} was refused with {status} without a reason: {str(answer)[:200]}")
        return status

    def list_jobs(self):
        """Every job, page by page; None when the server does not answer."""
        items, token = [], ""
        while True:
            try:
                status, answer = self.server.request("GET", self.server.jobs_path() + (token and f"?continue={token}"))
            except (OSError, urllib.error.URLError):
                return None
            if status != 200:
                return None
            items += answer["items"]
            token = answer["metadata"].get("continue", "")
            if not token:
                return items

    def look(self):
        """Reads all jobs once, and compares with what was seen before."""
        items = self.list_jobs()
        if items is None:
            return False
        listed = {}
        for item in items:
            name = item["metadata"]["name"]
            if name in listed:
                self.find("doubled", f"{name} is listed twice")
            listed[name] = item
        renamed = any(is_damaged(listed[name]) for name in set(listed) - set(self.jobs))
        for name, job in self.jobs.items():
            item = listed.get(name)
            if item is None:
                if job.accepted and job.is_damaged and renamed:  # The damaged byte is one of its name.
                    job.accepted = False
                if job.accepted:
                    self.find("lost", f"{name} was accepted and is not there any more, after {job.harms}")
                    job.accepted = False
                continue
            job.accepted = True
            self.compare(job, item)
        for name in set(listed) - set(self.jobs) - set(self.deleted):
            if name in self.gone:
                self.find("doubled", f"{name} was deleted and is there again")
                self.gone.discard(name)
            elif not is_damaged(listed[name]):
                self.find("doubled", f"{name} was never submitted")
            self.deleted[name] = None
        return True

    def watch(self, seconds, until=lambda: False):
        """Looks again and again for a while, as users do."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            self.look()
            time.sleep(0.1)

    def compare(self, job, item):
        if is_damaged(item):
            if not job.is_damaged:
                self.find("changed", f"{job.name} is listed as damaged, and nobody damaged it")
            job.verdict = job.verdict or {"type": "Damaged", "reason": "Damaged", "message": ""}
            return
        if not contains(item["spec"], self.document(job.name, job.kind)["spec"]):
            self.find("changed", f"{job.name} is not what was submitted: {str(item['spec'])[:400]}, after {job.harms}")
        ended, shown = verdict(item), shown_of(item)
        if job.shown and shown != job.shown:
            self.find("changed", f"{job.name} ended as {job.shown[:300]} and is {shown[:300]} now, after {job.harms}")
            job.verdict = job.shown = None
        elif ended and not job.verdict:
            self.judge(job, item, ended)
        if ended:
            job.verdict, job.shown = ended, shown

    def judge(self, job, item, ended):
        kind, reason, message = ended["type"], ended["reason"], ended["message"]
        if not reason or (kind != "Complete" and len(message) < 12):
            self.find("unnamed", f"{job.name} ended as {kind} {reason} '{message}'")
        for why in falsehoods(job, item, ended):
            self.find("false", f"{job.name} ended as {kind} {reason} after {job.harms}: {why}: {message[:400]}")
        if kind != "Complete":
            return
        prediction = item["status"].get("prediction", {})
        seen = (prediction.get("iterationPicoseconds"), prediction.get("iterations"))
        golden = self.golden.setdefault(job.kind, seen)
        if seen != golden:
            self.find("false", f"{job.name} predicts {str(seen)[:200]}, not {str(golden)[:200]}, after {job.harms}")

    def open_jobs(self):
        return [job for job in self.jobs.values() if job.accepted and not job.verdict]

    def meet_all(self, what, *reasons):
        for job in self.jobs.values():
            if not job.verdict:
                job.meet(what, *reasons)

    @contextlib.contextmanager
    def meeting_all(self, what, *reasons):
        """A fault that lasts: it meets those that are there, and those that come in meanwhile."""
        self.meet_all(what, *reasons)
        self.lasting.append((what, reasons))
        try:
            yield
        finally:
            self.lasting.pop()

    def drain(self):
        """Waits until every accepted job has its verdict, each within its limit."""
        deadline = time.monotonic() + LONGEST_SECONDS
        while True:
            self.look()
            left = self.open_jobs()
            if not left:
                return
            if time.monotonic() > deadline:
                for job in left:
                    self.find(
                        "hung",
                        f"{job.name} has no end {time.monotonic() - job.submitted:.0f} s after it came in,"
                        f" after {job.harms}",
                    )
                    with contextlib.suppress(OSError):
                        self.server.request("DELETE", self.server.jobs_path(job.name))
                    job.accepted = False
                return
            time.sleep(0.2)

    def forget_old(self):
        """Deletes all but the latest jobs that have ended."""
        over = [job for job in self.jobs.values() if job.accepted and job.verdict]
        for job in over[:-KEPT_JOBS]:
            with contextlib.suppress(OSError):
                if self.server.request("DELETE", self.server.jobs_path(job.name))[0] == 200:
                    job.accepted = False
                    self.gone.add(job.name)
                    self.forgotten.append(self.jobs.pop(job.name))

    def expect_alive(self, when):
        """The health check answers, though others misbehave."""
        started = time.monotonic()
        with contextlib.suppress(OSError):
            if self.server.request("GET", "/livez")[0] == 200 and time.monotonic() - started < ANSWER_SECONDS:
                return
        self.find(
            "hung", f"/livez did not answer well within {ANSWER_SECONDS} s {when} ({time.monotonic() - started:.1f} s)"
        )

    # --- processes --------------------------------------------------------------------
    def processes(self, mark):
        """(pid, command line) of processes that carry a mark."""
        for pid in everybody():
            line = content_of(pid, "cmdline")
            if pid != os.getpid() and mark.encode() in line and not has_ended(pid):
                yield pid, line.replace(b"\0", b" ").decode(errors="replace")

    def members(self):
        """(pid, job) of processes of jobs."""
        for pid, line in self.processes(self.mark):
            for word in line.split():
                job = self.jobs.get(word.removeprefix(self.mark + "-"))
                if job and word.startswith(self.mark):
                    yield pid, job

    def below_runs(self, name):
        """Process numbers of the agents, or of their guardians, of this world's server."""
        for pid in everybody():
            if (
                name_of(pid) == name
                and not has_ended(pid)
                and str(self.run_root).encode() in content_of(pid, "environ")
            ):
                yield pid

    def agents(self):
        return self.below_runs("eidolon-agent")

    def guardians(self):
        return self.below_runs("eidolon-guard")

    def run_of(self, pid):
        """Name of the run folder of an agent, a guardian or a process of a job; empty when it is not known."""
        text = content_of(pid, "environ").decode(errors="replace")
        found = re.search(re.escape(str(self.run_root)) + r"/([^/:\0]+)", text)
        return found[1] if found else ""

    def job_of_run(self, run):
        """The job at work in a run folder, once a process of it is there."""
        return next((job for pid, job in self.members() if run and self.run_of(pid) == run), None)

    def meet_run(self, run, what, *reasons):
        """A fault that meets the job of a run folder; all that are open while nobody can tell which one that is.
        Returns those that it may meet."""
        job = self.job_of_run(run)
        met = [job] if job else [job for job in self.jobs.values() if not job.verdict]
        for job in met:
            job.meet(what, *reasons)
        return met

    def run_folders(self):
        """The folders of runs; the server keeps the sockets of its services in one of its own."""
        folders = sorted(self.run_root.iterdir()) if self.run_root.exists() else []
        return [folder for folder in folders if not folder.name.startswith("services-")]

    def check_left_over(self):
        """Checks after all jobs: no process of theirs, no agent, no guardian, no run folder."""
        deadline = time.monotonic() + LEFT_SECONDS
        while True:
            left = list(self.processes(self.mark))
            left += [(pid, "eidolon-agent") for pid in self.agents()]
            left += [(pid, "eidolon-guard") for pid in self.guardians()]
            folders = [folder.name for folder in self.run_folders()]
            if not left and not folders:
                return
            if time.monotonic() > deadline:
                break
            time.sleep(0.3)
        for pid, line in left:
            self.find("left over", f"process {pid}: {line[:160]}")
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for name in folders:
            self.find("left over", f"run folder {name}")
            subprocess.run(["rm", "-rf", self.run_root / name])

    # --- the server ---------------------------------------------------------------------
    def start(self):
        self.server.start()

    def kill(self):
        self.meet_all("the server killed", "ControllerRestarted")
        self.server.kill()

    def stop(self):
        """Ends it in order, which takes no longer than the ends of its jobs may."""
        self.meet_all("the server stopped", "ControllerStopped")
        process = self.server.process
        process.terminate()
        try:
            status = process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.find("hung", f"the server does not end within {END_SECONDS} s of SIGTERM")
            return self.kill()
        if status != 0:
            self.find("aborted", f"the server that was to end in order has status {status}: {self.last_words()}")

    def last_words(self):
        """Returns what the server has logged last."""
        with contextlib.suppress(OSError):
            return self.server.log_path.read_text(errors="replace")[-1200:]
        return ""

    def ensure_up(self):
        process = self.server.process
        if process is None or process.poll() is None:
            return
        self.find("aborted", f"the server ended by itself with status {process.returncode}: {self.last_words()}")
        self.meet_all("the server ended by itself", "ControllerRestarted")
        self.start()

    def ready(self, seconds=30):
        deadline = time.monotonic() + seconds
        said = ""
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                status, said = self.server.request("GET", "/readyz")
                if status == 200:
                    return True
            time.sleep(0.2)
        self.find("hung", f"/readyz does not recover within {seconds} s: {said}")
        return False

    def let_go(self):
        """Ends what keeps up a fault."""
        while self.held:
            self.held.pop()()

    def settle(self):
        """Heals what is broken and checks every invariant that needs quiet."""
        self.ensure_up()
        self.let_go()
        self.ready()
        self.drain()
        self.ensure_up()
        while self.afterwards:
            self.afterwards.pop()()
        self.check_left_over()
        self.forget_old()

    def remove(self):
        self.let_go()
        with contextlib.suppress(Exception):
            self.server.stop()
        left = [pid for pid, _ in self.processes(self.mark)] + list(self.agents()) + list(self.guardians())
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.threads.remove()
        if self.keep:
            print(f"     kept: {self.folder}")
            return
        self.disk.remove()
        subprocess.run(["rm", "-rf", self.folder])


def contains(served, wanted):
    """Whether a document has all that was asked for; what is missing there has its default."""
    if isinstance(wanted, dict) and isinstance(served, dict):
        return all(contains(served.get(name), value) for name, value in wanted.items())
    return served == wanted


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
