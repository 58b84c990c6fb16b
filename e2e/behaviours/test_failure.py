"""Failures of what surrounds a program, and what its user is told: damaged shared memory, services that die,
a program for another version of CUDA."""

import contextlib
import os
import struct
import subprocess
import time

from jobs import expect_complete, expect_failed, prediction_of, wait_for_line
from processes import below, descendants, links_of
from server import SplitServer, verdict

# services/contract/ring/layout.h
WRITE_POSITION, READ_POSITION = 4096, 4096 + 64
RING, RING_BYTES = (128 << 10) + 256 * (4 << 20), 16 << 20

ENDLESS_LAUNCHES = """
    from ctypes import c_size_t
    while True:
        for _ in range(1000): rank.runtime.cudaMemsetAsync(rank.target, 0, c_size_t(1024), rank.stream)
        rank.step(0)
"""
ENDLESSLY = {"boundary": "{log: never}", "light": True}


def find_segment(server, seconds=60):
    """The shared memory between the agent and the only rank of the only job, once launches flow through it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for pid in below(server.process.pid, "eidolon-agent"):
            for link, target in links_of(pid, "fd").items():
                if "eidolon-segment" not in target:
                    continue
                with contextlib.suppress(OSError):  # Processes come and go meanwhile.
                    file = os.open(link, os.O_RDWR)
                    if struct.unpack("<Q", os.pread(file, 8, READ_POSITION))[0] > 100_000:
                        return file
                    os.close(file)
        time.sleep(0.05)
    raise AssertionError("no rank launched anything")


def damage_until_ended(world, offset, data):
    """Runs a job, overwrites the segment at an offset until the job ends, and returns the job.

    What is overwritten before the agent reads it may be written anew by the rank, unseen; the damage
    is therefore repeated often.
    """
    name = world.server.submit(world.job(ENDLESS_LAUNCHES, **ENDLESSLY))
    file = find_segment(world.server)
    started = time.monotonic()
    try:
        while True:
            for _ in range(50):
                os.pwrite(file, data, offset)
                time.sleep(0.001)
            with contextlib.suppress(TimeoutError):
                job = world.server.wait(name, 0.2)
                print(f"ended {time.monotonic() - started:.1f} s after the damage")
                return job
            assert time.monotonic() - started < 15, "the job goes on with a damaged ring"
    finally:
        os.close(file)


def test_a_damaged_ring_ends_the_job_with_its_reason(world):
    for what, offset, data in (
        ("records", RING, b"\xff" * RING_BYTES),
        ("a write position far ahead", WRITE_POSITION, struct.pack("<Q", 1 << 50)),
        ("a write position behind", WRITE_POSITION, struct.pack("<Q", 8)),
        ("a read position far ahead", READ_POSITION, struct.pack("<Q", 1 << 50)),
    ):
        job = damage_until_ended(world, offset, data)
        expect_failed(job, "RingDamaged", "rank 0", "ring damaged at byte")
        left = [pid for pid in descendants(world.server.process.pid)]
        assert not left, f"after damage to {what}, processes {left} are left"
    assert world.server.process.poll() is None, "the server died"


# Cuts every file that it shares with others, as far as it is let, and goes on working.
CUTTING = """
    import pathlib
    def places():
        folder = pathlib.Path(os.environ["EIDOLON_RUN_DIR"])
        yield from folder.rglob("*")
        agent = os.getpid()
        while pathlib.Path(f"/proc/{agent}/comm").read_text() != "eidolon-agent\\n":
            agent = int(pathlib.Path(f"/proc/{agent}/stat").read_text().rpartition(")")[2].split()[1])
        for of in ("/proc/self/fd", "/proc/self/map_files", f"/proc/{agent}/fd"):
            for link in pathlib.Path(of).iterdir():
                try:
                    # As root it could cut any library that is mapped.
                    if os.readlink(link).startswith("/memfd:eidolon-"): yield link
                except OSError: pass
    for step in range(8):
        rank.step(0)
        if step != 3 or not CUTS: continue
        refused = []
        for place in places():
            for bytes in (0, 1 << 40) if str(place).startswith("/proc") else (0,):
                try:
                    os.truncate(place, bytes)
                except OSError:
                    refused.append(os.path.basename(os.path.realpath(place)))
        print("refused:", *refused, flush=True)
