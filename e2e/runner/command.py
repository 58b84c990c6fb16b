"""Runs the checks that a change can affect and a sample of the others, reports all failures, and ends with counts.

Without --all a part runs as a whole when a changed file can affect it; of the others a quarter of the tests runs. What
has changed: everything since --since, else since $EIDOLON_TEST_SINCE, else since the newest commit that passed on this
machine, else in the last eight hours. Parts run beside each other as far as there are processors; one that fails does not
stop the others unless they stand on it. A part's output goes to build/test-logs/PART.log; when it fails, what its failed
tests printed is shown. At most three failed tests are run again at the end, each alone and three times. A run passes with
two that pass then, unless one was flaky in the last ten runs; with --all it does not. A run that would take longer than
--minutes samples its longest parts, or leaves them out; it names them, and the next run takes them whole.
"""

import argparse
import atexit
import dataclasses
import json
import os
import queue
import signal
import subprocess
import sys
import time

from runner import change, flaky, history, programs, selection
from runner.limit import MINUTES, Limit, longest
from runner.parts import CORES, LOGS, PROVIDERS, ROOT, all_parts, environment_name, provisions, some, whole
from runner.processes import Processes, processor_seconds, shown
from runner.schedule import Schedule, Task, simulate
from sampling import GROUPS

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
        "--minutes", type=float, help=f"how long the run may take; {MINUTES} without --all and --only, else no limit"
    )
    parser.add_argument("--list", action="store_true", help="print the parts and end")
    parser.add_argument("--plan", action="store_true", help="print what would run, why and for how long, and end")
    parser.add_argument("--history", action="store_true", help="print the slowest and the failed tests of this machine")
    parser.add_argument("--write", action="store_true", help="with --history: also into e2e/README.md")
    a = parser.parse_args(words)
    a.only = [name for name in a.only.split(",") if name]
    if a.minutes is None and not a.all and not a.only:
        a.minutes = MINUTES
    if a.write and not a.history:
        parser.error("--write goes with --history")
    if unknown := set(a.only) - {part.name for part in all_parts()}:
        parser.error(f"no part is called {', '.join(sorted(unknown))}; see --list")
    return a


