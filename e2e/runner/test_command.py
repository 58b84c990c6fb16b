"""A run of parts that are made up: commands of a shell."""

import json
import os
import subprocess
import sys
import time

import pytest

from runner import change, command, history, parts
from runner.parts import ROOT, Choice, Part

PYTEST_FAILS = "printf 'FAILED test_a.py::test_x - no\\n1 failed, 2 passed in 0.1s\\n'; exit 1"


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


def run(made, choices=None, again=False, cores=2):
    choices = choices or {part.name: Choice("", command=part.command) for part in made}
    found = command.Run(made, choices, history.History("abc", command.LOGS), again)
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
    found = run([Part("suite", ("sh", "-c", PYTEST_FAILS), 1, suite="behaviours")])

    out = capsys.readouterr().out
    assert (found.passed, found.failed) == (2, 1)
    assert "failed tests: test_a.py::test_x" in out


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
def second_try(folders):
    """Runs a part whose tests fail at first; the second try is a script."""

    def tried(script):
        (folders / "e2e").mkdir()
        (folders / "e2e/pytest").write_text(f"#!/bin/sh\n{script}\n")
        (folders / "e2e/pytest").chmod(0o755)
        return run([Part("suite", ("sh", "-c", PYTEST_FAILS), 1, suite="behaviours")], again=True)

    return tried


def test_a_test_that_passes_on_the_second_try_is_named_and_has_failed(second_try, capsys):
    found = second_try("echo 1 passed in 0.1s")

    assert found.failed == 1
    assert found.flaky == ["suite: test_a.py::test_x"]
    out = capsys.readouterr().out
    assert "FAIL suite" in out
    assert "flaky: passed on the second try: test_a.py::test_x" in out


@pytest.mark.parametrize("script", [PYTEST_FAILS, "exit 2", "echo 1 passed in 0.1s; exit 2"])
def test_a_second_try_that_does_not_pass_proves_nothing(second_try, script):
    found = second_try(script)

    assert found.failed == 1
    assert found.flaky == []


def test_without_a_second_try_the_first_one_counts():
    found = run([Part("suite", ("sh", "-c", PYTEST_FAILS), 1, suite="behaviours")], again=True)

    assert (found.passed, found.failed, found.flaky) == (2, 1, [])


def test_the_second_try_runs_the_failed_tests_alone():
    part = next(part for part in parts.all_parts() if part.name == "behaviour")
    made = command.Run([part], {"behaviour": Choice("")}, None, True)

    words = made.command_again(part)(["behaviours/test_a.py::test_x"])

    junit = str(part.junit.with_name("behaviour.again.xml"))
    assert words == ["e2e/pytest", "--junitxml", junit, "behaviours/test_a.py::test_x"]


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
    monkeypatch.setattr(change, "find_change", lambda git, since: (change.Change(everything=True),) * 2)
    monkeypatch.setattr(command, "all_parts", lambda: [shell("one", ends)])

    command.main(words)

    [row] = change.tested()
    assert (row["commit"], row["whole"], row["all"]) == ("abc", whole, every)
    assert change.passed_with_all("abc") == (whole and every)
    assert row["parts"] == (["one"] if ends == "true" else [])


def test_a_tree_with_changes_is_not_recorded(monkeypatch):
    monkeypatch.setattr(change.Git, "uncommitted", lambda self: {"a"})
    monkeypatch.setattr(command, "all_parts", lambda: [shell("one", "true")])

    command.main(["--all"])

    assert change.tested() == []
