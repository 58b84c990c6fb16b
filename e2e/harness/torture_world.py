"""The world of e2e/torture: a disk that can fail, a server that can die, jobs that are watched, and what must hold.

An invariant that is broken is a Finding; it never stops the run, so that one defect does not hide another.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error

from server import Server, verdict
from torture_programs import KINDS

FREEZE, THAW = 0xC0045877, 0xC0045878  # FIFREEZE, FITHAW of linux/fs.h
PROGRAM = pathlib.Path(__file__).with_name("torture_programs.py")
STILL_SECONDS = 8
WALL_SECONDS = 90
# A job that waits for its turn behind others is not late.
LONGEST_SECONDS = 240
# Reasons that a disturbance from outside may give to any job.
DISTURBED = {
    "CommandFailed",
    "RankLost",
    "AgentLost",
    "ServiceLost",
    "RingDamaged",
    "ControllerRestarted",
    "ControllerStopped",
    "StartFailed",
    "DeadlineExceeded",
    "Stuck",
    "SessionLost",
    "Deadlock",
    "NoIterations",
    "Cancelled",
}


class Disk:
    """An ext4 file system of its own in a file, where root may mount one: it can be full, frozen or read-only."""

    BYTES = 96 << 20

    def __init__(self, folder):
        self.folder, self.image, self.device = folder / "disk", folder / "disk.img", None
        self.folder.mkdir()
        if os.geteuid() != 0:
            self.why_not = "needs root to mount a file system"
            return
        with open(self.image, "wb") as file:
            file.truncate(self.BYTES)
        done = subprocess.run(["mkfs.ext4", "-q", "-F", self.image], capture_output=True, text=True)
        if done.returncode == 0:
            done = subprocess.run(["mount", "-o", "loop", self.image, self.folder], capture_output=True, text=True)
        self.why_not = done.stderr.strip()
        self.mounted = done.returncode == 0
        if self.mounted:
            self.why_not = ""

    def can_fail(self):
        return not self.why_not

    def fill(self):
        with open(self.folder / "ballast", "ab") as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * 65536)
                file.flush()
                os.fsync(file.fileno())
        with open(self.folder / "ballast", "ab", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"\0" * 512):
                pass

    def empty(self):
        (self.folder / "ballast").unlink(missing_ok=True)

    def freeze(self, on):
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):
                fcntl.ioctl(descriptor, FREEZE if on else THAW, 0)
        finally:
            os.close(descriptor)

    def remove(self):
        if not self.can_fail():
            return
        self.freeze(False)
        for _ in range(50):
            if subprocess.run(["umount", self.folder], capture_output=True).returncode == 0:
                return
            time.sleep(0.2)
        subprocess.run(["umount", "-l", self.folder], capture_output=True)


class Watched:
    """A job that was submitted, and what was seen of it."""

    def __init__(self, name, kind, key, now):
        self.name, self.kind, self.key, self.submitted = name, kind, key, now
        self.accepted = False
        self.verdict, self.prediction = None, None
        self.disturbed = []  # Faults that met it.


class World:
    def __init__(self, build, python, chance, keep=False):
        self.build, self.chance = build, chance
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="torture-", dir="/tmp"))
        os.chmod(self.folder, 0o700)
        self.disk = Disk(self.folder)
        self.data = self.disk.folder / "data"
        self.data.mkdir(mode=0o700)
        self.run_root = self.folder / "run"
        self.mark = f"mark-{self.folder.name}"
        self.server = Server(build, python, data=self.data, arguments=["--run-root", str(self.run_root), "--jobs", "3"])
        self.jobs, self.findings, self.count, self.keep = {}, [], 0, keep
        self.golden, self.deleted = {}, {}

    # --- findings -------------------------------------------------------------------
    def find(self, what, text):
        self.findings.append((what, text))
        print(f"     {what}: {text}", flush=True)

    # --- jobs -------------------------------------------------------------------------
    def document(self, name, kind):
        return json.dumps(
            {
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
        )

    def submit(self, kind):
        """Submits with a key, as clients do that may ask again. Returns the job, or None when it was refused."""
        self.count += 1
        name = f"t{self.count}-{kind.replace('_', '-')}"
        job = self.jobs[name] = Watched(name, kind, f"key-{self.count}", time.monotonic())
        self.submit_again(job)
        return job

    def submit_again(self, job):
        try:
            status, answer = self.server.request(
                "POST",
                self.server.jobs_path(),
                self.document(job.name, job.kind),
                kind="application/json",
                headers={"Idempotency-Key": job.key},
            )
        except OSError:
            return None  # Nobody answers at present; whether it was taken is not known.
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
        for name, job in self.jobs.items():
            item = listed.get(name)
            if item is None:
                if job.accepted:
                    self.find("lost", f"{name} was accepted and is not there any more")
                    job.accepted = False
                continue
            job.accepted = True
            self.compare(job, item)
        for name in set(listed) - set(self.jobs) - set(self.deleted):
            self.find("doubled", f"{name} was never submitted")
        return True

    def compare(self, job, item):
        ended = verdict(item)
        if ended is None:
            if job.verdict:
                self.find("lost", f"{job.name} was {job.verdict} and has no verdict now")
                job.verdict = None
            return
        now = (ended["type"], ended["reason"])
        if job.verdict and job.verdict != now:
            self.find("lost", f"{job.name} was {job.verdict} and is {now} now: {ended['message'][:300]}")
        if job.verdict is None:
            self.judge(job, item, ended)
        job.verdict = now

    def judge(self, job, item, ended):
        kind, reason, message = ended["type"], ended["reason"], ended["message"]
        if not reason or (kind != "Complete" and len(message) < 12):
            self.find("unnamed", f"{job.name} ended as {kind} {reason} '{message}'")
        if kind == "Complete":
            self.judge_prediction(job, item)
        expected = KINDS[job.kind][1]
        if not job.disturbed:
            if reason not in expected and not (kind == "Complete" and "golden" in expected):
                self.find("wrong", f"{job.name} was left alone and ended as {kind} {reason}: {message[:400]}")
        elif kind != "Complete" and reason not in DISTURBED | expected:
            self.find("wrong", f"{job.name} ended as {kind} {reason} after {job.disturbed}: {message[:400]}")

    def judge_prediction(self, job, item):
        """A job that is Complete has the prediction of one that nothing disturbed."""
        prediction = item["status"].get("prediction", {})
        seen = (prediction.get("iterationPicoseconds"), prediction.get("iterations"))
        if "golden" not in KINDS[job.kind][1]:
            self.find("false", f"{job.name} is Complete, which a program that is {job.kind} cannot be")
            return
        golden = self.golden.setdefault(job.kind, seen)
        if seen != golden:
            self.find(
                "false",
                f"{job.name} is Complete with {str(seen)[:200]}, not {str(golden)[:200]}, after {job.disturbed}",
            )

    def open_jobs(self):
        return [job for job in self.jobs.values() if job.accepted and not job.verdict]

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
                        f" after {job.disturbed}",
                    )
                    with contextlib.suppress(OSError):
                        self.server.request("DELETE", self.server.jobs_path(job.name))
                    job.accepted = False
                return
            time.sleep(0.2)

    def expect_alive(self, when):
        """The health check answers, though others misbehave."""
        started = time.monotonic()
        with contextlib.suppress(OSError):
            if self.server.request("GET", "/livez")[0] == 200 and time.monotonic() - started < 5:
                return
        self.find("hung", f"/livez did not answer well within 5 s {when} ({time.monotonic() - started:.1f} s)")

    # --- what is left -----------------------------------------------------------------
    def processes(self, mark):
        """(pid, command line) of processes that carry a mark."""
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                if mark.encode() in line and state not in "ZX":
                    yield int(entry.name), line.replace(b"\0", b" ").decode(errors="replace")

    def check_left_over(self):
        """After all jobs: no process of theirs, no agent, no run folder."""
        deadline = time.monotonic() + 15
        while True:
            left = list(self.processes(self.mark))
            if self.server.process.poll() is None:
                left += [(pid, "eidolon-agent") for pid in self.agents()]
            folders = [p.name for p in self.run_folders()]
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

    def run_folders(self):
        """Those of jobs; the server's own sockets stand beside them."""
        return [p for p in self.run_root.glob("*") if not p.name.startswith("services-")]

    def agents(self):
        """Process numbers of the agents of this world's server."""
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                if (entry / "comm").read_text().strip() != "eidolon-agent":
                    continue
                if str(self.run_root).encode() in (entry / "environ").read_bytes():
                    yield int(entry.name)

    # --- the server ---------------------------------------------------------------------
    def start(self):
        self.server.start()

    def ensure_up(self):
        if self.server.process is None or self.server.process.poll() is not None:
            self.server.start()

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

    def remove(self):
        with contextlib.suppress(Exception):
            self.server.stop()
        for pid, _ in self.processes(self.mark):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if self.keep:
            print(f"     kept: {self.folder}")
            return
        self.disk.remove()
        subprocess.run(["rm", "-rf", self.folder])


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
