"""Tests the agent's rendezvous with PyTorch's own clients."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import textwrap

import pytest
from jobs import World, await_that, expect_failed

# Three processes that do everything that a client can do, and print what they are answered.
CLIENT = """
    import datetime, json, os, sys, torch.distributed as dist
    rank, port, libuv = int(os.environ["RANK"]), int(sys.argv[1]), sys.argv[2] == "libuv"
    store = dist.TCPStore("127.0.0.1", port, 3, is_master=False, timeout=datetime.timedelta(seconds=60), use_libuv=libuv)
    answers = []
    def tell(name, function, *args):
        try:
            answer = function(*args)
        except Exception as error:
            # Behind the first words there are addresses and stacks.
            answer = f"{type(error).__name__}: {str(error)[:60]}".split("\\n")[0]
        answers.append([name, repr(answer)])
    def meet(name):
        store.set(f"{name}/{rank}", "come")
        store.wait([f"{name}/{r}" for r in range(3)])
    if rank == 0:
        store.set("value", b"of rank 0 \\x00\\xff")
        store.set("large", b"x" * (3 << 20))
    tell("get", store.get, "value")
    tell("large", lambda: len(store.get("large")))
    store.add("sum", rank + 1)
    meet("added")
    tell("sum", store.add, "sum", 0)
    tell("sum as text", store.get, "sum")
    tell("check", store.check, ["value", "sum"])
    tell("check of none", store.check, ["value", "none"])
    tell("wait", store.wait, ["none"], datetime.timedelta(milliseconds=200))
    tell("get after a wait", store.get, "value")
    mine = f"rank {rank}"
    tell("compare", store.compare_set, mine, "expected", "new")
    tell("compare", store.compare_set, mine, "", "first")
    tell("compare", store.compare_set, mine, "other", "second")
    tell("compare", store.compare_set, mine, "first", "second")
    store.append(mine, " and more")
    tell("append", store.get, mine)
    store.multi_set([f"{mine}/{i}" for i in range(1000)], [str(i) * 1000 for i in range(1000)])
    tell("multi_get", store.multi_get, [f"{mine}/{i}" for i in (0, 999)])
    tell("delete", store.delete_key, mine + "/0")
    tell("delete again", store.delete_key, mine + "/0")
    meet("changed")
    if rank == 0:
        tell("num_keys", store.num_keys)
        if hasattr(store, "list_keys"): tell("list_keys", lambda: sorted(store.list_keys()))
        store.set("counted", "")
    store.wait(["counted"])
    prefixed = dist.PrefixStore("prefix", store)
    prefixed.set(str(rank), str(rank))
    tell("prefix", prefixed.get, str((rank + 1) % 3))
    if hasattr(store, "queue_push"):
        tell("pop of none", store.queue_pop, mine, False)
        if rank == 0: tell("push", store.queue_push, "queue", "of rank 0")
        if rank == 1: tell("pop", store.queue_pop, "queue")
        meet("popped")
        for i in range(3): tell("push", store.queue_push, mine, str(i))
        tell("length", store.queue_len, mine)
        tell("pop", store.queue_pop, mine)
        tell("length", store.queue_len, mine)
    if hasattr(store, "barrier"):
        if rank == 2: store.set("rank 2 comes", "last")
        tell("barrier", store.barrier, "barrier", 3, datetime.timedelta(seconds=60))
        tell("rank 2 has come", store.check, ["rank 2 comes"])
        meet("past the barrier")
        tell("barrier's counter", store.get, "barrier")
        if rank == 0: tell("barrier alone", store.barrier, "alone", 2, datetime.timedelta(milliseconds=200))
        tell("get after a barrier", store.get, "value")
    print(json.dumps(answers))
"""
# PyTorch's own server.
HOST = """
    import signal, sys, torch.distributed as dist
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, use_libuv=sys.argv[1] == "libuv")
    print(store.port, flush=True)
    signal.pause()
"""
# A rank of a folded job whose other ranks are mirrored ranks.
LIVE = """
    import datetime, os, torch, torch.distributed as dist
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=100))
    dist.new_group([0, 1, 2])
    if rank == 7: dist.new_group([5, 6, 7], use_local_synchronization=True)
    store = dist.distributed_c10d._get_default_store()
    if hasattr(store, "barrier"): store.barrier("all", 8, datetime.timedelta(seconds=100))
    print("met", flush=True)
    if rank == 0: store.get("from/a/ghost")
    dist.all_reduce(torch.ones(1))
