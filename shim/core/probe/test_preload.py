"""Programs that never touch a GPU must not notice the shim: same exit codes, same output, no new files, and
hardly more time. Each program runs alone and with the whole set preloaded, with eager symbol binding too."""

import os
import subprocess
import sys
import tempfile

import pytest

PYTHON_PROGRAM = """
import os, subprocess, sys, threading
done = threading.Event()
threading.Thread(target=lambda: done.wait(0.05) or done.set()).start()
assert done.wait(5)
assert subprocess.run([sys.executable, "-c", "raise SystemExit(3)"]).returncode == 3
print("output stays", os.environ.get("HOME", ""))
sys.exit(11)
"""
# PROBES and CORE stand for the folder of the probes and for the shim's own library.
PROGRAMS = {
    "true": (["true"], 0),
    "shell_pipeline": (["sh", "-c", "printf 'b\\na\\n' | sort | head -1; exit 4"], 4),
    "threads": (["PROBES/threads"], 7),
    "forks": (["PROBES/forks"], 9),
    "loading_and_unloading_the_core": (["PROBES/unloads", "CORE"], 5),
    "compiler": (["sh", "-c", "echo 'int main(void) { return 6; }' | cc -x c -o /dev/null -; exit 6"], 6),
    "python": ([sys.executable, "-c", PYTHON_PROGRAM], 11),
    "death_by_signal": (["sh", "-c", "kill -SEGV $$"], -11),
    "timeout_command": (["timeout", "0.05", "sleep", "5"], 124),
}


def run_program(command, **environment):
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **environment}
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, env=environment)
        return done.returncode, done.stdout, done.stderr, sorted(os.listdir(folder))


@pytest.mark.parametrize("command, exit_code", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_does_not_notice_the_shim(command, exit_code, build, preload):
    core = build / "lib/libeidolon_shim.so"
    command = [word.replace("PROBES", f"{build}/probes").replace("CORE", str(core)) for word in command]
    alone = run_program(command)
    assert alone[0] == exit_code
    assert run_program(command, LD_PRELOAD=preload) == alone
    assert run_program(command, LD_PRELOAD=preload, LD_BIND_NOW="1") == alone
