"""numba-cuda's own tests, which are in its wheel, one after the other in this process.

Arguments are names of tests, MODULE__CLASS__TEST; `--list TOPIC` prints the names of those of a folder (cudapy, cudadrv).
"""

import importlib
import os
import pathlib
import re
import site
import sys
import tempfile
import unittest

from verdicts import Lines

TESTS = "numba.cuda.tests"
# Tests of what is compiled and not run.
LEFT_OUT = ("test_debuginfo", "test_inspect", "test_ir", "test_byteflow", "test_copy_propagate", "test_libdevice")


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


def tests_in(module):
    for test in tests_of(unittest.TestLoader().loadTestsFromName(f"{TESTS}.{module}")):
        test.told_name = f"{module.replace('.', '__')}__{type(test).__name__}__{test._testMethodName}"
        yield test


def loaded(names):
    modules = dict.fromkeys(".".join(name.split("__", 2)[:2]) for name in names)
    found = {test.told_name: test for module in modules for test in tests_in(module)}
    return [found[name] for name in names]


def make_toolkit():
    """A folder like that of a toolkit's, of links to what the wheels hold: numba looks into site-packages only."""
    home = pathlib.Path(tempfile.mkdtemp())
    for part in ("lib64", "nvvm/lib64"):
        (home / part).mkdir(parents=True)
    for wheel in (folder for path in sys.path if (folder := pathlib.Path(path) / "nvidia/cu13").exists()):
        for library in (*wheel.glob("lib/*.so*"), *wheel.glob("lib/libcudadevrt.a")):
            part = "nvvm/lib64" if library.name.startswith("libnvvm") else "lib64"
            for name in {library.name, re.sub(r"\.so\b.*", ".so", library.name)}:
                (home / part / name).symlink_to(library)
        for part in ("include", "nvvm/libdevice"):
            if (wheel / part).exists() and not (home / part).exists():
                (home / part).symlink_to(wheel / part)
    os.environ["CUDA_HOME"] = str(home)


def take_place_of_numbas_part():
    """Its .pth file, which is read in site-packages only, puts it in the place of numba's older part for CUDA: here, and in
    the processes that tests start."""
    packages = next(path for path in sys.path if (pathlib.Path(path) / "numba_cuda").exists())
    site.addsitedir(packages)
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "sitecustomize.py").write_text(f"import site\n\nsite.addsitedir({packages!r})\n")
    os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{os.environ['PYTHONPATH']}"


if __name__ == "__main__":
    os.environ["NUMBA_CUDA_NRT_STATS"] = (
        "1"  # The tests of reductions look at what numba counts only when it is asked to.
    )
    make_toolkit()
    take_place_of_numbas_part()
    if sys.argv[1:2] == ["--list"]:
        for module in modules_of(sys.argv[2]):
            for test in tests_in(module):
                print(f"test: {test.told_name}")
    else:
        unittest.TestSuite(loaded(sys.argv[1:])).run(Lines())
