"""Tests what a changed file reaches in a build folder."""

import pytest

from runner import programs
from runner.graph import CTestCase, Graph, edges_of
from runner.programs import Reached
from sampling import group_of

ROOT = "/tree"
BUILD = "/tree/build/release"
NINJA = """
rule CXX
  command = c++ $in

build services/base/base.o: CXX /tree/services/base/base.cc || phony_order
build services/base/libbase.a: AR services/base/base.o
build services/flow/flow.o: CXX together/flow.cc | headers.gch $
    /tree/services/flow/table$ one.txt || services/base/libbase.a
build together/flow.cc: CUSTOM_COMMAND
build services/flow/libflow.a: AR services/flow/flow.o
build services/flow/flow_test.o: CXX /tree/services/flow/flow_test.cc
build tests/flow_tests: LINK services/flow/flow_test.o | services/flow/libflow.a services/base/libbase.a || bin/agent
build tests/base_tests | extra: LINK services/base/base.o
build bin/agent: LINK services/agent/main.o
build services/agent/main.o: CXX /tree/services/agent/main.cc
build all: phony tests/flow_tests tests/base_tests bin/agent
"""
HEADERS = """services/flow/flow.o: #deps 2, deps mtime 1 (VALID)
    ../../services/flow/flow.h
    ../../services/flow/flow.cc

services/flow/flow_test.o: #deps 1, deps mtime 1 (VALID)
    ../../services/flow/flow.h

services/agent/main.o: #deps 1, deps mtime 1 (VALID)
    /tree/services/agent/agent.h
"""


@pytest.fixture
def graph():
    return Graph(BUILD, edges_of(NINJA), HEADERS, ROOT)


def programs_of(graph, *paths):
    return sorted(one for one in graph.reached(paths) if one.startswith("tests/"))


@pytest.mark.parametrize(
    "path, reached",
    [
        ("services/base/base.cc", ["tests/base_tests", "tests/flow_tests"]),
        ("services/flow/flow.h", ["tests/flow_tests"]),
        ("services/flow/flow.cc", ["tests/flow_tests"]),
        ("services/flow/table one.txt", ["tests/flow_tests"]),
        # Tests may start programs that are merely built before them.
        ("services/agent/agent.h", ["tests/flow_tests"]),
        # Data, lists of sources and files that are gone: all of their folder.
        ("services/base/CMakeLists.txt", ["tests/base_tests", "tests/flow_tests"]),
        ("services/flow/testdata/deep/a.bin", ["tests/flow_tests"]),
        ("services/agent/gone.cc", ["tests/flow_tests"]),
    ],
)
def test_a_file_reaches_the_programs_that_are_made_of_it(graph, path, reached):
    assert programs_of(graph, path) == reached


def test_several_files_reach_what_each_does(graph):
    assert graph.reached(["services/flow/flow.h", "services/base/base.cc"]) >= {"tests/base_tests", "tests/flow_tests"}
    assert graph.reached([]) == set()


@pytest.mark.parametrize(
    "path", ["docs/reference/generated/report_fields.md", "cmake/Library.cmake", "services/novel/a.cc"]
)
def test_a_file_of_no_folder_that_is_built_is_not_known(graph, path):
    assert graph.reached(["services/flow/flow.h", path]) is None


LAYERS = {
    "services/base": set(),
    "services/flow": {"services/base"},
    "services/agent": {"services/flow"},
    "proto": set(),
}
ROOMS = """
build services/{room}/CMakeFiles/{room}_test.dir/a.o: CXX /tree/services/{room}/a.cc
build services/{room}/lib{room}.a: AR services/{room}/CMakeFiles/{room}_test.dir/a.o
build tests/{room}_tests: LINK services/{room}/CMakeFiles/{room}_test.dir/a.o | {below}
"""


@pytest.mark.parametrize(
    "path, own, near, far",
    [
        ("services/base/a.cc", {"base"}, {"base", "flow"}, {"agent"}),
        ("services/flow/a.cc", {"flow"}, {"flow", "agent"}, set()),
        ("services/agent/a.cc", {"agent"}, {"agent"}, set()),
        ("services/flow/testdata/deep/x.bin", {"flow"}, {"flow", "agent"}, set()),
        # All rooms use it, and no test is about it.
        ("proto/a.proto", set(), {"base", "flow", "agent"}, set()),
    ],
)
def test_programs_are_those_of_a_room_of_the_storey_above_or_far(path, own, near, far):
    libraries = [f"services/{room}/lib{room}.a" for room in ("base", "flow", "agent")]
    text = "build proto/a.o: CXX /tree/proto/a.proto\n" + "".join(
        ROOMS.format(room=room, below=" ".join(["proto/a.o", *libraries[:at]]))
        for at, room in enumerate(("base", "flow", "agent"))
    )

    found = programs.reach(Graph(BUILD, edges_of(text), "", ROOT), [path], LAYERS)

    assert found.own == {f"tests/{room}_tests" for room in own}
    assert {one for one in found.near if one.startswith("tests/")} == {f"tests/{room}_tests" for room in near}
    reached = {one for one in found.outputs if one.startswith("tests/")}
    assert reached - found.near == {f"tests/{room}_tests" for room in far}


