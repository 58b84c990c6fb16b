"""Reads a prediction: the job's document, with names for the figures that people read most."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterator, Mapping
from typing import Any

_PARTS = {"compute": "compute", "exposedCommunication": "exposed communication", "idle": "idle", "host": "host"}
_STYLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"


def format_seconds(seconds: float) -> str:
    """Seconds with a unit and four digits, as the command prints them."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= factor:
            return f"{seconds / factor:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def _table(rows: list[list[str]], title: str) -> str:
    lines = [f"<caption>{html.escape(title)}</caption>"]
    for row in rows:
        first, *others = (html.escape(cell) for cell in row)
        cells = "".join(f'<td style="text-align:left">{cell}</td>' for cell in others)
        lines.append(f'<tr><th style="text-align:left" scope="row">{first}</th>{cells}</tr>')
    return f'<table style="{_STYLE}">{"".join(lines)}</table>'


def _text(rows: list[list[str]], title: str) -> str:
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([title, *(f"  {line}" for line in lines)])


@dataclasses.dataclass(frozen=True)
class Band:
    """Seconds of an iteration. `steady`: of one that repeats, without the extra work of some (evaluations, checkpoints);
    `low` and `high`: its 90 % band by the errors of the estimates. `mean`, `p50`, `p90`: of all measured iterations."""

    steady: float
    low: float
    high: float
    mean: float
    p50: float
    p90: float

    def __str__(self) -> str:
        return f"{format_seconds(self.steady)} ({format_seconds(self.low)} to {format_seconds(self.high)})"


@dataclasses.dataclass(frozen=True)
class Throughput:
    """The work of the whole job in a second, in the steady state. `unit`: tokens, samples or iterations, the first
    that is known; `low` and `high`: the 90 % band (`high` is infinite where the band of the iteration begins at
    0). `source`: declared or derived from launches; None of iterations."""

    unit: str
    per_second: float
    low: float
    high: float
    per_iteration: float
    source: str | None = None

    def __str__(self) -> str:
        digits = ",.0f" if self.per_second >= 1000 else ".4g"
        text = f"{self.per_second:{digits}} {self.unit}/s"
        if self.high == float("inf"):
            return f"{text} (at least {self.low:{digits}})"
        return f"{text} ({self.low:{digits}} to {self.high:{digits}})"


@dataclasses.dataclass(frozen=True)
class ExtraWork:
    """Work that only some iterations do. `what`: evaluation, checkpoint, ...; `every`: number of iterations after which it
    comes back, None when that is not known; `seconds`: length of one time; `seconds_per_iteration`: mean over all."""

    what: str
    every: int | None
    times: int
    seconds: float
    seconds_per_iteration: float

    def __str__(self) -> str:
        when = f"every {self.every} steps" if self.every else f"{self.times} times"
        each = format_seconds(self.seconds)
        return f"{when}: {format_seconds(self.seconds_per_iteration)} a step on average, {each} each time"


@dataclasses.dataclass(frozen=True)
class Cost:
    """Costs are in the currency of the price. `million_tokens`: None where tokens are not known."""

    step: float
    million_tokens: float | None


@dataclasses.dataclass(frozen=True)
class Finding:
    """A limit of an iteration. `rule`: host, communication, ...; `sentence`: the cause, what to change, and what
    that saves at most; `cost_seconds`: what it costs of an iteration; `change`: the most that the suggestion can
    save, -0.14 for 14 %, None without a suggestion about time; `evidence`: the figures behind it."""

    rule: str
    sentence: str
    suggestion: str
    cost_seconds: float
    change: float | None
    evidence: Mapping[str, float]

    def __str__(self) -> str:
        return self.sentence


