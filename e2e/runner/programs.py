#!/usr/bin/env python3
"""Builds, runs and fuzzes the C++ tests that a change reaches, and a sample of the others.

    programs.py build PRESET           the test programs and fuzzers of a sanitizer's preset
    programs.py test PRESET [--only NAME] [--junit FILE]
    programs.py fuzz PRESET

build/test-logs/selection.json, which e2e/test writes, has the changed files that programs may be made of or read (paths),
those that only scripts read, those of fuzzers alone, the slow tests, and the sampled groups; without it everything is
chosen. What a change reaches is read from the release build. There tests of the changed folders and of folders one storey
above (services/layers.txt) run whole, and those farther away that are not slow; a slow one is sampled by its name. Under
sanitizers programs of the changed folders run, and the others are sampled by their names, so that fewer are built. So are
fuzzers.
"""

import argparse
import dataclasses
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "e2e"))
sys.path.append(str(ROOT / "e2e/checks"))

from layers import read_layers  # noqa: E402
from runner.graph import CTestCase, edges_of, read_graph  # noqa: E402
from runner.parts import share_of  # noqa: E402
from sampling import group_of  # noqa: E402

RELEASE = ROOT / "build" / "release"
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


def room_of(path, layers):
    """The folder of a path, or the nearest one above, that has a line in layers.txt."""
    folder = os.path.dirname(path)
    while folder and folder not in layers:
        folder = os.path.dirname(folder)
    return folder or os.path.dirname(path)


@dataclasses.dataclass
class Reached:
    """The reach of a change: all that is made of it, test programs of the changed folders (own), and these with
    those of folders that may include them (near). Where no program is near, as of proto/, all that are reached
    count as near."""

    outputs: set
    own: set
    near: set


def reached_by(selection, build=RELEASE):
    """None for everything."""
    if selection["everything"] or not (build / "build.ninja").exists():
        return None
    paths = [one for path in selection["paths"] for one in readers_of(path)]
    return reach(read_graph(str(build)), paths, read_layers(ROOT / "services/layers.txt"))


def readers_of(path):
    """Returns, in the place of a page, the tests that compare it."""
    if not path.startswith("docs/"):
        return [path]
    tests = [file for file in ROOT.glob("s*/**/*test*") if file.suffix in (".cc", ".py") and path in file.read_text()]
    return [str(file.relative_to(ROOT)) for file in tests] or [path]


def reach(graph, paths, layers):
    """`layers`: the folders that each folder may include."""
    outputs = graph.reached(paths)
    if outputs is None:
        return None
    changed = {room_of(path, layers) for path in paths}
    above = {folder for folder, below in layers.items() if changed & below}
    own, far = (set().union(*map(graph.programs_in, folders)) & outputs for folders in (changed, above))
    return Reached(outputs, own, own | far or outputs)


def targets_of(build):
    """Test programs of a configured build folder."""
    text = (build / "build.ninja").read_text()
    return sorted({one for outputs, _ in edges_of(text) for one in outputs if re.fullmatch(r"tests/\w+", one)})


def fuzzers_of(build):
    """The folder of the tree, by fuzzer. cmake/Library.cmake wrote it."""
    files = sorted((build / "fuzz").glob("*.corpus"))
    return {file.stem: os.path.relpath(os.path.dirname(file.read_text().strip()), ROOT) for file in files}


def chosen_programs(build, selection, reached):
    return [one for one in targets_of(build) if one in reached.own or group_of(one) in selection["groups"]]


def chosen_fuzzers(folders, selection):
    """`folders`: of the tree, by fuzzer."""
    changed = [*selection["paths"], *selection["fuzzers"]]

    def is_due(name, folder):
        return group_of(name) in selection["groups"] or any(one.startswith(folder + "/") for one in changed)

    return [name for name, folder in folders.items() if is_due(name, folder)]


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
    fuzzers = chosen_fuzzers(fuzzers_of(folder), selection)
    print(f"{len(programs)} of {len(targets_of(folder))} test programs, {len(fuzzers)} fuzzers", flush=True)
    chosen = [*programs, *(f"fuzz/{name}" for name in fuzzers)]
    return run("e2e/build", "--configured", preset, "-k", "0", *chosen) if chosen else 0


