"""A run of parts that are made up: commands of a shell."""

import json
import os
import re
import subprocess
import sys
import time

import pytest

from runner import change, command, history, parts
from runner.parts import ROOT, Choice, Part

JUNIT = """<testsuites><testsuite><testcase name="test_x" file="test_a.py"><failure>no reason</failure></testcase>
<testcase name="test_y" file="test_a.py"/><testcase name="test_z" file="test_a.py"/></testsuite></testsuites>"""
FAILS = f"cat > $2 <<end\n{JUNIT}\nend\nexit 1\n"
PASSES = 'echo \'<testsuites><testcase name="test_x" file="test_a.py"/></testsuites>\' > $2'


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """Nothing is read from this machine's cache, or written into it and the tree."""
    monkeypatch.setenv("EIDOLON_CACHE_DIR", str(tmp_path / "cache"))
    logs = tmp_path / "logs"
    logs.mkdir()
    for module in (command, parts):
        monkeypatch.setattr(module, "LOGS", logs)
    monkeypatch.setattr(command, "ROOT", tmp_path)
    return tmp_path


def shell(name, text, seconds=1, processors=1, **more):
    return Part(name, ("sh", "-c", text), seconds, processors, **more)


def suite_that_fails(name="suite", script=FAILS):
    return Part(name, ("sh", "-c", script, "sh"), 1, suite="behaviours")


def run(made, choices=None, strict=False, cores=2, **more):
    choices = choices or {part.name: Choice("", command=part.command) for part in made}
    found = command.Run(made, choices, history.History("abc", command.LOGS), strict=strict, **more)
    found.schedule.room = cores + 0.5
    found.go()
    return found


def test_parts_that_wait_run_beside_each_other_and_those_that_compute_do_not(capsys):
    moment = "date +%s.%N; sleep 0.4; date +%s.%N"
    made = [shell(name, moment, processors=2) for name in ("compute", "more")]
    made += [shell("wait", moment, processors=0.5)]

    run(made)

    times = {part.name: list(map(float, (command.LOGS / f"{part.name}.log").read_text().split())) for part in made}
    (begin, end), (other_begin, other_end) = sorted([times["compute"], times["more"]])
    assert end <= other_begin
    assert times["wait"][0] < end
    assert other_end - begin < 3


def test_a_line_is_printed_when_a_part_ends(capsys):
    run([shell("slow", "sleep 0.5; echo 3 passed, 0 failed", seconds=9), shell("quick", "true")])

    lines = [line.split()[:4] for line in capsys.readouterr().out.splitlines() if line.startswith("ok")]
    assert lines == [["ok", "quick", "1", "passed"], ["ok", "slow", "3", "passed"]]


def test_a_failed_part_is_shown_and_what_stands_on_it_is_not_run(capsys):
    made = [
        shell("build", "echo no such file; exit 3"),
        shell("test", "true", needs=("build",)),
        shell("other", "true"),
    ]

    found = run(made)

    out = capsys.readouterr().out
    assert (found.passed, found.failed) == (1, 2)
    assert "FAIL build" in out and "(status 3)" in out and "     | no such file" in out
    assert "FAIL test             not run: build failed" in out
    assert "ok   other" in out


def test_failed_tests_are_named_with_what_they_printed(capsys):
    found = run([suite_that_fails()])

    out = capsys.readouterr().out
    assert (found.passed, found.failed) == (2, 1)
    assert re.search(r"failed tests:\n       test_a.py::test_x after \d+\.\d s", out)
    assert "     | no reason" in out


def test_an_exit_without_a_failed_test_is_a_failure():
    found = run([shell("crash", "echo 3 passed, 0 failed; exit 139")])

    assert (found.passed, found.failed) == (3, 1)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().split()[2] != "Z"
    except OSError:
        return False