@dataclasses.dataclass(frozen=True)
class Report:
    """A job that is over. `job` is its whole document, `log` what the command printed while it ran."""

    job: Mapping[str, Any]
    log: str = ""

    @property
    def prediction(self) -> Mapping[str, Any]:
        """`status.prediction` of the document; empty when nothing was predicted."""
        return self.job.get("status", {}).get("prediction", {})

    @property
    def phase(self) -> str:
        """Complete, Failed or Interrupted."""
        return self.job.get("status", {}).get("phase", "")

    @property
    def ok(self) -> bool:
        return self.phase == "Complete"

    def _last_condition(self) -> Mapping[str, Any]:
        true = [c for c in self.job.get("status", {}).get("conditions", []) if c.get("status") == "True"]
        return true[-1] if true else {}

    @property
    def reason(self) -> str:
        """Returns why the job is in its phase, in one word: IterationsMeasured, OutOfMemory, CommandFailed and so
        on."""
        return self._last_condition().get("reason", "")

    @property
    def message(self) -> str:
        return self._last_condition().get("message", "")

    @property
    def warnings(self) -> list[str]:
        return list(self.job.get("status", {}).get("warnings", []))

    @property
    def iteration_seconds(self) -> Band | None:
        """None when no iteration was measured."""
        found = self.prediction.get("iterationSeconds")
        if not found:
            return None
        steady = self.prediction.get("steadyIteration", {**found, "seconds": found["mean"]})
        return Band(
            *(float(steady[name]) for name in ("seconds", "low", "high")),
            *(float(found[name]) for name in ("mean", "p50", "p90")),
        )

    @property
    def throughput(self) -> Throughput | None:
        """None when no iteration was measured."""
        found = self.prediction.get("throughput")
        if not found:
            return None
        rates = (float(found.get(name, "inf")) for name in ("perSecond", "low", "high", "perIteration"))
        return Throughput(found["unit"], *rates, source=found.get("source"))

    @property
    def throughput_over_iterations(self) -> list[float]:
        """The throughput of each measured iteration, in the unit of `throughput`."""
        one = self.throughput.per_iteration if self.throughput else 0.0
        return [one / (time * 1e-12) for time in self.prediction.get("iterationPicoseconds", []) if time > 0]

    @property
    def extra_work(self) -> list[ExtraWork]:
        """Evaluations, checkpoints and the like that some iterations have, most expensive first."""
        return [
            ExtraWork(one["what"], one.get("every"), one["times"], one["seconds"], one["secondsPerIteration"])
            for one in self.prediction.get("extraWork", [])
        ]

    @property
    def diagnosis(self) -> list[Finding]:
        """The limits of the steady iteration and what would help, most expensive first."""
        return [
            Finding(
                one["rule"],
                one["sentence"],
                one.get("suggestion", ""),
                one["costSeconds"],
                one.get("change"),
                one.get("evidence", {}),
            )
            for one in self.prediction.get("diagnosis", [])
        ]

    def cost(self, price: float) -> Cost | None:
        """A cost is what a step and a million tokens cost. `price`: of a GPU for an hour, in any currency. None when no
        iteration was measured."""
        gpus = self.prediction.get("target", {}).get("gpus")
        if not gpus or not self.iteration_seconds:
            return None
        per_second = price * gpus / 3600
        tokens = self.tokens_per_second
        return Cost(per_second * self.iteration_seconds.steady, per_second / tokens * 1e6 if tokens else None)

    @property
    def tokens_per_second(self) -> float | None:
        """Known where the job says how many tokens an iteration has, or its launches tell."""
        return self.prediction.get("tokensPerSecond")

    @property
    def tokens_source(self) -> str | None:
        """declared or derived (by what launches look up and score); None where tokens are not known."""
        return self.prediction.get("tokensSource")

    @property
    def model_flops_utilization(self) -> float | None:
        """The utilization by the parameters that the job declares, or derived (modelFlopsSource of the prediction)."""
        return self.prediction.get("modelFlopsUtilization")

    @property
    def energy(self) -> dict[str, float] | None:
        """The energy of the GPUs has joules of an iteration, joulesPerUnit (token, sample or iteration), meanWatts and
        peakWatts of a GPU; None where the GPU model does not know its power."""
        return self.prediction.get("energy")

    @property
    def breakdown(self) -> dict[str, float]:
        """Shares of the iteration, which add up to 1: compute, exposedCommunication, idle, host."""
        return dict(self.prediction.get("breakdown", {}))

    @property
    def coverage(self) -> dict[str, float]:
        """Shares of the GPU-busy time by the source of the estimate: measured, interpolated, modelled, assumed."""
        return dict(self.prediction.get("coverage", {}))

    @property
    def peak_memory_bytes(self) -> int | None:
        """The peak of the rank that needs most."""
        return self.prediction.get("memory", {}).get("peakReservedBytes")

    @property
    def fits(self) -> bool | None:
        """Returns whether the job fits the GPU's memory; None when that is not known."""
        return self.prediction.get("memory", {}).get("fits")

    def compare(self, other: Report) -> Comparison:
        """This report beside another one, the other relative to this one."""
        return Comparison(self, other)

    def _rows(self) -> list[list[str]]:
        verdict = f"{self.phase}: {self.reason}" if self.reason else self.phase
        rows = [["job", verdict + (f": {self.message}" if self.message and not self.ok else "")]]
        if self.throughput:
            source = ", derived from launches" if self.throughput.source == "derived" else ""
            rows.append(["throughput", f"{self.throughput}{source}"])
        rows += [["  also" if i else "diagnosis", finding.sentence] for i, finding in enumerate(self.diagnosis)]
        server = self.prediction.get("target", {}).get("cluster", {}).get("server", {})
        if server:
            target = self.prediction["target"]
            on = f"{target['servers']} x {server['gpusPerServer']} {server['gpu']}, {target['ranks']} ranks"
            rows.append(["on", on])
        if self.iteration_seconds:
            rows.append(["iteration", str(self.iteration_seconds)])
            rows += [[f"  + {extra.what}", str(extra)] for extra in self.extra_work]
            rows += [[f"  {_PARTS.get(name, name)}", f"{share:.1%}"] for name, share in self.breakdown.items()]
        if self.model_flops_utilization:
            rows.append(["model FLOPs utilization", f"{self.model_flops_utilization:.1%}"])
        if self.peak_memory_bytes is not None:
            capacity = self.prediction["memory"].get("capacityBytes", 0)
            fits = "fits" if self.fits else "does not fit"
            rows.append(["peak memory", f"{self.peak_memory_bytes / 2**30:.1f} of {capacity / 2**30:.1f} GiB, {fits}"])
        if self.coverage:
            rows.append(["coverage", ", ".join(f"{name} {share:.1%}" for name, share in self.coverage.items())])
        return rows + [["warning", text] for text in self.warnings]

    def __str__(self) -> str:
        return _text(self._rows(), "Prediction")

    def __repr__(self) -> str:
        return f"<Report {self.phase} {self.iteration_seconds or self.reason}>"

    def _repr_html_(self) -> str:
        return _table(self._rows(), "Prediction")


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two reports beside each other."""

    first: Report
    second: Report

    @property
    def speedup(self) -> float | None:
        """Returns how many times faster an iteration of the second is; None when one of them has none."""
        one, other = self.first.iteration_seconds, self.second.iteration_seconds
        return one.steady / other.steady if one and other else None

    @property
    def distinct(self) -> bool | None:
        """Returns whether the bands of the two do not touch, so that the difference is larger than the estimates'
        errors."""
        one, other = self.first.iteration_seconds, self.second.iteration_seconds
        return (one.high < other.low or other.high < one.low) if one and other else None

    def _rows(self) -> list[list[str]]:
        one, other = dict(self.first._rows()), dict(self.second._rows())
        rows = [
            [name, one.get(name, "-"), other.get(name, "-")] for name in [*one, *(n for n in other if n not in one)]
        ]
        if self.speedup is not None:
            bands = "bands do not touch" if self.distinct else "bands overlap"
            rows.append(["speed-up", "1", f"{self.speedup:.3g} ({bands})"])
        return rows

    def __str__(self) -> str:
        return _text(self._rows(), "Comparison")

    def _repr_html_(self) -> str:
        return _table(self._rows(), "Comparison")


@dataclasses.dataclass(frozen=True)
class Sweep(Mapping[str, Report]):
    """Reports by the name of their cluster."""

    reports: Mapping[str, Report]

    def __getitem__(self, name: str) -> Report:
        return self.reports[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.reports)

    def __len__(self) -> int:
        return len(self.reports)

    @property
    def fastest(self) -> str | None:
        """The cluster with the shortest iteration; None when no job was predicted."""
        known = {name: r.iteration_seconds.steady for name, r in self.items() if r.ok and r.iteration_seconds}
        return min(known, key=known.__getitem__) if known else None

    def _rows(self) -> list[list[str]]:
        rows = [["cluster", "throughput", "iteration", "peak memory", "result"]]
        for name, report in self.items():
            peak = report.peak_memory_bytes
            rows.append(
                [name, str(report.throughput or "-"), str(report.iteration_seconds or "-")]
                + ["-" if peak is None else f"{peak / 2**30:.1f} GiB"]
                + [report.phase if report.ok else f"{report.phase}: {report.reason}"]
            )
        return rows

    def __str__(self) -> str:
        return _text(self._rows(), "Sweep")

    def _repr_html_(self) -> str:
        return _table(self._rows(), "Sweep")


def compare(first: Report, second: Report) -> Comparison:
    """Two reports beside each other; the second relative to the first."""
    return Comparison(first, second)
