"""Searches: which values of a job's parameters are best, in one command that can be killed at any moment."""

import json
import os
import pathlib
import re
import subprocess
import time

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Each step has an all-reduce, and writes 64 MiB of memory of its own for each part.
STEPS = """
    import ctypes
    kept = ctypes.c_void_p()
    light.good(rank.runtime.cudaMalloc(ctypes.byref(kept), ctypes.c_size_t(int(os.environ["GIB"]) << 30)), "cudaMalloc")
    for step in range(40):
        for part in range(int(sys.argv[1])):
            rank.runtime.cudaMemsetAsync(kept, 0, ctypes.c_size_t(64 << 20), rank.stream)
        rank.step(0)
"""


class Search:
    """A document in a folder of its own, and the command on it."""

    def __init__(self, world, **spec):
        self.world, self.folder = world, world.fresh_folder()
        self.file, self.results = self.folder / "layouts.yaml", self.folder / "layouts.search"
        job = yaml.safe_load(world.job(STEPS, ranks=2, measure=3, light=True))["spec"]
        del job["outputs"]
        job["command"].append("${parts}")
        job["env"] = [{"name": "GIB", "value": "${gib}"}]
        self.document = {
            "apiVersion": "eidolon.dev/v1alpha1",
            "kind": "SimulationSearch",
            "metadata": {"name": "layouts"},
            "spec": {
                "job": job,
                "space": {"parts": {"from": 1, "to": 4, "times": 2}, "gib": [1, 500]},
                "constraints": ["world == 2", "gib < 9 or parts == 1"],
                "objective": {"minimize": "iterationSeconds"},
                **spec,
            },
        }

    def command(self):
        self.file.write_text(yaml.safe_dump(self.document))
        environment = f"PATH={self.world.python}/bin:{self.world.build}/bin:/usr/bin:/bin"
        return ["env", environment, self.world.build / "bin/eidolon", "search", "-f", self.file]

    def run(self, *words, status=0):
        done = subprocess.run([*self.command(), *words], capture_output=True, text=True, timeout=300)
        assert done.returncode == status, f"eidolon search: {done.returncode}: {done.stdout}{done.stderr}"
        return done

    def journal(self):
        """Names of the points whose results are kept whole."""
        file = self.results / "results.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [json.loads(line)["name"] for line in lines if line.startswith("{") and line.endswith("}")]


@pytest.fixture(scope="module")
def found(world):
    search = Search(world)
    return search, search.run()


def test_a_search_says_time_memory_and_verdict_of_each_point_and_which_is_best(found):
    search, done = found
    table = json.loads((search.results / "table.json").read_text())
    rows = {row["name"]: row for row in table["points"]}
    verdicts = {name: row["verdict"] for name, row in rows.items()}
    assert verdicts.pop("gib=500 parts=1") == "does not fit", f"{verdicts}"
    assert verdicts["gib=1 parts=1"] == "best" and verdicts["gib=1 parts=4"] == "slower", f"{verdicts}"
    times = [rows[f"gib=1 parts={parts}"]["iterationSeconds"] for parts in (1, 2, 4)]
    assert times[0] < times[1] < times[2], f"iterations: {times}"
    assert "needs 50" in rows["gib=500 parts=1"]["why"] and "GiB or more of" in rows["gib=500 parts=1"]["why"], (
        f"{rows}"
    )
    assert table["combinations"] == 6 and [cut["points"] for cut in table["cut"]] == [0, 2], f"{table['cut']}"
    assert "6 combinations: 2 cut (2 by 'gib < 9 or parts == 1'), 4 tried, 0 not tried" in done.stdout, done.stdout
    assert "Best is gib=1 parts=1: " in done.stdout, done.stdout
    assert done.stdout.rstrip().endswith("Its command: GIB=1 python script.py 1"), done.stdout
    csv = (search.results / "table.csv").read_text().splitlines()
    assert csv[0].startswith('"gib","parts",verdict,') and len(csv) == 5, f"{csv}"


def test_the_best_job_is_ready_to_run(found, world):
    search, _ = found
    job = world.server.run((search.results / "best.yaml").read_text(), seconds=300)
    row = json.loads((search.results / "table.json").read_text())["points"][0]
    again = job["status"]["prediction"]["steadyIteration"]["seconds"]
    assert again == row["iterationSeconds"], f"{again}, in the search {row['iterationSeconds']}"


