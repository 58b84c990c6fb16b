"""Tests the messages of a folded job whose ranks are not alike."""

import pytest
from jobs import expect_complete, expect_failed, prediction_of
from server import verdict

# A collective and a multiplication of matrices in each step; BODY is filled in by tests. Eight ranks, 0 and 7 live.
STEPS = """
    size = dist.get_world_size()
    x = torch.zeros(2048, 2048, device="cuda")
    for step in range(10):
        y = x @ x
        BODY
        dist.all_reduce(y)
        torch.cuda.synchronize()
"""


def run(world, body, live=()):
    script = STEPS.replace("BODY", body)
    return world.run(script, ranks=8, nccl=True, extra=f"folding: {{mode: required, live: {list(live)}}}\n")


def test_ranks_of_one_class_that_call_differently_are_named_with_both_lines(world):
    job = run(world, "dist.broadcast(y, 0) if rank == 0 else dist.all_reduce(y)")
    expect_failed(job, "CollectiveMismatch", "rank 0 calls broadcast from 0", "script.py:10; rank 7 calls all_reduce")


@pytest.fixture(scope="module")
def guessed(world):
    """The report of a job on folding. Values are guessed over NCCL on line 10 and over Gloo on line 11; line 12 only prints
    something of a rank without a process."""
    lines = [
        "dist.all_gather_object([None] * size, rank * rank)",
        "everybody = everybody if step else dist.new_group(backend='gloo');"
        " dist.all_gather_object([None] * size, chr(65 + rank), everybody)",
        "if rank == 3: print(step)",
    ]
    job = run(world, "\n        ".join(lines))
    expect_complete(job)
    folding = prediction_of(job)["folding"]
    print(f"{folding.get('guessedCallSites')}")
    return folding


@pytest.mark.parametrize("line", [pytest.param(10, id="nccl"), pytest.param(11, id="gloo")])
def test_values_that_were_guessed_are_counted_by_line(guessed, line):
    assert guessed["guessedCollectives"] > 0, f"nothing was guessed: {guessed}"
    sites = guessed.get("guessedCallSites", [])
    assert any(site["where"].endswith(f"script.py:{line}") for site in sites), f"its line is not named: {guessed}"


def test_a_rank_without_a_process_that_only_prints_is_left_alone(guessed):
    assert not any(site["where"].endswith("script.py:12") for site in guessed["guessedCallSites"]), f"{guessed}"


def test_ranks_of_one_class_with_other_kernels_end_the_job_until_the_class_is_live(world):
    body = "y = y @ x if rank >= 5 else y"
    job = run(world, body)
    expect_failed(job, "RanksDiffer", "ranks 0 and 7 are taken to be alike", "--live 3", "script.py:11")
    job = run(world, body, live=[4, 5])
    expect_complete(job)
    folding = prediction_of(job)["folding"]
    assert folding["live"] == [0, 4, 5, 7], f"live: {folding}"
    where = [place["where"] for place in folding["workDifferences"]]
    assert any("before all_reduce" in text and "script.py:11" in text for text in where), f"named: {where}"


@pytest.mark.parametrize(
    "body, words",
    [
        ("if rank in (3, 7): dist.all_reduce(y)", "script.py:10 lets rank 3 communicate by its number"),
        ("dist.recv(torch.zeros(1), 3, dist.new_group(backend='gloo'))", "receives from rank 3 over Gloo"),
        ("dist.broadcast(torch.zeros(1), 3, dist.new_group(backend='gloo'))", "rank 3 broadcasts over Gloo"),
    ],
    ids=["nccl", "gloo_receives", "gloo_broadcasts"],
)
def test_a_rank_without_a_process_that_the_program_asks_for_is_named(world, body, words):
    ended = verdict(run(world, body))
    print(f"{ended['reason']}: {ended['message']}")
    assert ended["type"] == "Failed", f"it ended as {ended}"
    assert words in ended["message"] and "--live 3" in ended["message"], ended["message"]
