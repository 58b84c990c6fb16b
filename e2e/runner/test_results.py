"""Tests the results of a part, from JUnit's form or from its log."""

import os
import pathlib
import subprocess
import sys

import pytest

from runner.results import Results, read_junit, read_log

E2E = pathlib.Path(__file__).resolve().parents[1]
CTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux-g++" tests="6" failures="1" disabled="1" skipped="1">
  <testcase name="BaseTest.A" classname="BaseTest.A" time="0.25" status="run"/>
  <testcase name="BaseTest.B" classname="BaseTest.B" time="1.5" status="fail"><failure message="Failed"/>
    <system-out>Expected equality: 1, 2</system-out></testcase>
  <testcase name="BaseTest.C" time="0" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>
  <testcase name="BaseTest.D" time="0" status="disabled"/>
  <testcase name="base_NOT_BUILT" time="0" status="notrun"><skipped message="Unable to find executable"/></testcase>
  <testcase name="All/Wide.X/nine  # GetParam() = (0x55f7 pointing to &quot;a&quot;)" time="0" status="run"/>
</testsuite>
"""
SUITE = """
import sys
import pytest
class TestOne:
    def test_in_a_class(self): pass
@pytest.mark.parametrize('a', ['x y', 'b'])
def test_rows(a):
    print("===== a heading =====", file=sys.stderr)
    assert a == 'b'
@pytest.fixture
def broken(): raise OSError("no server")
def test_stands_on_it(broken): pass
def test_skips(): pytest.skip('no')
@pytest.mark.xfail
def test_fails_as_expected(): assert False
@pytest.mark.xfail
def test_passes_unexpectedly(): pass
def test_prints_much():
    print("\\n".join(f"line {number}" for number in range(500)))
    assert False
"""
OURS = """\
ok   ddp                         5.1 s wall  0.006 s predicted
     a word of ours in 3.0 s
