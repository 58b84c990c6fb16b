"""Stock torch under the preloaded shim, outside any job: it imports with every symbol resolved, none of the
replaced libraries is loaded, memory stays small, and the real NVRTC still compiles.

    torch_test.py --library-folder BUILD/lib --packages SITE_PACKAGES
"""

import argparse
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Of what stock torch holds, which is 530 to 567 MB on one machine: how many pages of a library one access
# brings in is the kernel's choice, and depends on what the page cache holds.
RESIDENT_SHARE_MAX = 0.56
ANONYMOUS_MB_MAX = 185  # 293 without the shim.
# Real on purpose: torch imports data symbols from it.
LEFT_REAL = {"libnvshmem_host.so.3"}
LOOK_AROUND = """
import torch
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(status["VmRSS"].split()[0], status["RssAnon"].split()[0])
print(open("/proc/self/maps").read())
"""
DEVICES = "import torch; print(torch.cuda.is_available(), torch.cuda.device_count())"


class TorchTest(unittest.TestCase):
    libraries = None
    packages = None

    def run_python(self, *arguments, **environment):
        first = sorted((self.libraries / "eidolon" / "first").glob("*.so"))
        facades = sorted((self.libraries / "eidolon").glob("*.so"))
        preload = ":".join(map(str, [*first, self.libraries / "libeidolon_shim.so", *facades]))
        return self.run_stock(*arguments, LD_PRELOAD=preload, **environment)

    def run_stock(self, *arguments, **environment):
        python = self.packages.parents[2] / "bin" / "python"
        result = subprocess.run(
            [python, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
            env={**os.environ, **environment},
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    @staticmethod
    def memory_of(result):
        return [int(kib) / 1024 for kib in result.stdout.splitlines()[0].split()]

    def test_import_resolves_every_symbol(self):
        self.assertEqual(self.run_python("-c", "import torch", LD_BIND_NOW="1").stderr, "")

    def test_no_replaced_library_is_loaded(self):
        maps = self.run_python("-c", LOOK_AROUND).stdout
        vendor = set(re.findall(r"site-packages/nvidia/\S+/(lib\S+)$", maps, re.MULTILINE))

        self.assertEqual(vendor, LEFT_REAL)

    def test_resident_memory_after_import(self):
        stock_mb, _ = self.memory_of(self.run_stock("-c", LOOK_AROUND))
        resident_mb, anonymous_mb = self.memory_of(self.run_python("-c", LOOK_AROUND))
        print(
            f"resident after import torch: {resident_mb:.0f} MB, {anonymous_mb:.0f} of them anonymous; "
            f"{stock_mb:.0f} MB without the shim"
        )

        self.assertLessEqual(resident_mb, RESIDENT_SHARE_MAX * stock_mb)
        self.assertLessEqual(anonymous_mb, ANONYMOUS_MB_MAX)

    def test_no_device_outside_a_job(self):
        self.assertEqual(self.run_python("-W", "ignore", "-c", DEVICES).stdout, "False 0\n")

    def test_run_time_compiler_works(self):
        self.assertRegex(
            self.run_python(HERE / "nvrtc_program.py").stdout, r"NVRTC 13\.\d+: \d{4,} bytes, NVRTC_SUCCESS"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library-folder", type=Path, required=True)
    parser.add_argument("--packages", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    TorchTest.libraries = arguments.library_folder.resolve()
    TorchTest.packages = arguments.packages
    unittest.main(argv=[sys.argv[0], *rest])
