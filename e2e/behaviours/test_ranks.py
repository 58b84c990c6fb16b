"""Programs that start their ranks themselves, without torchrun and its variables."""

from jobs import expect_complete, expect_failed
from server import verdict

# What tutorials show: torch.multiprocessing.spawn tells each process its rank as an argument, and every process sees
# all GPUs of its server. The same program takes its rank from the environment when torchrun starts it. Processes that
# are forked have PyTorch already, which those that are spawned import.
SPAWNING = """
    import os, signal, sys, torch, torch.distributed as dist, torch.multiprocessing as mp

    def train(rank, world, local):
        torch.cuda.set_device(local)
        dist.init_process_group("nccl", rank=rank, world_size=world)
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        extra = torch.empty((1 + rank) << 25, dtype=torch.uint8, device="cuda")  # No two ranks book the same.
        for step in range(8):
            optimizer.zero_grad()
            loss = model(torch.ones(512, 1024, device="cuda")).square().mean()
            loss.backward()
            optimizer.step()
            loss.item()
            if sys.argv[1:] == ["die"] and (rank, step) == (1, 4): os.kill(os.getpid(), signal.SIGKILL)
        dist.destroy_process_group()

    def spawned(rank, world):
        local = rank
        if sys.argv[1:] == ["hide"]:
            os.environ["CUDA_VISIBLE_DEVICES"], local = str(rank), 0
        train(rank, world, local)

    if __name__ == "__main__":
        if sys.argv[1:]:
            method, world = sys.argv.pop(1), 2
            mp.start_processes(spawned, args=(world,), nprocs=world, start_method=method)
        else:
            train(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), int(os.environ["LOCAL_RANK"]))
"""


ALIKE = "variation: none"  # A rank without RANK in its environment has an average GPU.


def story(world, job):
    """Returns the report of the ranks: times of iterations, memory of each, and which operations of a rank are on
    which GPU."""
    expect_complete(job)
    prediction = job["status"]["prediction"]
    places = {tuple(line.split()[:4]) for log in world.event_logs(job).values() for line in log.decode().splitlines()}
    return {
        "iterations": prediction["iterationPicoseconds"],
        "breakdown": prediction["breakdown"],
        "memory": prediction["memory"]["ranks"],
        "places": sorted(places),
    }


def test_ranks_that_a_program_spawns_are_predicted_as_torchruns(world):
    expected = story(world, world.run(SPAWNING, ranks=2, measure=5, extra=ALIKE))
    assert expected["places"] == [("rank", "0", "device", "0"), ("rank", "1", "device", "1")]
    assert [entry["rank"] for entry in expected["memory"]] == [0, 1], expected["memory"]
    # GPUs may be hidden from each other; in some clusters all processes inherit the rank of the first.
    for command, starts in (
        (["python", "script.py", "spawn"], 3),
        (["python", "script.py", "fork", "hide"], 1),
        (["env", "RANK=0", "WORLD_SIZE=2", "python", "script.py", "fork"], 1),
    ):
        job = world.run(SPAWNING, ranks=2, measure=5, command=command, starts=starts, extra=ALIKE)
        found = story(world, job)
        for key, value in expected.items():
            assert found[key] == value, f"{key} of {command} is not as torchrun's"
        assert "clampedRecords" not in job["status"]["prediction"], "records were clamped"


def test_a_killed_rank_that_a_program_spawned_is_named(world):
    job = world.run(SPAWNING, ranks=2, measure=100, command=["python", "script.py", "fork", "die"], starts=1)
    # Only the launcher knows how its rank ended. It ends the other one and says so; whether it also collects that one
    # before it ends itself, or leaves it to the agent, is a race.
    collected = verdict(job)["reason"] == "CommandFailed"
    expect_failed(job, "CommandFailed" if collected else "RankLost", "process 1" if collected else "rank 1", "SIGKILL")


def test_workers_that_never_meet_are_the_ranks_of_their_gpus(world):
    script = """
        import torch, torch.multiprocessing as mp
        def work(index):
            torch.cuda.set_device(index)
            weight = torch.zeros(1024, 1024, device="cuda", requires_grad=True)
            optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
            for step in range(8):
                (torch.ones(256 << index, 1024, device="cuda") @ weight).square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()
        if __name__ == "__main__":
            torch.cuda.device_count(), torch.cuda.current_device()
            mp.spawn(work, nprocs=torch.cuda.device_count())
    """
    job = world.run(script, ranks=2, command=["python", "script.py"], measure=4)
    found = story(world, job)
    assert found["places"] == [("rank", "0", "device", "0"), ("rank", "1", "device", "1")]
    assert [entry["rank"] for entry in found["memory"]] == [0, 1], found["memory"]


def test_one_process_may_drive_all_gpus_of_its_server(world):
    script = """
        import torch
        model = torch.nn.DataParallel(torch.nn.Linear(1024, 1024).cuda())
        optimizer = torch.optim.AdamW(model.parameters())
        for step in range(8):
            model(torch.ones(256, 1024, device="cuda")).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    """
    job = world.run(script, ranks=2, command=["python", "script.py"], measure=4, starts=1)
    found = story(world, job)
    assert found["places"] == [("rank", "0", "device", "0"), ("rank", "0", "device", "1")]
    assert [(entry["rank"], entry["device"]) for entry in found["memory"]] == [(0, 0), (0, 1)], found["memory"]
    assert len(found["iterations"]) == 4 and found["breakdown"]["exposedCommunication"] > 0, f"{found}"
