"""The faults of e2e/torture. Each takes the world, does its harm, undoes what would not end by itself, and returns
what it did in words. Which jobs a fault met is written into them: a job that nothing met must end as its kind does."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import threading
import time

from torture_programs import KINDS

FAULTS, NEED_DISK = {}, set()


def fault(function):
    FAULTS[function.__name__] = function
    return function


def of_disk(function):
    NEED_DISK.add(function.__name__)
    return fault(function)


def meets_all(world, what):
    for job in world.jobs.values():
        if not job.verdict:
            job.disturbed.append(what)


def members(world):
    """(pid, job) of processes of jobs."""
    found = []
    for pid, line in world.processes(world.mark):
        name = re.search(re.escape(world.mark) + r"-(\S+)", line)
        if name and name[1] in world.jobs:
            found.append((pid, world.jobs[name[1]]))
    return found


def strike(world, number, what):
    """A signal to a process of some job."""
    found = members(world)
    if not found:
        return "nobody was there"
    pid, job = world.chance.choice(found)
    job.disturbed.append(what)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
    return f"{job.name} pid {pid}"


def pause(world, pid, seconds):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


@fault
def kill_a_process_of_a_job(world):
    return strike(world, signal.SIGKILL, "kill -9")


@fault
def terminate_a_process_of_a_job(world):
    return strike(world, signal.SIGTERM, "SIGTERM")


@fault
def pause_a_process_of_a_job(world):
    """A pause of seconds changes nothing: neither the verdict nor a digit of the prediction. A program that stops itself
    is left alone: the end of the pause would wake it."""
    found = [(pid, job) for pid, job in members(world) if "Stuck" not in KINDS[job.kind][1]]
    if not found:
        return "nobody was there"
    pid, job = world.chance.choice(found)
    seconds = world.chance.choice((0.05, 0.3, 1, 3))
    pause(world, pid, seconds)
    return f"{job.name} pid {pid} for {seconds} s"


@fault
def stop_a_process_of_a_job(world):
    """Nobody wakes it; the job has to end by itself."""
    return strike(world, signal.SIGSTOP, "SIGSTOP")


@fault
def kill_an_agent(world):
    agents = list(world.agents())
    if not agents:
        return "nobody was there"
    meets_all(world, "an agent killed")
    pid = world.chance.choice(agents)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return f"pid {pid}"


@fault
def pause_an_agent(world):
    agents = list(world.agents())
    if not agents:
        return "nobody was there"
    pause(world, world.chance.choice(agents), world.chance.choice((0.1, 1, 3)))
    return "for a while"


@fault
def kill_the_server(world):
    meets_all(world, "the server killed")
    world.server.kill()
    world.server.start()
    return "and started it again"


@fault
def stop_the_server(world):
    meets_all(world, "the server stopped")
    world.server.stop()
    world.server.start()
    return "and started it again"


@fault
def pause_the_server(world):
    pause(world, world.server.process.pid, world.chance.choice((0.2, 1, 3)))
    return "for a while"


@of_disk
def fill_the_disk(world):
    meets_all(world, "a full disk")
    world.disk.fill()
    try:
        world.submit("honest")
        end = time.monotonic() + world.chance.choice((0.5, 2, 4))
        while time.monotonic() < end:
            world.look()
            time.sleep(0.1)
    finally:
        world.disk.empty()
    return "and emptied it"


@of_disk
def fill_the_disk_and_kill_the_server(world):
    meets_all(world, "a full disk")
    world.disk.fill()
    try:
        for _ in range(10):
            world.look()
            time.sleep(0.1)
        world.server.kill()
    finally:
        world.disk.empty()
    meets_all(world, "the server killed")
    world.server.start()
    return "and started it again"


@of_disk
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
    folders = world.run_folders()
    if not folders:
        return "there was none"
    meets_all(world, "a run folder deleted")
    folder = world.chance.choice(folders)
    shutil.rmtree(folder, ignore_errors=True)
    return folder.name


@fault
def delete_the_logs(world):
    for file in (world.data / "logs").glob("*"):
        file.unlink(missing_ok=True)
    return "of all jobs"


@fault
def truncate_shared_memory(world):
    agents = list(world.agents())
    if not agents:
        return "nobody was there"
    meets_all(world, "shared memory truncated")
    count = refused = 0
    for link in pathlib.Path(f"/proc/{world.chance.choice(agents)}/fd").iterdir():
        with contextlib.suppress(OSError):
            if "memfd:" not in os.readlink(link):
                continue
            count += 1
            try:
                os.truncate(link, 0)
            except PermissionError:
                refused += 1
    return f"{refused} of {count} files refused it"


@fault
def cancel_a_job(world):
    found = world.open_jobs()
    if not found:
        return "there was none"
    job = world.chance.choice(found)
    job.disturbed.append("deleted")
    with contextlib.suppress(OSError):
        status, _ = world.server.request("DELETE", world.server.jobs_path(job.name))
        if status in (200, 202):
            job.accepted, job.verdict = False, ("Deleted", "")
            del world.jobs[job.name]
            world.deleted[job.name] = job
    return job.name


@fault
def submit_twice_at_once(world):
    job = world.submit("honest")
    threads = [threading.Thread(target=world.submit_again, args=(job,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return job.name


def connect(world):
    host, port = world.server.address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=5)


@fault
def open_half_of_many_connections(world):
    """The head of a request that never ends, hundreds of times; others are served meanwhile."""
    held = []
    try:
        for number in range(300):
            with contextlib.suppress(OSError):
                held.append(connect(world))
                held[-1].sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Drip: " + b"a" * (number % 50))
        started = time.monotonic()
        world.expect_alive("while half of 300 requests were sent")
        for one in held[:50]:
            with contextlib.suppress(OSError):
                one.sendall(b"b")
        return f"alive within {time.monotonic() - started:.1f} s"
    finally:
        for one in held:
            one.close()


GARBAGE = (
    b"\0" * 4096,
    b"GET / HTTP/9.9\r\n\r\n",
    b"POST /api/v1/namespaces/default/simulationjobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
    b"Content-Length: 50\r\n\r\nhello",
    b"POST /api/v1/namespaces/default/simulationjobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999"
    b"\r\n\r\n",
    b"POST /api/v1/namespaces/default/simulationjobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"fffffffffffffffff\r\n",
    b"GET /api/v1/namespaces/%2e%2e/simulationjobs/%00 HTTP/1.1\r\nHost: 127.evil.example\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 10_000 + b"\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 400,
)


@fault
def send_garbage(world):
    for _ in range(8):
        with contextlib.suppress(OSError):
            with connect(world) as connection:
                connection.settimeout(0.5)
                connection.sendall(world.chance.choice(GARBAGE))
                connection.recv(4096)
    world.expect_alive("after garbage")
    return "eight times"


@fault
def send_hostile_documents(world):
    flat = "a: [" + "x, " * 200_000 + "x]"
    deep = "a: " + "[" * 50_000
    laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{n}: &a{n} [{','.join(['*a' + str(n - 1)] * 9)}]\n" for n in range(1, 9)
    )
    text = world.chance.choice((flat, deep, laughs))
    statuses = []

    def send():
        with contextlib.suppress(OSError):
            statuses.append(world.server.request("POST", world.server.jobs_path(), text)[0])

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if any(status < 400 for status in statuses):
        world.find("accepted", f"a hostile document was answered {statuses}")
    world.expect_alive("after hostile documents")
    return f"answered {sorted(set(statuses))}"


@fault
def ask_for_impossible_names(world):
    for name in ("..", "%2e%2e", "a%0ab", "a%00b", "x" * 300, "%ff"):
        with contextlib.suppress(OSError):
            status, _ = world.server.request(
                "POST",
                f"/api/v1/namespaces/{name}/simulationjobs",
                world.document("never", "honest"),
                kind="application/json",
            )
            if status < 400:
                world.find("accepted", f"a job in namespace {name} was answered {status}")
    return "as namespaces"


@fault
def come_without_the_token(world):
    for headers in (
        {"Authorization": ""},
        {"Authorization": "Bearer wrong"},
        {"Origin": "http://evil.example"},
        {"Host": "127.evil.example"},
    ):
        with contextlib.suppress(OSError):
            status, _ = world.server.request("GET", world.server.jobs_path(), headers=headers)
            if status < 400:
                world.find("accepted", f"a request with {headers} was answered {status}")
    return "four times"


@fault
def talk_nonsense_to_every_port(world):
    """gRPC and whatever else the server listens on receives bytes that do not follow any protocol."""
    inodes = set()
    for link in pathlib.Path(f"/proc/{world.server.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found = re.match(r"socket:\[(\d+)\]", os.readlink(link))
            if found:
                inodes.add(found[1])
    ports = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in pathlib.Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    paths = [world.data / "eidolon.sock", *world.run_root.glob("services-*/*.sock")]
    for where in [("127.0.0.1", port) for port in ports] + [str(path) for path in paths]:
        family = socket.AF_UNIX if isinstance(where, str) else socket.AF_INET
        with contextlib.suppress(OSError), socket.socket(family) as connection:
            connection.settimeout(2)
            connection.connect(where)
            connection.sendall(
                world.chance.choice((b"\xff" * 3000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x01" * 900, b"\0" * 9))
            )
    world.expect_alive("after nonsense on every port")
    return f"{len(ports)} ports and {len(paths)} sockets"
