"""The parts of e2e/test: how each is run, what it needs, and what it takes."""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys

from sampling import group_of, write_sample

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "test-logs"
CORES = os.cpu_count() or 2
BUILDING = "building"  # Stands for the packages of the distribution that e2e/packages installs for users.


@dataclasses.dataclass(frozen=True)
class Part:
    """`{torch}` in a command is the folder of that environment.

    What a change does not affect is sampled: of a `suite` (pytest), of C++ programs and of `names` (the tests that the
    command takes as its last words, each with its file) some tests; of others the whole, with the group `turn`.
    """

    name: str
    command: tuple
    seconds: int  # Of two idle processors for all of it, for runs whose machine has no history.
    processors: float = 1  # That it keeps busy.
    needs: tuple = ()
    environments: tuple = ()  # torch, cuda12
    packages: tuple = ()  # Of the distribution, besides what ran it until now.
    minutes: int = 20  # It has failed when it takes longer.
    first: bool = False  # Before all others: quick, and red most often.
    alone: bool = False  # Measures time: nothing may run beside it.
    again: bool = False  # Builds the tests again; left out with --quick.
    always: bool = False  # Runs whenever something other than documents has changed.
    turn: int | None = None
    suite: str = ""  # Folder of pytest's tests below e2e.
    words_from: str = ""  # The part whose `part:word` rows in affects.py mean this one, too.
    programs: bool = False  # programs.py chooses among C++ programs.
    names: object = None  # () -> {test: file}
    named_by: tuple = ()  # Words before the names.
    shows: int = 0  # Last lines of its log that are printed when it passes.

    def tests_named(self, words):
        """Files of the suite, and names, that `part:word` rows mean."""
        if self.suite:
            folder = ROOT / "e2e" / self.suite
            return sorted(str(file) for word in words for file in folder.glob(f"test_{word}*.py"))
        return sorted(name for name, file in self.names().items() if any(word in file for word in words))


def suite(name, folder, *options, **more):
    command = ("e2e/pytest", folder, "--junitxml", str(LOGS / f"{name}.xml"), *options)
    return Part(name, command, suite=folder, **more)


def style():
    python = (sys.executable, "-B")
    return [
        Part("format", ("e2e/checks/format.sh",), 8, CORES, packages=("clang-format-14",), first=True, always=True),
        Part("python", ("e2e/checks/python.sh",), 1, packages=("python3-venv",), first=True, always=True),
        Part("layers", (*python, "e2e/checks/layers.py"), 2, first=True, always=True),
        Part("tidy", (*python, "e2e/checks/tidy.py"), 8, first=True, always=True),
        Part("vocabulary", (*python, "e2e/checks/vocabulary.py"), 8, first=True, always=True),
        Part("pages", (*python, "e2e/checks/pages.py"), 5, first=True, turn=0),
        Part("metrics", (*python, "dashboards/metrics.py"), 2, first=True, turn=1),
        Part("dashboards", (*python, "dashboards/check.py"), 2, packages=("python3-yaml",), first=True, turn=2),
        suite("runner-tests", "runner", seconds=15, packages=("python3-venv",), first=True, turn=3),
    ]


def scenarios():
    return {folder.parent.name: str(folder) for folder in (ROOT / "e2e/scenarios").glob("*/job.yaml")}


FOLDED = ["fsdp2", "ddp", "hsdp", "zero3", "ring", "megatron", "megatron_pp"]
FOLDED += ["interleaved", "context", "experts", "checkpoint", "halves", "gloo", "gloo_detail"]


def folded():
    return {name: name for name in FOLDED}


def programs(what, preset):
    return ("e2e/runner/programs.py", what, preset)


def of_release():
    on_build = {"needs": ("build-release",), "environments": ("torch",), "packages": (BUILDING,)}

    def with_packages(*names):
        return on_build | {"packages": (BUILDING, *names)}

    release = str(ROOT / "build" / "release")
    harness = ("{torch}/bin/python", "-B")
    at = ("--build", release, "--python", "{torch}")
    behaviours = ("-n", str(CORES), "-m", "not alone", "--ignore", "behaviours/test_cuda12.py")
    return [
        Part("headers", (sys.executable, "-B", "e2e/checks/headers.py", release), 211, CORES,
             **with_packages("clang-19"), minutes=15, always=True),
        Part("test-release", programs("test", "release"), 280, 0.85 * CORES, **on_build, programs=True),
        suite("behaviour", "behaviours", *behaviours, seconds=830, processors=0.8 * CORES, **on_build, minutes=45, shows=6),
        suite("behaviour-alone", "behaviours", "-m", "alone", seconds=120, **on_build, alone=True, words_from="behaviour",
              shows=6),
        # Its turn is that of apigen, so that a run with a sample seldom needs its environment.
        suite("cuda12", "behaviours/test_cuda12.py", seconds=60, **on_build | {"environments": ("torch", "cuda12")},
              turn=1, shows=6),
        Part("scenarios", (*harness, "e2e/harness/scenarios.py", *at), 151, 0.85 * CORES, **on_build, minutes=30,
             names=scenarios, shows=6),
        Part("folding", ("e2e/folding/run", *at, "--ranks", "4", "--check"), 195, 0.85 * CORES, **on_build, minutes=25,
             names=folded, named_by=("--program",), shows=6),
        Part("messages", ("e2e/messages", "--python", "{torch}"), 100, **on_build, turn=2, shows=6),
        Part("docs", ("e2e/docs/run", *at), 150, **on_build, minutes=25, turn=1, shows=6),
        Part("wheel", ("e2e/wheel/test", "venv"), 100, **on_build, turn=0, shows=6),
        Part("page", ("e2e/page/run", *at), 120, 0.8, **with_packages("chromium"), turn=2, shows=6),
        Part("compatibility", ("e2e/compat", "--short"), 360, 1.3, **on_build, minutes=25, turn=3, shows=6),
        Part("torture", ("e2e/torture", "--seed", "commit", "--minutes", "2"), 150, CORES, **on_build, minutes=15, turn=0,
             shows=6),
        # The short form samples by itself; on a machine that has none of its programs it compiles Kubernetes first.
        Part("kube", ("e2e/kube/run", "--in-ci"), 900, 0.5, **with_packages(*kube_packages()), minutes=75, always=True,
             shows=60),
    ]  # fmt: skip


