"""The faults of e2e/torture against what is stored and written: damaged records, floods of output, reports that cannot
be written, a second server in the same folder."""

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import time

from server import verdict
from torture_registry import fault, needing, one_of
from torture_world import is_damaged

# Places that a damaged byte may hit: figures, verdicts, specifications, names, and any other number or word.
PLACES = (
    rb'"iterationPicoseconds":(\d+)',
    rb'"type":"(Complete|Failed|Interrupted)"',
    rb'"reason":"(\w+)"',
    rb'"(?:wallSeconds|stillSeconds|measure|warmup|gpusPerServer)":(\d+)',
    rb"default(t\d+-[a-z-]+)",
    rb":(\d{3,})",
    rb'"(\w{4,})":',
)
# A start names what a damaged write-ahead log has lost in these words.
LOG_DAMAGED = re.compile(r"damage[^\n]*(wal|write-ahead)|(wal|write-ahead)[^\n]*damage", re.IGNORECASE)
LOG_HEAD, FRAME_HEAD = 32, 24  # Bytes of a write-ahead log and of each page in it.
LOG_BYTES = 64 << 20  # limits.logBytes unless a job has its own.
FLOOD_BYTES = 200 << 20


def rows_of(path):
    """{uid: all that is stored of a job}; None when the file cannot be read any more."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as database:
            database.text_factory = bytes
            return {row[0]: row for row in database.execute("SELECT * FROM jobs")}
    except sqlite3.Error:
        return None


def write_log_into_file(path):
    """What a server does now and then: the write-ahead log is emptied into the file."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def change_byte(path, at, chance):
    with open(path, "r+b") as file:
        file.seek(at)
        old = file.read(1)
        new = (
            bytes([chance.choice([b for b in b"0123456789" if b != old[0]])]) if old.isdigit() else bytes([old[0] ^ 1])
        )
        file.seek(at)
        file.write(new)
    return f"{old} to {new} at {at}"


def names_of(rows):
    return {row[2].decode(errors="replace") for row in rows.values()}


def damage_one_record(world, path):
    """Changes bytes until the content of a record has changed. Returns (what was done, names of jobs)."""
    before = rows_of(path)
    for _ in range(20):
        content = path.read_bytes()
        found = list(re.finditer(world.chance.choice(PLACES), content))
        if not found:
            continue
        match = world.chance.choice(found)
        at = world.chance.randrange(match.start(1), match.end(1))
        what = f"{match[0][:60]}: {change_byte(path, at, world.chance)}"
        after = rows_of(path)
        if after is None:
            return what, names_of(before)
        changed = {uid: row for uid, row in before.items() if after.get(uid) != row}
        if changed or len(after) != len(before):
            return what, names_of(changed)
        path.write_bytes(content)  # A place that nothing refers to any more.
    return "", set()


class Copy:
    """The store as it was, and what was seen of jobs: put back once a finding is made, so that the run goes on."""

    def __init__(self, world):
        self.world, self.folder, self.findings = world, world.folder / "copy", len(world.findings)
        self.folder.mkdir()
        for file in world.data.glob("jobs.db*"):
            shutil.copy2(file, self.folder)
        self.seen = {
            name: (job, job.accepted, job.verdict, job.shown, job.is_damaged) for name, job in world.jobs.items()
        }

    def close(self):
        if len(self.world.findings) > self.findings:
            self.put_back()
        shutil.rmtree(self.folder)

    def put_back(self):
        if self.world.server.process.poll() is None:
            self.world.kill()
        for file in self.world.data.glob("jobs.db*"):
            file.unlink()
        for file in self.folder.iterdir():
            shutil.copy2(file, self.world.data)
        for name, (job, *seen) in self.seen.items():
            self.world.jobs[name] = job
            job.accepted, job.verdict, job.shown, job.is_damaged = seen
        self.world.start()


