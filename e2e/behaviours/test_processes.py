"""One virtual time for the processes of a job: who times a process with a GPU from outside sees that process's own time,
and what waits, sleeps and asks in between goes by it too (docs/processes.md)."""

import re

import pytest
from jobs import expect_complete

# Copies memory on the GPU by the vendor's own calls, as often as it is told, and answers with the seconds that took.
CHILD = """
import ctypes, os, socket, sys, time
runtime = ctypes.CDLL("libcudart.so.13")
kind, sent, received = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if kind == "tcp":
    link = socket.create_connection(("127.0.0.1", sent))
    give, take = link.sendall, lambda: link.recv(100)
else:
    give, take = lambda text: os.write(sent, text), lambda: os.read(received, 100)
size = ctypes.c_size_t(1 << 30)
source, target = ctypes.c_void_p(), ctypes.c_void_p()
for pointer in source, target:
    assert runtime.cudaMalloc(ctypes.byref(pointer), size) == 0
def work(times):
    for _ in range(times):
        assert runtime.cudaMemcpyAsync(target, source, size, 3, None) == 0
    assert runtime.cudaDeviceSynchronize() == 0
work(1)
give(b"ready")
while (word := take()) not in (b"", b"end"):
    begin = time.perf_counter()
    work(int(word))
    give(f"{begin} {time.perf_counter()}".encode())
"""

# `start(kind)` gives what sends to a child and what receives from it.
PARENT = f"""
import asyncio, os, select, socket, subprocess, sys, threading, time
CHILD = {CHILD!r}
def start(kind):
    ends, server = (0, 0), None
    if kind == "pipe":
        (there, give_end), (take_end, back) = os.pipe(), os.pipe()
        give, take, ends = (lambda text: os.write(give_end, text)), (lambda: os.read(take_end, 100)), (back, there)
    elif kind == "unix":
        mine, its = socket.socketpair()
        give, take, ends = mine.sendall, (lambda: mine.recv(100)), (its.fileno(), its.fileno())
    else:
        server = socket.create_server(("127.0.0.1", 0))
        ends = server.getsockname()[1], 0
    child = subprocess.Popen([sys.executable, "-c", CHILD, kind, *map(str, ends)],
                             pass_fds=() if server else ends)
    if server:
        link, _ = server.accept()
        give, take = link.sendall, (lambda: link.recv(100))
    assert take() == b"ready"
    return child, give, take
def ask(give, take, times):
    sent = time.perf_counter()
    give(str(times).encode())
    begin, end = map(float, take().split())
    return sent, begin, end, time.perf_counter()
"""

CHANNELS = """
for kind in "pipe", "unix", "tcp":
    child, give, take = start(kind)
    for times in 100, 300, 100:
        sent, begin, end, got = ask(give, take, times)
        print("case", kind, times, got - sent, end - begin, flush=True)
    give(b"end")
    child.wait()
"""


@pytest.fixture(scope="module")
def timed(world):
    """Returns the seconds that parent and child measured over each channel, in two runs of the same job."""

    def seconds():
        job = world.run(PARENT + CHANNELS, starts=0)
        expect_complete(job)
        return re.findall(r"case (\w+) (\d+) (\S+) (\S+)", world.logs(job))

    return seconds(), seconds()


@pytest.mark.parametrize("kind", ["pipe", "unix", "tcp"])
def test_a_parent_without_a_gpu_times_its_child_as_the_child_does(timed, kind):
    rows = [(int(times), float(outside), float(inside)) for row, times, outside, inside in timed[0] if row == kind]
    assert len(rows) == 3
    for times, outside, inside in rows:
        assert inside > 50e-6 * times, f"{times} copies of a gigabyte took {inside} s"
        assert outside == pytest.approx(inside, rel=0.01)


def test_what_a_parent_measures_is_the_same_in_every_run(timed):
    assert timed[0] == timed[1]


def test_a_parent_that_only_asks_about_gpus_times_its_child_too(world):
    """Its questions give it a session, and its GPU no work."""
    job = world.run(
        PARENT
        + """
import ctypes
nvml, count = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_uint()
assert nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0 and count.value == 1
child, give, take = start("unix")
for times in 100, 300:
    sent, begin, end, got = ask(give, take, times)
    print("case", got - sent, end - begin, flush=True)
give(b"end")
child.wait()
""",
        starts=0,
    )
    expect_complete(job)
    rows = [tuple(map(float, row)) for row in re.findall(r"case (\S+) (\S+)", world.logs(job))]
    assert len(rows) == 2
    for outside, inside in rows:
        assert inside > 5e-3
        assert outside == pytest.approx(inside, rel=0.01)


def test_requests_arrive_when_their_client_has_slept_until_then(world):
    """A client sends at moments of its own: the server, which was at rest, begins then."""
    job = world.run(
        PARENT
        + """
child, give, take = start("unix")
ask(give, take, 100)
for pause in 0.5, 2.0, 0.25:
    before = time.perf_counter()
    time.sleep(pause)
    sent, begin, end, got = ask(give, take, 100)
    print("case", pause, sent - before, begin - sent, got - end, end - begin, flush=True)
give(b"end")
child.wait()
""",
        starts=0,
    )
    expect_complete(job)
    rows = [tuple(map(float, row)) for row in re.findall(r"case (\S+) (\S+) (\S+) (\S+) (\S+)", world.logs(job))]
    assert len(rows) == 3
    for pause, slept, late, back, worked in rows:
        assert slept == pytest.approx(pause, abs=1e-3)
        assert 0 <= late < 1e-3 and 0 <= back < 1e-3
        assert worked > 5e-3


def test_a_time_out_does_not_pass_while_the_child_is_before_it(world):
    """A child that takes long on this machine and short in virtual time is waited for."""
    job = world.run(
        PARENT
        + """
import re
CHILD = re.sub("work\\\\(int\\\\(word\\\\)\\\\)", "work(int(word)); real_work()", CHILD)
CHILD = CHILD.replace("work(1)", '''
def real_work():
    for _ in range(40_000_000): pass
work(1)''')
(there, give_end), (take_end, back) = os.pipe(), os.pipe()
child = subprocess.Popen([sys.executable, "-c", CHILD, "pipe", str(back), str(there)], pass_fds=(back, there))
os.read(take_end, 100)
begin = time.perf_counter()
os.write(give_end, b"100")
found, _, _ = select.select([take_end], [], [], 0.3)
print("case", len(found), time.perf_counter() - begin, flush=True)
os.read(take_end, 100)
os.write(give_end, b"end")
child.wait()
""",
        starts=0,
    )
    expect_complete(job)
    [(found, seconds)] = re.findall(r"case (\d) (\S+)", world.logs(job))
    assert int(found) == 1, f"the wait ended after {seconds} s"
    assert float(seconds) < 0.3


def test_a_parent_that_waits_for_a_child_is_where_the_child_ended(world):
    job = world.run(
        PARENT
        + """
child, give, take = start("pipe")
begin = time.perf_counter()
_, _, end, got = ask(give, take, 1000)
give(b"end")
child.wait()
print("case", end - begin, time.perf_counter() - begin, flush=True)
""",
        starts=0,
    )
    expect_complete(job)
    [(worked, waited)] = re.findall(r"case (\S+) (\S+)", world.logs(job))
    assert float(waited) >= float(worked) > 0.05
