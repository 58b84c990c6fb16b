"""Ranks that go on from torchrun's process, and those that are executed."""

import json

import pytest
from jobs import expect_complete, expect_failed, prediction_of

# Tells how the rank began: a process that was executed has no module of torch before it imports torch.
RANK = """
    import os, sys
    went_on = "torch.nn" in sys.modules and "torch" not in sys.modules
    FIRST
    import torch, torch.distributed as dist
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    told = {"went_on": went_on, "arguments": sys.argv, "original": sys.orig_argv[1:], "path": sys.path[1:],
            "command": open("/proc/self/cmdline").read().split("\\0")[1:], "name": open("/proc/self/comm").read(),
            "file": os.path.basename(__file__), "globals": sorted(globals().keys()), "flags": str(sys.flags),
            "threads": torch.get_num_threads(), "session": os.getsid(0) == os.getpid(),
            "environment": sorted(name for name in os.environ if name != "RANKS_GO_ON"),
            "kernel's": os.environ["RANK"] in open("/proc/self/environ").read().split("RANK=")[1][:1]}
    if os.environ["RANK"] == "0":
        import json
        print("told", json.dumps(told), flush=True)
    x = torch.ones(1024, 1024, device="cuda")
    for step in range(8):
        x = x @ x
        dist.all_reduce(x); torch.cuda.synchronize()
    dist.destroy_process_group()
    LAST
"""


def train(world, first="pass", last="pass", env=("RANKS_GO_ON", "1"), ranks=2, **arguments):
    """A job, what its rank 0 tells of itself, and the lines of its log."""
    extra = f"env: [{{name: {env[0]}, value: '{env[1]}'}}]\n" if env else "env: []\n"
    script = RANK.replace("FIRST", first).replace("LAST", last)
    arguments = {"command": ["torchrun", "script.py"], "extra": extra, **arguments}
    job = world.run(script, ranks=ranks, measure=100, **arguments)
    lines = world.logs(job).splitlines()
    told = next((line.partition("told ")[2] for line in lines if "told {" in line), "null")
    return job, json.loads(told), lines


# The program checks whether modules that an optimizer imports are loaded, before and after the rank has one.
WAS_THERE = 'was_there = "torch._inductor" in sys.modules, "torch._dynamo" in sys.modules'
SHARES = (
    'says = print if os.environ["RANK"] == "0" else (lambda *words: None); layer = torch.nn.Linear(8, 8).cuda()'
    '; says("shared", was_there, "TORCHINDUCTOR_CACHE_DIR" in os.environ)'
    "; torch.optim.SGD(layer.parameters()).step()"
    '; says("then", "torch._dynamo" in sys.modules, "TORCHINDUCTOR_CACHE_DIR" in os.environ)'
)


@pytest.fixture(scope="module")
def went_on(world):
    return train(world, first=WAS_THERE, last=SHARES)


@pytest.fixture(scope="module")
def executed(world):
    return train(world, first=WAS_THERE, last=SHARES, env=None)


def test_ranks_go_on_from_torchruns_process_as_if_they_were_executed(went_on, executed):
    (job, told, _), (other_job, other, _) = went_on, executed
    expect_complete(job)
    expect_complete(other_job)
    assert told["went_on"] and not other["went_on"], "a rank did not go on, or did although it must not"
    different = {key: (told[key], other[key]) for key in told if told[key] != other[key]}
    assert different.keys() == {"went_on"}, f"a rank that went on differs: {different}"
    assert prediction_of(job) == prediction_of(other_job), "the prediction depends on how ranks were started"


def test_a_module_goes_on_as_a_script_does(world):
    job, told, _ = train(world, command=["torchrun", "-m", "script"])
    expect_complete(job)
    assert told["went_on"] and told["command"][1:3] == ["-m", "script"], f"a module did not go on: {told}"


def test_ranks_that_went_on_share_what_their_optimizer_imports(world, went_on, executed):
    (_, told, lines), (_, _, other_lines) = went_on, executed
    assert told["went_on"] and "shared (True, False) False" in lines, f"torch._dynamo was not shared: {lines}"
    assert "then True True" in lines, f"what came with it is not there: {lines}"
    assert "shared (False, False) False" in other_lines and "then True True" in other_lines, other_lines
    leaked = [line for line in lines if "leaked" in line]
    assert not leaked, f"what is shared is there when the interpreter ends: {leaked}"
    # A script that sets what torch._dynamo reads has it to itself.
    job, told, lines = train(world, first=WAS_THERE, last=SHARES + '; os.environ["TORCHDYNAMO_VERBOSE"] = "1"')
    expect_complete(job)
    assert told["went_on"] and "shared (False, False) False" in lines, f"torch._dynamo was shared: {lines}"


def test_ranks_are_executed_where_that_makes_a_difference(world):
    sets = 'os.environ["TORCH_SHOW_CPP_STACKTRACES"] = "1"'
    job, told, lines = train(world, first=sets, env=("RANKS_GO_ON", "explain"), ranks=1, starts=2)
    expect_complete(job)
    assert not told["went_on"], "a rank went on that sets a variable of torch before it imports torch"
    assert any("sets variables before it imports torch" in line for line in lines), f"nobody says why: {lines}"
    # By a module of its own, which is not looked at: noticed as it imports torch, before it has done anything.
    unseen = 'getattr(os, "put" + "env")("TORCH_SHOW_CPP_STACKTRACES", "1") if went_on else None'
    job, told, _ = train(world, first=unseen, ranks=1, starts=2)
    expect_complete(job)
    assert not told["went_on"], "a rank went on whose torch has not seen its variables"


def test_ranks_that_went_on_end_as_executed_ones(world):
    job, told, lines = train(world, last="raise ValueError('at the end')")
    expect_failed(job, "CommandFailed", "exit status 1")
    assert told["went_on"] and any("ValueError: at the end" in line for line in lines), f"no traceback: {lines}"
    below = [line for line in lines if "next_program" in line or "<string>" in line]
    assert not below, f"the traceback shows what runs the program: {below}"
    job, told, lines = train(world, last="os.kill(os.getpid(), 9)")
    assert told["went_on"] and any("Signal 9 (SIGKILL)" in line for line in lines), f"no signal: {lines}"
    expect_failed(job, "RankLost", "SIGKILL")
