"""The faults of e2e/torture that end, stop or starve processes, and take away the disk."""

import concurrent.futures
import contextlib
import os
import shutil
import signal
import time

from processes import links_of
from torture_programs import KINDS
from torture_registry import fault, needing, one_of
from torture_truth import GUARDIAN_STOPPED, NO_THREADS, NO_THREADS_LEFT

# Reasons with which a job ends one of whose processes has died: by a rank or by its launcher.
DEATH = ("RankLost", "CommandFailed")


def strike(world, number, what, *reasons):
    """A signal to a process of some job."""
    pid, job = one_of(world, world.members())
    job.struck(pid, number, what, *reasons)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
    return f"{job.name} pid {pid}"


def pause(pid, seconds):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def signal_one(world, processes, number, what, *reasons):
    """A signal to one of the processes that stand above jobs."""
    pid = one_of(world, processes)
    met = world.meet_run(world.run_of(pid), what, *reasons)
    for job in met:
        job.signals.add((pid, int(number)))
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
    return f"pid {pid} of {' or '.join(job.name for job in met)}"


@fault
def kill_a_process_of_a_job(world):
    return strike(world, signal.SIGKILL, "kill -9", *DEATH)


@fault
def terminate_a_process_of_a_job(world):
    return strike(world, signal.SIGTERM, "SIGTERM", *DEATH)


@fault
def pause_a_process_of_a_job(world):
    """A pause of seconds changes nothing: neither the verdict nor a digit of the prediction. A program that stops itself
    is left alone: the end of the pause would wake it."""
    pid, job = one_of(world, ((pid, job) for pid, job in world.members() if "Stuck" not in KINDS[job.kind][1]))
    seconds = world.chance.choice((0.05, 0.3, 1, 3))
    # A look may meet it in the state it had then.
    job.signals.add((pid, int(signal.SIGSTOP)))
    pause(pid, seconds)
    return f"{job.name} pid {pid} for {seconds} s"


@fault
def stop_a_process_of_a_job(world):
    """Nobody wakes it; the job has to end by itself."""
    return strike(world, signal.SIGSTOP, "SIGSTOP", "Stuck")


@fault
def kill_an_agent(world):
    return signal_one(world, world.agents(), signal.SIGKILL, "its agent killed", "AgentLost")


@fault
def stop_an_agent(world):
    """Nobody wakes it; what it has not said for so long names it."""
    return signal_one(world, world.agents(), signal.SIGSTOP, "its agent stopped", "AgentLost", "Stuck")


@fault
def kill_a_guardian(world):
    return signal_one(world, world.guardians(), signal.SIGKILL, "its guardian killed", "AgentLost")


@fault
def stop_a_guardian(world):
    """Nobody wakes it: the job ends as it would without, or names its guardian; its place is free, nothing is left."""
    return signal_one(world, world.guardians(), signal.SIGSTOP, GUARDIAN_STOPPED, "AgentLost", "Stuck")


@fault
def pause_an_agent(world):
    pause(one_of(world, world.agents()), world.chance.choice((0.1, 1, 3)))
    return "for a while"


@fault
def kill_the_server(world):
    world.kill()
    world.start()
    return "and started it again"


@fault
def stop_the_server(world):
    world.stop()
    world.start()
    return "and started it again"


@fault
def pause_the_server(world):
    pause(world.server.process.pid, world.chance.choice((0.2, 1, 3)))
    return "for a while"


@needing("disk")
def fill_the_disk(world):
    with world.meeting_all("a full disk", "StartFailed"), world.disk.full():
        world.submit("honest")
        world.watch(world.chance.choice((0.5, 2, 4)))
    return "and emptied it"


@needing("disk")
def fill_the_disk_and_kill_the_server(world):
    world.meet_all("a full disk", "StartFailed")
    with world.disk.full():
        world.watch(1)
        world.kill()
    world.start()
    return "and started it again"


@needing("disk")
def freeze_the_disk(world):
    """Every write waits, as on a disk that is much too slow. That changes no prediction."""
    seconds = world.chance.choice((0.3, 1, 3))
    world.disk.freeze(True)
    try:
        time.sleep(seconds)
    finally:
        world.disk.freeze(False)
    return f"for {seconds} s"