def start_on_damage(world, what):
    """Starts the server; where it refuses, it has to name what helps, and that has to help. Returns what was logged."""
    logged = world.server.log_path.stat().st_size
    refused = ""
    try:
        world.server.start()
    except RuntimeError:
        refused = world.server.log_path.read_bytes()[logged:].decode(errors="replace")
        if world.server.process.poll() is None:
            world.find("hung", f"the server neither serves nor ends, after {what}")
            world.server.kill()
        if "doctor" not in refused:
            world.find("unnamed", f"the server does not start and names no way out, after {what}: {refused[-400:]}")
    if refused:
        done = eidolon(world, "doctor", "--store", world.data, "--repair")
        try:
            world.server.start()
        except RuntimeError:
            world.find("lost", f"the store cannot be repaired, after {what}: {done.stdout[-300:]} {done.stderr[-300:]}")
            return None
    return world.server.log_path.read_bytes()[logged:].decode(errors="replace")


def without_lost(world):
    """A look at what a damaged log has lost of the latest changes, once that is named: nothing that is shown is false,
    but jobs may be where they were some changes before, or not there."""
    listed = {item["metadata"]["name"]: item for item in world.list_jobs() or ()}
    for name, job in list(world.jobs.items()):
        if name not in listed:
            world.deleted[name] = world.jobs.pop(name)
        elif job.verdict and not is_damaged(listed[name]):
            ended = verdict(listed[name])
            # A start ends jobs that it finds at work, also one whose end was lost.
            if not ended or (ended != job.verdict and ended["reason"] == "ControllerRestarted"):
                job.verdict = job.shown = None
    world.deleted.update(dict.fromkeys(world.gone))
    world.gone.clear()


@fault
def damage_a_record(world):
    """While no server runs, a byte of a record changes: a digit, a letter of a verdict, of a name, of what was asked
    for. What is served then is what was stored, or a record that is named as damaged."""
    world.look()
    world.chance.choice((world.kill, world.stop))()
    path = world.data / "jobs.db"
    write_log_into_file(path)
    copy = Copy(world)
    what, names = damage_one_record(world, path)
    for name in names & set(world.jobs):
        world.jobs[name].is_damaged = True
        world.jobs[name].meet(f"a damaged record ({what})")
    logged = start_on_damage(world, what)
    if logged is None or not world.look():
        world.find("hung", f"jobs are not listed after {what}")
    copy.close()
    return f"{what} of {', '.join(sorted(names)) or 'nobody'}"


@fault
def damage_the_log_of_the_store(world):
    """The same in the write-ahead log, whose checksums let SQLite leave out all that follows: whatever that loses is
    named."""
    world.look()
    world.kill()
    path, copy = world.data / "jobs.db-wal", Copy(world)
    content = path.read_bytes() if path.exists() else b""
    page = int.from_bytes(content[8:12], "big") or 4096
    frames = 0  # Those of this log: older ones have other numbers in front.
    while content[LOG_HEAD + frames * (FRAME_HEAD + page) :][8:16] == content[16:24] != b"":
        frames += 1
    if not frames:
        world.start()
        copy.close()
        return "it was empty"
    frame = world.chance.randrange(frames)
    at = LOG_HEAD + frame * (FRAME_HEAD + page) + world.chance.randrange(FRAME_HEAD + page)
    what = f"{change_byte(path, at, world.chance)} in frame {frame} of {frames}"
    logged = start_on_damage(world, what)
    if logged is not None and LOG_DAMAGED.search(logged):
        without_lost(world)
    if logged is None or not world.look():
        world.find("hung", f"jobs are not listed after {what}")
    copy.close()
    return what


def bytes_of_log(folder, uid):
    """All that is stored of a job's output: a file, or several whose names begin with the job's number."""
    own = [file for file in folder.rglob("*") if file.relative_to(folder).parts[0].split(".")[0] == uid]
    return sum(file.stat().st_size for file in own if file.is_file())


