"""Waits of a rank pass in virtual time: a hundred seconds of each kind take the rank a hundred seconds and the machine
few. docs/waiting_calls.md lists the behaviour of each call."""

import re

import pytest
from jobs import expect_complete, expect_failed

# Each case waits a hundred seconds in a rank that has begun, and says how it ended.
CASES = """
    import asyncio, queue, select, signal, socket, subprocess, threading

    def events():
        return threading.Event().wait(100)

    def queues():
        try: queue.Queue().get(timeout=100)
        except queue.Empty: return "empty"

    def locks():
        lock = threading.Lock()
        lock.acquire()
        return lock.acquire(timeout=100)

    def selects():
        a, b = socket.socketpair()
        return select.select([a], [], [], 100)

    def polls():
        a, b = socket.socketpair()
        poll = select.poll()
        poll.register(a, select.POLLIN)
        return poll.poll(100_000)

    def sockets():
        a, b = socket.socketpair()
        a.settimeout(100)
        try: a.recv(1)
        except TimeoutError: return "timed out"

    def coroutines():
        return asyncio.run(asyncio.sleep(100, "slept"))

    def expected_signals():
        return signal.sigtimedwait([signal.SIGUSR2], 100)

    def alarms():
        seen = []
        signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
        signal.setitimer(signal.ITIMER_REAL, 100)
        signal.pause()
        return len(seen)

    def an_alarm_in_a_sleep():
        class Late(Exception): pass
        def late(number, frame): raise Late
        signal.signal(signal.SIGALRM, late)
        signal.alarm(100)
        try: time.sleep(1000)
        except Late: return "late"

    def children():
        return subprocess.run(["sleep", "100"]).returncode

    def a_child_that_tells():
        return subprocess.run("sleep 40; echo one; sleep 60; echo two", shell=True, capture_output=True,
                              text=True).stdout.split()

    def a_child_with_a_limit():
        return subprocess.run(["timeout", "100", "sleep", "6000"]).returncode

    def a_limited_child():
        try: subprocess.run(["sleep", "6000"], timeout=100)
        except subprocess.TimeoutExpired: return "expired"

    def forks():
        child = os.fork()
        if child == 0:
            begin = time.time()
            time.sleep(100)
            os._exit(0 if time.time() - begin >= 100 else 1)
        return os.waitpid(child, 0)[1]

    rank.step(0)
    for case in (events, queues, locks, selects, polls, sockets, coroutines, expected_signals, alarms,
                 an_alarm_in_a_sleep, children, a_child_that_tells, a_child_with_a_limit, a_limited_child, forks):
        begin = time.time()
        result = case()
        print("case|" + case.__name__, round(time.time() - begin, 2), result, sep="|", flush=True)
"""

RESULTS = {
    "events": "False",
    "queues": "empty",
    "locks": "False",
    "selects": "([], [], [])",
    "polls": "[]",
    "sockets": "timed out",
    "coroutines": "slept",
    "expected_signals": "None",
    "alarms": "1",
    "an_alarm_in_a_sleep": "late",
    "children": "0",
    "a_child_that_tells": "['one', 'two']",
    "a_child_with_a_limit": "124",
    "a_limited_child": "expired",
    "forks": "0",
}


@pytest.mark.alone
def test_a_hundred_seconds_of_any_wait_pass_at_once(world):
    job = world.run(CASES, light=True)
    log = world.logs(job)
    expect_complete(job)
    cases = {name: (float(seconds), result) for name, seconds, result in re.findall(r"case\|(\w+)\|(.*)\|(.*)", log)}
    for name, result in RESULTS.items():
        assert name in cases, f"{name} did not end: {log[-2000:]}"
        assert cases[name][1] == result, f"{name} gave {cases[name][1]}, not {result}"
        assert 100 <= cases[name][0] < 105, f"{name} took {cases[name][0]} s of virtual time"


def test_a_wait_does_not_end_by_its_timeout_while_a_peer_sleeps_less(world):
    # Rank 1 sleeps for a minute before it writes: that is before rank 0's hundred seconds have passed.
    script = """
        import select, socket
        rank.step(0)
        path = "\\0eidolon-" + os.environ["MASTER_PORT"]
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if rank.rank == 0: s.bind(path)
        rank.step(0)
        begin = time.time()
        if rank.rank == 0:
            print("heard", bool(select.select([s], [], [], 100)[0]), round(time.time() - begin), flush=True)
        else:
            time.sleep(60)
            s.sendto(b"x", path)
        rank.step(0)
    """
    job = world.completed(script, ranks=2, light=True)
    log = world.logs(job)
    assert "heard True 60" in log, log[-2000:]


def test_a_timer_counts_no_real_time(world):
    # A second of real work, half a second of an alarm: in the fixed model the work takes no virtual time.
    script = """
        import signal
        def late(number, frame): raise SystemExit("an alarm in virtual time that has not passed")
        signal.signal(signal.SIGALRM, late)
        for step in range(8):
            rank.step(0)
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            end = os.times().user + 1
            while os.times().user < end: sum(range(10_000))
            signal.setitimer(signal.ITIMER_REAL, 0)
            print("step", flush=True)
    """
    world.completed(script, boundary="{log: step}", light=True)


def test_a_sleep_beyond_the_end_of_time_never_ends_early(world):
    script = """
        import threading
        rank.step(0)
        def work():
            time.sleep(0.2)
            print("the job goes on", flush=True)
            os._exit(3)
        threading.Thread(target=work).start()
        time.sleep(1e9)
        print("slept", flush=True)
    """
    job = world.run(script, light=True)
    expect_failed(job, "CommandFailed", "exit status 3")
    log = world.logs(job)
    assert "slept" not in log.split(), log[-2000:]
    assert "beyond the end of virtual time (53 days)" in log, log[-2000:]
