"""Programs that never touch a GPU do inside a job what they do outside: the same output, the same end. And what
`eidolon run` shows on a terminal."""

import json
import os
import pty
import re
import select
import subprocess
import textwrap
import time

from jobs import light_script
from server import environment_of

# Each is a program of its own, run by the same driver outside and inside a job.
PYTHON_CASES = {
    "threads with timed waits": """
        import queue, threading, time
        event, lock, results = threading.Event(), threading.Condition(), []
        t = time.monotonic()
        assert not event.wait(0.2)
        assert 0.2 <= time.monotonic() - t < 5
        threading.Thread(target=lambda: (time.sleep(0.1), event.set())).start()
        print(event.wait(20))
        with lock: print(lock.wait(0.05))
        try: queue.Queue().get(timeout=0.1)
        except queue.Empty: print("empty")
        print(threading.Semaphore(0).acquire(timeout=0.1), threading.Lock().acquire(timeout=1))
        workers = [threading.Thread(target=lambda i=i: results.append(i * i)) for i in range(20)]
        for w in workers: w.start()
        for w in workers: w.join()
        print(sorted(results))
        timer = threading.Timer(0.1, lambda: print("timer"))
        timer.start(); timer.join()
    """,
    "asyncio": """
        import asyncio
        async def main():
            print(await asyncio.gather(*[asyncio.sleep(0.05 * i, i) for i in range(4)]))
            try: await asyncio.wait_for(asyncio.sleep(60), 0.1)
            except asyncio.TimeoutError: print("timed out")
            child = await asyncio.create_subprocess_exec("sh", "-c", "cat; exit 9", stdin=-1, stdout=-1)
            print(await child.communicate(b"asked"), child.returncode)
        asyncio.run(main())
    """,
    "fork and wait": """
        import os, time
        for code in (0, 1, 42, 255):
            pid = os.fork()
            if pid == 0: os._exit(code)
            print(code, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        reader, writer = os.pipe()
        if os.fork() == 0:
            time.sleep(0.1)
            os.write(writer, b"from the child")
            os._exit(3)
        print(os.read(reader, 100), os.wait()[1] >> 8)
    """,
    "subprocess with pipes": """
        import subprocess
        p = subprocess.Popen(["sort", "-r"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        print(p.communicate("a\\nc\\nb\\n")[0], p.returncode)
        print(subprocess.run(["sh", "-c", "echo out; echo err >&2; exit 5"], capture_output=True))
        print(subprocess.run("seq 100000 | tail -1 | tr 0 o", shell=True, capture_output=True).stdout)
        try: subprocess.run(["sleep", "60"], timeout=0.2)
        except subprocess.TimeoutExpired as e: print("timed out")
    """,
    "process pools": """
        import concurrent.futures, multiprocessing
        def square(x): return x * x
        if __name__ == "__main__":
            for method in ("fork", "spawn"):
                context = multiprocessing.get_context(method)
                with context.Pool(2) as pool: print(method, pool.map(square, range(8)))
                q = context.Queue()
                p = context.Process(target=q.put, args=({"key": method},))
                p.start(); print(q.get(timeout=60)); p.join(); print(p.exitcode)
            with concurrent.futures.ProcessPoolExecutor(2) as pool: print(list(pool.map(square, range(4))))
    """,
    "signal handlers": """
        import os, signal, time
        for name in ("SIGINT", "SIGTERM", "SIGUSR1"):
            signal.signal(getattr(signal, name), lambda n, f: print("caught", signal.Signals(n).name))
            os.kill(os.getpid(), getattr(signal, name))
        signal.signal(signal.SIGALRM, lambda n, f: print("alarm"))
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        signal.pause()
        signal.alarm(1)
        signal.pause()
        ticks = []
        signal.signal(signal.SIGALRM, lambda n, f: ticks.append(n))
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        while len(ticks) < 3: time.sleep(0.01)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(len(ticks) >= 3, signal.sigtimedwait([signal.SIGUSR2], 0.1))
    """,
    "polling": """
        import select, socket, time
        a, b = socket.socketpair()
        t = time.monotonic()
        print(select.select([a], [], [], 0.1))
        p = select.poll(); p.register(a, select.POLLIN); print(p.poll(100))
        e = select.epoll(); e.register(a.fileno(), select.EPOLLIN); print(e.poll(0.1))
        assert 0.3 <= time.monotonic() - t < 10
        a.settimeout(0.1)
        try: a.recv(1)
        except TimeoutError: print("timed out")
        b.send(b"x"); print(select.select([a], [], [], 60)[0] == [a], a.recv(1))
    """,
    "clocks": """
        import time
        begin = time.time(), time.monotonic(), time.perf_counter()
        time.sleep(0.3)
        end = time.time(), time.monotonic(), time.perf_counter()
        print([0.29 < e - b < 5 for b, e in zip(begin, end)], 2020 < time.gmtime().tm_year < 2200)
    """,
    "every byte": "import os; os.write(1, bytes(range(256)) * 500); os.write(2, bytes(range(256)) * 500)",
    "standard input": "import sys; data = sys.stdin.buffer.read(); print(len(data), data[:3], sum(data))",
    "an exception": "raise ValueError('said by the program')",
    "exit with text": "import sys; sys.exit('a last word')",
    "at exit": "import atexit; atexit.register(print, 'bye'); print('first'); raise SystemExit(4)",
    "death by interrupt": "import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(9)",
    "death by kill": "import os; os.kill(os.getpid(), 9)",
    "death by segmentation fault": "import os; os.kill(os.getpid(), 11)",
    "abort": "import os; os.abort()",
    "death by terminate": "import os; os.kill(os.getpid(), 15)",
    "many threads at the end": """
        import os, threading, time
        for _ in range(8): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        print("ends with threads asleep")
    """,
}

