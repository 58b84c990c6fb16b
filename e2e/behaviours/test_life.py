"""Tests how jobs end when nothing moves any more, when ranks lose the agent, and what is left of them."""

import json
import os
import pathlib
import signal
import subprocess
import textwrap
import time

from jobs import await_that, expect_complete, expect_failed, wait_for_line
from processes import below, descendants, has_ended, name_of, parent_of, state_of
from server import environment_of, verdict

# Two ranks; rank 1 tells its process number, and then waits for a file of the test's.
WAITING = """
    for step in range(8):
        rank.step(0)
        if step == 3 and rank.rank == 1:
            os.write(1, f"pid {os.getpid()} of rank 1\\n".encode())
            while not os.path.exists("GO"): pass
"""


def begin(world, script=WAITING, **limits):
    """Submits a job of two ranks: its name, and the process of rank 1."""
    extra = f"limits: {json.dumps(limits)}\n" if limits else ""
    name = world.server.submit(world.job(script, ranks=2, measure=100, light=True, extra=extra))
    wait_for_line(world.server, name, "of rank 1")
    line = next(line for line in world.server.logs(name).splitlines() if "of rank 1" in line)
    return name, int(line.split("pid ")[1].split()[0])


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    await_that(lambda: f"{pid} is stopped, not {state_of(pid)}", lambda: state_of(pid) == "T", 30)


def test_a_rank_that_pauses_for_eight_seconds_is_not_a_deadlock(world):
    go = world.folder / "go-pause"
    name, pid = begin(world, WAITING.replace("GO", str(go)))
    stop(pid)
    go.touch()
    time.sleep(8)
    assert verdict(world.server.get(name)) is None, "the job ended while a rank was stopped"
    os.kill(pid, signal.SIGCONT)
    job = world.server.wait(name, 120)
    expect_complete(job)
    assert len(job["status"]["prediction"]["iterationPicoseconds"]) >= 4, job["status"]["prediction"]


def test_a_stopped_rank_ends_a_job_without_a_limit_of_time(world):
    name, pid = begin(world, stillSeconds=5)
    stop(pid)
    job = world.server.wait(name, 120)
    named = "limits.stillSeconds", f"rank 1 (pid {pid}, ", "is stopped (state T)", "its last record: "
    expect_failed(job, "Stuck", *named)
    assert not pathlib.Path(f"/proc/{pid}").exists(), "the stopped rank is left"


def guardian_of(pid):
    while pid > 1:
        if name_of(pid) == "eidolon-guard":
            return pid
        pid = parent_of(pid)
    raise AssertionError("no process above the rank is called eidolon-guard")


def test_a_stopped_guardian_ends_its_job_and_is_killed(world):
    go = world.folder / "go-guardian"
    name, rank = begin(world, WAITING.replace("GO", str(go)))
    pid = guardian_of(rank)
    stop(pid)
    go.touch()
    job = world.server.wait(name, 120)
    expect_failed(job, "Stuck", "the agent has ended", f"its guardian (pid {pid}, eidolon-guard) is stopped (state T)")
    assert not pathlib.Path(f"/proc/{pid}").exists(), "the stopped guardian is left"


def test_a_rank_that_waits_on_a_socket_for_a_stopped_one_ends_the_job_too(world):
    script = """
        import signal, socket
        rank.step(0)
        path = "\\0peer-" + os.environ["MASTER_PORT"]
        if rank.rank == 0:
            peer = socket.socket(socket.AF_UNIX); peer.bind(path); peer.listen()
            rank.step(0)
            peer.accept()[0].recv(1)
        else:
            rank.step(0)
            peer = socket.socket(socket.AF_UNIX); peer.connect(path)
            os.write(1, f"pid {os.getpid()} of rank 1\\n".encode())
            os.kill(os.getpid(), signal.SIGSTOP)
            peer.send(b"x")
    """
    name, pid = begin(world, script, stillSeconds=5)
    job = world.server.wait(name, 120)
    expect_failed(job, "Stuck", f"rank 1 (pid {pid}, ", "is stopped (state T)", "rank 0 (pid ", "waits in ")
    message = verdict(job)["message"]
    assert message.index("rank 1 (pid") < message.index("rank 0 (pid"), "who is stopped comes first"


# A program that closes what it has not opened, in the middle of its training: CLOSE says how. Then it trains on, and
# does not mind what CUDA answers.
CARELESS = """
    import ctypes
    for step in range(8):
        try:
            rank.step(0)
        except SystemExit as error:
            os.write(2, f"ignored: {error}\\n".encode())
        print("step", step, flush=True)
        if step == 4: CLOSE
"""


