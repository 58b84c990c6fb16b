"""Runs the command and reads its answer. All that is predicted is predicted there."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Union

from eidolon.__main__ import environment, program
from eidolon.report import Report, Sweep

Cluster = Union[Mapping[str, Any], str, "os.PathLike[str]"]


class PredictionError(RuntimeError):
    """Nothing was predicted. `report` is what is known of the job; None when it was refused."""

    def __init__(self, message: str, report: Report | None = None) -> None:
        super().__init__(message)
        self.report = report


def _document(cluster: Mapping[str, Any]) -> dict[str, Any]:
    if "kind" in cluster:
        return dict(cluster)
    spec = cluster.get("spec", cluster)
    return {
        "apiVersion": "eidolon.dev/v1alpha1",
        "kind": "SimulatedCluster",
        "metadata": {"name": "cluster"},
        "spec": dict(spec),
    }


def _flags(options: Mapping[str, Any]) -> list[str]:
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words += [flag, str(value)]
    return words


def _report(done: subprocess.CompletedProcess[str]) -> Report:
    try:
        job = json.loads(done.stdout)
    except ValueError:
        words = done.stderr.strip() or f"'eidolon run' ended with status {done.returncode} and said nothing"
        raise PredictionError(words) from None
    return Report(job, done.stderr)


def predict(
    command: Sequence[str],
    *,
    cluster: Cluster | None = None,
    gpu: str | None = None,
    preset: str | None = None,
    servers: int | None = None,
    gpus_per_server: int | None = None,
    warmup: int = 3,
    measure: int = 5,
    tokens: int | None = None,
    samples: int | None = None,
    host_model: str = "counted",
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    check: bool = True,
    **options: Any,
) -> Report:
    """Predicts one command, as `eidolon run` does, and waits for it.

    `command` is the program and its arguments, `cwd` where it runs, `env` what is added to this process's
    environment. `cluster` is a file with a SimulatedCluster document, or the document or its `spec` as a mapping; or
    name a `gpu` or a `preset` instead. `tokens` and `samples` are those of an iteration of the whole job. `options` are
    further flags of `eidolon run` by their names, such as `fold="required"`. `timeout` is in seconds of this machine.

    Raises `PredictionError` when the command is refused, or, with `check`, when the job fails; its `report` then says
    what is known. `subprocess.TimeoutExpired` after `timeout`.
    """
    if isinstance(command, str):
        raise TypeError("command is a list of words, such as ['torchrun', 'train.py']; shlex.split makes one of a text")
    options = {
        "gpu": gpu,
        "preset": preset,
        "servers": servers,
        "gpus-per-server": gpus_per_server,
        "warmup": warmup,
        "measure": measure,
        "tokens": tokens,
        "samples": samples,
        "host-model": host_model,
        **options,
    }
    with tempfile.TemporaryDirectory(prefix="eidolon-cluster-") as folder:
        if isinstance(cluster, Mapping):
            file = pathlib.Path(folder, "cluster.json")
            file.write_text(json.dumps(_document(cluster)))
            options["cluster"] = file
        elif cluster is not None:
            options["cluster"] = pathlib.Path(cluster).resolve()
        done = subprocess.run(
            [str(program()), "run", "-o", "json", *_flags(options), "--", *map(str, command)],
            cwd=cwd,
            env=environment({**os.environ, **(env or {})}),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
        )
    report = _report(done)
    if check and not report.ok:
        raise PredictionError(f"{report.reason}: {report.message}", report)
    return report


def sweep(command: Sequence[str], clusters: Mapping[str, Cluster | None], **arguments: Any) -> Sweep:
    """Predicts one command on several clusters, one after the other; `arguments` are those of `predict`.

    A job that fails, as one that is out of memory, is a result here like any other. A text without a file of this name
    is a server preset.
    """
    reports = {}
    for name, cluster in clusters.items():
        chosen: dict[str, Any] = {"cluster": cluster}
        if isinstance(cluster, str) and not os.path.exists(cluster):
            chosen = {"preset": cluster}
        reports[name] = predict(command, **{"check": False, **arguments, **chosen})
    return Sweep(reports)
