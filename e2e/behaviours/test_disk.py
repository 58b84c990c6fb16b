"""A disk that is full while jobs end: what users have seen stays true."""

import contextlib
import os
import pathlib
import subprocess
import tempfile

import pytest
from jobs import await_that, expect_complete, wait_for_line
from server import verdict

# Ends when the file GO is there.
HELD = """
    for step in range(8):
        rank.step(0)
        print("step", step, "." * 8000, flush=True)
        while step == 1 and not os.path.exists("GO"): time.sleep(0.1)
"""


class SmallDisk:
    """A file system of a few MiB that can be filled to the last byte; a context manager. Needs root."""

    def __init__(self, folder, mebibytes):
        self.path = pathlib.Path(tempfile.mkdtemp(dir=folder, prefix="disk-"))
        self.size = f"size={mebibytes}m"

    def __enter__(self):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"{self.size},mode=700", "tmpfs", self.path], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "--lazy", self.path], check=True)

    def fill(self):
        with open(self.path / "filler", "ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4096)

    def empty(self):
        (self.path / "filler").unlink()


def skip_unless_root():
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")


def held_job(world, go):
    return world.job(HELD.replace("GO", str(go)), measure=4, warmup=2, boundary="{log: step}", light=True)


def condition_of(job, kind):
    return next((c for c in job["status"]["conditions"] if c["type"] == kind), {})


def test_what_ends_on_a_full_disk_is_kept(world):
    skip_unless_root()
    go = world.folder / "go-on-full"
    with SmallDisk(world.folder, 16) as disk, world.own_server("--jobs", "3", store=disk.path) as server:
        names = [server.submit(held_job(world, go)) for _ in range(3)]
        for name in names:
            wait_for_line(server, name, "step 1", 120)
        disk.fill()
        await_that("the service says that it is not ready", lambda: server.request("GET", "/readyz")[0] == 503, 120)
        status, answer = server.request("GET", "/readyz")
        assert "No space left on device" in answer["detail"] and str(disk.path) in answer["detail"], answer
        status, answer = server.request("POST", server.jobs_path(), held_job(world, go))
        assert status == 507 and str(disk.path) in answer["detail"], f"a submit was answered {status}: {answer}"
        print(f"{answer['title']}: {answer['detail']}")
        metrics = server.request("GET", "/metrics")[1]
        assert "eidolon_controller_store_writable 0" in metrics, "the store counts as writable"
        go.touch()
        for name in names:
            job = server.wait(name, 120)
            expect_complete(job)
            warnings = " ".join(job["status"].get("warnings", []))
            assert "event log of server 0 was not stored" in warnings, f"warnings: {warnings}"
            assert "line(s) of output were not stored" in warnings, f"warnings: {warnings}"
        server.kill()
        server.start()
        for name in names:
            expect_complete(server.get(name))
        assert server.request("GET", "/readyz")[0] == 503, "ready with a full disk"
        disk.empty()
        await_that("the service is ready again", lambda: server.request("GET", "/readyz")[0] == 200, 120)
        server.submit(world.job("pass", extra="suspend: true\n"))


def test_a_verdict_that_cannot_be_stored_is_not_shown_yet(world):
    skip_unless_root()
    go = world.folder / "go-without-reserve"
    # The disk is too small for a reserve.
    with SmallDisk(world.folder, 3) as disk, world.own_server(store=disk.path) as server:
        name = server.submit(held_job(world, go))
        wait_for_line(server, name, "step 1", 120)
        disk.fill()
        go.touch()
        waits = lambda: condition_of(server.get(name), "Running").get("reason") == "WaitingForStore"
        await_that("the job waits for the disk", waits, 120)
        job = server.get(name)
        assert verdict(job) is None, f"it is shown as {verdict(job)}"
        print(f"{condition_of(job, 'Running')['message']}")
        disk.empty()
        expect_complete(server.wait(name, 60))
        server.kill()
        server.start()
        expect_complete(server.get(name))
