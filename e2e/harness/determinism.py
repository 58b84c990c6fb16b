"""Whether `hostModel: fixed` is bit-identical: one job, run again and again while the machine is disturbed.

    determinism.py --build DIR --python DIR [--runs N] [--seed S] [--program PATH|builtin|fsdp2] [--ranks N] [--servers N]
                   [--start torchrun|hand|itself] [--keep DIR]

The first run is left alone. The others are disturbed as their seeds say: load on the processors, ranks and agents that
are stopped for a while, writers that keep the disk busy, ranks that come late. Event logs must equal those of the
first run byte by byte, and so must the clock readings that the program prints: all lines that begin with "clock".
What happens at which moment is not repeatable; a seed repeats the kind and the rhythm of the disturbance.
"""

import argparse
import dataclasses
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
from server import Server
from jobs import World, expect_complete

# Data parallel training with what else moves clocks in real programs: workers and threads that load data, timed
# waits that end and that expire, sleeps, queries of events, values that the host reads.
BUILTIN = """
    import os, queue, threading, time, torch, torch.distributed as dist
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
        for number in range(8):
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
    for step, batch in enumerate(DataLoader(Samples(), batch_size=8, num_workers=1)):
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
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env=dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank),
                                                                    WORLD_SIZE="COUNT")) for rank in range(COUNT)]
    sys.exit(max(rank.wait() for rank in ranks))
"""


def descendants(root):
    """Process numbers below `root`."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue  # It has ended.
    found, open_ = [], [root]
    while open_:
        parent = open_.pop()
        children = [child for child, of in parents.items() if of == parent]
        found += children
        open_ += children
    return sorted(found)


def is_rank(process):
    """Also its children, and not yet whoever will call itself one."""
    try:
        environment = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
        command = pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
    return any(line.startswith(b"RANK=") for line in environment) and b"python" in command


def is_agent(process):
    try:
        return pathlib.Path(f"/proc/{process}/comm").read_text().startswith("eidolon-agent")
    except OSError:
        return False


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
                below = descendants(self.root)
                ranks, agents = [p for p in below if is_rank(p)], [p for p in below if is_agent(p)]
                self.delay(ranks)
            if now >= next_stop and ranks:
                next_stop = now + self.random.expovariate(self.stops)
                victim = self.random.choice(ranks + agents)
                if victim not in self.stopped:
                    self.stop(victim, self.length(0.5 if victim in agents else self.longest_stop))

    def length(self, longest):
        """From 10 ms on, short ones as often as long ones."""
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


@dataclasses.dataclass
class Outcome:
    events: dict  # The bytes of each event log, by name.
    clocks: list  # What the program printed of its clocks, sorted: ranks take turns at random.


@dataclasses.dataclass
class Difference:
    seed: int
    disturbance: str
    where: str
    first: str  # The line of the first run; empty: there is none.
    other: str

    def __str__(self):
        return (
            f"seed {self.seed} ({self.disturbance}): {self.where} differs first at\n"
            f"  alone     {self.first}\n  disturbed {self.other}"
        )


def first_difference(one, other):
    """The first pair of lines that differ, or None."""
    for number in range(max(len(one), len(other))):
        pair = [lines[number] if number < len(lines) else "" for lines in (one, other)]
        if pair[0] != pair[1]:
            return tuple(pair)
    return None


class Determinism:
    """A program and the server that runs it. `world` is a jobs.World.

    `start`: who starts the ranks: torchrun, a launcher of ours ("hand", on one server), or the program "itself".
    `keep`: a folder for the logs of runs that differ. `job`: more for World.job."""

    def __init__(
        self,
        world,
        program=None,
        ranks=2,
        servers=1,
        start="torchrun",
        longest_stop=3.0,
        seconds=300,
        keep=None,
        job=None,
    ):
        self.world, self.ranks, self.servers, self.longest_stop = world, ranks, servers, longest_stop
        self.seconds, self.keep = seconds, keep and pathlib.Path(keep)
        self.stops = []  # Of each disturbed run.
        self.program = textwrap.dedent(program or BUILTIN)
        if start == "hand":
            self.program = BY_HAND.replace("COUNT", str(ranks)) + self.program
        self.job = dict({} if start == "torchrun" else {"command": ["python", "script.py"]}, **(job or {}))

    def run(self, seed=None):
        """(outcome, what disturbed it). Without a seed nothing does."""
        document = self.world.job(self.program, ranks=self.ranks, servers=self.servers, measure=100, **self.job)
        if seed is None:
            return self.outcome(self.world.server.run(document, seconds=self.seconds)), "not disturbed"
        with tempfile.TemporaryDirectory(dir=self.world.folder) as folder:
            root = self.world.server.process.pid
            with Disturbance(root, seed, folder, self.longest_stop) as disturbance:
                job = self.world.server.run(document, seconds=self.seconds)
        self.stops.append(disturbance.count)
        return self.outcome(job), disturbance.describe()

    def outcome(self, job):
        expect_complete(job)
        log = self.world.server.logs(job["metadata"]["name"])
        clocks = sorted(line for line in log.splitlines() if line.startswith("clock"))
        return Outcome(events=self.world.event_logs(job), clocks=clocks)

    def save(self, outcome, name):
        """For looking at afterwards, in the folder that was given to keep it."""
        if not self.keep:
            return
        folder = self.keep / name
        folder.mkdir(parents=True, exist_ok=True)
        for log, text in outcome.events.items():
            (folder / log).write_bytes(text)
        (folder / "clocks").write_text("\n".join(outcome.clocks) + "\n")

    def compare(self, one, other, seed, disturbance):
        """The first difference of two outcomes, or None."""
        texts = [
            {name: log.decode().splitlines() for name, log in outcome.events.items()}
            | {"what the program's clocks show": outcome.clocks}
            for outcome in (one, other)
        ]
        for where in sorted(texts[0].keys() | texts[1].keys()):
            different = first_difference(*(text.get(where, []) for text in texts))
            if different:
                return Difference(seed, disturbance, where, *different)
        if one.events != other.events:
            return Difference(seed, disturbance, "the end of an event log", "", "")
        return None

    def check(self, runs, seed, tell=lambda line: print(line, flush=True)):
        """Differences of `runs` disturbed runs from one that was left alone; seeds count up from `seed`."""
        alone, _ = self.run()
        if not any(alone.events.values()):
            raise AssertionError("no event log was written")
        self.save(alone, "alone")
        differences = []
        for number in range(seed, seed + runs):
            started = time.monotonic()
            outcome, disturbance = self.run(number)
            difference = self.compare(alone, outcome, number, disturbance)
            if difference:
                differences.append(difference)
                self.save(outcome, f"seed{number}")
            tell(
                f"     {time.monotonic() - started:.1f} s: "
                + (str(difference) if difference else f"seed {number} ({disturbance}): the same")
            )
        return differences


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default="builtin", help="a Python file, 'builtin' or 'fsdp2'")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--start", choices=("torchrun", "hand", "itself"), default="torchrun")
    parser.add_argument("--keep", help="a folder for the logs of runs that differ")
    a = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # Nothing stays behind: neither load nor stopped ranks.
    program = read_program(a.program)
    with tempfile.TemporaryDirectory(prefix="determinism-") as folder, Server(a.build, a.python) as server:
        world = World(server, folder)
        different = Determinism(world, program, ranks=a.ranks, servers=a.servers, start=a.start, keep=a.keep).check(
            a.runs, a.seed
        )
    print(
        f"determinism: {a.runs} disturbed runs, {len(different)} differ"
        + (f": seeds {', '.join(str(d.seed) for d in different)}" if different else "")
    )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