def test_another_objective_is_answered_from_what_was_found(found):
    search, _ = found
    search.document["spec"]["objective"] = {"minimize": "iterationSeconds", "subjectTo": ["parts > 1"]}
    done = search.run("-o", "json")
    assert "eidolon: point" not in done.stderr, done.stderr
    answer = json.loads(done.stdout)
    verdicts = {row["name"]: row["verdict"] for row in answer["points"]}
    assert answer["best"]["point"] == {"gib": 1, "parts": 2}, f"{answer['best']}"
    assert verdicts["gib=1 parts=1"] == "excluded", f"{verdicts}"
    search.document["spec"]["job"]["env"].append({"name": "OTHER", "value": "1"})
    assert "has the results of another job" in search.run(status=1).stderr


def test_a_search_that_was_killed_goes_on_and_runs_no_finished_point_twice(world):
    search = Search(world, constraints=["gib < 9"], space={"parts": [1, 2, 3, 4], "gib": [1, 2]})
    with subprocess.Popen(search.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        deadline = time.monotonic() + 300
        while len(search.journal()) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        first.kill()
    known = search.journal()
    with (search.results / "results.jsonl").open("a") as journal:
        journal.write('{"name": "gib=2 parts=4", "point"')  # As a kill leaves it that comes while a line is written.
    done = search.run("-o", "json")
    rows = json.loads(done.stdout)["points"]
    assert len(rows) == 8 and all(row["phase"] == "Complete" for row in rows), f"{rows}"
    asked = done.stderr.count("eidolon: point")
    assert 2 <= len(known) < 8 and asked == 8 - len(known), f"{known} were known, {asked} were predicted again"
    assert sorted(search.journal()) == sorted({row["name"] for row in rows}), "a point was predicted twice"


def clusters(world, **spec):
    """A search over networks and clocks for two programs, which write down each time that they run."""
    space = {"clock": [1, 0.5], "gbps": [100, 400], "parts": [1, 4], "gib": 1}
    search = Search(world, constraints=[], space=space, **spec)
    job = search.document["spec"]["job"]
    server = {"preset": "dgx-h100", "gpusPerServer": 1, "gpuClock": "${clock}", "nics": {"gbps": "${gbps}"}}
    job.update(cluster={"servers": 2, "server": server}, servers=2, ranksPerServer=1)
    job["env"].append({"name": "RUNS", "value": str(search.folder / "runs")})
    script = pathlib.Path(job["code"]["directory"]) / "script.py"
    first = "'RANK' not in os.environ and os.environ['NODE_RANK'] == '0'"
    note = f"import os\nif {first}:\n    open(os.environ['RUNS'], 'a').write('run\\n')\n"
    script.write_text(note + script.read_text())
    search.runs = lambda: (search.folder / "runs").read_text().count("run")
    return search


def test_points_that_differ_in_the_cluster_alone_are_replayed_and_say_what_runs_say(world):
    predicted = {}
    for replays, runs, parallel in (("auto", 2, 1), ("off", 8, 1), ("auto", 2, 3)):
        search = clusters(world, replays=replays, budget={"parallel": parallel})
        rows = json.loads(search.run("-o", "json").stdout)["points"]
        assert search.runs() == runs, f"replays {replays}: the program ran {search.runs()} times"
        assert sum(row.get("replayed", False) for row in rows) == 8 - runs, f"{rows}"
        of_this_machine = {"wallSeconds", "spentSeconds", "replayed"}
        for row in rows:
            told = {field: value for field, value in row.items() if field not in of_this_machine}
            predicted.setdefault(row["name"], []).append(told)
    assert len(predicted) == 8 and all(one == two == three for one, two, three in predicted.values()), f"{predicted}"
    times = {row["iterationSeconds"] for row, *_ in predicted.values()}
    assert len(times) >= 4, f"all clusters are alike: {times}"


def test_what_does_not_fit_another_gpu_is_not_replayed_but_runs(world):
    search = clusters(world)
    spec = search.document["spec"]
    spec["space"] = {
        "gpu": ["B200-SXM-180GB", "H100-SXM5-80GB"],
        "clock": [1, 0.5],
        "gib": 100,
        "parts": 1,
        "gbps": 400,
    }
    spec["job"]["cluster"]["server"]["gpu"] = "${gpu}"
    rows = {row["name"]: row for row in json.loads(search.run("-o", "json").stdout)["points"]}
    verdicts = {(row["point"]["gpu"][:4], row["point"]["clock"]): row["verdict"] for row in rows.values()}
    assert verdicts["H100", 1] == verdicts["H100", 0.5] == "does not fit", f"{verdicts}"
    assert verdicts["B200", 1] in ("best", "cannot be told apart") and verdicts["B200", 0.5] != "failed", f"{verdicts}"
    assert all(row.get("neededMemoryBytes", 0) > 100 << 30 for row in rows.values() if row["verdict"] == "does not fit")
    assert search.runs() == 2, f"{search.runs()} runs: one for the B200, and one that shows that the H100 is too small"


def test_a_search_that_was_killed_behind_a_run_replays_it(world):
    search = clusters(world)
    with subprocess.Popen(search.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        deadline = time.monotonic() + 300
        while not list(search.results.glob("run-*.eidrec")) and time.monotonic() < deadline:
            time.sleep(0.001)
        first.kill()
    assert search.runs() == 1, f"{search.runs()} runs when the first recording is there"
    known = search.journal()
    rows = json.loads(search.run("-o", "json").stdout)["points"]
    assert len(rows) == 8 and all(row["phase"] == "Complete" for row in rows), f"{rows}"
    assert search.runs() == 2, f"{search.runs()} runs of two programs; {known} were known at the kill"
    assert sorted(search.journal()) == sorted({row["name"] for row in rows}), "a point was predicted twice"


def test_a_search_stops_at_its_budget_and_says_what_it_has_not_tried(world):
    search = Search(world, budget={"points": 2})
    done = search.run()
    assert done.stderr.count("eidolon: point") == 2, done.stderr
    assert "2 points were not tried, because the budget is spent: " in done.stdout, done.stdout
    search.document["spec"]["budget"] = {"points": 3}
    done = search.run()
    assert done.stderr.count("eidolon: point") == 1 and "1 point was not tried" in done.stdout, done.stdout


def test_points_run_at_the_same_time_if_the_budget_says_so_and_spend_it_alike(world):
    budget = {"parallel": 2, "points": 3}
    search = Search(
        world, space={"parts": [1, 2, 4], "gib": [1, 2]}, constraints=["gib == 1 or parts == 4"], budget=budget
    )
    meeting = search.folder / "meeting"
    os.mkfifo(meeting)  # Its two ends are opened together, so the first two points wait for each other.
    search.document["spec"]["job"]["env"].append({"name": "MEETING", "value": str(meeting)})
    script = pathlib.Path(search.document["spec"]["job"]["code"]["directory"]) / "script.py"
    meet = "open(os.environ['MEETING'], {'1': 'w', '2': 'r'}[sys.argv[1]]).close()"
    note = f"import os, sys\nif 'RANK' not in os.environ and sys.argv[1] in '12':\n    {meet}\n"
    script.write_text(note + script.read_text())
    done = search.run("-o", "json")
    rows = json.loads(done.stdout)["points"]
    assert done.stderr.count("eidolon: point") == 3 and len(rows) == 3, done.stderr
    assert all(row["phase"] == "Complete" for row in rows), f"{rows}"
    alone = Search(world, space={"parts": [1, 2, 4], "gib": [1]}, constraints=[])
    times = {row["name"]: row["iterationSeconds"] for row in json.loads(alone.run("-o", "json").stdout)["points"]}
    assert {row["name"]: row["iterationSeconds"] for row in rows} == times, f"{rows}, one at a time: {times}"


def test_all_problems_of_a_document_are_told_at_once_with_their_places(world):
    search = Search(world, constraints=["world % prats == 0", "parts ="], budget={"parallel": 0}, halving=True)
    search.document["spec"]["job"]["command"].append("${tp}")
    told = search.run(status=1).stderr
    for place in (
        "/spec/constraints/0: 'prats' is not known, did you mean 'parts'?",
        "/spec/constraints/1: '=' at character 7 is not known: write '=='",
        "/spec/budget/parallel: must be",
        "/spec/halving: unknown field",
        "/spec/job/command/3: 'tp' is not a parameter of space",
    ):
        assert place in told, f"{place!r} is missing in {told}"
    assert not search.results.exists(), "a wrong document has made a folder"


def test_the_example_of_the_page_is_the_one_that_is_kept(world):
    page = (ROOT / "docs/how-to/search.md").read_text()
    [shown] = re.findall(r'```yaml title="layouts.yaml"\n(.*?)```', page, re.S)
    kept = (ROOT / "e2e/search/layouts.yaml").read_text()
    assert shown == kept.split("\n", 1)[1], "docs/how-to/search.md and e2e/search/layouts.yaml differ"
