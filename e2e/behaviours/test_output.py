"""Reports that do not arrive: a full disk, a closed standard output, a pipe without a reader."""

import os
import shutil
import signal
import sqlite3
import subprocess

from jobs import light_script

# One of each kind of output: what the parser prints, what is computed here, and what a server answers.
PRINTING = (
    ["--help"],
    ["--version"],
    ["run", "--help"],
    ["completion", "bash"],
    ["explain", "job.spec"],
    ["doctor"],
    ["net", "topology", "dgx-h100"],
    ["net", "collective", "all_reduce"],
    ["get"],
    ["get", "-o", "json"],
    ["get", "-o", "yaml"],
    ["get", "-o", "name"],
    ["get", "JOB"],
    ["get", "JOB", "-o", "json"],
    ["wait", "JOB", "-o", "json"],
    ["logs", "JOB"],
    ["logs", "-f", "JOB"],
    ["report", "JOB"],
    ["compare", "JOB", "JOB", "-o", "json"],
)


def printing(world, output, words, name, **more):
    words = [name if word == "JOB" else word for word in words]
    return world.command("--data-dir", world.server.data, *words, stdout=output, stderr=subprocess.PIPE, **more)


def test_a_report_that_does_not_arrive_is_a_failure(world):
    job = world.run("print('a line'); rank.step(0)", light=True)
    name = job["metadata"]["name"]
    for words in PRINTING:
        with open("/dev/full", "w") as full:
            done = printing(world, full, words, name)
        assert done.returncode == 1, f"{words} >/dev/full ends with {done.returncode}: {done.stderr}"
        assert "No space left on device" in done.stderr, f"{words} >/dev/full says: {done.stderr}"
        assert "/dev/full" in done.stderr, f"{words} does not name what is full: {done.stderr}"
        done = printing(world, None, words, name, preexec_fn=lambda: os.close(1))
        assert done.returncode == 1, f"{words} >&- ends with {done.returncode}: {done.stderr}"
        assert "standard output" in done.stderr, f"{words} >&- says: {done.stderr}"


def test_a_pipe_without_a_reader_ends_the_command_quietly(world):
    for disposition in (signal.SIG_DFL, signal.SIG_IGN):
        read, write = os.pipe()
        os.close(read)
        set_it = lambda how=disposition: signal.signal(signal.SIGPIPE, how)
        done = printing(world, write, ["completion", "bash"], "", preexec_fn=set_it)
        os.close(write)
        assert done.returncode in (141, -signal.SIGPIPE), f"ends with {done.returncode}: {done.stderr}"
        assert done.stderr == "", f"says: {done.stderr}"


def test_files_that_a_full_disk_cuts_short_are_failures(world):
    job = world.run("rank.step(0)", light=True)
    name = job["metadata"]["name"]
    for words in (["report", "JOB", "--html", "/dev/full"], ["net", "topology", "dgx-h100", "--svg", "/dev/full"]):
        done = printing(world, subprocess.DEVNULL, words, name)
        assert done.returncode == 1, f"{words} ends with {done.returncode}: {done.stderr}"
        assert "/dev/full': No space left on device" in done.stderr, f"{words} says: {done.stderr}"
    assert os.path.exists("/dev/full"), "the device was removed"


def test_a_run_whose_result_does_not_arrive_is_a_failure(world):
    script = world.folder / "one_step.py"
    script.write_text(light_script(world.folder, "for _ in range(9): rank.step(0)\n"))
    with open("/dev/full", "w") as full:
        words = ["run", "-o", "json", "--", world.python / "bin/python", script]
        done = world.command(*words, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1, f"ends with {done.returncode}: {done.stderr}"
    assert "cannot write to standard output (/dev/full): No space left on device" in done.stderr, done.stderr


def test_a_damaged_store_is_found_and_repaired(world):
    job = world.run("rank.step(0)", light=True)
    name, uid = job["metadata"]["name"], job["metadata"]["uid"]
    copy = world.fresh_folder()
    assert printing(world, None, ["doctor", "--store"], "").returncode == 1, "a live server's folder was taken"
    # The server holds its file for itself, so a copy of the folder is what can be damaged here.
    for entry in ("jobs.db", "jobs.db-wal"):
        shutil.copy(os.path.join(world.server.data, entry), copy)
    with sqlite3.connect(os.path.join(copy, "jobs.db")) as store:
        store.execute("UPDATE jobs SET status = replace(status, '1', '2') WHERE uid = ?", (uid,))
    store.close()

    def doctor(*words):
        return world.command("doctor", "--store", copy, *words)

    found, repaired, after = doctor(), doctor("--repair"), doctor()
    assert found.returncode == 1 and f"job {uid} (default/{name})" in found.stdout, found.stdout + found.stderr
    assert repaired.returncode == 0 and f"damaged/job-{uid}.txt" in repaired.stdout, repaired.stdout + repaired.stderr
    assert after.returncode == 0, after.stdout + after.stderr
