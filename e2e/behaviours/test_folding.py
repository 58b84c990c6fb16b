"""What a folded job says where its ranks are not alike."""

from jobs import expect_complete, expect_failed, prediction_of
from server import verdict

# A collective and a multiplication of matrices in each step; BODY is filled in by tests. Eight ranks, 0 and 7 live.
STEPS = """
    import os, torch, torch.distributed as dist
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.zeros(2048, 2048, device="cuda")
    for step in range(10):
        y = x @ x
        BODY
        dist.all_reduce(y)
        torch.cuda.synchronize()
    dist.destroy_process_group()
"""


def run(world, body, live=()):
    script = STEPS.replace("BODY", body)
    document = world.job(script, ranks=4, servers=2, extra=f"folding: {{mode: required, live: {list(live)}}}\n")
    return world.server.run(document, seconds=300)


def test_ranks_of_one_class_that_call_differently_are_named_with_both_lines(world):
    job = run(world, "dist.broadcast(y, 0) if rank == 0 else dist.all_reduce(y)")
    expect_failed(job, "CollectiveMismatch", "rank 0 calls broadcast from 0", "script.py:9; rank 7 calls all_reduce")


def test_values_that_were_guessed_are_counted_by_line(world):
    job = run(world, "dist.all_gather_object([None] * size, rank * rank)")
    expect_complete(job)
    folding = prediction_of(job)["folding"]
    print(f"{folding.get('guessedCallSites')}")
    assert folding["guessedCollectives"] > 0, f"nothing was guessed: {folding}"
    sites = folding["guessedCallSites"]
    assert any(site["where"].endswith("script.py:9") for site in sites), f"its line is not named: {sites}"


def test_ranks_of_one_class_with_other_kernels_end_the_job_until_the_class_is_live(world):
    body = "y = y @ x if rank >= 5 else y"
    job = run(world, body)
    expect_failed(job, "RanksDiffer", "ranks 0 and 7 are taken to be alike", "--live 3", "script.py:10")
    job = run(world, body, live=[4, 5])
    expect_complete(job)
    folding = prediction_of(job)["folding"]
    assert folding["live"] == [0, 4, 5, 7], f"live: {folding}"
    where = [place["where"] for place in folding["workDifferences"]]
    assert any("before all_reduce" in text and "script.py:10" in text for text in where), f"named: {where}"


def test_a_rank_without_a_process_that_the_program_asks_for_is_named(world):
    job = run(world, "if rank in (3, 7): dist.all_reduce(y)")
    said = verdict(job)["message"]
    assert verdict(job)["type"] == "Failed", f"it ended as {verdict(job)}"
    assert "script.py:9 lets rank 3 communicate by its number" in said and "--live 3" in said, said
    # What only prints is left alone.
    expect_complete(run(world, "if rank == 3: print(step)"))


def test_values_over_gloo_that_were_guessed_are_counted_by_line(world):
    body = "everybody = everybody if step else dist.new_group(backend='gloo'); "
    job = run(world, body + "dist.all_gather_object([None] * size, chr(65 + rank), everybody)")
    expect_complete(job)
    folding = prediction_of(job)["folding"]
    print(f"{folding.get('guessedCallSites')}")
    sites = folding.get("guessedCallSites", [])
    assert any(site["where"].endswith("script.py:9") for site in sites), f"its line is not named: {folding}"


def test_ranks_without_a_process_of_which_gloo_wants_more_than_a_twin_gives_are_named(world):
    for body, words in (
        ("dist.recv(torch.zeros(1), 3, dist.new_group(backend='gloo'))", "receives from rank 3 over Gloo"),
        ("dist.broadcast(torch.zeros(1), 3, dist.new_group(backend='gloo'))", "rank 3 broadcasts over Gloo"),
    ):
        said = verdict(run(world, body))
        print(f"{said['reason']}: {said['message']}")
        assert said["type"] == "Failed", f"it ended as {said}"
        assert words in said["message"] and "--live 3" in said["message"], said["message"]
