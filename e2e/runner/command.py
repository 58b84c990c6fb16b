"""Runs the checks that a change can affect and a sample of the others, reports all failures, and ends with counts.

Without --all a part runs as a whole when a changed file can affect it; of the others a quarter of the tests runs. What
has changed: everything since --since, else since $EIDOLON_TEST_SINCE, else since the newest commit that passed on this
machine. Parts run beside each other as far as there are processors; one that fails does not stop the others unless they
stand on it. A part's output goes to build/test-logs/PART.log; when it fails, what its failed tests printed is shown.
"""

import argparse
import atexit
import json
import os
import queue
import signal
import subprocess
import sys
import time

from runner import change, history, selection
from runner.parts import CORES, LOGS, PROVIDERS, ROOT, all_parts, environment_name, provisions, whole
from runner.processes import Processes, processor_seconds, second_junit, shown
from runner.schedule import Schedule, Task, simulate
from runner.words import starts_of_torch, words_of_failed

VARIABLES = {"torch": "EIDOLON_PYTHON_PACKAGES", "cuda12": "EIDOLON_OLDER_PACKAGES"}


def arguments(words=None):
    parser = argparse.ArgumentParser(
        prog="e2e/test", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--all", action="store_true", help="every part as a whole; e2e/release asks for it")
    extent.add_argument("--since", metavar="REF", help="what has changed since this commit, branch or tag")
    parser.add_argument(
        "--quick", action="store_true", help="without sanitizers and fuzzers, which build the tests again"
    )
    parser.add_argument(
        "--only", default="", metavar="PART,...", help="these parts, as a whole unless --since is given"
    )
    parser.add_argument(
        "--rerun-failed", action="store_true", help="run failed tests once more to tell which are flaky"
    )
    parser.add_argument("--list", action="store_true", help="print the parts and end")
    parser.add_argument("--plan", action="store_true", help="print what would run, why and for how long, and end")
    parser.add_argument("--history", action="store_true", help="print the slowest and the failed tests of this machine")
    parser.add_argument("--write", action="store_true", help="with --history: also into e2e/README.md")
    a = parser.parse_args(words)
    a.only = [name for name in a.only.split(",") if name]
    if a.write and not a.history:
        parser.error("--write goes with --history")
    if unknown := set(a.only) - {part.name for part in all_parts()}:
        parser.error(f"no part is called {', '.join(sorted(unknown))}; see --list")
    return a


class Run:
    """A run of the chosen parts. `choices`: what of each, by name."""

    def __init__(self, parts, choices, record, again):
        self.choices, self.record, self.rerun = choices, record, again
        self.parts = {part.name: part for part in provisions([part for part in parts if part.name in choices])}
        self.expected = history.expected_seconds(history.read())
        self.schedule = Schedule([self.task(part) for part in self.parts.values()])
        self.environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
        self.packages = {}  # The folder of an environment's packages, by its name.
        self.ended = queue.Queue()
        self.passed = self.failed = self.starts = 0
        self.flaky, self.names = [], []

    def task(self, part):
        choice = self.choices.get(part.name)
        seconds = self.expected.get(part.name, part.seconds) * (choice.share if choice else 1)
        needs = tuple(name for name in part.needs if name in self.parts)
        return Task(part.name, max(1, seconds), part.processors, needs, part.alone, part.first)

    def go(self):
        processes = Processes(LOGS, ROOT)
        atexit.register(processes.end)
        while True:
            for task in self.schedule.due(time.monotonic()):
                self.start(processes, self.parts[task.name])
            if self.schedule.is_over():
                return
            self.finish(self.ended.get())

    def start(self, processes, part):
        choice = self.choices.get(part.name)
        words = (*choice.command, *choice.words) if choice else part.command
        command = [*words, *junit_words(part.suite, part.junit)]
        again = self.command_again(part) if self.rerun else None
        environment = self.environment | {VARIABLES[name]: self.packages[name] for name in part.environments}
        processes.start(part, choice, command, environment, self.ended.put, again)

    def command_again(self, part):
        junit = second_junit(part)
        if part.programs:
            return lambda names: [*part.command, "--failed", "--junit", str(junit)]
        if part.suite:
            return lambda names: ["e2e/pytest", *junit_words(part.suite, junit), *names]
        return None

    def finish(self, ended):
        name = ended.part.name
        dropped = self.schedule.ended(name, ended.good)
        if ended.good:
            self.made(name)
        if name in self.choices or not ended.good or ended.seconds > 5:
            self.tell(ended)
        for other, needs in dropped.items():
            print(f"FAIL {other:16} not run: {', '.join(needs)} failed", flush=True)
            self.failed += 1
        if name in self.choices:
            self.passed += ended.passed
            self.starts += starts_of_torch(ended.text)
            self.names += [name] if ended.good else []
            self.record.add(name, ended.results, ended.seconds, ended.good, ended.choice.share, ended.flaky)
        self.failed += ended.failed

    def made(self, name):
        """Takes note of an environment that is there now."""
        for environment, program in PROVIDERS.items():
            if name == environment_name(environment):
                self.packages[environment] = output_of(program, "packages")

    def tell(self, ended):
        part, choice = ended.part, ended.choice
        verdict = "ok  " if ended.good else "FAIL"
        counts = f"{ended.passed:5} passed {ended.failed:4} failed"
        times = f"{ended.seconds:7.0f} s, {ended.worked:5.0f} s of processors"
        print(
            f"{verdict} {part.name:16} {counts} {times}{'  ' + choice.why if choice and choice.why else ''}", flush=True
        )
        if ended.good:
            last = ended.text.splitlines()[-part.shows :] if part.shows else []
            print("".join(f"     | {line}\n" for line in last), end="", flush=True)
            return
        log = ended.log.relative_to(ROOT)
        print(f"     {shown(ended.command)}  (status {ended.status}); see {log}:")
        print("     failed tests:", ", ".join(ended.names) or "the part itself")
        for name in ended.flaky:
            print(f"     flaky: passed on the second try: {name}")
        self.flaky += [f"{part.name}: {name}" for name in ended.flaky]
        print("\n".join("     | " + line for line in words_of_failed(ended.text)), flush=True)


def junit_words(suite, file):
    return ("--junitxml", str(file)) if suite else ()


def output_of(*words):
    done = subprocess.run([str(ROOT / words[0]), *words[1:]], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def choose(a, parts, git):
    """(what of each part, first lines, the changes)."""
    if a.all or (a.only and not a.since):
        everything = change.Change(everything=True)
        named = {part.name: whole(part, "", every=a.all) for part in parts if part.name in a.only}
        choices = named or selection.select(parts, everything, everything, every=True, quick=a.quick)
        return choices, ["everything runs" if a.all else f"only {', '.join(named)}"], (everything, everything)
    latest, again = change.find_change(git, a.since)
    choices = selection.select(parts, latest, again, quick=a.quick)
    if a.only:
        choices = {name: choice for name, choice in choices.items() if name in a.only}
    return choices, selection.write_base(latest, again), (latest, again)


def write_selection(changes, every):
    latest, again = changes
    LOGS.mkdir(parents=True, exist_ok=True)
    chosen = {
        "release": selection.for_programs(latest, every, "test-release"),
        "again": selection.for_programs(again, every, "test-asan"),
    }
    (LOGS / "selection.json").write_text(json.dumps(chosen, indent=1) + "\n")


def print_plan(run, choices, parts):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    line, seconds = simulate([run.task(part) for part in run.parts.values()], CORES)
    for begin, _, task in line:
        choice = choices.get(task.name)
        share = f"{choice.share:4.0%}" if choice else "    "
        print(
            f"at {begin:5.0f} s  {task.seconds:5.0f} s  {share} {task.name:18} {choice.why if choice else 'installs'}"
        )
    left_out = [part.name for part in parts if part.name not in choices]
    print(f"     not affected, and not sampled this time: {', '.join(left_out) or 'nothing'}")
    print(f"     about {seconds / 60:.0f} min")


def print_end(run, a, started, worked, left_out):
    seconds = time.monotonic() - started
    share = (processor_seconds() - worked) / max(seconds, 0.01) / CORES
    for name in run.flaky:
        print(f"     flaky: passed on the second try: {name}")
    if left_out:
        print(f"     not affected, and not sampled this time: {', '.join(left_out)}")
    print(f"     all parts together {seconds / 60:5.1f} min; {CORES} processors were busy for {share:.0%} of it")
    print(f"     starts of torch: {run.starts}")
    print(f"{run.passed} passed, {run.failed} failed, {len(left_out)} skipped")


def main(words=None):
    a = arguments(words)
    if a.list:
        print("\n".join(part.name for part in all_parts()))
        return 0
    if a.history:
        rows = history.read()
        print(history.write_history(rows))
        if a.write:
            history.write_readme(rows)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    git, parts = change.Git(), all_parts()
    try:
        choices, lines, changes = choose(a, parts, git)
    except ValueError as error:
        sys.exit(f"e2e/test: {error}")
    print("\n".join(f"     {line}" for line in lines), flush=True)
    commit, is_clean = git.head(), git.uncommitted() == set()
    record = history.History(commit and commit + ("" if is_clean else "+"), LOGS)
    run = Run(parts, choices, record, a.rerun_failed)
    if a.plan:
        print_plan(run, choices, parts)
        return 0
    write_selection(changes, a.all or bool(a.only and not a.since))
    started, worked = time.monotonic(), processor_seconds()
    try:
        run.go()
    except KeyboardInterrupt:
        sys.exit("e2e/test: interrupted")
    record.forget_oldest()
    left_out = [part.name for part in parts if part.name not in choices] if not a.only else []
    print_end(run, a, started, worked, left_out)
    if commit and is_clean and git.head() == commit and git.uncommitted() == set():
        change.record(commit, run.names, not run.failed and not a.only and not a.quick, a.all)
    return 1 if run.failed else 0