class Run:
    """A run of the chosen parts. `choices`: what of each, by name."""

    def __init__(self, parts, choices, record, rows=(), strict=False, minutes=None, groups=frozenset({0})):
        """`rows`: the history. `strict`: no test may be flaky. `groups`: of the sample of a part that is shortened."""
        self.choices, self.record, self.strict = choices, record, strict
        self.flaky_before = history.flaky_tests(history.read(newest=history.RUNS_FOR_FLAKY))
        self.parts = {part.name: part for part in provisions([part for part in parts if part.name in choices])}
        self.expected = history.expected_seconds(rows)
        self.schedule = Schedule([self.task(part) for part in self.parts.values()])
        self.limit, self.groups = Limit(minutes and minutes * 60, CORES), groups
        self.shortened, self.late = [], []
        self.variables = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
        self.packages = {}  # The folder of an environment's packages, by its name.
        self.processes = Processes(LOGS, ROOT)
        self.ended = queue.Queue()
        self.passed = self.failed = self.starts = 0
        self.bad, self.names = [], []
        self.flaky, self.refused = [], []

    def task(self, part):
        choice = self.choices.get(part.name)
        seconds = self.expected.get(part.name, part.seconds) * (choice.share if choice else 1)
        needs = tuple(name for name in part.needs if name in self.parts)
        return Task(part.name, max(1, seconds), part.processors, needs, part.alone, part.first)

    def go(self):
        atexit.register(self.processes.end)
        while True:
            self.keep_within_limit(time.monotonic())
            for task in self.schedule.due(time.monotonic()):
                self.start(self.parts[task.name])
            if self.schedule.is_over():
                break
            self.finish(self.ended.get())
        self.repeat_failed()

    def keep_within_limit(self, now):
        while self.limit.is_exceeded(self.schedule, now) and (task := longest(self.divisible())):
            part = self.parts[task.name]
            self.choices[part.name] = some(part, self.groups, why="a sample, for lack of time")
            self.schedule.waiting[part.name] = self.task(part)
            self.shortened.append(part.name)
            print(f"     {part.name} is sampled, for lack of time", flush=True)
        while self.limit.is_exceeded_by_far(self.schedule, now) and (task := longest(self.last())):
            self.schedule.leave_out(task.name)
            self.late.append(task.name)
            print(f"LATE {task.name:16} not run, for lack of time", flush=True)

    def divisible(self):
        """The waiting suites of which much more is to run than a sample."""
        waiting = [self.parts[name] for name in self.schedule.waiting]
        names = [part.name for part in waiting if part.suite and part.turn is None]
        small = 1.4 * len(self.groups) / GROUPS
        return [self.schedule.waiting[name] for name in names if self.choices[name].share > small]

    def last(self):
        """The waiting parts on which no other stands."""
        needed = {name for task in self.schedule.waiting.values() for name in task.needs}
        return [task for name, task in self.schedule.waiting.items() if name not in needed]

    def start(self, part):
        choice = self.choices.get(part.name)
        words = (*choice.command, *choice.words) if choice else part.command
        command = [*words, *(("--junitxml", str(part.junit)) if part.suite else ())]
        self.processes.start(part, choice, command, self.environment_of(part), self.ended.put)

    def environment_of(self, part):
        return self.variables | {VARIABLES[name]: self.packages[name] for name in part.environments}

    def finish(self, ended):
        name = ended.part.name
        if not name.startswith("build-"):  # How long a build takes depends on the compiler's cache.
            self.limit.learn(self.schedule.running[name][0].seconds, ended.seconds)
        dropped = self.schedule.ended(name, ended.good)
        if ended.good:
            self.made(name)
        else:
            self.bad.append(ended)
        if name in self.choices or not ended.good or ended.seconds > 5:
            self.tell(ended)
        for other, needs in dropped.items():
            print(f"FAIL {other:16} not run: {', '.join(needs)} failed", flush=True)
            self.failed += 1
        if name in self.choices:
            self.passed += ended.results.passed
            self.starts += ended.results.starts_of_torch()
            self.names += [name] if ended.good and name not in self.shortened else []
            self.record.add(name, ended.results.tests, ended.seconds, ended.good, ended.choice.share)
        self.failed += ended.results.failed

    def made(self, name):
        """Takes note of an environment that is there now."""
        for environment, program in PROVIDERS.items():
            if name == environment_name(environment):
                self.packages[environment] = output_of(program, "packages")

    def tell(self, ended):
        part, choice, results = ended.part, ended.choice, ended.results
        verdict = "ok  " if ended.good else "FAIL"
        counts = f"{results.passed:5} passed {results.failed:4} failed"
        times = f"{ended.seconds:7.0f} s, {ended.worked:5.0f} s of processors"
        print(
            f"{verdict} {part.name:16} {counts} {times}{'  ' + choice.why if choice and choice.why else ''}", flush=True
        )
        if ended.good:
            last = results.text.splitlines()[-part.shows :] if part.shows else []
            print("".join(f"     | {line}\n" for line in last), end="", flush=True)
            return
        print(f"     {shown(ended.command)}  (status {ended.status}); see {ended.log.relative_to(ROOT)}:")
        print("     failed tests:" if results.of_failed() else "     failed: the part itself")
        for one in results.of_failed():
            print(f"       {one.test} after {one.seconds:.1f} s: {one.reason}".rstrip(": "))
        print("\n".join("     | " + line for line in results.words()), flush=True)

    def repeat_failed(self):
        """Tells flaky tests from broken ones, and counts as passed those that may be flaky."""
        self.flaky = flaky.find_flaky(self.bad, self.passes_alone)
        self.refused = flaky.why_refused(self.flaky, self.flaky_before, self.strict)
        for one in self.flaky:
            self.record.add_flaky(one.part, one.result)
        if not self.refused:
            self.failed -= len(self.flaky)
            self.passed += len(self.flaky)
            self.names += [one.part.name for one in self.bad if not self.failed]

    def passes_alone(self, part, test):
        junit, log = part.junit.with_suffix(".again.xml"), LOGS / f"{part.name}.again.log"
        command = flaky.command_again(part, test, junit)
        ended = self.processes.follow(part, None, command, self.environment_of(part), log, junit)
        print(f"{'ok  ' if ended.good else 'FAIL'} {test} again, alone: {ended.seconds:.0f} s", flush=True)
        return ended.good and any(one.test == test and one.outcome == "passed" for one in ended.results.tests)