"""


def test_a_rank_that_cuts_shared_files_ends_nobody_else(world):
    undisturbed = world.completed(CUTTING.replace("CUTS", "False"), light=True)
    with world.own_server("--jobs", "2") as server:
        other = server.submit(world.job(ENDLESS_LAUNCHES, **ENDLESSLY))
        os.close(find_segment(server))

        name = server.submit(world.job(CUTTING.replace("CUTS", "True"), light=True))
        job = server.wait(name, 120)

        logs = server.logs(name)
        for file in ("eidolon-segment", "eidolon-page", "eidolon-doorbell"):
            assert file in logs, f"{file} was not among the files that could not be cut: {logs}"
        # What is its own it may break: its event log, its index of kernels.
        if verdict(job)["type"] == "Complete":
            assert prediction_of(job) == prediction_of(undisturbed), "the prediction differs"
        else:
            assert verdict(job)["reason"] in ("RankLost", "CommandFailed"), f"ended as {verdict(job)}"
        assert server.process.poll() is None, "the server died"
        ended = verdict(server.get(other))
        assert ended is None, f"the other job ended as {ended}"


# This program does without torch, which would only take longer. Writes a word somewhere into what it shares with the
# agent.
SCRIBBLING = """
    import ctypes, os, random, re
    cuda = ctypes.CDLL("libcudart.so.13")
    buffer, stream, event = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert cuda.cudaMalloc(ctypes.byref(buffer), ctypes.c_size_t(1 << 20)) == 0
    cuda.cudaStreamCreate(ctypes.byref(stream))
    cuda.cudaEventCreate(ctypes.byref(event))
    maps = open("/proc/self/maps").read()
    begin = int(re.search(r"([0-9a-f]+)-.*eidolon-segment", maps)[1], 16)
    draw = random.Random(SEED)
    def place():
        cursors, replies, ring = begin + 4096, begin + (64 << 10), begin + (128 << 10) + (1 << 30)
        written = ctypes.c_uint64.from_address(cursors).value
        return draw.choice([begin + 8 * draw.randrange(32),
                            cursors + 64 * draw.randrange(6),
                            replies + 8 * draw.randrange(8),
                            ring + (written - 8 * draw.randrange(1, 80)) % (16 << 20),
                            ring + 8 * draw.randrange(2 << 20)])
    word = draw.choice([0, draw.randrange(1 << 12), draw.getrandbits(draw.randrange(1, 64)), draw.getrandbits(64)])
    for step in range(400):
        for _ in range(20):
            cuda.cudaMemsetAsync(buffer, 0, ctypes.c_size_t(1 << 16), stream)
        if step == WHEN: ctypes.c_uint64.from_address(place()).value = word
        cuda.cudaEventRecord(event, stream)
        if cuda.cudaStreamSynchronize(stream) != 0: raise SystemExit(9)
"""


def test_a_rank_that_writes_over_shared_memory_is_named_or_does_no_harm(world):
    def run(seed, when):
        job = world.run(SCRIBBLING.replace("SEED", str(seed)).replace("WHEN", str(when)), measure=100_000)
        return job, verdict(job)

    undisturbed, ended = run(0, -1)
    expect_complete(undisturbed)
    named = 0
    for seed in range(24):
        job, ended = run(seed, 200)
        if ended["type"] == "Complete":
            assert prediction_of(job) == prediction_of(undisturbed), f"seed {seed} changed the prediction"
        else:
            expect_failed(job, "RingDamaged", "rank 0", "ring damaged")
            named += 1
    print(f"{named} of 24 found")
    assert named > 0, "nothing was found"
    assert world.server.process.poll() is None, "the server died"


def test_a_program_for_another_version_of_cuda_is_told_so(world):
    folder = world.fresh_folder()
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
    library = folder / "libcudart.so.11.0"
    shared = ["-shared", "-fPIC", f"-Wl,-soname,{library.name}"]
    subprocess.run(["gcc", *shared, "-o", library, folder / "runtime.c"], check=True)
    linked = [folder / "program.c", library, "-ldl", f"-Wl,-rpath,{folder}"]
    subprocess.run(["gcc", "-o", folder / "program", *linked], check=True)
    expect_failed(
        world.run("", command=[str(folder / "program")]),
        "UnsupportedCall",
        "libcudart.so.11",
        "built for CUDA 11",
        "CUDA 12 and 13",
        "install",
    )


# Requests copies that have no cached time yet, before and after the test has done its work.
NEW_SIZES = """
    from ctypes import c_size_t
    def step(size):
        rank.runtime.cudaMemcpyAsync(rank.target, rank.source, c_size_t(size), light.DEVICE_TO_DEVICE, rank.stream)
        rank.runtime.cudaMemsetAsync(rank.target, 0, c_size_t(size), rank.stream)
        rank.runtime.cudaStreamSynchronize(rank.stream)
    for size in range(8, 40, 8): step(size)
    print("halfway", flush=True)
    while not os.path.exists("GO"): pass
    for size in range(1000, 1080, 8): step(size)
"""

ENDLESS_COLLECTIVES = """
    for step in range(1_000_000):
        rank.step(0)
        if step == 10: os.write(1, b"halfway\\n")
"""


def sizes(world, go):
    return world.job(NEW_SIZES.replace("GO", str(go)), measure=100, light=True)


def test_a_timing_service_that_dies_ends_the_job(world):
    with world.own_server(kind=SplitServer) as server:
        go = world.folder / "go-lost"
        name = server.submit(sizes(world, go))
        wait_for_line(server, name, "halfway")
        server.kill_service("timing")
        go.touch()
        # The agent tries to reach the service for 30 s.
        started = time.monotonic()
        expect_failed(server.wait(name, 50), "ServiceLost", "the timing service at", server.addresses["timing"])
        print(f"{time.monotonic() - started:.1f} s after it was needed")


def test_a_timing_service_that_comes_back_loses_nothing(world):
    with world.own_server(kind=SplitServer) as server:
        predictions = []
        for kills in (False, True):
            go = world.folder / f"go-{kills}"
            name = server.submit(sizes(world, go))
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
        assert predictions[0] == predictions[1], f"the answers differ: {predictions}"


def test_a_network_service_that_dies_ends_the_job(world):
    with world.own_server(kind=SplitServer) as server:
        name = server.submit(world.job(ENDLESS_COLLECTIVES, servers=2, **ENDLESSLY))
        wait_for_line(server, name, "halfway")
        server.kill_service("network")
        started = time.monotonic()
        expect_failed(server.wait(name, 30), "ServiceLost", "the network service at", server.addresses["network"])
        print(f"{time.monotonic() - started:.1f} s after it died")
        server.start_service("network")
        time.sleep(1)  # The controller finds it.
        job = server.run(world.job(ENDLESS_COLLECTIVES, ranks=2, light=True))
        expect_complete(job)
