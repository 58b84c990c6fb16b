"""Stock torch on emulated devices: each section of torch_program.py runs to its end in a process of its own,
with nothing refused.

    job_test.py --library-folder BUILD/lib --probe-folder BUILD/probes --packages SITE_PACKAGES
"""

import argparse
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


class JobTest(unittest.TestCase):
    libraries = None
    probes = None
    packages = None

    def run_sections(self, *sections):
        python = self.packages.parents[2] / "bin" / "python"
        result = subprocess.run(
            [
                self.probes / "eidolon_lone_agent",
                self.libraries,
                python,
                "-W",
                "ignore",
                HERE / "torch_program.py",
                *sections,
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertNotIn("refused", result.stderr)
        self.assertEqual([line.split(":")[0] for line in result.stdout.splitlines()], list(sections))
        print(result.stdout, end="", flush=True)

    def test_device_queries(self):
        self.run_sections("queries")

    def test_memory(self):
        self.run_sections("memory", "copies", "printing")

    def test_streams_and_ranges(self):
        self.run_sections("streams", "ranges")

    def test_training_step(self):
        self.run_sections("training", "attention")

    def test_convolutions(self):
        self.run_sections("convolution")

    def test_graphs(self):
        self.run_sections("graphs")

    def test_expandable_segments(self):
        self.run_sections("segments")

    def test_profiler(self):
        self.run_sections("profiler")

    def test_run_time_compiled_kernels(self):
        self.run_sections("compiled_by_nvrtc")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library-folder", type=Path, required=True)
    parser.add_argument("--probe-folder", type=Path, required=True)
    parser.add_argument("--packages", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    JobTest.libraries = arguments.library_folder.resolve()
    JobTest.probes = arguments.probe_folder.resolve()
    JobTest.packages = arguments.packages
    unittest.main(argv=[sys.argv[0], *rest])