FAIL README.md: no such file
skip foreign_images
ok   docs/kubernetes.md  4.3 s
"""


def test_results_of_ctest_are_read(tmp_path):
    (tmp_path / "a.xml").write_text(CTEST)

    found = read_junit(tmp_path / "a.xml")

    assert [one[:3] for one in found] == [
        ("BaseTest.A", 0.25, "passed"),
        ("BaseTest.B", 1.5, "failed"),
        ("BaseTest.C", 0, "skipped"),
        ("BaseTest.D", 0, "skipped"),
        ("base_NOT_BUILT", 0, "failed"),
        ("All/Wide.X/nine", 0, "passed"),
    ]
    assert found[1].words == ("Failed", "Expected equality: 1, 2")
    assert found[0].words == ()


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "suite").mkdir()
    (folder / "suite/test_some.py").write_text(SUITE)
    own = [
        line
        for line in (E2E / "pytest.ini").read_text().splitlines()
        if line.startswith(("[pytest]", "junit_", "xfail_"))
    ]
    (folder / "pytest.ini").write_text("\n".join(own))

    def run(*words):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", "out.xml", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=dict(os.environ, COLUMNS="100"))
        return done, Results(folder / "out.xml", done.stdout, done.returncode == 0)

    return run


def test_results_of_pytest_have_the_names_by_which_it_takes_tests(suite):
    _, found = suite("suite")

    outcomes = {one.test: one.outcome for one in found.tests}
    assert outcomes == {
        "suite/test_some.py::TestOne::test_in_a_class": "passed",
        "suite/test_some.py::test_rows[x y]": "failed",
        "suite/test_some.py::test_rows[b]": "passed",
        "suite/test_some.py::test_stands_on_it": "failed",
        "suite/test_some.py::test_skips": "skipped",
        "suite/test_some.py::test_fails_as_expected": "passed",
        "suite/test_some.py::test_passes_unexpectedly": "failed",
        "suite/test_some.py::test_prints_much": "failed",
    }
    assert (found.passed, found.failed) == (3, 4)
    assert suite(*outcomes)[0].returncode == 1


def test_what_failed_tests_printed_is_shown_and_long_output_is_shortened(suite):
    lines = suite("suite")[1].words()

    assert "suite/test_some.py::test_rows[x y]:" in lines
    assert "===== a heading =====" in lines
    assert any("assert 'x y' == 'b'" in line for line in lines)
    assert any("OSError: no server" in line for line in lines)
    assert not any("test_in_a_class" in line or "4 failed" in line for line in lines)
    assert "..." in lines and "line 499" in lines and "line 200" not in lines


@pytest.mark.parametrize(
    "words, status", [(("suite", "-k", "none"), 5), (("gone.py",), 4), (("suite", "-k", "rows"), 1)]
)
def test_a_status_that_is_not_0_is_a_failure(suite, words, status):
    done, found = suite(*words)

    assert (done.returncode, found.failed) == (status, 1)


def test_a_file_that_cannot_be_imported_is_named(suite, tmp_path):
    (tmp_path / "test_broken.py").write_text("import no_such_module")

    found = suite(str(tmp_path))[1]

    assert (found.passed, found.failed) == (0, 1)
    assert "test_broken" in found.of_failed()[0].test
    assert any("no_such_module" in line for line in found.words())


def test_results_of_our_own_runners_are_read():
    found = read_log(OURS)

    assert [one[:3] for one in found] == [
        ("ddp", 5.1, "passed"),
        ("README.md", 0, "failed"),
        ("foreign_images", 0, "skipped"),
        ("docs/kubernetes.md", 4.3, "passed"),
    ]
    assert found[1].words == ("     a word of ours in 3.0 s", "FAIL README.md: no such file")


@pytest.mark.parametrize(
    "text, good, counts",
    [
        (OURS, False, (2, 1)),
        (OURS, True, (2, 1)),
        ("ok   a\nok   b\nFAIL c\ntorture: 80 passed, 1 failed\n", False, (80, 1)),
        ("1 passed, 1 failed\nagain: 2 passed, 0 failed\n", True, (2, 0)),
        ("3 passed, 0 failed\n", False, (3, 1)),
        ("0 passed, 0 failed\n", True, (0, 0)),
        ("wrote 3 files in 0.1s\n", True, (1, 0)),
        ("", True, (1, 0)),
        ("", False, (0, 1)),
    ],
)
def test_without_a_file_the_log_and_the_status_are_counted(text, good, counts, tmp_path):
    found = Results(tmp_path / "none.xml", text, good)

    assert (found.passed, found.failed) == counts


def test_a_failed_test_is_named_once(tmp_path):
    found = Results(tmp_path / "none", "FAIL one\nFAIL one\n", False)

    assert [one.test for one in found.of_failed()] == ["one"]
    assert Results(tmp_path / "none", "all is well\nERROR cannot connect\n", False).of_failed() == []


def test_a_file_that_is_not_whole_has_no_results(tmp_path):
    (tmp_path / "a.xml").write_text(CTEST[:200])

    assert read_junit(tmp_path / "a.xml") is None
    assert read_junit(tmp_path / "none.xml") is None


def test_a_sample_without_tests_has_passed(tmp_path):
    (tmp_path / "a.xml").write_text("<testsuites><testsuite tests='0'/></testsuites>")

    found = Results(tmp_path / "a.xml", "12 deselected in 0.1s", True)
    assert (found.passed, found.failed) == (0, 0)


def test_without_a_failed_test_the_end_of_the_log_is_shown(tmp_path):
    found = Results(tmp_path / "none", "".join(f"line {number}\n" for number in range(100)), False)

    assert found.words() == [f"line {number}" for number in range(40, 100)]


def test_starts_of_torch_are_added_up(tmp_path):
    assert Results(tmp_path / "none", "starts of torch: 3\nx\nstarts of torch: 4\n", True).starts_of_torch() == 7


def test_reasons_are_the_first_lines_of_failures(tmp_path):
    text = """<testsuites><testsuite>
<testcase name="A.B" status="fail" time="1.53"><failure message="Failed"/><system-out>[ RUN      ] A.B
a_test.cc:7: Failure
Expected equality of these values:
  1
  2

</system-out></testcase>
<testcase file="a/test_b.py" classname="a.test_b" name="test_c" time="2.5">
<error message="Failure: job x is over: not within 900 s&#10;more">all</error></testcase>
<testcase name="A.C" status="run" time="0.1"/>
</testsuite></testsuites>"""
    (tmp_path / "a.xml").write_text(text)

    assert [one.reason for one in read_junit(tmp_path / "a.xml")] == [
        "Expected equality of these values: 1 2",
        "Failure: job x is over: not within 900 s",
        "",
    ]
