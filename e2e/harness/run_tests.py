"""Runs every check of the project, reports all failures, and ends with a line of counts.

    run_tests.py [--quick] [--only PART[,PART]] [--list]

Parts run in order; one that fails does not stop the others unless they stand on it. Output of a part goes to
build/test-logs/<part>.log; when it fails, what its failed tests printed is shown. With --quick the parts that
build the tests again (sanitizers, fuzzers) are skipped, and say so. The cluster test mostly waits, so it runs beside
those that follow the build, and is told in its place.
"""

import argparse
import atexit
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "test-logs"
CORES = os.cpu_count() or 2
ENDED = re.compile(r"(ok  |FAIL|skip) ")


class Part:
    def __init__(self, name, command, needs=(), minutes=20, slow=False, beside=False):
        self.name, self.command, self.needs = name, command, needs
        self.minutes, self.slow, self.beside = minutes, slow, beside
        self.begun = None  # Of one that runs beside others.


def parts(python):
    release = ROOT / "build" / "release"
    ctest = ["ctest", "--output-on-failure", "--timeout", "300"]
    harness = [f"{python}/bin/python", "-B"]

    # Checks of whole files, on one thread: nothing there can race, and the sanitizer makes them minutes long.
    single_threaded = ["-E", "^(CubinTorchTest|SassTorchTest|RecogniseTorchTest|AccuracyTest|ReportFieldsTest)\\."]
    # Figures of whole tables: other tests take the same paths, and these take the address sanitizer five minutes.
    figures = ["-E", "^(AccuracyTest|KernelErrorsTest|ReportFieldsTest)\\."]

    def sanitized(preset, *targets, without=()):
        # All that compiles is built before one failure ends it, so that one log shows every error.
        return [
            Part(f"build-{preset}", ["e2e/build", preset, "-k", "0", *targets], minutes=40, slow=True),
            Part(
                f"test-{preset}",
                # Many of them wait for most of their time.
                [*ctest, "-j", str(2 * CORES), "--test-dir", f"build/{preset}", "-L", "unit", *without],
                needs=(f"build-{preset}",),
                minutes=20,
                slow=True,
            ),
        ]

    return [
        Part("format", ["e2e/checks/format.sh"]),
        Part("python", ["e2e/checks/python.sh"]),
        Part("layers", [sys.executable, "e2e/checks/layers.py"]),
        Part("tidy", [sys.executable, "e2e/checks/tidy.py"]),
        Part("vocabulary", [sys.executable, "e2e/checks/vocabulary.py"]),
        Part("pages", [sys.executable, "e2e/checks/pages.py"]),
        Part("metrics", [sys.executable, "dashboards/metrics.py"]),
        Part("dashboards", [sys.executable, "dashboards/check.py"]),
        Part("apigen", ["shim/api/apigen", "--verify"]),
        Part("build-release", ["e2e/build", "release"], minutes=45),
        Part(
            "headers",
            [sys.executable, "e2e/checks/headers.py", str(release)],
            needs=("build-release",),
            minutes=15,
        ),
        Part(
            "test-release",
            [*ctest, "-j", str(CORES + 1), "--test-dir", "build/release", "-L", "unit|shim"],
            needs=("build-release",),
        ),
        Part(
            "behaviour",
            ["e2e/pytest", "behaviours", "--build", str(release), "-n", str(CORES)],
            needs=("build-release",),
            minutes=45,
        ),
        Part(
            "scenarios",
            [*harness, "e2e/harness/scenarios.py", "--build", str(release), "--python", python],
            needs=("build-release",),
            minutes=30,
        ),
        Part(
            "folding",
            ["e2e/folding/run", "--build", str(release), "--python", python, "--ranks", "4", "--check", "--program"]
            + ["fsdp2", "ddp", "hsdp", "zero3", "ring", "megatron", "megatron_pp"]
            + ["interleaved", "context", "experts", "checkpoint", "halves", "gloo", "gloo_detail"],
            needs=("build-release",),
            minutes=25,
        ),
        Part("messages", ["e2e/messages", "--python", python], needs=("build-release",), minutes=20),
        Part(
            "docs", ["e2e/docs/run", "--build", str(release), "--python", python], needs=("build-release",), minutes=25
        ),
        Part("wheel", ["e2e/wheel/test", "venv"], needs=("build-release",), minutes=20),
        Part(
            "page", ["e2e/page/run", "--build", str(release), "--python", python], needs=("build-release",), minutes=10
        ),
        Part("compatibility", ["e2e/compat", "--short"], needs=("build-release",), minutes=25),
        Part("torture", ["e2e/torture", "--seed", "commit", "--minutes", "2"], needs=("build-release",), minutes=15),
        # The short form; on a machine that has none of its programs it compiles Kubernetes first.
        Part("kube", ["e2e/kube/run", "--in-ci"], needs=("build-release",), minutes=75, beside=True),
        *sanitized("asan", "unit_tests", "fuzzers", without=figures),
        Part("fuzz", ["e2e/fuzz", "--build", "build/asan"], needs=("build-asan",), slow=True),
        *sanitized("tsan", "unit_tests", without=single_threaded),
    ]


def counts_in(text):
    """(passed, failed) that a part's own runner printed last; None when it printed none."""
    ctest = re.findall(r"(\d+)% tests passed, (\d+) tests failed out of (\d+)", text)
    if ctest:
        failed, total = int(ctest[-1][1]), int(ctest[-1][2])
        return total - failed, failed
    of_pytest = re.findall(r"^=+ (.*) in [\d.]+s.* =+$", text, re.M)
    if of_pytest:
        found = {word.rstrip("s"): int(count) for count, word in re.findall(r"(\d+) (\w+)", of_pytest[-1])}
        return found.get("passed", 0), found.get("failed", 0) + found.get("error", 0)
    plain = re.findall(r"(\d+) passed, (\d+) failed", text)
    return (int(plain[-1][0]), int(plain[-1][1])) if plain else None


