"""The parts of e2e/test: how each is run, what it needs, and what it takes."""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys

from sampling import GROUPS, group_of, is_whole, write_sample

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "test-logs"
CORES = os.cpu_count() or 2
SHORT_FORM = 0.5  # Of the time of a part that has one.
BUILDING = "building"  # Stands for the packages of the distribution that e2e/packages installs for users.


@dataclasses.dataclass(frozen=True)
class Part:
    """Of a suite of pytest, and of C++ programs, some tests are sampled when a change does not affect the part; other parts
    run as a whole when it is their turn."""

    name: str
    command: tuple
    seconds: int  # Of two idle processors for all of it, for runs whose machine has no history, nor a compiler cache.
    processors: float = 1  # That it keeps busy.
    needs: tuple = ()
    environments: tuple = ()  # torch, cuda12
    packages: tuple = ()  # Of the distribution.
    minutes: int = 20  # It has failed when it takes longer.
    first: bool = False  # Before all others: quick, and red most often.
    alone: bool = False  # Measures time: nothing may run beside it.
    again: bool = False  # Builds the tests again; left out with --quick.
    always: bool = False  # Runs whenever something other than documents has changed.
    turn: int | None = None  # The group of a part that is not divided.
    suite: str = ""  # Folder or file of pytest's tests below e2e. The command takes pytest's options.
    programs: bool = False  # programs.py chooses among C++ programs.
    complete: tuple = ()  # The command with --all, and with a sample, where `command` is a short form.
    narrow: object = None  # From changed documents to the words that have only these tried.
    shows: int = 0  # Last lines of its log that are printed when it passes.

    @property
    def junit(self):
        return LOGS / "junit" / f"{self.name}.xml"

    def named(self, word):
        """Returns what --whole takes for a `part:word` row: files of the suite whose names begin so, or else its
        tests with that parameter."""
        files = (ROOT / "e2e" / self.suite).glob(f"test_{word}*.py")
        return sorted(map(str, files)) or [f"[{word}]"]


def suite(name, folder, *options, command=None, **more):
    return Part(name, command or ("e2e/pytest", folder, *options), suite=folder, **more)


def style():
    python = (sys.executable, "-B")
    return [
        Part("format", ("e2e/checks/format.sh",), 8, CORES, packages=("clang-format-14",), first=True, always=True),
        Part("python", ("e2e/checks/python.sh",), 1, packages=("python3-venv",), first=True, always=True),
        Part("layers", (*python, "e2e/checks/layers.py"), 2, first=True, always=True),
        Part("tidy", (*python, "e2e/checks/tidy.py"), 8, first=True, always=True),
        Part("vocabulary", (*python, "e2e/checks/vocabulary.py"), 8, first=True, always=True),
        Part("reading", (*python, "e2e/checks/reading.py"), 20, packages=("python3-venv",), first=True, always=True),
        Part("pages", (*python, "e2e/checks/pages.py"), 5, first=True, turn=0),
        Part("metrics", (*python, "dashboards/metrics.py"), 2, first=True, turn=1),
        Part("dashboards", (*python, "dashboards/check.py"), 2, packages=("python3-yaml",), first=True, turn=2),
        suite("checks-tests", "checks", seconds=5, packages=("python3-venv",), first=True, turn=0),
        suite("runner-tests", "runner", seconds=15, packages=("python3-venv",), first=True, turn=3),
    ]


def programs(what, preset):
    return ("e2e/runner/programs.py", what, preset)


def of_release():
    on_build = {"needs": ("build-release",), "environments": ("torch",), "packages": (BUILDING,)}

    def with_packages(*names):
        return on_build | {"packages": (BUILDING, *names)}

    release = str(ROOT / "build" / "release")
    behaviours = ("-n", str(CORES), "-m", "not alone", "--ignore", "behaviours/test_cuda12.py")
    return [
        Part("headers", (sys.executable, "-B", "e2e/checks/headers.py", release), 40, CORES,
             **with_packages("clang-19"), always=True),
        Part("test-release", programs("test", "release"), 175, 0.65 * CORES, **on_build, programs=True),
        suite("behaviour", "behaviours", *behaviours, seconds=535, processors=0.6 * CORES, **on_build, minutes=45),
        suite("behaviour-alone", "behaviours", "-m", "alone", seconds=229, **on_build, alone=True),
        # Its turn is that of apigen, so that a run with a sample seldom needs its environment.
        suite("cuda12", "behaviours/test_cuda12.py", seconds=35, **on_build | {"environments": ("torch", "cuda12")}, turn=1),
        suite("scenarios", "scenarios", seconds=160, processors=0.85 * CORES, **on_build, minutes=30),
        suite("folding", "folding", seconds=185, processors=0.85 * CORES, **on_build, minutes=25),
        suite("messages", "mistakes", seconds=20, **on_build),
        suite("docs", "docs", "-n", "2", seconds=60, processors=0.9 * CORES, **on_build, minutes=25,
              narrow=pages_alone),
        suite("wheel", "wheel/test_wheel.py", command=("e2e/wheel/test", "venv"), seconds=70, **on_build, turn=0),
        suite("page", "page", seconds=150, processors=0.6, **with_packages("chromium", *npm())),
        suite("compatibility", "compatibility/test_rows.py", command=("e2e/compat", "--short"), seconds=200, processors=0.8,
              **on_build, minutes=25),
        Part("torture", ("e2e/torture", "--seed", "commit", "--minutes", "2"), 130, 1.2, **on_build, turn=2, shows=6),
        # On a machine that has none of its programs it compiles Kubernetes first.
        suite("kube", "kube", command=("e2e/kube/run", "--in-ci"), complete=("e2e/kube/run",),
              seconds=1400 if has_cluster() else 3000, processors=0.4, **with_packages(*kube_packages()), shows=60,
              minutes=75),
    ]  # fmt: skip


