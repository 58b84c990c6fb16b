"""Failures of what surrounds a program, and what its user is told: damaged shared memory, services that die,
a program for another version of CUDA. Run by behaviour.py."""
import contextlib
import os
import pathlib
import struct
import subprocess
import tempfile
import time

from server import SplitServer
from trial import expect, expect_complete, expect_failed, prediction_of, test

# services/ring/layout.h
WRITE_POSITION, READ_POSITION = 4096, 4096 + 64
RING, RING_BYTES = (128 << 10) + 256 * (4 << 20), 16 << 20

ENDLESS_LAUNCHES = """
    import torch
    x = torch.zeros(64, 64, device="cuda")
    while True:
        for _ in range(1000): x.add_(1)
        torch.cuda.synchronize()
"""


def descendants(pid):
    """Processes below `pid`; threads and processes that end meanwhile are passed over."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in list(pathlib.Path(f"/proc/{pid}/task").iterdir()):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                for child in (task / "children").read_text().split():
                    yield int(child)
                    yield from descendants(int(child))


def find_segment(server, seconds=60):
    """The shared memory between the agent and the only rank of the only job, once launches flow through it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for pid in descendants(server.process.pid):
            # Processes come and go meanwhile.
            with contextlib.suppress(OSError):
                if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() != "eidolon-agent":
                    continue
                for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                    if "eidolon-segment" in os.readlink(link):
                        file = os.open(link, os.O_RDWR)
                        if struct.unpack("<Q", os.pread(file, 8, READ_POSITION))[0] > 100_000:
                            return file
                        os.close(file)
        time.sleep(0.05)
    raise AssertionError("no rank launched anything")


def damage_until_ended(world, offset, data):
    """Runs a job, overwrites the segment at an offset until the job ends, and returns the job."""
    name = world.server.submit(world.job(ENDLESS_LAUNCHES, measure=100_000))
    file = find_segment(world.server)
    started = time.monotonic()
    try:
        while True:
            os.pwrite(file, data, offset)
            with contextlib.suppress(TimeoutError):
                job = world.server.wait(name, 0.2)
                print(f"     ended {time.monotonic() - started:.1f} s after the damage")
                return job
            expect(time.monotonic() - started < 15, "the job goes on with a damaged ring")
    finally:
        os.close(file)


@test
def a_damaged_ring_ends_the_job_with_its_reason(world):
    for what, offset, data in (("records", RING, b"\xff" * RING_BYTES),
                               ("a write position far ahead", WRITE_POSITION, struct.pack("<Q", 1 << 50)),
                               ("a write position behind", WRITE_POSITION, struct.pack("<Q", 8)),
                               ("a read position far ahead", READ_POSITION, struct.pack("<Q", 1 << 50))):
        job = damage_until_ended(world, offset, data)
        expect_failed(job, "RingDamaged", "rank 0", "ring damaged at byte")
        left = [pid for pid in descendants(world.server.process.pid)]
        expect(not left, f"after damage to {what}, processes {left} are left")
    expect(world.server.process.poll() is None, "the server died")


@test
def a_program_for_another_version_of_cuda_is_told_so(world):
    folder = pathlib.Path(tempfile.mkdtemp(dir=world.folder))
    (folder / "runtime.c").write_text("int cudaRuntimeGetVersion(int* v) { *v = 11080; return 0; }")
    (folder / "program.c").write_text("""
        #include <dlfcn.h>
        #include <stdio.h>
        int cudaRuntimeGetVersion(int*);
        int main(void) {
          int version;
          cudaRuntimeGetVersion(&version);
          int (*init)(unsigned) = (int (*)(unsigned))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuInit");
          int code = init(0);
          fprintf(stderr, "runtime %d: cuInit answers %d\\n", version, code);
          return code == 0 ? 0 : 1;
        }""")
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcudart.so.11.0", "-o", folder / "libcudart.so.11.0",
                    folder / "runtime.c"], check=True)
    subprocess.run(["gcc", "-o", folder / "program", folder / "program.c", folder / "libcudart.so.11.0", "-ldl",
                    f"-Wl,-rpath,{folder}"], check=True)
    expect_failed(world.run("", command=[str(folder / "program")]), "UnsupportedCall", "libcudart.so.11",
                  "built for CUDA 11", "CUDA 12 and 13", "install")


# Asks for kernels that nobody has timed yet, before and after the test has done its work.
NEW_SHAPES = """
    import os, torch
    def step(n):
        torch.cuda.nvtx.range_push("step")
        (torch.ones(n, n, device="cuda") @ torch.ones(n, n, device="cuda")).sum().item()
        torch.cuda.nvtx.range_pop()
    for n in range(8, 40, 8): step(n)
    print("halfway", flush=True)
    while not os.path.exists("GO"): pass
    for n in range(1000, 1080, 8): step(n)
"""

ENDLESS_COLLECTIVES = """
    import os, torch, torch.distributed as dist
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    x = torch.ones(1024, device="cuda")
    for step in range(1_000_000):
        dist.all_reduce(x)
        x.sum().item()
        if step == 10: os.write(1, b"halfway\\n")
"""


def wait_for_line(server, name, line, seconds=60):
    deadline = time.monotonic() + seconds
    while line not in server.logs(name):
        expect(time.monotonic() < deadline, f"'{line}' did not come: {server.logs(name)[-2000:]}")
        time.sleep(0.1)


@test
def a_timing_service_that_dies_ends_the_job(world):
    with SplitServer(world.build, world.python, tempfile.mkdtemp(dir=world.folder)) as server:
        go = world.folder / "go-lost"
        name = server.submit(world.job(NEW_SHAPES.replace("GO", str(go)), measure=100, boundary="{nvtx: step}"))
        wait_for_line(server, name, "halfway")
        server.kill_service("timing")
        go.touch()
        started = time.monotonic()
        expect_failed(server.wait(name, 30), "ServiceLost", "the timing service at", server.addresses["timing"])
        print(f"     {time.monotonic() - started:.1f} s after it was needed")


@test
def a_timing_service_that_comes_back_loses_nothing(world):
    with SplitServer(world.build, world.python, tempfile.mkdtemp(dir=world.folder)) as server:
        predictions = []
        for kills in (False, True):
            go = world.folder / f"go-{kills}"
            name = server.submit(world.job(NEW_SHAPES.replace("GO", str(go)), measure=100,
                                           boundary="{nvtx: step}"))
            wait_for_line(server, name, "halfway")
            if kills:
                server.kill_service("timing")
            go.touch()
            if kills:
                time.sleep(3)
                server.start_service("timing")
            job = server.wait(name, 60)
            expect_complete(job)
            predictions.append(prediction_of(job))
        expect(predictions[0] == predictions[1], f"the answers differ: {predictions}")


@test
def a_network_service_that_dies_ends_the_job(world):
    with SplitServer(world.build, world.python, tempfile.mkdtemp(dir=world.folder)) as server:
        name = server.submit(world.job(ENDLESS_COLLECTIVES, ranks=1, servers=2, measure=100_000))
        wait_for_line(server, name, "halfway")
        server.kill_service("network")
        started = time.monotonic()
        expect_failed(server.wait(name, 30), "ServiceLost", "the network service at",
                      server.addresses["network"])
        print(f"     {time.monotonic() - started:.1f} s after it died")
        server.start_service("network")
        time.sleep(1)  # The controller finds it.
        job = server.run(world.job(ENDLESS_COLLECTIVES, ranks=2))
        expect_complete(job)
