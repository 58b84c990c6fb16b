"""docs/compatibility.md, from the results of e2e/compat."""

import json
import pathlib
import re

import yaml
from rows import HERE, ROWS

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = HERE / "results.json"
PAGE = ROOT / "docs/compatibility.md"

HEAD = """# What runs

Written by `e2e/compat` from runs of stock programs under `eidolon run`: emulated H100s, small sizes, the default host
model. Each row says when it was run last. Libraries of CUDA come from the wheel of torch {torch}. *Measured, modelled,
assumed* are the shares of GPU-busy time by the source of the estimate (interpolated counts as measured). *Unknown reads*
are values that the program read and that nobody had computed. A *last loss* beside them is not computed either: of what
losses over classes, means and norms would be, a plausible number stands there (0.5, 1, the logarithm of the number of
classes); 0 is what such memory reads as where no kernel says which number it gives, as in the sum of losses over boxes of
Faster R-CNN. A program that branches on such a number can be told one (`values: {{declared: ...}}` of a job). What has no
row is named [below](#without-a-row).
"""

WITHOUT_A_ROW = """## Without a row

- The operator database of PyTorch (OpInfo) is compared by value in [values_conformance.md](values_conformance.md).
- TorchTitan (Llama 3; FSDP, tensor parallel), Megatron-core (tensor parallel), DeepSpeed ZeRO 3, CUDA graphs, FSDP2 and
  torch.compile are scenarios that the test command runs (`e2e/scenarios`). Programs whose packages beside PyTorch hold
  code compiled for one version of it have no row under [PyTorch for CUDA 12](#pytorch-for-cuda-12), nor have those whose
  frameworks are newer than that wheel.
- nccl-tests: no package has the sources, and what is not pinned in a package is not run here.
- flash-attn: its package holds sources only, and no wheel of it is for torch {torch}. FlashAttention 4 and
  xformers have rows.
- Triton's and CuPy's own tests are not in their wheels. Of torchao's, the wheel has some that compare formats of numbers;
  they are not run.
- TorchTitan's mixture of experts (Qwen 3) with expert parallelism needs its router's choice declared, as its row does
  (`eidolon run --expert-routing`, `values.expertRouting` of a job): the sizes of its all-to-all follow from a router
  that is not computed, and are read as 0 without. With torchao 0.18 beside it it stops inside torchao, whose kernels
  this version of Triton refuses; the row hides it.
- Programs that were run once, as their users start them: OpenCLIP (`open_clip_train.main`, ViT-B-32 on two ranks, local
  loss with gathered features: 63 ms a step on H100s, the loss a plausible ln 128, its logit scale read as 0) and e3nn
  (equivariant layers on a graph: 5.5 ms), both on 2026-11-29.
- torch.compile with `max-autotune` was still tuning when its job was ended after 280 s on two cores: it was not seen to run.
"""

COLUMNS = (
    "program",
    "version",
    "date",
    "outcome",
    "predicted",
    "measured, modelled, assumed",
    "last loss",
    "unknown reads",
    "refused calls",
)
HEADING = [f"| {' | '.join(COLUMNS)} |", "| --- | --- | --- | --- | ---: | --- | ---: | ---: | --- |"]


def reasons():
    """(class, why) by row, or by row:test."""
    return {
        ":".join((row, test) if test else (row,)): (reason["class"], reason["why"])
        for reason in yaml.safe_load((HERE / "reasons.yaml").read_text())
        for row in reason["rows"]
        for test in reason.get("tests", [""])
    }


REASONS = reasons()


def time_of(result):
    if "seconds" not in result:
        return ""
    seconds = result["seconds"]
    text = f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.2f} ms"
    return text if result["of"] == "iteration" else f"{text} in all"


def coverage_of(result):
    shares = result["coverage"]
    if not shares:
        return ""
    measured = shares.get("measured", 0) + shares.get("interpolated", 0)
    return ", ".join(
        f"{100 * share:.0f} %" for share in (measured, shares.get("modelled", 0), shares.get("assumed", 0))
    )


def outcome_of(row, result):
    words = result["outcome"]
    if "total" in result:
        words = f"passes {result['passed']} of {result['total']}"
        if result.get("skipped"):
            words += f", {result['skipped']} skipped"
        if result.get("left"):
            words += f", {result['left']} not run"
        if result["outcome"] != "runs":
            words += f"; stops: {result['message']}"
    elif words != "runs":
        words += f": {result['message']}"
    if row.key in REASONS:
        kind, why = REASONS[row.key]
        words += f" ({kind}: {why})"
    return words.replace("|", "\\|")


def rows_of(rows, results):
    for row in rows:
        result = results.get(row.key)
        if result is None:
            yield f"| {row.name} | {row.package} | never | not run | | | | | |"
            continue
        refused = ", ".join(f"`{name}`" for name in result["refused"]) or "none"
        loss = f"{result['losses'][0]:.3g}" if result.get("losses") else ""
        yield (
            f"| {row.name} | {row.package} {result['version']} | {result['date']} | {outcome_of(row, result)} "
            f"| {time_of(result)} | {coverage_of(result)} | {loss} | {result['unknownReads']} | {refused} |"
        )


def failures_of(rows, results):
    """Every test that does not pass, with its class."""
    for row in rows:
        failures = results.get(row.key, {}).get("failures")
        if not failures:
            continue
        yield f"\n### {row.package}: {row.name}\n"
        yield "| test | whose | why |"
        yield "| --- | --- | --- |"
        for name, said in sorted(failures.items()):
            kind, why = REASONS.get(f"{row.key}:{name}", ("not classed", said or "the results differ"))
            yield f"| {name} | {kind} | {why.replace('|', chr(92) + '|')} |"


def page(rows, results, root):
    torch = re.search(r"^torch==(\S+)", (root / "e2e/requirements.txt").read_text(), re.M).group(1)
    lines = [HEAD.format(torch=torch)]
    for group in dict.fromkeys(row.group for row in rows):
        lines += [f"## {group}\n", *HEADING, *rows_of([r for r in rows if r.group == group], results), ""]
    lines += [WITHOUT_A_ROW.format(torch=torch)]
    failures = list(failures_of(rows, results))
    if failures:
        lines += [
            "## Tests that do not pass\n",
            "*ours*: a defect or a limit of Eidolon. *wheel*: the test or the package itself. *values*: the test compares",
            "results of kernels or library routines that are not computed.",
            *failures,
            "",
        ]
    return "\n".join(lines)


def kept_results():
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def write_page():
    PAGE.write_text(page(ROWS, kept_results(), ROOT))
