"""Checks the linked shim: exports of the core, names and needs of the facades, rows against the real
libraries, and that everything was generated for every policy.

    symbols_test.py --library-folder BUILD/lib --packages SITE_PACKAGES
"""

import argparse
import re
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from generator.elf import SharedLibrary  # noqa: E402
from generator.policy import load_policy  # noqa: E402

SHIM = Path(__file__).resolve().parent.parent
ROW = re.compile(r"^(?:UNDECLARED\((\w+)\)|[A-Z_]+\([^,()]+, (\w+),)")
# What the core may need: libc under its several names. Anything else may be missing from a user's image.
LIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}


def row_symbols(library):
    symbols = set()
    for line in (SHIM / library / f"{library}.inc").read_text().splitlines():
        if line.startswith("//"):
            continue
        found = ROW.match(line)
        assert found, f"{library}.inc: not a row: {line}"
        symbols.add(found.group(1) or found.group(2))
    return symbols


class SymbolsTest(unittest.TestCase):
    maxDiff = None
    folder = None
    packages = None

    @classmethod
    def setUpClass(cls):
        cls.policies = {path.parent.name: load_policy(path) for path in sorted(SHIM.glob("*/*.policy"))}
        cls.core = SharedLibrary(cls.folder / "libeidolon_shim.so")

    def test_core_exports_exactly_the_rows_and_the_listed_functions(self):
        folders = ("time", "process", "autograd", "torch_operators", "gloo")
        plain = set().union(*((SHIM / folder / "exports.txt").read_text().split() for folder in folders))
        rows = set().union(*(row_symbols(library) for library in self.policies))

        self.assertEqual(sorted(self.core.functions - rows - plain), [], "exported without a row")
        self.assertEqual(sorted((rows | plain) - self.core.functions), [], "a row, but no export")
        self.assertEqual(sorted(self.core.objects), [], "data exported")

    def test_core_needs_only_libc(self):
        self.assertEqual(set(self.core.needed) - LIBC, set())

    def test_rows_are_what_the_real_libraries_export(self):
        for library, policy in self.policies.items():
            if "binary" not in policy.single or "older" in policy.single:
                continue
            with self.subTest(library):
                real = SharedLibrary(self.packages / policy.single["binary"])
                expected = {name for name in real.functions if not policy.omitted(name)}

                self.assertEqual(row_symbols(library) ^ expected, set())

    def test_each_facade_has_the_soname_of_its_library_and_needs_the_core(self):
        for library, policy in self.policies.items():
            if "older" in policy.single:
                continue
            with self.subTest(library):
                facade = SharedLibrary(self.folder / "eidolon" / f"{library}.so")

                self.assertEqual(facade.soname, policy.single["soname"])
                self.assertEqual(facade.needed, ["libeidolon_shim.so"])
                self.assertEqual(facade.functions | facade.objects, set())

    def test_the_facade_of_the_older_runtime_gives_versions_to_what_differs(self):
        facade = SharedLibrary(self.folder / "eidolon" / "first" / "cuda_runtime_12.so")
        differing = {symbol.removesuffix("_12") for symbol in row_symbols("cuda_runtime_12") if symbol.endswith("_12")}

        self.assertEqual(facade.soname, "libcudart.so.12")
        self.assertEqual(facade.needed, ["libeidolon_shim.so"])
        self.assertEqual(facade.functions, differing)
        self.assertEqual(facade.versions, {name: "libcudart.so.12" for name in differing})

    def test_older_libraries_have_facades(self):
        sonames = {SharedLibrary(path).soname for path in (self.folder / "eidolon").glob("*_12.so")}

        self.assertEqual(
            sonames,
            {
                "libcublas.so.12",
                "libcublasLt.so.12",
                "libcufft.so.11",
                "libcupti.so.12",
                "libcusolver.so.11",
                "libnvrtc.so.12",
            },
        )

    def test_no_facade_is_called_like_the_runtime(self):
        names = [path.name for path in (self.folder / "eidolon").iterdir()]

        self.assertEqual([name for name in names if "libcudart.so" in name], [])

    def test_what_folded_jobs_have_before_gloo_is_what_stands_before_it_in_pytorch(self):
        library = SharedLibrary(self.folder / "eidolon" / "folded" / "gloo.so")
        pytorch = SharedLibrary(self.packages / "torch" / "lib" / "libtorch_cpu.so")
        answered = set((SHIM / "gloo" / "answered.txt").read_text().split())

        self.assertEqual(library.functions, answered)
        self.assertEqual(sorted(answered - pytorch.functions), [], "not PyTorch's")
        self.assertEqual(set(library.needed) - LIBC, {"libgcc_s.so.1"}, "the unwinder of what Gloo throws")

    def test_triton_finds_its_driver(self):
        for name in ("libcuda.so.1", "libcuda.so"):
            with self.subTest(name):
                facade = SharedLibrary(self.folder / "eidolon" / "triton" / name)

                self.assertEqual(facade.soname, "libcuda.so.1")
                self.assertEqual(facade.needed, ["libeidolon_shim.so"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library-folder", type=Path, required=True)
    parser.add_argument("--packages", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    SymbolsTest.folder, SymbolsTest.packages = arguments.library_folder, arguments.packages
    unittest.main(argv=[sys.argv[0], *rest])