def test_a_page_stands_for_the_tests_that_compare_it():
    assert programs.readers_of("docs/reference/generated/report_fields.md") == ["services/cli/report_fields_test.cc"]
    assert programs.readers_of("services/cli/main.cc") == ["services/cli/main.cc"]
    assert programs.readers_of("docs/no_such_page.md") == ["docs/no_such_page.md"]


def entry(name, *command, labels=("unit",), environment=()):
    properties = [{"name": "LABELS", "value": list(labels)}, {"name": "ENVIRONMENT", "value": list(environment)}]
    return {"name": name, "command": list(command), "properties": properties}


def is_reached(graph, path, *command, environment=(), scripts=()):
    return CTestCase(1, entry("a", *command, environment=environment), BUILD).is_reached(
        [path] if path else [], scripts, graph.reached([path] if path else [])
    )


def test_a_test_is_affected_by_what_its_command_names(graph):
    own = (f"{BUILD}/tests/base_tests", "--gtest_filter=A.B")

    assert is_reached(graph, "services/base/base.cc", *own)
    assert not is_reached(graph, "services/flow/flow.h", *own)
    assert is_reached(graph, "services/agent/agent.h", "python3", "check.py", f"--eidolon={BUILD}/bin/agent")
    assert is_reached(graph, "services/agent/agent.h", "python3", "check.py", f"{BUILD}/bin")
    assert is_reached(graph, "services/agent/agent.h", "python3", "check.py", BUILD)
    assert is_reached(graph, "services/agent/agent.h", "a", environment=[f"LD_PRELOAD={BUILD}/bin/agent:x"])
    assert not is_reached(graph, "services/base/base.cc", "python3", "check.py", f"{BUILD}/bin/agent")


def test_a_script_is_affected_by_what_scripts_read_or_by_itself(graph):
    manifests = {"scripts": ["helm/values.yaml"]}
    assert is_reached(graph, None, "python3", "e2e/kube/crds.py", **manifests)
    assert not is_reached(graph, "services/flow/flow.h", "python3", "e2e/kube/crds.py")
    assert not is_reached(graph, None, "python3", "bench_test.py", f"{BUILD}/bin/agent", **manifests)
    assert is_reached(graph, "services/flow/bench_test.py", "python3", "bench_test.py", f"{BUILD}/bin/agent")


def selection(paths=(), groups=(), scripts=(), slow=(), fuzzers=()):
    return {"everything": False, "paths": paths, "scripts": scripts, "fuzzers": fuzzers, "groups": groups, "slow": slow}


NOTHING = Reached(set(), set(), set())


def chosen(preset, entries, reached, **more):
    tests = [CTestCase(number, one, BUILD) for number, one in enumerate(entries, start=1)]
    found, empty = programs.chosen_tests(preset, tests, selection(**more), reached)
    return [test.name for test in found], empty


def test_of_the_release_build_tests_run_that_are_reached_and_those_of_the_groups():
    entries = [entry(f"FlowTest.A{number}", f"{BUILD}/tests/flow_tests") for number in range(40)]
    entries += [entry(f"BaseTest.A{number}", f"{BUILD}/tests/base_tests") for number in range(40)]
    entries.append(entry("other", f"{BUILD}/tests/flow_tests", labels=["slow"]))

    reached = Reached({"tests/flow_tests"}, set(), set())
    names, empty = chosen("release", entries, reached, paths=["services/flow/flow.h"], groups=[2])

    assert names[:40] == [one["name"] for one in entries[:40]]
    assert 0 < len(names[40:]) < 40
    assert {group_of(name) for name in names[40:]} == {2}
    assert empty == []


