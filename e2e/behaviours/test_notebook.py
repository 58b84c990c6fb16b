"""The Python package says what the command says."""

import os
import pathlib
import re
import sys

from jobs import light_script

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import eidolon


def refused(message, *arguments, **options):
    try:
        eidolon.predict(*arguments, **options)
    except eidolon.PredictionError as error:
        assert message in str(error), f"the error does not say '{message}': {error}"
        return error.report
    raise AssertionError(f"{arguments} were not refused")


def test_the_python_package_predicts_sweeps_and_compares(world):
    folder = world.folder / "notebook"
    folder.mkdir()
    (folder / "train.py").write_text(light_script(folder, "for step in range(8): rank.step(0)"))
    os.environ["EIDOLON_PROGRAM"] = str(world.build / "bin/eidolon")
    command = [f"{world.python}/bin/python", "train.py"]
    fixed = {"cwd": folder, "measure": 3, "host_model": "fixed"}

    clusters = {
        "h100": {"servers": 1, "server": {"gpu": "H100-SXM5-80GB", "gpusPerServer": 1}},
        "a100": {"servers": 1, "server": {"gpu": "A100-SXM4-80GB", "gpusPerServer": 1}},
    }
    sweep = eidolon.sweep(command, clusters, **fixed)
    assert sweep.fastest == "h100" and len(sweep) == 2, f"the sweep: {sweep}"
    assert "<table" in sweep._repr_html_() and "a100" in sweep._repr_html_(), "the sweep has no table"

    report = eidolon.predict(command, gpu="H100-SXM5-80GB", tokens=1000, **fixed)
    band = report.iteration_seconds
    assert report.ok and 0 < band.low < band.mean < band.high, f"the report: {report}"
    assert band == sweep["h100"].iteration_seconds, "a flag and a document predict differently"
    assert abs(report.tokens_per_second * band.steady - 1000) < 1, f"tokens: {report.tokens_per_second}"
    rate = report.throughput
    assert rate.unit == "tokens" and rate.low < rate.per_second == report.tokens_per_second < rate.high, f"{rate}"
    assert len(report.throughput_over_iterations) == report.prediction["measuredIterations"], f"{rate}"
    assert abs(sum(report.breakdown.values()) - 1) < 1e-6 and report.fits, f"the report: {report}"
    assert "<table" in report._repr_html_() and "Complete" in str(report), f"the report: {report}"

    findings = report.diagnosis
    assert findings and f"diagnosis  {findings[0]}" in re.sub(" {2,}", "  ", str(report)), f"the report: {report}"
    assert all(one.change is None or -1 <= one.change < 0 for one in findings), f"{findings}"
    cost = report.cost(price=3.6)
    assert abs(cost.step / (3.6 / 3600 * band.steady) - 1) < 1e-9, f"{cost}"
    assert abs(cost.million_tokens / (cost.step * 1000) - 1) < 1e-6, f"{cost}"

    comparison = eidolon.compare(sweep["a100"], report)
    assert comparison.speedup > 1 and "speed-up" in comparison._repr_html_(), f"the comparison: {comparison}"


def test_the_python_package_tells_errors_in_the_commands_words(world):
    os.environ["EIDOLON_PROGRAM"] = str(world.build / "bin/eidolon")
    python = f"{world.python}/bin/python"
    assert refused("no GPU model 'H100-SXM-80GB'", [python, "-c", ""], gpu="H100-SXM-80GB") is None, "a report"
    assert refused("--mesure", [python, "-c", ""], mesure=3) is None, "a report"
    report = refused("CommandFailed", [python, "-c", "raise ValueError('too few')"], cwd=world.folder)
    assert report.phase == "Failed" and "too few" in report.message, f"the report: {report}"
    try:
        eidolon.predict("python train.py")
    except TypeError as error:
        assert "list of words" in str(error), str(error)
    else:
        raise AssertionError("a text was taken for a command")