def train_carelessly(world, how, boundary="auto"):
    return world.run(CARELESS.replace("CLOSE", how), measure=100, boundary=boundary, light=True)


def test_a_program_that_closes_all_descriptors_is_predicted_to_its_end(world):
    def iterations(job):
        expect_complete(job)
        return job["status"]["prediction"]["iterationPicoseconds"]

    expected = iterations(train_carelessly(world, "pass"))
    assert len(expected) == 6, expected
    for how in (
        "os.closerange(3, 10000)",
        "[os.dup2(2, file) for file in range(3, 200)]",
        "[ctypes.CDLL(None).close(file) for file in range(3, 10000)]",
        "ctypes.CDLL(None).closefrom(3)",
    ):
        found = iterations(train_carelessly(world, how))
        assert found == expected, f"{how}: {found}, not {expected}"


def test_a_rank_that_cuts_its_connection_is_not_complete(world):
    # A system call of its own: nothing of ours stands between.
    how = "[ctypes.CDLL(None).syscall(3, file) for file in range(3, 1000)]"
    job = train_carelessly(world, how, "{log: step}")
    expect_failed(job, "SessionLost", "rank 0 (pid ", "closed its connection to the agent and went on")
    assert job["status"]["prediction"]["iterationPicoseconds"], "what was measured before is not kept"


def test_a_rank_that_replaces_itself_is_not_complete(world):
    job = train_carelessly(world, 'os.execv("/bin/echo", ["echo", "done"])', "{log: step}")
    expect_failed(job, "SessionLost", "rank 0 (pid ", "replaced itself by another program")
    assert "done" in world.logs(job), "the other program did not run"
    assert job["status"]["prediction"]["iterationPicoseconds"], "what was measured before is not kept"
    # It need not have any work of ours before that.
    job = world.completed("""
        import ctypes, os, sys
        runtime, memory = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
        if sys.argv[1:] != ["now"]:
            runtime.cudaGetDeviceCount(ctypes.byref(ctypes.c_int()))
            os.execv(sys.executable, [sys.executable, "script.py", "now"])
        assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(1 << 20)) == 0
        for step in range(8): assert runtime.cudaMemset(memory, step, ctypes.c_size_t(1 << 20)) == 0
    """)


# A daemon as the books describe it, and nothing in its environment tells whose it is.
DAEMON = """
    import os, sys
    def daemon():
        begun, told = os.pipe()
        if os.fork() > 0:
            os.close(told)
            os.read(begun, 1)  # Until the daemon has printed and closed its end: the job ends with its command.
            return
        os.setsid()
        if os.fork() > 0: os._exit(0)
        os.write(1, f"daemon {os.getpid()} of {os.environ['EIDOLON_RUN_DIR']}.\\n".encode())
        os.closerange(3, 1000)
        null = os.open("/dev/null", os.O_RDWR)
        for file in range(3): os.dup2(null, file)
        os.execve("/bin/sleep", ["sleep", "100000"], {})
    daemon()
    WAIT
"""
FOR_EVER = "os.read(os.pipe()[0], 1)"


def daemon_in(text):
    """Its number, and the run folder of its job."""
    words = next(line for line in text.splitlines() if "daemon " in line).split("daemon ")[1].split()
    return int(words[0]), pathlib.Path(words[2].rstrip(".")).parent


def test_nothing_of_a_job_outlives_it(world):
    for victim in (None, "eidolon-agent", "eidolon-guard"):
        wait = FOR_EVER if victim else "pass"
        name = world.server.submit(world.job(DAEMON.replace("WAIT", wait)))
        wait_for_line(world.server, name, "daemon ")
        pid, folder = daemon_in(world.server.logs(name))
        if victim:
            os.kill(below(world.server.process.pid, victim)[0], signal.SIGKILL)
        condition = verdict(world.server.wait(name, 120))
        print(f"{victim or 'the end of the command'}: {condition['reason']}: {condition['message'][:100]}")
        assert condition["reason"] == ("AgentLost" if victim else "NoIterations"), condition
        await_that(f"the daemon {pid} is gone after {victim or 'its job'}", lambda: has_ended(pid))
        await_that(f"{folder} is gone", lambda: not folder.exists())
        assert not list(descendants(world.server.process.pid)), "processes are left"