def names_of_failed(text):
    """The tests that ctest, or a runner of ours, names as failed."""
    of_ctest = re.findall(r"^\s+\d+ - (\S+) \((.*)\)", text, re.M)
    return [name for name, why in of_ctest if why not in ("Skipped", "Disabled")] or re.findall(
        r"^(?:FAIL|FAILED|ERROR) (\S+)", text, re.M
    )


def processor_seconds():
    """What this machine's processors have worked since it started."""
    with open("/proc/stat") as stat:
        user, nice, system = map(int, stat.readline().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def beginning_and_end(lines):
    """Of long output the first lines and, since a test's reason stands there, more of the last ones."""
    return lines if len(lines) <= 80 else [*lines[:15], "...", *lines[-64:]]


def words_of_failed(text):
    """What ctest, or a runner of ours, printed of each failed test, or else the end of the text."""
    if of_pytest := re.search(r"^=+ (?:ERRORS|FAILURES) =+$.*?(?=^=+ short test)", text, re.M | re.S):
        return of_pytest[0].splitlines()[:300]
    failed = re.compile(r"\s*\d+/\d+ Test +#\d+: .*\*\*\*(?!Skipped|Not Run \(Disabled)")
    another = re.compile(r"\s*(\d+/\d+ Test +#|Start +\d+:)")
    lines = text.splitlines()
    kept = []
    for at, line in enumerate(lines):
        if failed.match(line):
            end = next((i for i in range(at + 1, len(lines)) if another.match(lines[i])), len(lines))
            kept += beginning_and_end(lines[at:end])
        elif line.startswith("FAIL "):
            # Its words come before its name or, of the cluster test, after it.
            begin = max((i for i in range(at) if ENDED.match(lines[i])), default=-1)
            end = next((i for i in range(at + 1, len(lines)) if ENDED.match(lines[i])), len(lines))
            kept += [line[:1000] for line in lines[max(begin + 1, at - 20) : min(end, at + 20)]]
    return kept[:300] or lines[-60:]


class Begun:
    """A part's process, from its start until its log says how it ended."""

    def __init__(self, part, environment):
        self.part, self.log = part, LOGS / f"{part.name}.log"
        self.started, self.worked = time.monotonic(), processor_seconds()
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(
                part.command,
                cwd=ROOT,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        atexit.register(self.end)
        self.ended = threading.Thread(target=self.wait, daemon=True)
        self.ended.start()

    def wait(self):
        try:
            self.status = self.process.wait(self.part.minutes * 60)
        except subprocess.TimeoutExpired:
            self.end()
            self.status = f"no end within {self.part.minutes} minutes"
        self.seconds = time.monotonic() - self.started

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, 9)
            self.process.wait()


def finish(begun):
    """Waits for a part and tells how it ended: (passed, failed)."""
    part = begun.part
    begun.ended.join()
    worked = "beside others" if part.beside else f"{processor_seconds() - begun.worked:5.0f} s of processors"
    text = begun.log.read_text(errors="replace")
    passed, failed = counts_in(text) or ((1, 0) if begun.status == 0 else (0, 1))
    if begun.status != 0 and failed == 0:
        failed = 1
    verdict = "ok  " if failed == 0 else "FAIL"
    print(f"{verdict} {part.name:16} {passed:5} passed {failed:4} failed {begun.seconds:7.0f} s, {worked}", flush=True)
    if failed:
        log = begun.log.relative_to(ROOT)
        print(f"     {' '.join(map(str, part.command))}  (status {begun.status}); see {log}:")
        print("     failed tests:", ", ".join(names_of_failed(text)) or "the part itself")
        print("\n".join("     | " + line for line in words_of_failed(text)), flush=True)
    elif part.beside or part.name in (
        "scenarios",
        "behaviour",
        "folding",
        "messages",
        "docs",
        "wheel",
        "page",
        "torture",
        "fuzz",
    ):
        last = -60 if part.beside else -6
        print("\n".join("     | " + line for line in text.splitlines()[last:]), flush=True)
    return passed, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    a = parser.parse_args()
    all_parts = parts(a.python)
    if a.list:
        print("\n".join(part.name for part in all_parts))
        return 0
    only = [name for name in a.only.split(",") if name]
    unknown = set(only) - {part.name for part in all_parts}
    if unknown:
        sys.exit(f"run_tests: no part is called {', '.join(sorted(unknown))}; see --list")
    LOGS.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    total_passed = total_failed = total_skipped = 0
    started = time.monotonic()
    broken = set()
    for part in all_parts:
        if only and part.name not in only:
            continue
        if part.slow and a.quick and part.name not in only:
            print(f"skip {part.name:16} builds the tests again: run without --quick")
            total_skipped += 1
            continue
        missing = [name for name in part.needs if name in broken]
        if missing:
            print(f"FAIL {part.name:16} not run: {', '.join(missing)} failed")
            broken.add(part.name)
            total_failed += 1
            continue
        passed, failed = finish(part.begun or Begun(part, environment))
        total_passed += passed
        total_failed += failed
        if failed:
            broken.add(part.name)
        for later in all_parts:
            due = later.beside and (not only or later.name in only) and not later.begun
            if due and part.name in later.needs and part.name not in broken:
                later.begun = Begun(later, environment)
    print(f"     all parts together {(time.monotonic() - started) / 60:5.0f} min")
    print(f"{total_passed} passed, {total_failed} failed, {total_skipped} skipped")
    return 1 if total_failed else 0


if __name__ == "__main__":
    sys.exit(main())
