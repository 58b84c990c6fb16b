"""Checks that `hostModel: fixed` is bit-identical: one job, run again and again while the machine is disturbed.

The first run is left alone. The others are disturbed as their seeds say: load on the processors, ranks and agents that
are stopped for a while, writers that keep the disk busy, ranks that come late. Event logs must equal those of the
first run byte by byte, and so must the clock readings that the program prints: all lines that begin with "clock".
What happens at which moment is not repeatable; a seed repeats the kind and the rhythm of the disturbance.
"""

import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

from determinism_programs import FSDP2
from jobs import expect_complete, first_difference, lines_of
from processes import content_of, descendants, name_of

# Data parallel training with what else moves clocks in real programs: workers and threads that load data, one that pins
# memory, timed waits that end and that expire, sleeps, queries of events, values that the host reads.
BUILTIN = """
    import itertools, os, queue, threading, time, torch, torch.distributed as dist
    from torch.utils.data import DataLoader, Dataset

    rank = int(os.environ["RANK"])

    class Samples(Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, index):
            sum(range(index * rank * 2_000))
            return torch.full((512,), float(index))

    def show(what):
        # One write: two ranks share the pipe.
        os.write(1, f"clock {rank} {what} {time.time_ns()} {time.perf_counter_ns()}\\n".encode())

    def count(results):
        for number in range(16):
            sum(range(rank * 200_000 + number * 50_000))
            results.put(number)

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    layers = [torch.nn.Linear(512, 512) for _ in range(4)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).cuda(), bucket_cap_mb=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    show("made")
    results = queue.Queue(2)
    threading.Thread(target=count, args=(results,), daemon=True).start()
    side = torch.cuda.Stream()
    loaders = [DataLoader(Samples(), batch_size=8, num_workers=1, pin_memory=pins) for pins in (False, True)]
    for step, batch in enumerate(itertools.chain(*loaders)):
        results.get(timeout=1000)
        batch = batch.cuda(non_blocking=True)
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.cuda.stream(side):
            side.wait_stream(torch.cuda.current_stream())
            copy = batch * 2
        copy.record_stream(torch.cuda.current_stream())
        event = torch.cuda.Event()
        event.record()
        while not event.query(): pass
        show(f"step {step}")
        if step == 3:
            time.sleep(2)
            threading.Event().wait(0.5)
            show("slept")
        if step % 3 == 2:
            dist.barrier()
            loss.item()
            show(f"met {step}")
    dist.destroy_process_group()
    show("left")
"""

PROGRAMS = {"builtin": BUILTIN, "fsdp2": FSDP2}


def read_program(name):
    """One of PROGRAMS, or a file."""
    return PROGRAMS[name] if name in PROGRAMS else pathlib.Path(name).read_text()


# Put before a program whose ranks are started by hand: they look for each other, and wait as often as one is late.
BY_HAND = """
import os, subprocess, sys
if "RANK" not in os.environ:
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env=dict(os.environ, RANK=rank, LOCAL_RANK=rank, WORLD_SIZE="2"))
             for rank in "01"]
    sys.exit(max(rank.wait() for rank in ranks))
"""


def is_rank(process):
    """Returns whether it is a rank; its children count too, a process that will become one does not yet."""
    environment = content_of(process, "environ").split(b"\0")
    return any(line.startswith(b"RANK=") for line in environment) and b"python" in content_of(process, "cmdline")


BUSY = "while True: sum(range(100_000))"
WRITER = """
import os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR, 0o600)
while True:
    os.pwrite(file, os.urandom(1 << 22), 0)
    os.fsync(file)
"""