def test_a_part_that_does_not_end_is_killed_with_its_processes(capsys, folders):
    started = time.monotonic()
    hangs = shell("hangs", "sleep 60 & echo $! > pid; wait", minutes=0.005)

    found = run([hangs])

    assert found.failed == 1
    assert time.monotonic() - started < 20
    assert "no end within 0.005 minutes" in capsys.readouterr().out
    pid = (folders / "pid").read_text().strip()
    while is_alive(pid) and time.monotonic() - started < 20:
        time.sleep(0.05)
    assert not is_alive(pid)


def test_a_command_that_is_not_there_fails_by_itself(capsys):
    found = run([Part("gone", ("./no-such-program",), 1), shell("other", "true")])

    assert (found.passed, found.failed) == (1, 1)
    assert "no-such-program" in capsys.readouterr().out


@pytest.fixture
def alone(folders):
    """Runs parts whose tests fail at first, and a script as e2e/pytest for each failed test alone."""

    def tried(script, count=1, **more):
        (folders / "e2e").mkdir(exist_ok=True)
        (folders / "e2e/pytest").write_text(f'#!/bin/sh\necho "$@" >> {folders}/asked\n{script}\n')
        (folders / "e2e/pytest").chmod(0o755)
        return run([suite_that_fails(f"suite{number}") for number in range(count)], **more)

    return tried


def outcomes(test):
    return [row["outcome"] for row in history.read() if row["test"] == test]


def test_a_flaky_test_is_run_three_times_alone_and_does_not_fail_the_run(alone, folders, capsys):
    found = alone(PASSES)

    assert (found.passed, found.failed, found.refused) == (3, 0, [])
    assert [one.result.test for one in found.flaky] == ["test_a.py::test_x"]
    assert found.names == ["suite0"]
    assert outcomes("test_a.py::test_x") == ["failed", "flaky"]
    junit = command.LOGS / "junit/suite0.again.xml"
    assert (folders / "asked").read_text().splitlines() == [f"--junitxml {junit} test_a.py::test_x"] * 3
    assert "ok   test_a.py::test_x again, alone" in capsys.readouterr().out


@pytest.mark.parametrize("script", [FAILS, "exit 2", f"{PASSES}; exit 2", "echo nothing ran", "[ -e e2e/x ] || exit 1"])
def test_a_test_that_does_not_pass_alone_has_failed(alone, script):
    found = alone(script)

    assert (found.passed, found.failed, found.flaky, found.names) == (2, 1, [], [])
    assert outcomes("test_a.py::test_x") == ["failed"]


def test_a_test_that_fails_at_its_third_try_alone_has_failed(alone, folders):
    found = alone(f"[ $(wc -l < {folders}/asked) = 3 ] && exit 1\n{PASSES}")

    assert (found.failed, found.flaky) == (1, [])
    assert len((folders / "asked").read_text().splitlines()) == 3


def test_a_test_that_is_flaky_again_fails_the_run(alone):
    assert alone(PASSES).failed == 0

    found = alone(PASSES)

    assert (found.passed, found.failed, found.names) == (2, 1, [])
    assert "test_a.py::test_x" in found.refused[0]


def test_three_flaky_tests_fail_the_run_and_of_four_none_is_run_again(alone):
    three = alone(PASSES, count=3)
    four = alone(PASSES, count=4)

    assert (three.failed, len(three.flaky)) == (3, 3)
    assert (four.failed, four.flaky) == (4, [])


def test_with_all_a_flaky_test_fails_the_run(alone):
    found = alone(PASSES, strict=True)

    assert (found.failed, len(found.flaky), found.names) == (1, 1, [])


def suite_that_says_its_words(name, seconds):
    script = f"echo $@ > {name}.words; shift $(($# - 2)); {PASSES}"
    return Part(name, ("sh", "-c", script, "sh"), seconds, suite="behaviours")


