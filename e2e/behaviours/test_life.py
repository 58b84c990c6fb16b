"""How jobs end when nothing moves any more, when ranks lose us, and what is left of them."""

import contextlib
import os
import pathlib
import signal
import subprocess
import textwrap
import time

from jobs import await_that, descendants, expect_complete, expect_failed, wait_for_line
from server import environment_of, verdict

# Two ranks; rank 1 tells its process number, and then waits for a file of the test's.
WAITING = """
    for step in range(8):
        rank.step(0)
        if step == 3 and rank.rank == 1:
            os.write(1, f"pid {os.getpid()} of rank 1\\n".encode())
            while not os.path.exists("GO"): pass
"""


def rank_1_of(world, name):
    wait_for_line(world.server, name, "of rank 1")
    line = next(line for line in world.server.logs(name).splitlines() if "of rank 1" in line)
    return int(line.split("pid ")[1].split()[0])


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    await_that(lambda: f"{pid} is stopped, not {state_of(pid)}", lambda: state_of(pid) == "T", 30)


def test_a_rank_that_pauses_for_eight_seconds_is_not_a_deadlock(world):
    go = world.folder / "go-pause"
    name = world.server.submit(world.job(WAITING.replace("GO", str(go)), ranks=2, measure=100, light=True))
    pid = rank_1_of(world, name)
    stop(pid)
    go.touch()
    time.sleep(8)
    assert not any(c["type"] == "Failed" for c in world.server.get(name)["status"]["conditions"]), (
        "the job ended while a rank was stopped"
    )
    os.kill(pid, signal.SIGCONT)
    job = world.server.wait(name, 120)
    expect_complete(job)
    assert len(job["status"]["prediction"]["iterationPicoseconds"]) >= 4, job["status"]["prediction"]


def test_a_stopped_rank_ends_a_job_without_a_limit_of_time(world):
    go = world.folder / "go-never"
    name = world.server.submit(
        world.job(
            WAITING.replace("GO", str(go)),
            ranks=2,
            measure=100,
            light=True,
            extra="limits: {stillSeconds: 5}\n",
        )
    )
    pid = rank_1_of(world, name)
    stop(pid)
    job = world.server.wait(name, 120)
    expect_failed(
        job, "Stuck", "limits.stillSeconds", f"rank 1 (pid {pid}, ", "is stopped (state T)", "its last record: "
    )
    assert not pathlib.Path(f"/proc/{pid}").exists(), "the stopped rank is left"


def guardian_of(pid):
    while pid > 1:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        if "(eidolon-guard)" in stat:
            return pid
        pid = int(stat.rsplit(") ", 1)[1].split()[1])
    raise AssertionError("no process above the rank is called eidolon-guard")


def test_a_stopped_guardian_ends_its_job_and_is_killed(world):
    go = world.folder / "go-guardian"
    name = world.server.submit(world.job(WAITING.replace("GO", str(go)), ranks=2, measure=100, light=True))
    pid = guardian_of(rank_1_of(world, name))
    stop(pid)
    go.touch()
    job = world.server.wait(name, 120)
    expect_failed(job, "Stuck", "the agent has ended", f"its guardian (pid {pid}, eidolon-guard) is stopped (state T)")
    assert not pathlib.Path(f"/proc/{pid}").exists(), "the stopped guardian is left"


def test_a_rank_that_waits_on_a_socket_for_a_stopped_one_ends_the_job_too(world):
    name = world.server.submit(
        world.job(
            """
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
    """,
            ranks=2,
            measure=100,
            light=True,
            extra="limits: {stillSeconds: 5}\n",
        )
    )
    pid = rank_1_of(world, name)
    job = world.server.wait(name, 120)
    expect_failed(job, "Stuck", f"rank 1 (pid {pid}, ", "is stopped (state T)", "rank 0 (pid ", "waits in ")
    assert verdict(job)["message"].index("rank 1 (pid") < verdict(job)["message"].index("rank 0 (pid"), (
        "who is stopped comes first"
    )


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


def is_gone(pid):
    try:
        return state_of(pid) == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def named(server, name):
    """The process of that name below a server."""
    for pid in descendants(server.process.pid):
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == name:
                return pid
    raise AssertionError(f"there is no {name}")


def test_nothing_of_a_job_outlives_it(world):
    for victim in (None, "eidolon-agent", "eidolon-guard"):
        wait = FOR_EVER if victim else "pass"
        name = world.server.submit(world.job(DAEMON.replace("WAIT", wait)))
        wait_for_line(world.server, name, "daemon ")
        pid, folder = daemon_in(world.server.logs(name))
        if victim:
            os.kill(named(world.server, victim), signal.SIGKILL)
        condition = verdict(world.server.wait(name, 120))
        print(f"{victim or 'the end of the command'}: {condition['reason']}: {condition['message'][:100]}")
        assert condition["reason"] == ("AgentLost" if victim else "NoIterations"), condition
        await_that(f"the daemon {pid} is gone after {victim or 'its job'}", lambda: is_gone(pid))
        await_that(f"{folder} is gone", lambda: not folder.exists())
        assert not list(descendants(world.server.process.pid)), "processes are left"


def test_nothing_of_a_job_outlives_the_server_that_is_killed(world):
    with world.own_server() as server:
        name = server.submit(world.job(DAEMON.replace("WAIT", FOR_EVER)))
        wait_for_line(server, name, "daemon ")
        pid, folder = daemon_in(server.logs(name))
        below = list(descendants(server.process.pid))
        assert folder.exists() and pid in below, f"{pid} is not among {below}"
        server.kill()
        await_that(f"all of {below} are gone", lambda: all(map(is_gone, below)))
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
        below = list(descendants(run.pid))
        assert pid in below and list((folder / "tmp").iterdir()), f"{pid} is not among {below}"
    finally:
        run.kill()
        run.wait()
    await_that(f"all of {below} are gone", lambda: all(map(is_gone, below)))
    await_that(f"{run_folder} is gone", lambda: not run_folder.exists())
    await_that(f"{list((folder / 'tmp').iterdir())} are gone", lambda: not list((folder / "tmp").iterdir()))


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