@functools.cache
def known_tests(folder):
    done = subprocess.run(
        ["ctest", "--test-dir", folder, "--show-only=json-v1"], check=True, capture_output=True, text=True
    )
    return [CTestCase(number, entry, folder) for number, entry in enumerate(json.loads(done.stdout)["tests"], start=1)]


def chosen_tests(preset, tests, selection, reached, build=None):
    """(tests to run, programs that should have some and have none)."""
    tests = [test for test in tests if test.labels & LABELS[preset] or test.name.endswith("_NOT_BUILT")]
    with_tests = {test.program for test in tests}
    if preset in WITHOUT:
        tests = [test for test in tests if not WITHOUT[preset].match(test.name)]
    if reached is None:
        return tests, []
    if preset == "release":
        return [test for test in tests if is_due(test, selection, reached)], []
    programs = set(chosen_programs(build or ROOT / "build" / preset, selection, reached))
    return [test for test in tests if test.program in programs], sorted(programs - with_tests)


def is_due(test, selection, reached):
    """Returns whether a test of the release build runs."""
    if group_of(test.name) in selection["groups"]:
        return True
    if not test.is_reached(selection["paths"], selection["scripts"], reached.outputs):
        return False
    return test.name not in selection["slow"] or is_near(test, selection["paths"], reached.near)


def is_near(test, paths, near):
    """Scripts that run programs of several folders, as shim.job and cli.bench, belong to the folder of their name."""
    if test.program:
        return test.program in near
    return not test.uses or any(test.name.partition(".")[0] in path.split("/") for path in paths)


def share(part, selection, seconds):
    """Returns what the selection leaves of a part, by the seconds of its tests; None where that is not known. It is
    the release build that knows the tests, also of builds that are not there yet."""
    reached = reached_by(selection)
    if reached is None:
        return None
    what, _, preset = part.rpartition("-")
    if part == "fuzz":
        corpora = [one.relative_to(ROOT) for one in ROOT.glob("s*/**/*_fuzz_corpus")]
        folders = {one.name.removesuffix("_corpus"): str(one.parent) for one in corpora}
        return len(chosen_fuzzers(folders, selection)) / len(folders)
    if what == "build":
        return len(chosen_programs(RELEASE, selection, reached)) / len(targets_of(RELEASE))
    chosen = chosen_tests(preset, known_tests(RELEASE), selection, reached, RELEASE)[0]
    due = {test.name for test in chosen}
    return share_of(seconds, due.__contains__)


def test(preset, only, junit):
    folder = ROOT / "build" / preset
    command = ["ctest", "--output-on-failure", "--timeout", "300", "--test-dir", str(folder)]
    command += ["--output-junit", str(junit)]
    # Many of them wait for most of their time.
    command += ["-j", str(CORES + 1 if preset == "release" else 2 * CORES)]
    selection = read_selection(preset)
    known = known_tests(folder)
    if only:
        tests, empty = [test for test in known if test.name == only], []
    else:
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
        names = chosen_fuzzers(fuzzers_of(folder), selection)
        if not names:
            print("0 passed, 0 failed")
            return 0
        command += ["--only", ",".join(names)]
    return run(*command)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("build", "test", "fuzz"))
    parser.add_argument("preset", choices=sorted(LABELS))
    parser.add_argument("--only", metavar="NAME", help="this test alone")
    parser.add_argument("--junit", type=pathlib.Path)
    a = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    if a.what == "test":
        return test(a.preset, a.only, a.junit or LOGS / "junit" / f"test-{a.preset}.xml")
    return build(a.preset) if a.what == "build" else fuzz(a.preset)


if __name__ == "__main__":
    sys.exit(main())