def output_of(*words):
    done = subprocess.run([str(ROOT / words[0]), *words[1:]], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


@dataclasses.dataclass
class Chosen:
    """The choice of a run: what of each part by its name, the first lines, and what programs.py has to know, by kind
    of build."""

    choices: dict
    lines: list
    programs: dict


def choose(a, parts, git, seconds):
    """`seconds`: of tests, by part."""
    everything = change.Change(everything=True)
    if a.all or (a.only and not a.since):
        named = {part.name: whole(part, "", every=a.all) for part in parts if part.name in a.only}
        changes = {part.name: everything for part in parts}
        choices = named or selection.select(parts, changes, every=True, quick=a.quick)
        lines = ["everything runs" if a.all else f"only {', '.join(named)}"]
        return Chosen(choices, lines, dict.fromkeys(("release", "again"), selection.for_programs(everything)))
    changes = change.find_changes(git, parts, a.since)
    choices = selection.select(parts, changes, quick=a.quick, seconds=seconds)
    if a.only:
        choices = {name: choice for name, choice in choices.items() if name in a.only}
    known = {
        kind: selection.for_programs(changes.get(part, everything), part, seconds)
        for kind, part in (("release", "test-release"), ("again", "test-asan"))
    }
    return Chosen(choices, selection.write_bases(changes), known)


def write_selection(chosen):
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / "selection.json").write_text(json.dumps(chosen.programs, indent=1) + "\n")


def expect_shares(chosen, parts, seconds):
    """Replaces the shares of parts of C++ programs by what their tests took."""
    for part in parts:
        choice = chosen.choices.get(part.name)
        if choice and part.programs:
            known = chosen.programs["again" if part.again else "release"]
            try:
                share = programs.share(part.name, known, seconds.get(part.name, {}))
            except (OSError, subprocess.CalledProcessError):
                return  # A build that was interrupted: its tests are not known.
            if share is not None:
                # Also of a few programs, a build compiles most libraries.
                least = 0.5 if part.name.startswith("build-") and share > 0 else 0
                chosen.choices[part.name] = dataclasses.replace(choice, share=max(share, least))


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
    print("".join(f"{line}\n" for line in flaky.write_flaky(run.flaky, run.refused)), end="")
    if left_out:
        print(f"     not affected, and not sampled this time: {', '.join(left_out)}")
    print(f"     all parts together {seconds / 60:5.1f} min; {CORES} processors were busy for {share:.0%} of it")
    print(f"     starts of torch: {run.starts}")
    if not_whole := [*run.shortened, *run.late]:
        print(f"     not run as a whole, for lack of time: {', '.join(not_whole)}; the next run takes them whole")
    print(f"{run.passed} passed, {run.failed} failed, {len(left_out) + len(run.late)} skipped")


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
    git, parts, rows = change.Git(), all_parts(), history.read()
    seconds = history.seconds_of_tests(rows)
    try:
        chosen = choose(a, parts, git, seconds)
    except ValueError as error:
        sys.exit(f"e2e/test: {error}")
    choices = chosen.choices
    expect_shares(chosen, parts, seconds)
    print("\n".join(f"     {line}" for line in chosen.lines), flush=True)
    commit, is_clean = git.head(), git.uncommitted() == set()
    record = history.History(commit and commit + ("" if is_clean else "+"), LOGS)
    run = Run(parts, choices, record, rows, a.all, a.minutes, change.newest_groups(git))
    if a.plan:
        run.keep_within_limit(time.monotonic())
        print_plan(run, choices, parts)
        return 0
    print(f"     about {simulate(list(run.schedule.tasks.values()), CORES)[1] / 60:.0f} min", flush=True)
    write_selection(chosen)
    started, worked = time.monotonic(), processor_seconds()
    try:
        run.go()
    except KeyboardInterrupt:
        sys.exit("e2e/test: interrupted")
    record.forget_oldest()
    left_out = [part.name for part in parts if part.name not in choices] if not a.only else []
    print_end(run, a, started, worked, left_out)
    # With --only and --since a part may have run for less than it has to run for.
    says = not (a.only and a.since) and commit and is_clean
    if says and git.head() == commit and git.uncommitted() == set():
        whole_run = not (run.failed or run.shortened or run.late or a.only or a.quick)
        change.record(commit, run.names, whole_run, a.all)
    return 1 if run.failed else 0
