"""Clients that ask too much of `eidolon up`: crowds of silent connections, slow readers, large documents.
The figures that they print are those of the real service."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import pathlib
import resource
import socket
import threading
import time
import urllib.request

import pytest

CROWD = 500
DOCUMENTS, DOCUMENT_BYTES = 10, 800_000
# Memory that ten large documents may take for a while, and keep.
PEAK_MIB, KEPT_MIB = 100, 40


def connect(server, sent=b""):
    host, port = server.address.rsplit(":", 1)
    client = socket.create_connection((host, int(port)), timeout=60)
    if sent:
        client.sendall(sent)
    return client


def seconds_of(server, path):
    """Returns how long a new connection waits for an answer."""
    started = time.monotonic()
    with urllib.request.urlopen(f"http://{server.address}{path}", timeout=60) as answer:
        answer.read()
    return time.monotonic() - started


def memory_mib(server, what):
    """VmRSS or VmHWM (the most since reset_peak) of the server's process."""
    for line in pathlib.Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith(what + ":"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"no {what}")


def reset_peak(server):
    pathlib.Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")


def drip(clients, stop):
    while not stop.wait(0.2):
        for client in clients:
            with contextlib.suppress(OSError):
                client.send(b"a")


@pytest.mark.alone
def test_a_crowd_of_silent_and_dripping_connections_keeps_nobody_out(world):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    with world.own_server() as server, contextlib.ExitStack() as stack:
        crowd = [
            stack.enter_context(connect(server, b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " if at % 2 else b""))
            for at in range(CROWD)
        ]
        stop = threading.Event()
        dripping = threading.Thread(target=drip, args=(crowd[1::2], stop))
        dripping.start()
        try:
            waits = [seconds_of(server, path) for path in ("/livez", "/readyz", "/openapi.json") for _ in range(5)]
        finally:
            stop.set()
            dripping.join()
        print(f"{CROWD} connections; the longest of {len(waits)} answers took {max(waits):.3f} s")
        assert max(waits) < 5, f"an answer took {max(waits):.1f} s"


def be_greedy(server, crowded):
    """Opens, as another user, as many connections as possible that request much and read nothing, for ever."""
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    host, port = server.address.rsplit(":", 1)
    crowd = []
    while True:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect((host, int(port)))
        with contextlib.suppress(OSError):
            client.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 40)
        crowd.append(client)
        if len(crowd) > 150:
            crowded.set()
            crowd.pop(0).close()


@pytest.mark.alone
def test_another_users_greedy_connections_leave_the_owner_its_share(world):
    if os.geteuid() != 0:
        pytest.skip("only root can act as another user")
    with world.own_server() as server:
        fork = multiprocessing.get_context("fork")
        crowded = fork.Event()
        greedy = fork.Process(target=be_greedy, args=(server, crowded))
        greedy.start()
        try:
            assert crowded.wait(30), "there is no crowd"
            until = time.monotonic() + 5
            count = 0
            while time.monotonic() < until:
                for path in ("/livez", server.jobs_path()):
                    status, answer = server.request("GET", path)
                    assert status == 200, f"{path} of the owner: {status} {answer}"
                    count += 1
            print(f"{count} requests of the owner were answered")
        finally:
            greedy.kill()
            greedy.join()


def large_document(name, kind):
    """Many small values in 800 KB: what takes most memory when it is built."""
    head = f"apiVersion: eidolon.dev/v1alpha1\nkind: SimulationJob\nmetadata: {{name: {name}}}\nspec:\n  odd:\n"
    line = {"values": "  - [aa, bb, cc]\n", "texts": "  - " + "x" * 40 + "\n"}[kind]
    return head + line * ((DOCUMENT_BYTES - len(head)) // len(line))


@pytest.mark.alone
def test_large_documents_take_little_memory_and_give_it_back(world):
    with world.own_server() as server:
        server.request("GET", server.jobs_path())
        before = memory_mib(server, "VmRSS")
        problems = []
        for kind in ("texts", "values"):
            reset_peak(server)
            with concurrent.futures.ThreadPoolExecutor(DOCUMENTS) as pool:
                answers = list(
                    pool.map(
                        lambda at: server.request("POST", server.jobs_path(), large_document(f"large{at}", kind)),
                        range(DOCUMENTS),
                    )
                )
            time.sleep(1)
            peak, after = memory_mib(server, "VmHWM"), memory_mib(server, "VmRSS")
            print(
                f"     {DOCUMENTS} x {DOCUMENT_BYTES} bytes of {kind}: {before:.0f} MiB before, {peak:.0f} at most, "
                f"{after:.0f} after"
            )
            if any(status not in (400, 422) for status, _ in answers):
                problems.append(f"{kind} were answered {[status for status, _ in answers]}")
            if peak - before > PEAK_MIB or after - before > KEPT_MIB:
                problems.append(f"{kind} took {peak - before:.0f} MiB and kept {after - before:.0f}")
        assert not problems, "; ".join(problems)
