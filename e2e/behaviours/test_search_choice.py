"""Searches that end jobs early, find Pareto fronts, and take a framework's rules from a preset."""

import json
import pathlib

import yaml
from test_search import Search

ROOT = pathlib.Path(__file__).resolve().parents[2]


def slowly(search, iterations):
    """Makes each step of the search's program take the simulating machine a while, which no clock of the job shows. Its
    lines of output say at once where an iteration ends."""
    job = search.document["spec"]["job"]
    job["iterations"] |= {"measure": iterations, "boundary": {"log": "^step [0-9]+"}}
    script = pathlib.Path(job["code"]["directory"]) / "script.py"
    text = script.read_text()
    [line] = [line for line in text.splitlines() if line.strip().startswith("for part in ")]
    indent = line[: len(line) - len(line.lstrip())]
    script.write_text(
        text.replace(line, f'{indent}print("step", step, flush=True)\n{indent}sum(range(2_000_000))\n{line}')
    )


def test_a_point_that_has_lost_is_dropped_before_its_last_iteration(world):
    search = Search(world, space={"parts": [1, 8], "gib": [1]}, constraints=["world == 2"], budget={"look": 1})
    slowly(search, 25)
    answer = json.loads(search.run("-o", "json").stdout)
    best, dropped = answer["points"]
    assert best["verdict"] == "best" and best["name"] == "gib=1 parts=1", f"{best}"
    assert dropped["verdict"] == "dropped" and dropped["lostTo"] == best["name"], f"{dropped}"
    assert 1 <= dropped["endedAfterIterations"] < 25, f"{dropped}"
    assert dropped["bestCase"] > dropped["winnersWorstCase"] == best["iterationSecondsHigh"], f"{dropped}"
    assert dropped["why"].endswith(f"where gib=1 parts=1 has {best['iterationSecondsHigh']:g} at worst"), f"{dropped}"
    assert dropped["spentSeconds"] < best["spentSeconds"], f"{dropped['spentSeconds']}, {best['spentSeconds']}"
    assert "1 was dropped early" in search.run().stdout

    search.document["spec"]["objective"] = {"maximize": "iterationSeconds"}
    done = search.run("-o", "json")
    assert done.stderr.count("eidolon: point") == 1, f"the dropped point may be the best now: {done.stderr}"
    answer = json.loads(done.stdout)
    assert answer["best"]["name"] == "gib=1 parts=8", f"{answer['best']}"
    assert "endedAfterIterations" not in answer["points"][0], f"{answer['points'][0]}"


def test_the_front_has_the_points_that_no_other_beats_in_all_objectives(world):
    search = Search(
        world,
        space={"parts": [1, 4, 8], "gib": [1, 20]},
        constraints=["gib == 20 and parts < 8 or gib == 1 and parts == 8"],
        objectives=[{"minimize": "iterationSeconds"}, {"maximize": "memoryHeadroom"}],
    )
    answer = json.loads(search.run("-o", "json").stdout)
    assert answer["front"] == ["gib=20 parts=1", "gib=1 parts=8"], f"{answer['front']}"
    rows = {row["name"]: row for row in answer["points"]}
    assert rows["gib=20 parts=4"]["dominatedBy"] == "gib=20 parts=1", f"{rows}"
    assert rows["gib=1 parts=8"]["lostTo"] == "gib=20 parts=1", f"{rows}"
    done = search.run()
    assert "gib=1 parts=8 (front)" in done.stdout, done.stdout
    assert "on the Pareto front: gib=20 parts=1; gib=1 parts=8." in done.stdout, done.stdout
    head, *lines = (search.results / "table.csv").read_text().splitlines()
    column = head.split(",").index("front")
    assert [line.split(",")[column] for line in lines] == ["1", "0", "1"], f"{lines}"


# Flags of gpt.py with other names than in Megatron-LM's pretrain_gpt.py.
NAMES = {
    "tensor": "tensor-model-parallel-size",
    "micro": "micro-batch-size",
    "sequences": "global-batch-size",
    "layers": "num-layers",
    "heads": "num-attention-heads",
}


def test_a_preset_brings_the_flags_and_the_rules_of_megatron_core(world):
    search = Search(world)
    code = world.fresh_folder()
    text = (ROOT / "e2e/search/gpt.py").read_text()
    for own, name in NAMES.items():
        assert f'"--{own}",' in text
        text = text.replace(f'"--{own}",', f'"--{name}", dest="{own}",')
    (code / "pretrain.py").write_text(text)
    size = "--num-layers 2 --hidden 512 --num-attention-heads 8 --length 128 --words 1024 --global-batch-size 8"
    search.document["spec"] = {
        "preset": "megatron-core",
        "job": {
            "cluster": {"servers": 1, "server": {"preset": "dgx-h100", "gpusPerServer": 2}},
            "command": ["torchrun", "pretrain.py", *size.split()],
            "code": {"directory": str(code)},
            "env": [{"name": "RANKS_GO_ON", "value": "1"}],
            "iterations": {"warmup": 1, "measure": 2},
            "hostModel": {"kind": "fixed"},
        },
        "space": {"tp": [1, 2, 4], "micro": [1, 3]},
        "constraints": ["tp > 1 or heads < 8"],
        "objective": {"minimize": "iterationSeconds"},
    }
    answer = json.loads(search.run("-o", "json").stdout)
    phases = {row["name"]: row["phase"] for row in answer["points"]}
    assert phases == {"micro=1 tp=2": "Complete"}, f"{answer['points']}"
    cuts = {cut["constraint"]: cut["points"] for cut in answer["cut"] if cut["points"]}
    batch = "globalBatch % (micro * world / (tp * pp * cp)) == 0"
    assert cuts == {"world % (tp * pp * cp) == 0": 2, batch: 2, "tp > 1 or heads < 8": 1}, f"{cuts}"
    command = yaml.safe_load((search.results / "best.yaml").read_text())["spec"]["command"]
    assert command[-4:] == ["--micro-batch-size", "1", "--tensor-model-parallel-size", "2"], f"{command}"
    shown = search.run().stdout
    assert "megatron-core refuses 2 combinations: globalBatch % (micro" in shown, shown
    assert "Some of its rules need values that 'model' does not have: ffn, sequence" in shown, shown