SHELL_CASES = {
    "pipeline": [
        "bash",
        "-c",
        "set -o pipefail; printf 'b\\na\\n' | sort | (cat; exit 3); echo ${PIPESTATUS[@]} $?; exit 77",
    ],
    "jobs of a shell": ["bash", "-c", "(sleep 0.1; exit 3) & wait $!; echo $?; trap 'echo trapped' TERM; kill $$"],
    "here document": ["bash", "-c", "cat <<END\nline $((1 + 1))\nEND\nread -t 0.1 x < <(sleep 5); echo $?"],
    "timeout": ["timeout", "0.2", "sleep", "60"],
    "git": ["git", "--version"],
    "missing file": ["cat", "/no/such/file"],
    "compiler": [
        "bash",
        "-c",
        "echo 'int main(){return 6;}' | gcc -x c -o /tmp/p$$ - && /tmp/p$$; c=$?; rm -f /tmp/p$$; exit $c",
    ],
    "environment": ["bash", "-c", "echo $HOME $PATH $LANG"],
    **{f"exit status {code}": ["sh", "-c", f"exit {code}"] for code in (0, 1, 2, 126, 127, 128, 200, 255)},
}

DRIVER = """
    import json, signal, subprocess, sys
    cases, out = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # A shell's background jobs inherit that it is ignored.
    results = {}
    for name, command in json.load(open(cases)).items():
        try:
            done = subprocess.run(command, input=bytes(range(256)) * 40, capture_output=True, timeout=60)
            results[name] = [done.returncode, done.stdout.hex(), done.stderr.hex()]
        except subprocess.TimeoutExpired:
            results[name] = ["does not end"]
    json.dump(results, open(out, "w"))
"""


def static_program(folder):
    """A program that the dynamic linker never sees, so that nothing is preloaded into it."""
    (folder / "static.c").write_text(
        '#include <stdio.h>\n#include <unistd.h>\nint main(void) { usleep(1000); puts("alone"); return 13; }\n'
    )
    subprocess.run(["gcc", "-static", "-o", folder / "static", folder / "static.c"], check=True)
    return [str(folder / "static")]


def readable(result):
    return [result[0], *(bytes.fromhex(part).decode(errors="replace")[-600:] for part in result[1:])]


