#!/usr/bin/env python3
"""Builds, runs and fuzzes the C++ tests that a change reaches, and a sample of the others.

    programs.py build PRESET           the test programs and fuzzers of a sanitizer's preset
    programs.py test PRESET [--failed] [--junit FILE]    --failed: those that failed the last time
    programs.py fuzz PRESET

build/test-logs/selection.json, which e2e/test writes, has the changed files that programs may be made of or read (paths),
those that only scripts read, those of fuzzers alone, and the sampled groups; without it everything is chosen. What a
change reaches is read from the release build. There a test is sampled by its own name; under sanitizers by the name of its
program, so that fewer are built.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "e2e"))

from runner.graph import CTestCase, edges_of, read_graph  # noqa: E402
from sampling import group_of  # noqa: E402

LOGS = ROOT / "build" / "test-logs"
SELECTION = LOGS / "selection.json"
EVERYTHING = {"everything": True}
CORES = os.cpu_count() or 2
LABELS = {"release": {"unit", "shim"}, "asan": {"unit"}, "tsan": {"unit"}}
# Left out under sanitizers.
WITHOUT = {
    # Figures of whole tables: other tests take the same paths, and these take the address sanitizer five minutes.
    "asan": re.compile(r"(AccuracyTest|KernelErrorsTest|ReportFieldsTest)\."),
    # Checks of whole files, on one thread: nothing there can race, and the sanitizer makes them minutes long.
    "tsan": re.compile(r"(CubinTorchTest|SassTorchTest|RecogniseTorchTest|AccuracyTest|ReportFieldsTest)\."),
}


def read_selection(preset):
    if not SELECTION.exists():
        return EVERYTHING
    return json.loads(SELECTION.read_text())["release" if preset == "release" else "again"]


def reached_by(selection, build=ROOT / "build/release"):
    """What the change reaches in the release build; None for everything."""
    if selection["everything"] or not (build / "build.ninja").exists():
        return None
    return read_graph(str(build)).reached(selection["paths"])


def targets_of(build):
    """Test programs of a configured build folder."""
    text = (build / "build.ninja").read_text()
    return sorted({one for outputs, _ in edges_of(text) for one in outputs if re.fullmatch(r"tests/\w+", one)})


def fuzzers_of(build):
    """The folder of the tree, by fuzzer. cmake/Library.cmake wrote it."""
    files = sorted((build / "fuzz").glob("*.corpus"))
    return {file.stem: os.path.relpath(os.path.dirname(file.read_text().strip()), ROOT) for file in files}


def chosen_programs(build, selection, reached):
    return [one for one in targets_of(build) if one in reached or group_of(one) in selection["groups"]]


def chosen_fuzzers(build, selection, reached):
    changed = [*reached, *selection["fuzzers"]]

    def is_due(name, folder):
        return group_of(name) in selection["groups"] or any(one.startswith(folder + "/") for one in changed)

    return [name for name, folder in fuzzers_of(build).items() if is_due(name, folder)]


def run(*command):
    return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL).returncode


def build(preset):
    """All that compiles is built before one failure ends it, so that one log shows every error."""
    selection = read_selection(preset)
    reached = reached_by(selection)
    if reached is None:
        return run("e2e/build", preset, "-k", "0", "unit_tests", *(["fuzzers"] if preset == "asan" else []))
    if status := run("e2e/build", "--configure", preset):
        return status
    folder = ROOT / "build" / preset
    programs = chosen_programs(folder, selection, reached)
    fuzzers = chosen_fuzzers(folder, selection, reached)
    print(f"{len(programs)} of {len(targets_of(folder))} test programs, {len(fuzzers)} fuzzers", flush=True)
    chosen = [*programs, *(f"fuzz/{name}" for name in fuzzers)]
    return run("e2e/build", "--configured", preset, "-k", "0", *chosen) if chosen else 0


def known_tests(folder):
    done = subprocess.run(
        ["ctest", "--test-dir", folder, "--show-only=json-v1"], check=True, capture_output=True, text=True
    )
    return [CTestCase(number, entry, folder) for number, entry in enumerate(json.loads(done.stdout)["tests"], start=1)]


def chosen_tests(preset, tests, selection, reached):
    """(tests to run, programs that should have some and have none)."""
    tests = [test for test in tests if test.labels & LABELS[preset] or test.name.endswith("_NOT_BUILT")]
    with_tests = {test.program for test in tests}
    if preset in WITHOUT:
        tests = [test for test in tests if not WITHOUT[preset].match(test.name)]
    if reached is None:
        return tests, []
    if preset == "release":
        paths, scripts, groups = (selection[key] for key in ("paths", "scripts", "groups"))
        found = [one for one in tests if one.is_reached(paths, scripts, reached) or group_of(one.name) in groups]
        return found, []
    programs = set(chosen_programs(ROOT / "build" / preset, selection, reached))
    return [test for test in tests if test.program in programs], sorted(programs - with_tests)


def test(preset, failed, junit):
    folder = ROOT / "build" / preset
    command = ["ctest", "--output-on-failure", "--timeout", "300", "--test-dir", str(folder)]
    command += ["--output-junit", str(junit)]
    # Many of them wait for most of their time.
    command += ["-j", str(CORES + 1 if preset == "release" else 2 * CORES)]
    if failed:
        return run(*command, "--rerun-failed")
    selection = read_selection(preset)
    known = known_tests(folder)
    tests, empty = chosen_tests(preset, known, selection, reached_by(selection))
    print(f"{len(tests)} of {len(known)} tests", flush=True)
    for program in empty:
        print(f"FAIL {program} ctest knows no test of it")
    if not tests:
        print(f"0 passed, {len(empty)} failed")
        return 1 if empty else 0
    numbers = LOGS / f"test-{preset}.numbers"
    numbers.write_text("0,0,0," + ",".join(str(one.number) for one in tests) + "\n")
    return run(*command, "-I", str(numbers)) or (1 if empty else 0)


def fuzz(preset):
    folder = ROOT / "build" / preset
    command = ["e2e/fuzz", "--build", f"build/{preset}"]
    selection = read_selection(preset)
    reached = reached_by(selection)
    if reached is not None:
        names = chosen_fuzzers(folder, selection, reached)
        if not names:
            print("0 passed, 0 failed")
            return 0
        command += ["--only", ",".join(names)]
    return run(*command)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("build", "test", "fuzz"))
    parser.add_argument("preset", choices=sorted(LABELS))
    parser.add_argument("--failed", action="store_true")
    parser.add_argument("--junit", type=pathlib.Path)
    a = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    if a.what == "test":
        return test(a.preset, a.failed, a.junit or LOGS / "junit" / f"test-{a.preset}.xml")
    return build(a.preset) if a.what == "build" else fuzz(a.preset)


if __name__ == "__main__":
    sys.exit(main())
