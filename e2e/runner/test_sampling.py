"""The plugin that samples tests."""

import os
import pathlib
import subprocess
import sys

import pytest

import sampling

E2E = pathlib.Path(__file__).resolve().parents[1]
TESTS = "import pytest\n@pytest.mark.parametrize('n', range(40))\ndef test_one(n): pass\n"


@pytest.fixture
def suite(tmp_path):
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text(TESTS)
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["sampling"]\n')

    def run(*options):
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *options]
        environment = dict(os.environ, PYTHONPATH=str(E2E), PYTHONDONTWRITEBYTECODE="1", COLUMNS="100")
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        names = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("test_") and "PASSED" in line}
        return done, names

    return run


def test_each_test_is_in_one_group(suite):
    names = [suite("--sample", f"{group}/4")[1] for group in range(4)]

    assert all(5 < len(one) < 40 for one in names)
    assert sum(map(len, names)) == len(set.union(*names)) == 80
    assert suite("--sample", "1,3/4")[1] == names[1] | names[3]


def test_the_same_tests_are_chosen_on_several_workers(suite):
    done, _ = suite("--sample", "2/4", "-n", "2")

    assert f"{len(suite('--sample', '2/4')[1])} passed" in done.stdout.splitlines()[-1]


def test_a_file_that_is_named_runs_whole(suite):
    _, names = suite("--sample", "0/4", "--whole", "test_b.py")

    assert len([name for name in names if name.startswith("test_b.py")]) == 40
    assert 5 < len([name for name in names if name.startswith("test_a.py")]) < 20


def test_tests_whose_parameters_are_named_run_in_every_file(suite):
    left_out = suite("--sample", "1,2,3/4")[1]
    number = next(number for number in range(40) if f"test_a.py::test_one[{number}]" not in left_out)

    _, names = suite("--sample", "1,2,3/4", "--whole", f"[{number}]")

    assert names == left_out | {f"test_a.py::test_one[{number}]", f"test_b.py::test_one[{number}]"}


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_sample_without_tests_passes(suite, workers):
    done, names = suite("--sample", "0/4", "-k", "no_such_test", *workers)

    assert done.returncode == 0, done.stdout
    assert names == set()


def test_without_a_sample_no_tests_are_a_failure(suite):
    assert suite("-k", "no_such_test")[0].returncode == 5


@pytest.mark.parametrize("text", ["1", "4/4", "1/5", "a/4", "/4", "-1/4"])
def test_a_sample_that_cannot_be_is_refused(suite, text):
    done, _ = suite(f"--sample={text}")

    assert done.returncode == 4
    assert f"--sample '{text}': expected GROUP[,GROUP]/4" in done.stderr


def test_groups_are_written_as_they_are_read():
    for groups in ({0}, {1, 3}, {0, 1, 2, 3}):
        assert sampling.parse_sample(sampling.write_sample(groups)) == groups
