"""How jobs end when nothing moves any more, when ranks lose us, and what is left of them. Run by behaviour.py."""
import os
import pathlib
import signal
import time

from failure_behaviour import wait_for_line
from server import verdict
from trial import expect, expect_complete, expect_failed, test

# Two ranks; rank 1 tells its process number, and then waits for a file of the test's.
WAITING = """
    import os, sys, time, torch, torch.distributed as dist
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    x = torch.ones(1024, device="cuda")
    for step in range(8):
        torch.cuda.nvtx.range_push("step")
        dist.all_reduce(x); torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
        if step == 3 and rank == 1:
            os.write(1, f"pid {os.getpid()} of rank 1\\n".encode())
            while not os.path.exists("GO"): pass
    dist.destroy_process_group()
"""


def rank_1_of(world, name):
    wait_for_line(world.server, name, "of rank 1")
    line = next(line for line in world.server.logs(name).splitlines() if "of rank 1" in line)
    return int(line.split("pid ")[1].split()[0])


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + 30
    while state_of(pid) != "T":
        expect(time.monotonic() < deadline, f"{pid} is not stopped but {state_of(pid)}")
        time.sleep(0.01)


@test
def a_rank_that_pauses_for_eight_seconds_is_no_deadlock(world):
    go = world.folder / "go-pause"
    name = world.server.submit(world.job(WAITING.replace("GO", str(go)), ranks=2, measure=100,
                                         boundary="{nvtx: step}"))
    pid = rank_1_of(world, name)
    stop(pid)
    go.touch()
    time.sleep(8)
    expect(not any(c["type"] == "Failed" for c in world.server.get(name)["status"]["conditions"]),
           "the job ended while a rank was stopped")
    os.kill(pid, signal.SIGCONT)
    job = world.server.wait(name, 120)
    expect_complete(job)
    expect(len(job["status"]["prediction"]["iterationPicoseconds"]) >= 4, job["status"]["prediction"])


@test
def a_stopped_rank_ends_a_job_without_a_limit_of_time(world):
    go = world.folder / "go-never"
    name = world.server.submit(world.job(WAITING.replace("GO", str(go)), ranks=2, measure=100,
                                         boundary="{nvtx: step}", extra="limits: {stillSeconds: 5}\n"))
    pid = rank_1_of(world, name)
    stop(pid)
    job = world.server.wait(name, 120)
    expect_failed(job, "Stuck", "limits.stillSeconds", f"rank 1 (pid {pid}, ", "is stopped (state T)",
                  "its last record: ")
    expect(not pathlib.Path(f"/proc/{pid}").exists(), "the stopped rank is left")


@test
def a_rank_that_waits_on_a_socket_for_a_stopped_one_ends_the_job_too(world):
    name = world.server.submit(world.job("""
        import os, signal, socket, sys, time, torch
        import torch.distributed as dist
        rank = int(os.environ["RANK"])
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")
        x = torch.ones(1024, device="cuda")
        dist.all_reduce(x); torch.cuda.synchronize()
        path = "\\0peer-" + os.environ["MASTER_PORT"]
        if rank == 0:
            peer = socket.socket(socket.AF_UNIX); peer.bind(path); peer.listen()
            dist.barrier()
            peer.accept()[0].recv(1)
        else:
            dist.barrier()
            peer = socket.socket(socket.AF_UNIX); peer.connect(path)
            os.write(1, f"pid {os.getpid()} of rank 1\\n".encode())
            os.kill(os.getpid(), signal.SIGSTOP)
            peer.send(b"x")
    """, ranks=2, measure=100, extra="limits: {stillSeconds: 5}\n"))
    pid = rank_1_of(world, name)
    job = world.server.wait(name, 120)
    expect_failed(job, "Stuck", f"rank 1 (pid {pid}, ", "is stopped (state T)", "rank 0 (pid ", "waits in ")
    expect(verdict(job)["message"].index("rank 1 (pid") < verdict(job)["message"].index("rank 0 (pid"),
           "who is stopped comes first")
