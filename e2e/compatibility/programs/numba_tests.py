"""numba-cuda's own tests, which are in its wheel, one after the other in this process.

Arguments are names of tests, MODULE__CLASS__TEST; `--list TOPIC` prints the names of those of a folder (cudapy, cudadrv).
"""

import importlib
import pathlib
import sys
import unittest

from verdicts import Lines

TESTS = "numba.cuda.tests"
# Of what another process or compiler would do: compiling without running, simulating, profiling.
LEFT_OUT = ("test_debuginfo", "test_inspect", "test_ir", "test_byteflow", "test_copy_propagate", "test_multiprocessing")


def tests_of(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from tests_of(each)
        else:
            yield each


def modules_of(folder):
    package = importlib.import_module(f"{TESTS}.{folder}")
    for path in sorted(pathlib.Path(package.__file__).parent.glob("test_*.py")):
        if not path.stem.startswith(LEFT_OUT):
            yield f"{folder}.{path.stem}"


def name_of(module, test):
    return f"{module.replace('.', '__')}__{type(test).__name__}__{test._testMethodName}"


def loaded(names):
    loader = unittest.TestLoader()
    for name in names:
        folder, module, case, method = name.split("__", 3)
        found = loader.loadTestsFromName(f"{TESTS}.{folder}.{module}.{case}.{method}")
        for test in tests_of(found):
            test.told_name = name
            yield test


if __name__ == "__main__":
    if sys.argv[1:2] == ["--list"]:
        for module in modules_of(sys.argv[2]):
            for test in tests_of(unittest.TestLoader().loadTestsFromName(f"{TESTS}.{module}")):
                print(f"test: {name_of(module, test)}")
    else:
        unittest.TestSuite(loaded(sys.argv[1:])).run(Lines())