@fault
def delete_a_run_folder(world):
    folder = one_of(world, world.run_folders(), "there was none")
    met = world.meet_run(
        folder.name, "its run folder deleted", *DEATH, "StartFailed", "AgentLost", "SessionLost", "ServiceLost"
    )
    shutil.rmtree(folder, ignore_errors=True)
    return f"{folder.name} of {' or '.join(job.name for job in met)}"


@fault
def delete_the_logs(world):
    for file in (world.data / "logs").rglob("*"):
        if file.is_file():
            file.unlink(missing_ok=True)
    for job in world.jobs.values():
        job.has_whole_log = False
    return "of all jobs"


@fault
def truncate_shared_memory(world):
    pid = one_of(world, world.agents())
    world.meet_run(world.run_of(pid), "shared memory truncated", "RingDamaged")
    shared = [link for link, target in links_of(pid, "fd").items() if "memfd:" in target]
    refused = 0
    for link in shared:
        try:
            os.truncate(link, 0)
        except PermissionError:
            refused += 1
        except OSError:  # It has ended.
            pass
    return f"{refused} of {len(shared)} files refused it"


@fault
def cancel_a_job(world):
    job = one_of(world, world.open_jobs(), "there was none")
    job.meet("deleted", "Cancelled")
    with contextlib.suppress(OSError):
        status, _ = world.server.request("DELETE", world.server.jobs_path(job.name))
        if status in (200, 202):
            job.accepted, job.verdict = False, {"type": "Deleted", "reason": ""}
            world.deleted[job.name] = world.jobs.pop(job.name)
    return job.name


@fault
def submit_twice_at_once(world):
    job = world.submit("honest")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(world.submit_again, [job] * 4))
    return job.name


# Reasons of jobs that cannot start a further thread or process: at their start, in a rank, in their agent.
STARVED = (*DEATH, "StartFailed", "AgentLost", "ServiceLost", "Stuck")


@needing("threads")
def exhaust_threads(world):
    """For seconds no thread and no process can be made by the server, by agents and by jobs: nothing aborts."""
    seconds = world.chance.choice((0.5, 2, 4))
    with world.meeting_all(NO_THREADS, *STARVED), world.threads.limited(more=world.chance.choice((0, 1, 3, 10))):
        world.submit("honest")
        world.watch(seconds)
        world.expect_alive("while no thread could be made")
    return f"for {seconds} s"


@needing("threads")
def exhaust_threads_by_a_job(world):
    """A job takes all that are left, and gives them back."""
    with world.meeting_all(NO_THREADS_LEFT, *STARVED), world.threads.limited(more=600):
        job = world.submit("threads")
        world.watch(8, until=lambda: job.verdict)
        world.expect_alive("while a job had all threads")
    return job.name


@needing("threads")
def start_without_threads(world):
    """A server that cannot have its threads says so, and does not abort."""
    world.kill()
    allowed = world.chance.choice((0, 1, 2, 4, 8, 16))
    # The limit counts processes that the killed server left, so they have to end first.
    deadline = time.monotonic() + 5
    while world.threads.count() and time.monotonic() < deadline:
        time.sleep(0.05)
    logged = world.server.log_path.stat().st_size
    words = ""
    with world.threads.limited(more=1 + allowed):
        try:
            world.server.start()
        except RuntimeError:
            words = world.server.log_path.read_bytes()[logged:].decode(errors="replace") or "nothing"
    process = world.server.process
    if words and process.poll() is None:
        world.find("hung", f"a server with {allowed} threads neither serves nor ends")
        world.server.kill()
    elif words and (process.returncode < 0 or process.returncode == 134):
        world.find("aborted", f"a server with {allowed} threads ended with {process.returncode}: {words[-400:]}")
    elif words and "thread" not in words and "process" not in words:
        world.find("unnamed", f"a server with {allowed} threads does not say why it ends: {words[-400:]}")
    if words:
        world.start()
    else:
        world.meet_all("a server with few threads", *STARVED)
    return f"with {allowed} more"