def test_programs_without_a_gpu_behave_as_outside(world):
    folder = world.fresh_folder()
    python = f"{world.python}/bin/python"
    cases = dict(SHELL_CASES, **{"static binary": static_program(folder)})
    for name, text in PYTHON_CASES.items():
        file = folder / (name.replace(" ", "_") + ".py")
        file.write_text(textwrap.dedent(text))
        cases[name] = [python, str(file)]
    (folder / "cases.json").write_text(json.dumps(cases))
    (folder / "driver.py").write_text(textwrap.dedent(DRIVER))

    def driver(out):
        return [python, str(folder / "driver.py"), str(folder / "cases.json"), str(folder / out)]

    environment = environment_of(world.python)
    subprocess.run(driver("outside"), check=True, env=environment)
    world.run("", command=driver("inside"))
    outside, inside = (json.loads((folder / name).read_text()) for name in ("outside", "inside"))
    different = []
    for name, expected in outside.items():
        assert expected != ["does not end"], f"{name} does not even end outside"
        if inside[name] != expected:
            different.append(f"{name}: {readable(inside[name])} instead of {readable(expected)}")
    assert not different, "\n".join(different)
    statuses = sorted({result[0] for result in outside.values()})
    print(f"{len(outside)} programs, exit statuses {statuses}")
    assert {-15, -11, -9, -6, -2, 0, 255} <= set(statuses), statuses


def test_output_and_exit_status_reach_who_runs_it(world):
    program = "import sys; print('to stdout'); print('to stderr', file=sys.stderr); sys.exit(7)"
    run = world.command("run", "--", f"{world.python}/bin/python", "-c", program)
    assert run.returncode == 1, f"status {run.returncode}: {run.stdout}{run.stderr}"
    for line in ("to stdout", "to stderr"):
        assert line in run.stdout.splitlines(), run.stdout
    assert "CommandFailed" in run.stdout and "exit status 7" in run.stdout, run.stdout


def on_a_terminal(command, environment, seconds=120):
    """(exit status, everything that a terminal 200 columns wide was sent)"""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        command, stdin=child, stdout=child, stderr=child, env=environment, start_new_session=True
    )
    os.close(child)
    seen, deadline = b"", time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            if select.select([parent], [], [], 0.2)[0]:
                try:
                    part = os.read(parent, 65536)
                except OSError:  # The other end is closed.
                    part = b""
                if not part:
                    break
                seen += part
        return process.wait(10), seen.decode(errors="replace")
    finally:
        process.kill()
        process.wait()
        os.close(parent)


# Iterations that take long to simulate and little to predict.
SLOW = """
for step in range(40):
    sum(range(3_000_000))
    rank.step(0)
    print("step", step, flush=True)
"""


def expect_progress(status, screen):
    assert status == 0, f"status {status}: {screen}"
    lines = re.findall(r"\r\x1b\[K([^\r\n\x1b]+)", screen)
    progress = [line for line in lines if "iteration" in line]
    assert progress, f"no progress line in {screen!r}"
    left = [line for line in progress if re.search(r"\d+ (s|min|h)\b.* left", line)]
    assert left, f"no progress line tells the remaining time: {progress}"
    print(f"{left[-1].strip()}")
    assert screen.count("\r\x1b[K") >= 4, "the progress line does not change"
    # What the program says stands on lines of its own, and the report comes last.
    assert re.search(r"\x1b\[Kstep 3\r\n", screen), f"the program's lines mix with progress: {screen[:3000]!r}"
    assert re.search(r"Complete.*peak memory", screen, re.DOTALL), screen[-2000:]


def test_run_and_submit_show_progress_on_a_terminal(world):
    script = world.folder / "slow.py"
    script.write_text(light_script(world.folder, SLOW))
    document = world.folder / "progress.yaml"
    document.write_text(world.job(SLOW, warmup=2, measure=20, boundary="{log: step}", light=True))
    environment = environment_of(world.python, TERM="xterm")

    def run(measure):
        steps = ["--log-pattern", "step", "--warmup", "2", "--measure", str(measure)]
        return ["run", *steps, "--", "python", script]

    for words in (run(20), ["--data-dir", world.server.data, "submit", "--follow", "-f", document]):
        expect_progress(*on_a_terminal([world.build / "bin/eidolon", *words], environment))
    plain = world.command(*run(2), env=environment)
    assert "\x1b" not in plain.stdout + plain.stderr, "a progress line where there is no terminal"
