"""`kubectl eidolon`: simulation jobs of a Kubernetes cluster, through kubectl and with its user's own permissions.

kubectl finds the program kubectl-eidolon in PATH; the wheel brings it. Context, namespace and kubeconfig are kubectl's.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from eidolon.__main__ import environment, program
from eidolon.report import Report

_OVER = ("Complete", "Failed", "Interrupted")
_PATIENCE_SECONDS = 2.0
_PODS_MAX = 1024
_OF_KUBECTL = ("as", "context", "kubeconfig", "namespace")


class Failure(Exception):
    """Returns what kubectl or the cluster said."""


class Cluster:
    """kubectl with the flags that say which cluster, whose, and where in it."""

    def __init__(self, flags: Sequence[str]) -> None:
        self._command = [os.environ.get("KUBECTL", "kubectl"), *flags]

    def run(self, *words: str, text: str | None = None) -> str:
        done = subprocess.run([*self._command, *words], input=text, capture_output=True, encoding="utf-8")
        if done.returncode != 0:
            raise Failure(done.stderr.strip() or f"kubectl {words[0]} ended with status {done.returncode}")
        return done.stdout

    def show(self, *words: str) -> int:
        """Lets kubectl write to this program's own output."""
        return subprocess.run([*self._command, *words]).returncode

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*self._command, *words])

    def job(self, name: str) -> dict[str, Any]:
        return json.loads(self.run("get", "simulationjob", name, "-o", "json"))


def _status(job: dict[str, Any]) -> dict[str, Any]:
    return job.get("status", {})


def _log_words(name: str, follow: bool) -> list[str]:
    pods = f"eidolon.dev/simulation-job={name},app.kubernetes.io/component=agent"
    words = ["logs", "-l", pods, "-c", "server", "--tail=-1", "--prefix", f"--max-log-requests={_PODS_MAX}"]
    return [*words, "--follow"] if follow else words


def _exit_status(report: Report) -> int:
    """Returns the status of `eidolon wait`: 0 predicted, 3 from fewer iterations, 1 not."""
    if not report.ok:
        return 1
    return 3 if report.reason == "CommandEnded" else 0


def _await(cluster: Cluster, name: str, logs: bool) -> dict[str, Any]:
    """The job when it is over; tells each change of its state, and of each attempt what its programs print."""
    told, attempt, printing = "", 0, None
    try:
        while True:
            job = cluster.job(name)
            status = _status(job)
            state = f"{status.get('phase', 'Pending')}: {Report(job).reason}".rstrip(": ")
            if state != told:
                print(f"{name} {state}", file=sys.stderr, flush=True)
                told = state
            if logs and status.get("phase") == "Running" and status.get("attempt", 0) != attempt:
                attempt = status.get("attempt", 0)
                printing = cluster.start(*_log_words(name, follow=True))
            if status.get("phase") in _OVER:
                if printing:
                    printing.wait(timeout=60)
                return job
            time.sleep(_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return job
    finally:
        if printing and printing.poll() is None:
            printing.kill()
            printing.wait()


def _report(job: dict[str, Any], page: str) -> int:
    words = [str(program()), "report", "--file", "-", *(["--html", page] if page else [])]
    return subprocess.run(words, input=json.dumps(job), encoding="utf-8", env=environment(os.environ)).returncode


def submit(cluster: Cluster, flags: argparse.Namespace) -> int:
    text = sys.stdin.read() if flags.file == "-" else None
    made = cluster.run("create", "-f", flags.file, "-o", "name", text=text).split()
    print("\n".join(made), flush=True)
    jobs = [name.partition("/")[2] for name in made if name.startswith("simulationjob")]
    if not flags.follow or not jobs:
        return 0
    job = _await(cluster, jobs[-1], logs=True)
    return _report(job, "") or _exit_status(Report(job))


def get(cluster: Cluster, flags: argparse.Namespace) -> int:
    return cluster.show("get", "simulationjobs", *flags.names)


def wait(cluster: Cluster, flags: argparse.Namespace) -> int:
    return _exit_status(Report(_await(cluster, flags.name, logs=False)))


def logs(cluster: Cluster, flags: argparse.Namespace) -> int:
    cluster.job(flags.name)  # A name that is not there is an error; kubectl would print nothing.
    return cluster.show(*_log_words(flags.name, flags.follow))


def report(cluster: Cluster, flags: argparse.Namespace) -> int:
    return _report(cluster.job(flags.name), flags.html)


def compare_jobs(cluster: Cluster, flags: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / f"{side}.json" for side in ("first", "second")]
        for file, name in zip(files, (flags.first, flags.second)):
            file.write_text(json.dumps(cluster.job(name)), encoding="utf-8")
        words = [str(program()), "compare", *map(str, files), "-o", flags.output]
        return subprocess.run(words, env=environment(os.environ)).returncode


def timeline(cluster: Cluster, flags: argparse.Namespace) -> int:
    return _by_rest(cluster, flags.name, "timeline")


def recording(cluster: Cluster, flags: argparse.Namespace) -> int:
    return _by_rest(cluster, flags.name, "recording")


def _by_rest(cluster: Cluster, name: str, what: str) -> NoReturn:
    kept = _status(cluster.job(name)).get(what)
    if kept is None:
        raise Failure(f"the job '{name}' keeps no {what}; one with outputs.{what} has it when it is over")
    raise Failure(
        f"the {what} has {kept['bytes']} bytes and comes by REST alone: with a token for the audience"
        f" rest.eidolon.dev in FILE, eidolon --server http://SERVICE:8080 --token-file FILE {what} {name}"
    )


def _parser() -> argparse.ArgumentParser:
    # Options stand before or after the command's name, as with kubectl.
    shared = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    for names in (["--as"], ["--context"], ["--kubeconfig"], ["-n", "--namespace"]):
        shared.add_argument(*names, help="as of kubectl")
    about = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="kubectl eidolon", description=about, parents=[shared])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Any, text: str, *arguments: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text, parents=[shared])
        command.set_defaults(run=run)
        for argument in arguments:
            command.add_argument(argument)
        return command

    made = add("submit", submit, "create the jobs and clusters of a file")
    made.add_argument("-f", "--file", required=True, help="YAML or JSON; - is standard input")
    made.add_argument("--follow", action="store_true", help="follow the last job and print its report")
    add("get", get, "list jobs").add_argument("names", nargs="*")
    add("wait", wait, "wait until a job is over; status 0: Complete, 3: with fewer iterations, 1: not", "name")
    printed = add("logs", logs, "print what a job's programs have printed", "name")
    printed.add_argument("-f", "--follow", action="store_true", help="go on until the job is over")
    told = add("report", report, "print a job's report, or write it as a page", "name")
    told.add_argument("--html", default="", help="write one self-contained page here")
    compared = add("compare", compare_jobs, "print what differs between two jobs", "first", "second")
    compared.add_argument("-o", "--output", default="table", choices=["table", "json"], help="table or json")
    add("timeline", timeline, "say where a job's timeline is to be had", "name")
    add("recording", recording, "say where a job's recording is to be had", "name")
    return parser


def main(words: Sequence[str] | None = None) -> int:
    flags = _parser().parse_args(words)
    given = {name: value for name, value in vars(flags).items() if name in _OF_KUBECTL}
    try:
        return flags.run(Cluster([f"--{name}={value}" for name, value in given.items()]), flags)
    except (Failure, FileNotFoundError) as error:
        print(f"kubectl eidolon: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
