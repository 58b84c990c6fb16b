"""The table of accuracy itself: what passes, what fails, and what it says."""

import accuracy
import pytest

TEXT = """scenario,of,seconds,tolerance_percent
ddp,mean,0.001,1
ddp,low,0.0009,5
ddp,high,0.0011,5
ddp,gemm,0.004,3
ddp,other kernels,0.00001,3
"""


def prediction(mean=0.001, gemm=0.004, fill=0.00001):
    kernels = [{"family": "gemm", "seconds": gemm / 2}] * 2 + [{"family": "fill", "seconds": fill}]
    return {"iterationSeconds": {"mean": mean, "low": 0.0009, "high": 0.0011}, "kernels": kernels}


def found(**changed):
    return list(accuracy.differences("ddp", accuracy.read(TEXT)["ddp"], prediction(**changed)))


def test_equal_numbers_say_nothing():
    assert found() == []


def test_a_change_within_its_tolerance_is_shown():
    assert found(mean=0.001005) == [("ddp, mean: 0.001 s in the table, now 0.001005 s, +0.50 % (1 % allowed)", False)]


@pytest.mark.parametrize("changed", [{"mean": 0.00102}, {"mean": 0.00098}, {"gemm": 0.005}, {"gemm": 0.0}])
def test_a_change_beyond_its_tolerance_fails(changed):
    assert [is_beyond for _, is_beyond in found(**changed)] == [True]


def test_what_hardly_counts_is_compared_with_the_whole():
    assert [is_beyond for _, is_beyond in found(fill=0.000011)] == [False]
    assert [is_beyond for _, is_beyond in found(fill=0.0001)] == [True]


def test_a_failure_names_old_new_difference_and_what_renews_it(tmp_path, monkeypatch):
    monkeypatch.setattr(accuracy, "TABLE", tmp_path / "accuracy.csv")
    accuracy.TABLE.write_text(TEXT)
    told = []
    with pytest.raises(AssertionError) as failure:
        accuracy.check("ddp", prediction(mean=0.002, gemm=0.00401), False, lambda *fact: told.append(fact))
    assert "mean: 0.001 s in the table, now 0.002 s, +100.00 %" in str(failure.value)
    assert "e2e/pytest scenarios -k ddp --update" in str(failure.value)
    assert told == [("drift", "ddp, gemm: 0.004 s in the table, now 0.00401 s, +0.25 % (3 % allowed)")]
    with pytest.raises(AssertionError, match="no rows of other"):
        accuracy.check("other", prediction(), False, None)


def test_an_update_keeps_tolerances_and_other_scenarios(tmp_path, monkeypatch):
    monkeypatch.setattr(accuracy, "TABLE", tmp_path / "accuracy.csv")
    accuracy.TABLE.write_text(TEXT.replace("gemm,0.004,3", "gemm,0.004,7"))
    accuracy.update("ddp", prediction(mean=0.002))
    accuracy.update("fsdp2", prediction())
    table = accuracy.read(accuracy.TABLE.read_text())
    assert table["ddp"] == {
        "mean": (0.002, 1), "low": (0.0009, 5), "high": (0.0011, 5), "gemm": (0.004, 7), "other kernels": (0.00001, 3)
    }  # fmt: skip
    assert table["fsdp2"]["mean"] == (0.001, 1)
    accuracy.check("fsdp2", prediction(), False, None)
