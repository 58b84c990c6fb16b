"""Programs that never touch a GPU must not notice the shim: same exit codes, same output, no new files, and
hardly more time. Each program runs alone and with the whole set preloaded, with eager symbol binding too.

    preload_test.py --library-folder BUILD/lib --probe-folder BUILD/probes --python PYTHON
"""

import argparse
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PYTHON_PROGRAM = """
import os, subprocess, sys, threading
done = threading.Event()
threading.Thread(target=lambda: done.wait(0.05) or done.set()).start()
assert done.wait(5)
assert subprocess.run([sys.executable, "-c", "raise SystemExit(3)"]).returncode == 3
print("output stays", os.environ.get("HOME", ""))
sys.exit(11)
"""


class PreloadTest(unittest.TestCase):
    libraries = None
    probes = None
    python = None

    @classmethod
    def setUpClass(cls):
        first = sorted((cls.libraries / "eidolon" / "first").glob("*.so"))
        facades = sorted((cls.libraries / "eidolon").glob("*.so"))
        cls.preload = ":".join(map(str, [*first, cls.libraries / "libeidolon_shim.so", *facades]))
        cls.core = str(cls.libraries / "libeidolon_shim.so")

    def run_program(self, command, **environment):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run(
                command,
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
                env={**os.environ, **environment},
            )
            return result.returncode, result.stdout, result.stderr, sorted(os.listdir(folder))

    def check_same(self, command, exit_code):
        alone = self.run_program(command)
        self.assertEqual(alone[0], exit_code, alone)
        self.assertEqual(self.run_program(command, LD_PRELOAD=self.preload), alone)
        self.assertEqual(self.run_program(command, LD_PRELOAD=self.preload, LD_BIND_NOW="1"), alone)

    def test_true(self):
        self.check_same(["true"], 0)

    def test_shell_pipeline(self):
        self.check_same(["sh", "-c", "printf 'b\\na\\n' | sort | head -1; exit 4"], 4)

    def test_threads(self):
        self.check_same([self.probes / "threads"], 7)

    def test_forks(self):
        self.check_same([self.probes / "forks"], 9)

    def test_loading_and_unloading_the_core(self):
        self.check_same([self.probes / "unloads", self.core], 5)

    def test_compiler(self):
        program = "echo 'int main(void) { return 6; }' | cc -x c -o /dev/null -; exit 6"
        self.check_same(["sh", "-c", program], 6)

    def test_python(self):
        self.check_same([self.python, "-c", PYTHON_PROGRAM], 11)

    def test_death_by_signal(self):
        self.check_same(["sh", "-c", "kill -SEGV $$"], -11)

    def test_timeout_command(self):
        self.check_same(["timeout", "0.05", "sleep", "5"], 124)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library-folder", type=Path, required=True)
    parser.add_argument("--probe-folder", type=Path, required=True)
    parser.add_argument("--python", required=True)
    arguments, rest = parser.parse_known_args()
    PreloadTest.libraries = arguments.library_folder.resolve()
    PreloadTest.probes = arguments.probe_folder.resolve()
    PreloadTest.python = arguments.python
    unittest.main(argv=[sys.argv[0], *rest])
