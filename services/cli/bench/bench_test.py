"""`eidolon bench` as users call it: every figure is measured, and what must hold on any machine holds. Speeds
and megabytes are not compared with their goals here: other work on the machine, or its kernel, would decide the
test.

    bench_test.py --eidolon BUILD/bin/eidolon --packages SITE_PACKAGES
"""

import argparse
import json
import subprocess
import sys
import unittest
from pathlib import Path

# Counted, not timed, and without what the kernel chooses: the same on every machine.
COUNTED = ("torch.residentOfStock", "memory.growth", "replay.differences", "timeline.megabytes")

# One run's cost over another's: where there is next to none, other work on the machine may make it negative.
COMPARED = ("values.lazyAdd", "values.eagerAdd", "values.largeStep")


class BenchTest(unittest.TestCase):
    eidolon = None
    python = None

    def bench(self, *arguments):
        return subprocess.run(
            [self.eidolon, "bench", "--quick", *arguments], capture_output=True, text=True, check=False, timeout=500
        )

    def test_every_figure_is_measured(self):
        result = self.bench("--python", self.python, "-o", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        figures = {figure["key"]: figure for figure in json.loads(result.stdout)["figures"]}
        self.assertGreaterEqual(len(figures), 20)
        for key, figure in figures.items():
            self.assertIn("value", figure, f"{key}: {figure}")
            if key not in COMPARED:
                self.assertGreaterEqual(figure["value"], 0, f"{key}: {figure}")
            print(f"{key}: {figure['value']:.6g} {figure['unit']}", flush=True)
        for key in COUNTED:
            self.assertTrue(figures[key]["met"], figures[key])
        self.assertLess(figures["shim.laterIndex"]["value"], figures["shim.firstIndex"]["value"])

    def test_without_torch_the_table_says_so_and_a_check_fails(self):
        result = self.bench("--python", "no-such-python", "--check")
        self.assertEqual(result.returncode, 1, result.stderr)
        lines = [line for line in result.stdout.splitlines() if line.startswith("stock torch")]
        self.assertEqual(len(lines), 2, result.stdout)
        for line in lines:
            self.assertIn("not measured", line)
            self.assertIn("no-such-python", line)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eidolon", type=Path, required=True)
    parser.add_argument("--packages", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    BenchTest.eidolon = arguments.eidolon.resolve()
    BenchTest.python = arguments.packages.parents[2] / "bin" / "python"
    unittest.main(argv=[sys.argv[0], *rest])
