"""What a part's log says of its tests."""

import pytest

from runner.words import counts_in, names_of_failed, words_of_failed

CTEST = """\
      Start 1: BaseTest.A
1/4 Test #1: BaseTest.A .......   Passed    0.01 sec
      Start 2: BaseTest.B
2/4 Test #2: BaseTest.B .......***Failed    0.02 sec
Expected equality: 1, 2
3/4 Test #3: BaseTest.C .......***Skipped   0.00 sec
4/4 Test #4: BaseTest.D .......   Passed    0.00 sec

75% tests passed, 1 tests failed out of 4

The following tests did not run:
\t  3 - BaseTest.C (Skipped)

The following tests FAILED:
\t  2 - BaseTest.B (Failed)
Errors while running CTest
"""
PYTEST = """\
..F.E                                                                    [100%]
==================================== ERRORS ====================================
______________________ ERROR at setup of test_needs_a_job ______________________
E   RuntimeError: no server
=================================== FAILURES ===================================
_______________________________ test_is_equal[a] _______________________________
>       assert 1 == 2
E       assert 1 == 2
=============================== warnings summary ===============================
nothing of interest
=========================== short test summary info ============================
FAILED behaviours/test_a.py::test_is_equal[a] - assert 1 == 2
ERROR behaviours/test_a.py::test_needs_a_job - RuntimeError: no server
========================= 1 failed, 3 passed, 1 error in 0.05s =================
"""
OURS = """\
ok   first (1.2 s)
     of second: 3 is not 4
FAIL second (2.0 s)
ok   third (0.1 s)
behaviour: 2 passed, 1 failed, 0 skipped
"""


@pytest.mark.parametrize(
    "text, counts",
    [
        (CTEST, (3, 1)),
        (PYTEST, (3, 2)),
        (OURS, (2, 1)),
        ("3 passed in 1.20s\n", (3, 0)),
        ("=== 2 passed, 1 skipped, 40 deselected, 1 xfailed, 3 warnings in 61.20s (0:01:01) ===\n", (3, 0)),
        ("=== 1 passed, 1 xpassed in 0.1s ===\n", (1, 1)),
        ("=== 12 deselected in 0.1s ===\n", (0, 0)),
        ("=== no tests ran in 0.1s ===\n", None),
        ("wrote 3 files in 0.1s\n", None),
        ("", None),
        ("1 passed, 1 failed\nagain: 2 passed, 0 failed\n", (2, 0)),
    ],
)
def test_counts_are_those_of_the_closing_line(text, counts):
    assert counts_in(text) == counts


def test_failed_tests_are_named_once():
    assert names_of_failed(CTEST) == ["BaseTest.B"]
    assert names_of_failed(PYTEST + PYTEST) == [
        "behaviours/test_a.py::test_is_equal[a]",
        "behaviours/test_a.py::test_needs_a_job",
    ]
    assert names_of_failed(OURS) == ["second"]
    assert names_of_failed("all is well\nERROR cannot connect\n") == []
    assert names_of_failed("ERROR kube/test_a.py - ImportError: x\n") == ["kube/test_a.py"]


def test_what_failed_tests_printed_is_shown():
    assert words_of_failed(CTEST) == [
        "2/4 Test #2: BaseTest.B .......***Failed    0.02 sec",
        "Expected equality: 1, 2",
    ]
    assert words_of_failed(OURS) == ["     of second: 3 is not 4", "FAIL second (2.0 s)"]


def test_sections_of_pytest_are_shown_without_what_follows():
    lines = words_of_failed(PYTEST)

    assert "E   RuntimeError: no server" in lines
    assert "E       assert 1 == 2" in lines
    assert any("test_is_equal[a]" in line for line in lines)
    assert not any("interest" in line or "3 passed" in line for line in lines)


def test_what_a_test_prints_does_not_end_its_section():
    lines = words_of_failed(PYTEST.replace("E       assert", "===== a heading =====\nE       assert"))

    assert "===== a heading =====" in lines
    assert "E       assert 1 == 2" in lines


def test_long_output_of_a_test_is_shortened_and_all_failures_are_shown():
    long = PYTEST.replace("E   RuntimeError: no server\n", "".join(f"line {number}\n" for number in range(500)))

    lines = words_of_failed(long)

    assert "line 0" in lines and "..." in lines and "line 499" in lines
    assert "line 200" not in lines
    assert "E       assert 1 == 2" in lines


def test_without_a_failed_test_the_end_of_the_log_is_shown():
    assert words_of_failed("".join(f"line {number}\n" for number in range(100))) == [
        f"line {number}" for number in range(40, 100)
    ]
