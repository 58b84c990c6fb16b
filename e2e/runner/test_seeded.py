"""Tests how faults of e2e/seeded are read."""

import pytest

from runner import seeded

HEAD = "Kind: wrong unit\nHarm: a bill in cents\nPart: test-asan\nTest: Bill.Sums\nBuild: base_tests fake\n"
DIFF = "\ndiff --git a/services/bill.cc b/services/bill.cc\n--- a/services/bill.cc\n+++ b/services/bill.cc\n"


def test_a_fault_says_what_it_is_and_which_test_finds_it():
    fault = seeded.parse("01-unit", HEAD + DIFF + "@@ -1 +1 @@\n-Test: a\n+Test: b\n")

    assert (fault.kind, fault.part, fault.test, fault.build) == (
        "wrong unit",
        "test-asan",
        "Bill.Sums",
        "base_tests fake",
    )
    assert (fault.paths, fault.preset) == ({"services/bill.cc"}, "asan")


def test_both_names_of_a_file_count():
    moved = DIFF.replace("+++ b/services/bill.cc", "+++ b/services/sum.cc")

    assert seeded.parse("01-unit", HEAD + moved).paths == {"services/bill.cc", "services/sum.cc"}


@pytest.mark.parametrize(
    "text, said",
    [
        (HEAD, "a diff follows"),
        (HEAD.replace("Harm", "Sense") + DIFF, "01-unit: a fault begins with lines of Kind, Harm"),
        (HEAD.replace("test-asan", "asan") + DIFF, "01-unit: e2e/test has no part 'asan'"),
    ],
)
def test_what_is_wrong_with_a_fault_is_said(text, said):
    with pytest.raises(seeded.Problem, match=said):
        seeded.parse("01-unit", text)


def test_faults_go_by_the_beginnings_of_their_names(tmp_path):
    for name in ("01-unit", "02-race", "11-leak"):
        (tmp_path / f"{name}.patch").write_text(HEAD + DIFF)

    assert [fault.name for fault in seeded.read_faults(["02", "11-l"], tmp_path)] == ["02-race", "11-leak"]
    assert len(seeded.read_faults([], tmp_path)) == 3
    with pytest.raises(seeded.Problem, match="e2e/seeded has no fault 03"):
        seeded.read_faults(["01", "03"], tmp_path)


def test_there_are_at_least_twenty_faults_of_different_kinds():
    faults = seeded.read_faults()

    assert len({fault.kind for fault in faults}) == len(faults) >= 20
