"""The programs that e2e/torture submits: two light ranks without a framework, honest or hostile.

    torture_programs.py KIND [MARK]

Each kind is a function, named in KINDS, of what the ranks do between their steps. MARK is an argument that every process
of a job carries, so that one that is left over can be found by its command line.
"""

import contextlib
import ctypes
import glob
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "kube/jobs"))

import light  # noqa: E402

BYTES = 1 << 20
SPIN = 200_000  # So that faults meet the job.


class Rank(light.Rank):
    def __init__(self):
        super().__init__(BYTES)

    def steps(self, count):
        for number in range(count):
            self.step(SPIN)
            if self.rank == 0 and number % 10 == 0:
                print(f"step {number}", flush=True)


def honest(rank):
    """Nothing happens."""


def crash(rank):
    if rank.rank == 1:
        sys.exit("this rank ends by itself")


def absent(rank):
    """Rank 1 never joins the next collective: a deadlock."""
    if rank.rank == 1:
        while True:
            signal.pause()


def too_large(rank):
    pointer = ctypes.c_void_p()
    for _ in range(100):
        if rank.runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(8 << 30)) != 0:
            sys.exit("out of memory")


def daemon(rank):
    """Leaves a process that has forked twice, in a session of its own, with no environment."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve(
                sys.executable, [sys.executable, "-c", "import time\nwhile True: time.sleep(1)", sys.argv[-1]], {}
            )
        os._exit(0)
    os.wait()


def closes(rank):
    """Closes every descriptor that it did not open, as daemons do, and goes on."""
    os.closerange(3, 4096)


def becomes_another(rank):
    """Replaces itself by a program that knows nothing of GPUs."""
    os.execv("/bin/echo", ["/bin/echo", "done", sys.argv[-1]])


def truncates(rank):
    """Cuts the files that it shares with the agent: anonymous ones that it has open or mapped, and those of the run
    folder. Nothing else: as root it would cut the libraries of the machine."""
    if rank.rank == 1:
        shared = [
            path for path in glob.glob("/proc/self/fd/*") + glob.glob("/proc/self/map_files/*") if is_anonymous(path)
        ]
        for path in shared + glob.glob(os.environ["EIDOLON_RUN_DIR"] + "/*"):
            try:
                os.truncate(path, 0)
            except OSError:
                pass


def is_anonymous(path):
    try:
        return os.readlink(path).startswith("/memfd:")
    except OSError:
        return False


def scribbles(rank):
    """Writes into the memory that it shares with the agent."""
    chance = random.Random(sys.argv[-1])
    if rank.rank == 1:
        for line in open("/proc/self/maps"):
            if "eidolon" not in line or " rw-s " not in line:
                continue
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            for _ in range(200):
                word = begin + chance.randrange((min(end, begin + (20 << 20)) - begin) // 8) * 8
                ctypes.c_uint64.from_address(word).value = chance.getrandbits(64)


def stops(rank):
    """Rank 1 stops itself; nobody wakes it."""
    if rank.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)


def waits_on_socket(rank):
    """A rank waits on a socket for a peer that has stopped itself."""
    port = int(os.environ["MASTER_PORT"])
    if rank.rank == 0:
        with socket.create_server(("", port), reuse_port=True) as server:
            connection, _ = server.accept()
            connection.recv(1)
    else:
        while True:
            try:
                connection = socket.create_connection((os.environ["MASTER_ADDR"], port))
                break
            except ConnectionRefusedError:
                time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGSTOP)
        connection.send(b"x")


def talks(rank):
    """Prints a lot, escapes and bytes that are not text among it."""
    for _ in range(2000):
        os.write(1, b"\x1b[2J\x1b]0;title\x07" + bytes(range(128, 256)) + b"x" * 400 + b"\n")


def floods(rank):
    """Prints 100 MiB a rank: long lines and one without an end to standard output, short ones to standard error."""
    if rank.rank == 0:
        os.write(1, b"the flood begins\n")
    rank.steps(1)  # What the ranks print in between has no order, and the middle of a log is left out.
    if rank.rank == 0:
        for size in [8 << 20] * 10 + [20 << 20]:
            print_all(1, b"x" * size + b"\n")
    else:
        for _ in range(1600):
            print_all(2, (b"y" * 127 + b"\n") * 512)
    rank.steps(1)
    if rank.rank == 0:
        os.write(1, b"the flood ends\n")


def print_all(descriptor, text):
    text = memoryview(text)
    while text:
        text = text[os.write(descriptor, text) :]


def threads(rank):
    """Starts threads until no more can be had, and lets them go."""
    threading.stack_size(64 << 10)
    enough, started = threading.Event(), []
    with contextlib.suppress(RuntimeError):
        while len(started) < 4000:
            started.append(threading.Thread(target=enough.wait))
            started[-1].start()
    rank.steps(5)
    enough.set()
    for thread in started:
        if thread.ident:
            thread.join()


def children(rank):
    """Leaves a crowd of children behind."""
    for _ in range(15):
        subprocess.Popen(
            [sys.executable, "-c", "import time\nwhile True: time.sleep(1)", sys.argv[-1]], start_new_session=True
        )


def sleeps(rank):
    """Hours of virtual time, moments of real time."""
    time.sleep(3600)


def impossible(rank):
    """Calls that no driver accepts; each must be refused, and the job goes on."""
    huge = ctypes.c_size_t((1 << 64) - 1)
    if rank.runtime.cudaMemsetAsync(rank.target, 0, huge, rank.stream) == 0:
        sys.exit("a memset of 2^64-1 bytes was accepted")
    if (
        rank.runtime.cudaMemcpyAsync(
            rank.target, rank.source, ctypes.c_size_t(BYTES + 4096), light.DEVICE_TO_DEVICE, rank.stream
        )
        == 0
    ):
        sys.exit("a copy beyond its allocation was accepted")


# Kind: what the program does between its steps, and how a job of it may end when nothing else disturbs it. "golden" is
# Complete with the prediction of the same kind when it ran alone.
KINDS = {
    "honest": (honest, {"golden"}),
    "crash": (crash, {"CommandFailed", "RankLost"}),
    "absent": (absent, {"Deadlock"}),
    "too_large": (too_large, {"OutOfMemory"}),
    "daemon": (daemon, {"golden"}),
    "closes": (closes, {"golden", "SessionLost"}),
    "becomes_another": (becomes_another, {"SessionLost", "NoIterations", "RankLost", "CommandFailed"}),
    "truncates": (truncates, {"golden", "RingDamaged"}),
    "scribbles": (scribbles, {"golden", "RingDamaged", "CommandFailed", "RankLost"}),
    "stops": (stops, {"Stuck"}),
    "waits_on_socket": (waits_on_socket, {"Stuck"}),
    "talks": (talks, {"golden"}),
    "children": (children, {"golden"}),
    "sleeps": (sleeps, {"golden"}),
    "impossible": (impossible, {"golden"}),
    "floods": (floods, {"golden"}),
    "threads": (threads, {"golden"}),
}
# Submitted by faults alone: they use up what others need.
OF_FAULTS = {"floods", "threads"}
# Signals that end ranks of a kind without being sent to them.
OWN_SIGNALS = {
    "scribbles": {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV},
    "truncates": {signal.SIGBUS},
}


if __name__ == "__main__":
    if "RANK" in os.environ:
        rank = Rank()
        rank.steps(20)
        KINDS[sys.argv[1]][0](rank)
        rank.steps(40)
    else:
        light.launch()