class Disturbance:
    """Disturbs the processes below `root` while it is open; a context manager. What it stops goes on at its end."""

    def __init__(self, root, seed, folder, longest_stop=3.0):
        self.root, self.random, self.folder = root, random.Random(seed), pathlib.Path(folder)
        self.longest_stop = longest_stop
        self.helpers, self.stopped, self.seen = [], {}, set()
        self.ended = threading.Event()
        self.load = self.random.randrange(5)
        self.writers = self.random.randrange(3)
        self.stops = self.random.choice([0.3, 1.0, 3.0])  # A second, on average.
        self.late = self.random.random() < 0.5
        self.count = 0

    def __enter__(self):
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        for helper in self.helpers:
            helper.kill()
            helper.wait()
        for process in list(self.stopped):
            self.go_on(process)

    def describe(self):
        return (
            f"{self.load} busy processes, {self.writers} writers, {self.stops} stops a second, "
            f"{'late' if self.late else 'undelayed'} ranks, {self.count} stops in all"
        )

    def start(self, code, *arguments):
        self.helpers.append(
            subprocess.Popen(
                [sys.executable, "-c", code, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        )

    def stop(self, process, seconds):
        try:
            os.kill(process, signal.SIGSTOP)
        except ProcessLookupError:
            return
        self.count += 1
        self.stopped[process] = time.monotonic() + seconds

    def go_on(self, process):
        del self.stopped[process]
        try:
            os.kill(process, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def run(self):
        for number in range(self.writers):
            self.start(WRITER, str(self.folder / f"writer{number}"))
        next_load = next_stop = next_look = 0
        ranks, agents = [], []
        while not self.ended.wait(0.003):
            now = time.monotonic()
            for process in [p for p, until in self.stopped.items() if until <= now]:
                self.go_on(process)
            if now >= next_load:
                next_load = now + self.random.uniform(0.2, 2)
                self.change_load()
            if now >= next_look:
                next_look = now + 0.1
                below = sorted(descendants(self.root))
                ranks, agents = [p for p in below if is_rank(p)], [p for p in below if name_of(p) == "eidolon-agent"]
                self.delay(ranks)
            if now >= next_stop and ranks:
                next_stop = now + self.random.expovariate(self.stops)
                victim = self.random.choice(ranks + agents)
                if victim not in self.stopped:
                    self.stop(victim, self.length(0.5 if victim in agents else self.longest_stop))

    def length(self, longest):
        """Draws a length from 10 ms on, short ones as often as long ones."""
        return 0.01 * (longest / 0.01) ** self.random.random()

    def change_load(self):
        wanted = self.random.randint(0, self.load)
        busy = self.helpers[self.writers :]
        for helper in busy[wanted:]:
            helper.kill()
            helper.wait()
            self.helpers.remove(helper)
        for _ in range(wanted - len(busy)):
            self.start(BUSY)

    def delay(self, ranks):
        """A rank that was not there before may begin late."""
        for process in set(ranks) - self.seen:
            self.seen.add(process)
            if self.late and process not in self.stopped:
                self.stop(process, self.random.uniform(0, self.longest_stop))


class Determinism:
    """A program of two ranks and the server that runs it. `world` is a jobs.World. `is_by_hand`: a launcher of ours starts
    the ranks, and not torchrun."""

    def __init__(self, world, program=BUILTIN, is_by_hand=False, longest_stop=3.0):
        self.world, self.longest_stop = world, longest_stop
        self.stops = []  # Of each disturbed run.
        self.program = textwrap.dedent(program)
        self.job = {"ranks": 2, "measure": 100}
        if is_by_hand:
            self.program = BY_HAND + self.program
            self.job |= {"command": ["python", "script.py"], "starts": 2}

    def run(self, seed=None):
        """(lines of each event log and of what the program prints of its clocks, what disturbed it). Without a seed nothing
        does."""
        document = self.world.job(self.program, **self.job)
        if seed is None:
            return self.outcome(self.world.server.run(document, seconds=300)), "not disturbed"
        with tempfile.TemporaryDirectory(dir=self.world.folder) as folder:
            with Disturbance(self.world.server.process.pid, seed, folder, self.longest_stop) as disturbance:
                job = self.world.server.run(document, seconds=300)
        self.stops.append(disturbance.count)
        return self.outcome(job), disturbance.describe()

    def outcome(self, job):
        expect_complete(job)
        # Sorted: ranks take turns at random.
        clocks = sorted(line for line in self.world.logs(job).splitlines() if line.startswith("clock"))
        logs = lines_of(self.world.event_logs(job))
        assert any(logs.values()), "no event log was written"
        return logs | {"what the program's clocks show": clocks}

    def check(self, runs, seed):
        """Describes the disturbed runs that differ from one that was left alone; seeds count up from `seed`."""
        alone, _ = self.run()
        differing = []
        for number in range(seed, seed + runs):
            started = time.monotonic()
            outcome, disturbance = self.run(number)
            where = first_difference(alone, outcome)
            text = f"seed {number} ({disturbance}): {where or 'the same'}"
            if where:
                differing.append(text)
            print(f"     {time.monotonic() - started:.1f} s: {text}", flush=True)
        return differing