def test_a_run_that_would_take_too_long_samples_its_longest_suites(folders, capsys):
    made = [suite_that_says_its_words("long", 300), suite_that_says_its_words("short", 30), shell("other", "true", 60)]

    found = run(made, minutes=5, groups=frozenset({2}))

    assert found.failed == 0
    assert found.shortened == ["long"] and found.late == []
    assert found.names == ["short", "other"] or found.names == ["other", "short"]
    assert "--sample 2/4" in (folders / "long.words").read_text()
    assert "--sample" not in (folders / "short.words").read_text()
    assert "long is sampled, for lack of time" in capsys.readouterr().out


def test_a_part_for_which_no_time_is_left_is_named_and_not_recorded(capsys):
    found = run([shell("long", "true", 600, processors=2), shell("short", "true", 10)], minutes=5)

    assert found.late == ["long"]
    assert found.names == ["short"]
    assert "LATE long             not run, for lack of time" in capsys.readouterr().out


def test_a_part_is_left_out_before_what_it_stands_on():
    found = run([shell("build", "true", 600), shell("test", "true", 600, needs=("build",))], minutes=5)

    assert found.late == ["test", "build"]


def test_parts_of_programs_are_expected_to_take_as_long_as_their_chosen_tests(monkeypatch):
    made = [part for part in parts.all_parts() if part.name in ("test-release", "behaviour")]

    def shares(known):
        chosen = command.Chosen({part.name: Choice("", 0.25) for part in made}, [], {"release": {}})
        monkeypatch.setattr(command.programs, "share", known)
        command.expect_shares(chosen, made, {})
        return [chosen.choices[part.name].share for part in made]

    def fails(*_):
        raise subprocess.CalledProcessError(8, "ctest")

    assert shares(lambda *_: 0.6) == [0.6, 0.25]
    assert shares(lambda *_: None) == shares(fails) == [0.25, 0.25]


def test_a_build_of_few_programs_is_expected_to_take_half_of_all(monkeypatch):
    [build] = [part for part in parts.all_parts() if part.name == "build-asan"]

    def share(known):
        chosen = command.Chosen({"build-asan": Choice("", 0.25)}, [], {"again": {}})
        monkeypatch.setattr(command.programs, "share", lambda *_: known)
        command.expect_shares(chosen, [build], {})
        return chosen.choices["build-asan"].share

    assert (share(0.1), share(0.7), share(0.0)) == (0.5, 0.7, 0.0)


def test_results_and_seconds_become_history():
    run([shell("unit", "echo 'ok   one 0.5 s'; echo 'FAIL two'; echo 1 passed, 1 failed; exit 1")])

    rows = {row["test"]: row for row in history.read()}
    assert (rows["one"]["outcome"], rows["one"]["seconds"]) == ("passed", 0.5)
    assert rows["two"]["outcome"] == rows[""]["outcome"] == "failed"
    assert {row["part"] for row in rows.values()} == {"unit"}
    assert (command.LOGS / "test-history.jsonl").exists()


def test_environments_are_made_before_the_parts_that_name_them(folders, monkeypatch):
    program = folders / "e2e/environment"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\n[ "$1" = packages ] && exec echo /torch/packages\ntouch {folders}/made\necho /torch\n'
    )
    (folders / "e2e/packages").write_text('#!/bin/sh\necho "$@" > asked\n')
    program.chmod(0o755)
    (folders / "e2e/packages").chmod(0o755)
    uses = Part(
        "uses", ("sh", "-c", "ls made && echo $EIDOLON_PYTHON_PACKAGES"), 1, environments=("torch",),
        packages=("chromium",)
    )  # fmt: skip
    plain = shell("plain", "echo ${EIDOLON_PYTHON_PACKAGES:-none}", needs=("uses",))

    assert run([uses, plain]).failed == 0

    assert (command.LOGS / "uses.log").read_text() == "made\n/torch/packages\n"
    assert (command.LOGS / "plain.log").read_text() == "none\n"
    assert (folders / "asked").read_text() == "--only chromium python3-venv\n"


