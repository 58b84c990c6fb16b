"""Measures what computing values costs stock torch on this machine, and prints it as lines "eidolon-bench NAME
VALUE". Run by `eidolon bench` outside of Eidolon:

    values_program.py drive EIDOLON ROUNDS

starts two jobs of itself, one with values computed and one without, and has them do the same work in turns, so that
what else the machine does falls on both alike. Figures of additions are medians over the turns."""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

ADDS = 4000  # Of one turn: less than what makes the shim run what waits (8,192).
READS = 200
STEPS = 32
MODES = ("off", "on")


class Worker:
    """A job that works when it is told to."""

    def __init__(self, eidolon, mode, folder):
        paths = [os.path.join(folder, name + "." + mode) for name in ("ask", "answer")]
        for path in paths:
            os.mkfifo(path)
        self.log = open(os.path.join(folder, "log." + mode), "w+", encoding="utf-8")
        run = [
            eidolon,
            "run",
            "--gpu",
            "H100-SXM5-80GB",
            "--values",
            mode,
            "--nvtx",
            "bench",
            "--warmup",
            "0",
            "--measure",
            "1",
            "--",
            sys.executable,
            "-c",
            sys.orig_argv[2],
            "work",
            mode,
            *paths,
        ]
        self.process = subprocess.Popen(run, stdout=self.log, stderr=subprocess.STDOUT)
        # Open for reading and writing: a job that ends does not leave us waiting for it to open its end.
        self.ask, self.answer = (os.open(path, os.O_RDWR) for path in paths)
        self.rest = b""

    def send(self, what):
        os.write(self.ask, (what + "\n").encode())

    def receive(self):
        os.set_blocking(self.answer, False)
        while b"\n" not in self.rest:
            ended = self.process.poll() is not None
            try:
                self.rest += os.read(self.answer, 65536)
            except BlockingIOError:
                if ended:
                    self.log.seek(0)
                    sys.exit("the job ended: " + self.log.read()[-1000:])
                try:
                    self.process.wait(0.002)
                except subprocess.TimeoutExpired:
                    pass
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def measure(self, what):
        self.send(what)
        return self.receive()


def turns(workers, what, rounds):
    """Pairs (off, on) of what one turn costs; who begins changes."""
    pairs = []
    for i in range(rounds):
        order = MODES if i % 2 == 0 else MODES[::-1]
        costs = {mode: workers[mode].measure(what) for mode in order}
        pairs.append(tuple(costs[mode] for mode in MODES))
    return pairs


def drive(eidolon, rounds):
    with tempfile.TemporaryDirectory(prefix="eidolon-bench-") as folder:
        workers = {mode: Worker(eidolon, mode, folder) for mode in MODES}
        try:
            for worker in workers.values():
                worker.receive()  # It has started.
            adds = turns(workers, "add", rounds)
            reads = turns(workers, "read", rounds)
            steps = turns(workers, "step", 2 * rounds)
            for worker in workers.values():
                worker.send("end")
            for worker in workers.values():
                worker.process.wait(60)
        finally:
            for worker in workers.values():
                worker.process.terminate()

    def extra(pairs, part):
        return statistics.median(on[part] - off[part] for off, on in pairs)

    report("plain_add_seconds", statistics.median(off[0] for off, _ in adds))
    report("lazy_add_seconds", extra(adds, 0))
    report("eager_add_seconds", extra(adds, 0) + extra(adds, 1))
    report("read_add_seconds", extra(reads, 0))
    # The quickest turns: what else the machine does only adds to the processor time of milliseconds.
    off, on = (min(pair[i][0] for pair in steps) for i in range(2))
    report("step_seconds", off)
    report("step_percent", 100 * (on / off - 1))


def report(name, value):
    print("eidolon-bench", name, value, flush=True)


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def work(mode, ask, answer):
    """Does what is asked for and answers with processor seconds, of all threads, for one piece of it."""
    import torch

    torch.manual_seed(0)
    # With values off nothing is known of it, so that its launches are noted, not run.
    small = torch.empty(10, device="cuda")
    width = 4096
    with torch.device("meta"):  # Nothing is drawn: a step's cost does not depend on the weights.
        layers = [
            torch.nn.Sequential(
                torch.nn.LayerNorm(width),
                torch.nn.Linear(width, 4 * width),
                torch.nn.GELU(),
                torch.nn.Linear(4 * width, width),
            )
            for _ in range(6)
        ]
    model = torch.nn.Sequential(*layers).to_empty(device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    batch = torch.empty(8192, width, device="cuda")

    def check(copy, added):
        """The additions were done, or not, as the mode says."""
        assert copy.tolist() == [added if mode == "on" else 0] * 10, (mode, copy)

    def clear():
        if mode == "on":
            small.zero_()  # A step may have written anywhere.

    def add():
        clear()
        begin = cpu_seconds()
        for _ in range(ADDS):
            small.add_(1)
        recorded = cpu_seconds()
        copy = small.cpu()
        end = cpu_seconds()
        check(copy, ADDS)
        return [(recorded - begin) / ADDS, (end - recorded) / ADDS]

    def read():
        clear()
        begin = cpu_seconds()
        for _ in range(READS):
            small.add_(1)
            copy = small.cpu()
        end = cpu_seconds()
        check(copy, READS)
        return [(end - begin) / READS]

    def step():
        begin = cpu_seconds()
        for _ in range(STEPS):
            loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            loss.item()
        return [(cpu_seconds() - begin) / STEPS]

    pieces = {"add": add, "read": read, "step": step}
    torch.cuda.nvtx.range_push("bench")  # All that follows is one iteration of the job.
    for piece in pieces.values():
        piece()  # Kernels are found and their code is read.
        piece()
    with open(ask, encoding="utf-8") as asked, open(answer, "w", encoding="utf-8") as answers:
        print("[]", file=answers, flush=True)
        for line in asked:
            if line.strip() == "end":
                break
            print(json.dumps(pieces[line.strip()]()), file=answers, flush=True)
    torch.cuda.nvtx.range_pop()


if sys.argv[1] == "drive":
    drive(sys.argv[2], int(sys.argv[3]))
else:
    work(*sys.argv[2:])