def test_of_a_far_program_slow_tests_are_sampled():
    entries = [entry(f"FarTest.A{number}", f"{BUILD}/tests/far_tests") for number in range(40)]
    entries += [entry("NearTest.A", f"{BUILD}/tests/near_tests"), entry("cli.bench", "python3", f"{BUILD}/bin/eidolon")]
    entries += [
        entry("shim.job", "python3", f"{BUILD}/bin/eidolon"),
        entry("FarTest.Quick", f"{BUILD}/tests/far_tests"),
    ]
    slow = [one["name"] for one in entries[:-1]]
    reached = Reached({"tests/far_tests", "tests/near_tests", "bin/eidolon"}, set(), {"tests/near_tests"})

    names, _ = chosen("release", entries, reached, paths=["services/cli/main.cc"], groups=[1], slow=slow)

    assert {group_of(name) for name in names if name.startswith("FarTest.A")} == {1}
    expected = {"NearTest.A", "cli.bench", "FarTest.Quick"}
    assert {name for name in names if group_of(name) != 1} == {name for name in expected if group_of(name) != 1}


def test_parameters_of_tests_with_addresses_are_left_out_of_their_names():
    test = CTestCase(1, entry('All/Wide.X/nine  # GetParam() = (0x55f7 pointing to "a")'), BUILD)

    assert test.name == "All/Wide.X/nine"


def test_every_test_is_in_the_sample_of_one_group():
    entries = [entry(f"BaseTest.A{number}", f"{BUILD}/tests/base_tests") for number in range(100)]

    found = [name for group in range(4) for name in chosen("release", entries, NOTHING, groups=[group])[0]]

    assert sorted(found) == sorted(one["name"] for one in entries)


def test_under_a_sanitizer_whole_programs_run_and_one_without_tests_is_told(monkeypatch):
    monkeypatch.setattr(
        programs, "targets_of", lambda _: [f"tests/{one}_tests" for one in ("base", "far", "flow", "gone")]
    )
    entries = [entry("FlowTest.A", f"{BUILD}/tests/flow_tests"), entry("AccuracyTest.A", f"{BUILD}/tests/base_tests")]

    entries.append(entry("FarTest.A", f"{BUILD}/tests/far_tests"))
    programs_of_the_room = {"tests/base_tests", "tests/flow_tests", "tests/gone_tests"}
    names, empty = chosen("asan", entries, Reached({"tests/far_tests"}, programs_of_the_room, programs_of_the_room))

    assert names == ["FlowTest.A"]
    assert empty == ["tests/gone_tests"]


def test_fuzzers_run_whose_folder_is_changed():
    folders = {f"{name}_fuzz": f"services/{name}" for name in ("base", "flow", "agent", "flow_more")}

    assert programs.chosen_fuzzers(folders, selection(paths=["services/flow/flow.cc"])) == ["flow_fuzz"]
    assert programs.chosen_fuzzers(folders, selection(fuzzers=["services/base/text_corpus/a"])) == ["base_fuzz"]
    sampled = [programs.chosen_fuzzers(folders, selection(groups=[group])) for group in range(4)]
    assert sorted(name for names in sampled for name in names) == sorted(folders)


def test_the_share_of_a_part_is_that_of_its_tests_seconds(monkeypatch):
    entries = [entry(f"{room}Test.A", f"{BUILD}/tests/{room}_tests") for room in ("base", "flow")]
    tests = [CTestCase(number, one, BUILD) for number, one in enumerate(entries, start=1)]
    reached = Reached({"tests/base_tests"}, {"tests/base_tests"}, {"tests/base_tests"})
    monkeypatch.setattr(programs, "reached_by", lambda selection: reached)
    monkeypatch.setattr(programs, "known_tests", lambda folder: tests)
    monkeypatch.setattr(programs, "targets_of", lambda folder: ["tests/base_tests", "tests/flow_tests"])
    chosen, seconds = selection(paths=["services/base/a.cc"]), {"baseTest.A": 30, "flowTest.A": 10}

    parts = ("test-release", "test-asan", "build-tsan")
    assert [programs.share(part, chosen, seconds) for part in parts] == [0.75, 0.75, 0.5]
    assert programs.share("test-release", chosen, {}) is None
    fuzzers = [programs.share("fuzz", selection(groups=groups), {}) for groups in ([0, 1], [2, 3])]
    assert sum(fuzzers) == 1 and 0 < min(fuzzers)
    monkeypatch.setattr(programs, "reached_by", lambda selection: None)
    assert programs.share("test-release", chosen, seconds) is None


def test_without_a_selection_all_tests_run_but_those_left_out():
    entries = [entry("FlowTest.A", f"{BUILD}/tests/flow_tests"), entry("CubinTorchTest.A", f"{BUILD}/tests/cubin")]

    assert chosen("tsan", entries, None)[0] == ["FlowTest.A"]
    assert chosen("release", entries, None)[0] == ["FlowTest.A", "CubinTorchTest.A"]
