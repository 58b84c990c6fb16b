"""Each scenario runs once, and two things are compared: what the engine does, and how long that takes on a real GPU.

A scenario is a folder with job.yaml (a SimulationJob; @DIRECTORY@ stands for a private copy of the folder), the user's
unmodified script, perhaps prepare.py, which makes small inputs in that copy first, and golden.json.

The job runs on a GPU with fixed durations (gpus/fixed-h100.yaml), so that golden.json holds to the last digit and changes
with the engine alone. Its recording is then replayed on the GPU that job.yaml names, with the models of today: accuracy.csv
holds what they say, within tolerances. The host's time of a recording is that of its run; two scenarios run on their GPU
besides, whose rows hold the costs of the fixed host model.
"""

import collections
import json
import re
import shutil
import subprocess

import accuracy
import pytest
from server import ROOT, verdict

SCENARIOS = ROOT / "e2e" / "scenarios"
NAMES = sorted(path.parent.name for path in SCENARIOS.glob("*/job.yaml"))
RUN_ON_THEIR_GPU = ("quickstart", "transformers_llama")
ASSUMED_LIMIT = 0.01
SOURCES = ("measured", "interpolated", "modelled", "assumed")


def starts_of(name):
    """Processes of a scenario that import torch: its ranks, and torchrun on each server."""
    text = (SCENARIOS / name / "job.yaml").read_text()
    servers, ranks = (
        int(re.search(rf"^  {field}: (\d+)", text, re.MULTILINE)[1]) for field in ("servers", "ranksPerServer")
    )
    if "RANKS_GO_ON" in text:
        ranks = 0
    return servers * (ranks + ("[torchrun" in text))


def scenarios(names):
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=pytest.mark.starts(starts_of(name))) for name in names]
    )


@pytest.fixture
def document(name, tmp_path, torch_python):
    """The job of the scenario that the test is of, in a copy of its folder."""
    source = SCENARIOS / name
    directory = tmp_path / source.name
    shutil.copytree(source, directory)
    if (directory / "prepare.py").exists():
        subprocess.run([torch_python / "bin" / "python", "prepare.py"], cwd=directory, check=True, capture_output=True)
    return (source / "job.yaml").read_text().replace("@DIRECTORY@", str(directory)).replace("@HOST_MODEL@", "fixed")


def prediction_of(server, job):
    condition = verdict(job)
    lines = "\n".join(server.logs(job["metadata"]["name"]).splitlines()[-12:])
    assert condition["type"] == "Complete", f"{condition.get('reason')}: {condition.get('message')}\n{lines}"
    return job["status"]["prediction"]


def engine_result(prediction):
    """Returns the figures that must not change unnoticed, whatever the durations are."""
    launches = collections.Counter()
    for kernel in prediction["kernels"]:
        launches[kernel["family"]] += kernel["launches"]  # Collectives have their own, the rest is "fixed".
    return {
        "iterationSeconds": {key: prediction["iterationSeconds"][key] for key in ("mean", "p50", "p90")},
        **{key: prediction[key] for key in ("iterationPicoseconds", "measuredIterations")},
        "launches": dict(sorted(launches.items())),
        "breakdown": prediction["breakdown"],
        **{key: prediction.get(key) for key in ("memory", "unsupportedCalls", "unknownReads")},
    }


def silent_zeros(prediction):
    """Returns what ran without an estimate, or for nothing."""
    kernels = prediction.get("kernels") or []
    if not kernels:
        yield "no kernel was reported"
    if len(kernels) != prediction.get("kernelCount", 0):
        yield f"only {len(kernels)} of {prediction.get('kernelCount')} kernels are listed"
    for kernel in kernels:
        words = f"{kernel['family'] or 'nameless family'}: {kernel['name'] or 'nameless kernel'}"
        if not kernel["family"] or not kernel["name"] or kernel["source"] not in SOURCES:
            yield f"without an estimate: {words} ({kernel['source']})"
        if kernel["shortestPicoseconds"] <= 0:
            yield f"free: {words}, {kernel['launches']} launches"


def check_estimates(prediction):
    assert not prediction["unsupportedCalls"]
    assert prediction["coverage"]["assumed"] <= ASSUMED_LIMIT, prediction["assumedKernels"]
    assert list(silent_zeros(prediction)) == []
    # Where a job declares its tokens, its launches have to tell as many.
    assert prediction.get("tokensPerIteration") == prediction.get("tokensDerived"), prediction.get("tokensNotDerived")


@scenarios(NAMES)
def test_scenario(name, document, engine, tmp_path, subtests, renew, record_property):
    fixed, replaced = re.subn(r"preset: dgx-h100", "preset: dgx-h100, gpu: fixed-h100", document)
    assert replaced == 1
    job = engine.run(fixed + "  outputs: {recording: true}\n", seconds=900)
    prediction = prediction_of(engine, job)

    with subtests.test("engine"):
        assert prediction["coverage"]["assumed"] == 1, "a part of a run with fixed durations was estimated"
        assert not prediction["unsupportedCalls"]
        golden, now = SCENARIOS / name / "golden.json", engine_result(prediction)
        if renew:
            golden.write_text(json.dumps(now, indent=1) + "\n")
        assert golden.exists(), f"there is no {golden}; make it with: e2e/pytest scenarios -k {name} --update"
        assert now == json.loads(golden.read_text()), f"if it is meant: e2e/pytest scenarios -k {name} --update"

    recording = tmp_path / "step.eidrec"
    command = [engine.build / "bin/eidolon", "--data-dir", engine.data, "recording", job["metadata"]["name"]]
    subprocess.run([*command, "-o", recording], check=True, capture_output=True)
    named = re.sub(r"metadata: \{name: ([\w-]+)\}", r"metadata: {name: \1-replay}", document)
    replay = engine.run(named + f'  replay: {{recording: "{recording}"}}\n', seconds=300)
    replayed = prediction_of(engine, replay)
    with subtests.test("estimates"):
        check_estimates(replayed)
    with subtests.test("accuracy"):
        accuracy.check(name, replayed, renew, record_property)


@scenarios(RUN_ON_THEIR_GPU)
def test_run_with_the_models_of_today(name, document, engine, subtests, renew, record_property):
    named = re.sub(r"metadata: \{name: ([\w-]+)\}", r"metadata: {name: \1-run}", document)
    prediction = prediction_of(engine, engine.run(named, seconds=900))
    with subtests.test("estimates"):
        check_estimates(prediction)
    with subtests.test("accuracy"):
        accuracy.check(f"{name} (run)", prediction, renew, record_property)