def test_what_an_environment_that_cannot_be_made_takes_with_it_is_told(folders, capsys):
    (folders / "e2e").mkdir()
    (folders / "e2e/packages").symlink_to("/bin/true")
    (folders / "e2e/environment").symlink_to("/bin/false")

    found = run([Part("uses", ("true",), 1, environments=("torch",))])

    out = capsys.readouterr().out
    assert found.failed == 2
    assert "FAIL environment torch" in out
    assert "FAIL uses             not run: environment torch failed" in out


@pytest.mark.parametrize("word", ["--help", "--list", "--history"])
def test_what_asks_nothing_of_the_machine_answers_at_once(word, tmp_path):
    environment = {"PATH": "/nowhere", "EIDOLON_CACHE_DIR": str(tmp_path / "empty"), "HOME": str(tmp_path)}

    started = time.monotonic()
    done = subprocess.run([sys.executable, ROOT / "e2e/test", word], env=environment, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not (tmp_path / "empty").exists()
    assert time.monotonic() - started < 10  # 0.12 s on an idle machine.


def test_a_plan_starts_nothing(tmp_path):
    environment = dict(os.environ, EIDOLON_CACHE_DIR=str(tmp_path / "empty"))
    done = subprocess.run(
        [sys.executable, ROOT / "e2e/test", "--plan", "--all"], env=environment, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert all(f" {part.name} " in done.stdout for part in parts.all_parts())
    assert "about" in done.stdout.splitlines()[-1]
    assert not (tmp_path / "empty").exists()


def test_a_run_ends_with_its_counts_and_how_busy_the_processors_were(capsys, monkeypatch):
    made = [shell("one", "echo starts of torch: 12; true"), shell("two", "echo starts of torch: 30; false")]
    monkeypatch.setattr(command, "all_parts", lambda: made)

    assert command.main(["--only", "one,two"]) == 1

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "     only one, two"
    assert lines[1].startswith("     about ") and lines[1].endswith(" min")
    assert "processors were busy for" in lines[-3]
    assert lines[-2] == "     starts of torch: 42"
    assert lines[-1] == "1 passed, 1 failed, 0 skipped"
    assert json.loads((command.LOGS / "selection.json").read_text())["release"]["everything"]


def test_a_part_that_is_not_there_is_named(capsys):
    with pytest.raises(SystemExit):
        command.main(["--only", "gone"])

    assert "no part is called gone" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, ends, whole, every",
    [
        ([], "true", True, False),
        (["--all"], "true", True, True),
        (["--all"], "false", False, True),
        (["--all", "--quick"], "true", False, True),
        (["--only", "one"], "true", False, False),
    ],
)
def test_a_commit_is_recorded_as_passed_only_after_a_whole_run(words, ends, whole, every, monkeypatch):
    class Clean(change.Git):
        def head(self):
            return "abc"

        def uncommitted(self):
            return set()

    monkeypatch.setattr(change, "Git", Clean)
    monkeypatch.setattr(change, "find_changes", lambda git, parts, since: {"one": change.Change(everything=True)})
    monkeypatch.setattr(command, "all_parts", lambda: [shell("one", ends)])

    command.main(words)

    [row] = change.tested()
    assert (row["commit"], row["whole"], row["all"]) == ("abc", whole, every)
    assert change.passed_with_all("abc") == (whole and every)
    assert row["parts"] == (["one"] if ends == "true" else [])


def test_a_part_that_ran_for_a_named_base_alone_is_not_recorded(monkeypatch):
    monkeypatch.setattr(change.Git, "uncommitted", lambda self: set())
    monkeypatch.setattr(command, "all_parts", lambda: [shell("one", "true")])

    command.main(["--only", "one", "--since", "HEAD"])

    assert change.tested() == []


def test_a_tree_with_changes_is_not_recorded(monkeypatch):
    monkeypatch.setattr(change.Git, "uncommitted", lambda self: {"a"})
    monkeypatch.setattr(command, "all_parts", lambda: [shell("one", "true")])

    command.main(["--all"])

    assert change.tested() == []