def test_nothing_of_a_job_outlives_the_server_that_is_killed(world):
    with world.own_server() as server:
        name = server.submit(world.job(DAEMON.replace("WAIT", FOR_EVER)))
        wait_for_line(server, name, "daemon ")
        pid, folder = daemon_in(server.logs(name))
        left = list(descendants(server.process.pid))
        assert folder.exists() and pid in left, f"{pid} is not among {left}"
        server.kill()
        await_that(f"all of {left} are gone", lambda: all(map(has_ended, left)))
        await_that(f"{folder} is gone", lambda: not folder.exists())


def test_nothing_of_a_run_outlives_it_when_it_is_killed(world):
    folder = world.fresh_folder()
    (folder / "script.py").write_text(textwrap.dedent(DAEMON.replace("WAIT", FOR_EVER)))
    (folder / "tmp").mkdir()
    environment = environment_of(world.python, TMPDIR=str(folder / "tmp"))
    with open(folder / "out", "w") as out:
        run = subprocess.Popen(
            [world.build / "bin" / "eidolon", "run", "--", "python", "script.py"],
            cwd=folder,
            env=environment,
            stdout=out,
            stderr=out,
        )
    try:
        await_that("the daemon starts", lambda: "daemon " in (folder / "out").read_text())
        pid, run_folder = daemon_in((folder / "out").read_text())
        left = list(descendants(run.pid))
        assert pid in left and list((folder / "tmp").iterdir()), f"{pid} is not among {left}"
    finally:
        run.kill()
        run.wait()
    await_that(f"all of {left} are gone", lambda: all(map(has_ended, left)))
    await_that(f"{run_folder} is gone", lambda: not run_folder.exists())
    await_that(f"{list((folder / 'tmp').iterdir())} are gone", lambda: not list((folder / "tmp").iterdir()))


NEVER_REPEATS = """
import ctypes, time
import torch
size = 0
while True:
    size += 1
    x = torch.ones(size, size % 7 + 1, device="cuda")
    for _ in range(size): x = x * 2
    if size == 5:
        ctypes.CDLL("libcuda.so.1").cuMulticastCreate(None, None)
        x = torch.ones(4096, 4096, device="cuda")
        print("at work", bool((x @ x)[0, 0] > 0), flush=True)
    time.sleep(0.001)
"""


def test_an_interrupted_run_reports_what_was_learned_before_the_first_iteration(world):
    folder = world.fresh_folder()
    (folder / "script.py").write_text(NEVER_REPEATS)
    command = [world.build / "bin" / "eidolon", "run", "--", "python", "script.py"]
    with open(folder / "out", "w") as out, open(folder / "err", "w") as err:
        run = subprocess.Popen(command, cwd=folder, env=environment_of(world.python), stdout=out, stderr=err)
    await_that("the program works", lambda: "at work" in (folder / "out").read_text())
    run.send_signal(signal.SIGINT)

    assert run.wait(60) == 130
    report = (folder / "out").read_text()
    assert "Interrupted" in report and "whole program" in report, report
    assert "cuMulticastCreate x1" in report and "script.py:12" in report, report
    assert "interrupted; this result is partial: 0 iteration(s) measured" in (folder / "err").read_text()


def test_a_rank_inherits_its_standard_streams_only(world):
    job = world.completed("""
        import os
        def opened():
            found = {}
            for name in os.listdir("/proc/self/fd"):
                try: found[int(name)] = os.readlink("/proc/self/fd/" + name)
                except FileNotFoundError: pass  # The folder itself.
            return found
        print("at first", sorted(opened()), opened(), flush=True)
        before = opened()
        import ctypes
        runtime, memory = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
        assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(1 << 20)) == 0
        ours = {file: what for file, what in opened().items() if file not in before}
        print("with a GPU", len(ours), ours, flush=True)
        for step in range(8): assert runtime.cudaMemset(memory, step, ctypes.c_size_t(1 << 20)) == 0
    """)
    log = world.logs(job)
    assert "at first [0, 1, 2]" in log, log
    # Its connection to the agent, which shim/README.md tells of.
    assert "with a GPU 1 " in log and "socket:" in log.split("with a GPU")[1], log


def test_a_log_holds_what_was_printed_before_the_job_was_stopped_and_nothing_of_its_end(world):
    # The sixth line stands in the pipe when the sixth iteration ends the job; ranks that wait are then let go.
    script = """
        for step in range(1000):
            rank.step(0)
            print("printed", step, flush=True)
    """
    for _ in range(5):
        job = world.run(script, boundary="{log: printed}", light=True)
        log = world.logs(job)
        assert log.count("printed") >= 6, f"lines are missing: {log}"
        assert "Traceback" not in log and "CUDA error" not in log, f"the end is told: {log[-2000:]}"
