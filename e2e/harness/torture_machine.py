"""Takes resources of the machine away for e2e/torture: the space and the answers of a disk, and threads.

Each says in `why_not` what it lacks; the empty text means that it works.
"""

import contextlib
import fcntl
import os
import pathlib
import math
import subprocess
import time

FREEZE, THAW = 0xC0045877, 0xC0045878  # FIFREEZE, FITHAW of linux/fs.h


class Disk:
    """An ext4 file system of its own in a file, where root may mount one: it can be full, frozen or read-only."""

    BYTES = 320 << 20  # Several times what one job may store of its output.

    def __init__(self, folder):
        self.folder, self.image = folder / "disk", folder / "disk.img"
        self.healed = -math.inf  # When a fault of the disk last ended, by time.monotonic().
        self.folder.mkdir()
        if os.geteuid() != 0:
            self.why_not = "needs root to mount a file system"
            return
        with open(self.image, "wb") as file:
            file.truncate(self.BYTES)
        done = subprocess.run(["mkfs.ext4", "-q", "-F", self.image], capture_output=True, text=True)
        if done.returncode == 0:
            done = subprocess.run(["mount", "-o", "loop", self.image, self.folder], capture_output=True, text=True)
        self.why_not = "" if done.returncode == 0 else done.stderr.strip() or "mkfs.ext4 or mount fails"

    def fill(self):
        """Takes every free byte: blocks at once, then the rest by writing."""
        with open(self.folder / "ballast", "ab", buffering=0) as file:
            size = 0
            for step in (16 << 20, 1 << 20, 64 << 10):
                with contextlib.suppress(OSError):
                    while True:
                        os.posix_fallocate(file.fileno(), size, step)
                        size += step
            with contextlib.suppress(OSError):
                while file.write(b"\0" * 512):
                    pass
            with contextlib.suppress(OSError):
                os.fsync(file.fileno())

    def empty(self):
        (self.folder / "ballast").unlink(missing_ok=True)
        self.healed = time.monotonic()

    @contextlib.contextmanager
    def full(self):
        self.fill()
        try:
            yield
        finally:
            self.empty()

    def freeze(self, on):
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):
                fcntl.ioctl(descriptor, FREEZE if on else THAW, 0)
        finally:
            os.close(descriptor)
            self.healed = time.monotonic()

    def remove(self):
        if self.why_not:
            return
        self.freeze(False)
        for _ in range(50):
            if subprocess.run(["umount", self.folder], capture_output=True).returncode == 0:
                return
            time.sleep(0.2)
        subprocess.run(["umount", "-l", self.folder], capture_output=True)


def pids_controller():
    """The folder of this process in the hierarchy of cgroups that counts threads; None where there is none."""
    own = dict(line.split(":", 2)[1:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines())
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, mounted, kind, options, *_ = line.split()
        if kind == "cgroup" and "pids" in options.split(","):
            return pathlib.Path(mounted + own.get("pids", "/"))
        if kind == "cgroup2" and "pids" in (pathlib.Path(mounted) / "cgroup.controllers").read_text().split():
            return pathlib.Path(mounted + own.get("", "/"))
    return None


class Threads:
    """A cgroup of the server and of all that it starts, in which new threads and processes can be refused."""

    def __init__(self, name):
        self.folder, self.why_not = None, ""
        parent = pids_controller()
        if parent is None:
            self.why_not = "this machine counts no threads (no pids cgroup)"
            return
        folder = parent / name
        try:
            folder.mkdir()
            self.folder = folder
            (folder / "pids.max").write_text("max")
        except OSError as error:
            self.why_not = f"{folder}: {error.strerror}"

    def enter(self):
        """Moves the calling process there, between its fork and its exec."""
        if not self.why_not:
            (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def count(self):
        return int((self.folder / "pids.current").read_text())

    def limit(self, more=None):
        """Lets so many threads more be made than there are; without a number as many as anybody wants."""
        (self.folder / "pids.max").write_text("max" if more is None else str(self.count() + more))

    @contextlib.contextmanager
    def limited(self, more):
        self.limit(more)
        try:
            yield
        finally:
            self.limit()

    def remove(self):
        if self.folder is None:
            return
        for _ in range(50):
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.1)