@fault
def flood_the_log(world):
    """A job prints 200 MiB: what is stored of it is bounded, and has the beginning and the end."""
    if any(job.kind == "floods" for job in world.open_jobs()):
        return "one is at work"
    job = world.submit("floods")

    def check():
        if not job.verdict or job.name not in world.jobs:
            return
        status, item = world.server.request("GET", world.server.jobs_path(job.name))
        if status != 200:
            return
        size = bytes_of_log(world.data / "logs", str(item["metadata"]["uid"]))
        if size > LOG_BYTES + (4 << 20):
            world.find(
                "unbounded", f"{job.name} has {size >> 20} MiB of output stored, {LOG_BYTES >> 20} are its limit"
            )
        status, text = world.server.request("GET", world.server.jobs_path(job.name) + "/logs")
        whole = job.has_whole_log and not job.harms and job.verdict["type"] == "Complete"
        for words in ("the flood begins", "the flood ends"):
            if status == 200 and whole and words not in text:
                world.find("lost", f"{job.name}: '{words}' is not in its log of {len(text)} bytes")
        if status != 200 and whole:
            world.find("lost", f"the log of {job.name} is answered {status}: {str(text)[:200]}")
        world.server.request("DELETE", world.server.jobs_path(job.name))
        job.accepted = False
        world.forgotten.append(world.jobs.pop(job.name))
        world.deleted[job.name] = job

    world.afterwards.append(check)
    return job.name


def eidolon(world, *words, stdout=subprocess.PIPE, **options):
    return subprocess.run(
        [world.build / "bin" / "eidolon", "--data-dir", world.data, *map(str, words)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        **options,
    )


def expect_refusal(world, words, where, **options):
    """A command that cannot write its answer says so, and fails."""
    try:
        done = eidolon(world, *words, **options)
    except subprocess.TimeoutExpired:
        return world.find("hung", f"eidolon {' '.join(words)} does not end, {where}")
    command = f"eidolon {' '.join(words)}, {where},"
    if done.returncode == 0:
        world.find("cut", f"{command} has status 0")
    elif done.returncode < 0 or done.returncode == 134:
        world.find("aborted", f"{command} has status {done.returncode}: {done.stderr[-300:]}")
    if len(done.stderr.strip()) < 12:
        world.find("unnamed", f"{command} says '{done.stderr.strip()}'")


def printing(world):
    """A command that prints something of a job that is over."""
    ended = [job for job in world.jobs.values() if job.verdict and job.kind == "honest"]
    name = one_of(world, (job for job in ended if job.verdict["type"] == "Complete"), "no job is over").name
    commands = [["report", name], ["get", name], ["get", name, "-o", "json"], ["get"], ["get", name, "-o", "yaml"]]
    return world.chance.choice(commands)


@fault
def cut_a_report(world):
    """Checks that a report that goes into a full device, or without any standard output, is not taken for whole."""
    words = printing(world)
    with open("/dev/full", "w") as full:
        expect_refusal(world, words, "into /dev/full", stdout=full)
    expect_refusal(world, words, "without standard output", stdout=None, preexec_fn=lambda: os.close(1))
    expect_refusal(world, ["report", words[1] if len(words) > 1 else "none", "--html", "/dev/full"], "to a full device")
    return " ".join(words)


@needing("disk")
def cut_a_report_on_a_full_disk(world):
    words = printing(world)
    with world.meeting_all("a full disk", "StartFailed"):
        with world.disk.full(), open(world.disk.folder / "report", "w") as file:
            expect_refusal(world, words, "on a full disk", stdout=file)
        (world.disk.folder / "report").unlink(missing_ok=True)
    return " ".join(words)


@fault
def start_a_second_server(world):
    """In the same folder: it is told who has it, and the first one goes on."""
    started = time.monotonic()
    try:
        done = eidolon(world, "up", "--data-dir", world.data, "--listen", "127.0.0.1:0")
    except subprocess.TimeoutExpired:
        return world.find("hung", "a second server in the same folder does not end") or ""
    if done.returncode <= 0 or str(world.server.process.pid) not in done.stderr + done.stdout:
        world.find("unnamed", f"a second server ended with {done.returncode}: {done.stderr[-300:]}")
    world.expect_alive("after a second server was started")
    return f"refused within {time.monotonic() - started:.1f} s"