def pages_alone(pages):
    return ("-k", f"not commands_of_a_page or {' or '.join(sorted(pages))}")


def npm():
    """Packages that bring npm; none where a Node.js from elsewhere has brought it."""
    return () if shutil.which("npm") else ("npm",)


def kube_packages():
    return tuple((ROOT / "e2e/kube/cluster/packages.txt").read_text().split())


def has_cluster():
    """Returns whether the programs of a Kubernetes were compiled here, which takes 18 minutes."""
    cache = os.environ.get("KUBE_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "e2e-kube"
    return any(pathlib.Path(cache).expanduser().glob("**/bin/etcd"))


def sanitized(preset, build_seconds, test_seconds):
    """Sanitizers build the tests again. The release build knows what a change reaches."""
    again = {"programs": True, "again": True, "environments": ("torch",)}
    compiler = ("clang-19", "libclang-rt-19-dev")
    return [
        Part(f"build-{preset}", programs("build", preset), build_seconds, CORES, needs=("build-release",), **again,
             packages=(BUILDING, *compiler), minutes=40),
        Part(f"test-{preset}", programs("test", preset), test_seconds, 0.8 * CORES, needs=(f"build-{preset}",), **again),
    ]  # fmt: skip


def all_parts():
    older = {"environments": ("torch", "cuda12"), "packages": ("clang-14",)}
    return [
        *style(),
        Part("apigen", ("shim/api/apigen", "--verify"), 10, CORES, **older, turn=1),
        Part("build-release", ("e2e/build", "release"), 480, CORES, environments=("torch",), packages=(BUILDING,),
             minutes=45, always=True),
        *of_release(),
        *sanitized("asan", 840, 180),
        Part("fuzz", programs("fuzz", "asan"), 142, CORES, needs=("build-asan",), programs=True, again=True, shows=6),
        *sanitized("tsan", 360, 245),
    ]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Choice:
    """The selection of a part. `share` of its time; `words`, which end its command; `why`, for people."""

    why: str
    share: float = 1.0
    words: tuple = ()
    command: tuple = ()


def whole(part, why, every=False):
    """All of a part: of one that has a short form that, unless every test is asked for."""
    if part.complete and not every:
        return Choice(why, SHORT_FORM, (), part.command)
    return Choice(why, 1.0, (), part.complete or part.command)


def some(part, groups, words=(), why="a sample", seconds=None):
    """Chooses, of a part that is divided, the tests of the groups, and those that its words name. `seconds`: of each
    test."""
    if part.programs:
        return Choice(why, len(groups) / GROUPS, (), part.command)
    named = [one for word in sorted(words) for one in part.named(word)]
    options = [option for one in named for option in ("--whole", one)]
    share = share_of(seconds or {}, lambda test: group_of(test) in groups or is_whole(path_of(test), test, named))
    return Choice(
        why,
        len(groups) / GROUPS if share is None else share,
        ("--sample", write_sample(groups), *options),
        part.complete or part.command,
    )


def path_of(test):
    return str(ROOT / "e2e" / test.partition("::")[0])


def share_of(seconds, is_chosen):
    """Returns the share of the chosen tests in the time of all; None when it is not known."""
    total = sum(seconds.values())
    return sum(took for test, took in seconds.items() if is_chosen(test)) / total if total else None


def sample(part, groups, words=(), seconds=None):
    """Returns what of a part runs that is not affected but for the tests that its words name; None when nothing
    does."""
    if part.turn is not None:
        return whole(part, "its turn") if part.turn in groups else None
    if not groups:
        return None
    return some(part, groups, words, f"{', '.join(sorted(words))} and a sample" if words else "a sample", seconds)


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
        # Sources that do not need the environment are compiled while it is installed.
        made.append(
            Part(EARLY, ("e2e/build", "--without-shim", "release"), 1150, CORES, needs=("packages",), minutes=45)
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