def kube_packages():
    return tuple((ROOT / "e2e/kube/cluster/packages.txt").read_text().split())


def sanitized(preset, build_seconds, test_seconds):
    """Sanitizers build the tests again. The release build knows what a change reaches."""
    again = {"programs": True, "again": True, "environments": ("torch",)}
    compiler = ("clang-19", "libclang-rt-19-dev")
    return [
        Part(f"build-{preset}", programs("build", preset), build_seconds, CORES, needs=("build-release",), **again,
             packages=(BUILDING, *compiler), minutes=40),
        Part(f"test-{preset}", programs("test", preset), test_seconds, 0.9 * CORES, needs=(f"build-{preset}",), **again),
    ]  # fmt: skip


def all_parts():
    older = {"environments": ("torch", "cuda12"), "packages": ("clang-14",)}
    return [
        *style(),
        Part("apigen", ("shim/api/apigen", "--verify"), 10, CORES, **older, turn=1),
        Part("build-release", ("e2e/build", "release"), 127, CORES, environments=("torch",), packages=(BUILDING,),
             minutes=45, always=True),
        *of_release(),
        *sanitized("asan", 345, 152),
        Part("fuzz", programs("fuzz", "asan"), 142, CORES, needs=("build-asan",), programs=True, again=True, shows=6),
        *sanitized("tsan", 171, 207),
    ]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Choice:
    """What of a part runs. `share` of its time; `words`, which end its command; `why`, for people."""

    why: str
    share: float = 1.0
    words: tuple = ()


def sample(part, groups, areas=()):
    """What of a part runs whose tests are sampled, and those of `areas` whole; None when nothing does."""
    why = f"{', '.join(sorted(areas))} and a sample" if areas else "a sample"
    share = len(groups) / 4
    if part.programs:
        return Choice("a sample", share) if groups else None
    if part.names:
        every = part.names()
        chosen = [name for name in every if group_of(name) in groups]
        chosen = sorted({*chosen, *(part.tests_named(areas) if areas else ())}, key=list(every).index)
        return Choice(why, len(chosen) / len(every), (*part.named_by, *chosen)) if chosen else None
    if part.suite and part.turn is None:
        files = part.tests_named(areas)
        if not groups:  # Only documents have changed, besides.
            return None
        whole = [word for file in files for word in ("--whole", file)]
        count = len(list((ROOT / "e2e" / part.suite).glob("test_*.py"))) or 1
        return Choice(why, min(1.0, share + len(files) / count), ("--sample", write_sample(groups), *whole))
    return Choice("its turn") if part.turn in groups else None


def whole(part, why):
    return Choice(why, 1.0, (*part.named_by, *part.names()) if part.named_by else ())


def environment_name(name):
    return f"environment {name}"


PROVIDERS = {"torch": "e2e/environment", "cuda12": "e2e/cuda12"}
EARLY = "build-services"


def provisions(due):
    """Parts that install what the due ones need, and those with their needs on them."""
    packages = {name for part in due for name in part.packages}
    environments = dict.fromkeys(name for part in due for name in part.environments)
    packages |= {"python3-venv"} if environments else set()
    made = []
    if packages:
        made.append(Part("packages", packages_command(packages), 3, 0.5, first=True, minutes=30))
    for name in environments:
        needs = ("packages", *([environment_name("torch")] if name == "cuda12" else []))
        made.append(Part(environment_name(name), (PROVIDERS[name],), 1, 0.5, needs=needs, first=True, minutes=60))
    if "torch" in environments and any(part.name == "build-release" for part in due) and not has_environment():
        # What does not need the environment is compiled while that is installed.
        made.append(
            Part(EARLY, ("e2e/build", "--without-shim", "release"), 480, CORES, needs=("packages",), minutes=45)
        )
    names = {part.name for part in made}
    placed = []
    for part in due:
        more = [environment_name(name) for name in part.environments] + (["packages"] if part.packages else [])
        more += [EARLY] if part.name == "build-release" and EARLY in names else []
        placed.append(dataclasses.replace(part, needs=(*part.needs, *more)))
    return [*made, *placed]


def packages_command(names):
    named = sorted(names - {BUILDING})
    if BUILDING not in names:
        return ("e2e/packages", "--only", *named)
    return ("sh", "-c", 'e2e/packages && e2e/packages --only "$@"', "sh", *named)


def has_environment():
    return subprocess.run([ROOT / PROVIDERS["torch"], "--is-complete"]).returncode == 0


def filled(words, folders):
    """A command with the folders of environments in their places."""
    return [re.sub(r"\{(\w+)\}", lambda found: folders[found[1]], str(word)) for word in words]