"""
# The same as a job, whose last lines need what mirrored ranks do not have: they connect all members of a Gloo group.
STUCK = """
    members = [[0, 1], [2, 3]][rank // 2]
    dist.new_group(members, use_local_synchronization=True)
    dist.all_reduce(torch.ones(1024, device="cuda"))
    print(f"rank {rank} met", flush=True)
    dist.all_reduce(torch.ones(1024, device="cuda"))
    torch.cuda.synchronize()  # The first rank that dies ends the others: all have said that they met.
    os.environ["TORCH_GLOO_LAZY_INIT"] = "0"
    dist.all_reduce(torch.ones(1), group=dist.new_group(backend="gloo"))
"""


@contextlib.contextmanager
def listening(command):
    """A process that prints its port, ends with its input, and is asked by `ask`."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            process.port = process.stdout.readline().strip()
            assert process.port, f"{command[0]} does not listen"
            yield process
        finally:
            process.stdin.close()


def waits_of(server):
    server.stdin.write("waits\n")
    server.stdin.flush()
    return list(iter(lambda: server.stdout.readline().rstrip("\n"), ""))


def script(world, name, text):
    path = pathlib.Path(world.folder) / name
    path.write_text(textwrap.dedent(text))
    return path


# Imports PyTorch once; for each line of its input, it forks a process that runs a program. Its own rank is overwritten in
# place, where /proc shows it: that is how a rendezvous knows which rank asks.
WARM = """
    import ctypes, json, os, runpy, signal, sys, traceback, torch.distributed
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    own_rank = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(("getenv", ctypes.CDLL(None)))(b"RANK")
    for line in sys.stdin:
        sys.argv, environment, out = json.loads(line)
        child = os.fork()
        if child:
            print(child, flush=True)
            continue
        ctypes.memmove(own_rank, environment.get("RANK", "0").encode(), 1)
        os.environ.update(environment)
        os.dup2(os.open(out, os.O_WRONLY), 1)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except BaseException:
            traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        os._exit(0)
"""


class Warm:
    """A version of PyTorch whose processes start at once; a context manager."""

    def __init__(self, python, folder):
        self.python, self.folder = python, pathlib.Path(tempfile.mkdtemp(dir=folder))

    def __enter__(self):
        environment = os.environ | {"TORCH_CPP_LOG_LEVEL": "ERROR", "RANK": "0"}
        words = [self.python / "bin" / "python", "-c", textwrap.dedent(WARM)]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        World.starts += 1
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)

    def start(self, program, *words, **environment):
        """(process number, output) of a program; its output ends when it does."""
        out = pathlib.Path(tempfile.mktemp(dir=self.folder))
        os.mkfifo(out)
        self.process.stdin.write(json.dumps([[str(program), *words], environment, str(out)]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()), open(out)


@pytest.fixture(scope="module")
def pytorches(world, cuda12):
    """Returns the PyTorch of CUDA 13 and that of CUDA 12."""
    with Warm(world.python, world.folder) as newer, Warm(cuda12, world.folder) as older:
        yield newer, older


def answers_of(world, pytorch, port, libuv):
    client = script(world, "client.py", CLIENT)
    clients = [pytorch.start(client, port, libuv, RANK=str(rank)) for rank in range(3)]
    return [json.loads(out.read()) for _, out in clients]


def test_clients_of_pytorch_get_the_answers_of_pytorchs_own_rendezvous(world, pytorches):
    rendezvous = [world.build / "programs" / "rendezvous_server", "3", "0,1,2"]
    for pytorch in pytorches:
        for libuv in ("libuv", "sockets"):
            pid, out = pytorch.start(script(world, "host.py", HOST), libuv)
            theirs = answers_of(world, pytorch, out.readline().strip(), libuv)
            os.kill(pid, signal.SIGKILL)
            with listening(rendezvous) as server:
                ours = answers_of(world, pytorch, server.port, libuv)
            for rank, (their, our) in enumerate(zip(theirs, ours)):
                assert len(their) == len(our) > 15, f"rank {rank}: {len(our)} answers instead of {len(their)}"
                for wanted, got in zip(their, our):
                    assert wanted == got, f"rank {rank} of {pytorch.python.name}, {libuv}: {got} instead of {wanted}"


def test_live_ranks_meet_where_mirrored_ranks_would_have_come_and_who_waits_is_named(world, pytorches):
    for pytorch in pytorches:
        with listening([world.build / "programs" / "rendezvous_server", "8", "0,1,7"]) as server:
            environment = {
                "WORLD_SIZE": "8",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": server.port,
                "TORCHELASTIC_USE_AGENT_STORE": "True",
                "TORCH_DIST_INIT_BARRIER": "1",
                "TORCH_GLOO_LAZY_INIT": "1",
            }
            program = script(world, "live.py", LIVE)
            live = [pytorch.start(program, RANK=rank, **environment) for rank in ("0", "1", "7")]
            try:
                for _, out in live:
                    assert "met\n" in iter(out.readline, ""), "a live rank does not get past the mirrored ranks"
                who_waits = lambda: "\n".join(waits_of(server))
                named = lambda text: "rank 0 waits" in text and "Gloo group" in text
                await_that(who_waits, lambda: named(who_waits()))
                text = who_waits()
                print(text)
                assert "'/default_pg/0//from/a/ghost', which no live rank has set" in text, text
            finally:
                for pid, _ in live:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)


def test_a_folded_job_that_connects_all_of_gloo_when_a_group_is_made_says_so(world):
    extra = """
        env: [{name: TORCH_DIST_INIT_BARRIER, value: '1'}, {name: RANKS_GO_ON, value: '1'}]
        folding: {mode: required}
        limits: {stillSeconds: 10}
    """
    job = world.run(STUCK, ranks=4, extra=extra, nccl=True)
    expect_failed(job, "RankLost", "the program sets TORCH_GLOO_LAZY_INIT", "mirrored ranks have no Gloo")
    log = world.logs(job)
    assert "rank 0 met" in log and "rank 3 met" in log, f"the barriers of groups do not complete: {log[-2000:]}"


def test_torchrun_with_a_rendezvous_of_its_own_on_each_server_is_refused(world):
    job = world.run("", servers=2, command=["torchrun", "--standalone", "script.py"], starts=0)
    expect_failed(job, "CommandFailed", "torchrun's --standalone makes each of the job's 2 servers", "Leave out")


def test_a_rendezvous_that_nobody_joins_ends_the_job(world):
    # The flag is not seen from outside; torchrun asks once a second whether the other server has come.
    script = 'import os; os.execvp("torchrun", ["torchrun", "--standalone", "script.py"])'
    extra = "limits: {stillSeconds: 10}\n"
    job = world.run(script, servers=2, command=["python", "script.py"], extra=extra, starts=2)
    expect_failed(job, "Stuck", "limits.stillSeconds")
