"""Sweeps over REST: a job for each point, and none twice, whatever becomes of the controller."""

import json
import time

from jobs import await_that

STEPS = "for step in range(9): rank.step(0)"
SWEEPS = "/api/v1/namespaces/default/simulationsweeps"


def sweep_of(server, name):
    status, answer = server.request("GET", f"{SWEEPS}/{name}")
    assert status == 200, f"sweep {name}: {status}: {answer}"
    return answer


def jobs_of(server, sweep):
    _, answer = server.request("GET", f"{server.jobs_path()}?labelSelector=eidolon.dev/sweep%3D{sweep}")
    return {job["metadata"]["name"]: job for job in answer["items"]}


def await_sweep(server, name, done, seconds=300):
    deadline = time.monotonic() + seconds
    while True:
        sweep = sweep_of(server, name)
        if done(sweep["status"]):
            return sweep
        assert sweep["status"].get("phase") != "Failed", f"the sweep has failed: {json.dumps(sweep)[:4000]}"
        assert time.monotonic() < deadline, f"the sweep does not come that far: {json.dumps(sweep)[:4000]}"
        time.sleep(0.05)


def document_of(world, name, matrix, **more):
    """A SimulationSweep of a small job of two ranks."""
    import yaml

    spec = yaml.safe_load(world.job(STEPS, ranks=2, measure=3, light=True))["spec"]
    return {
        "apiVersion": "eidolon.dev/v1alpha1",
        "kind": "SimulationSweep",
        "metadata": {"name": name},
        "spec": {"job": spec, "matrix": matrix, **more},
    }


def test_a_sweep_over_rest_goes_on_after_its_controller_was_killed_and_runs_no_point_twice(world):
    document = document_of(
        world,
        "gpus",
        {
            "env.MARK": ["a", "b"],
            "cluster.server.gpu": ["H100-SXM5-80GB", "B200-SXM-180GB"],
            "replay.hostFactor": [1, 0],
        },
        price={"H100-SXM5-80GB": 2, "B200-SXM-180GB": 5},
        concurrency=2,
    )
    with world.own_server("--jobs", "2") as server:
        status, answer = server.request("POST", SWEEPS, json.dumps(document), kind="application/json")
        assert status == 201, f"creating the sweep: {status}: {answer}"
        before = await_sweep(server, "gpus", lambda status: status.get("counts", {}).get("complete", 0) >= 2)
        server.kill()
        known = {point["name"]: point for point in before["status"]["points"] if point["phase"] == "Complete"}
        server.start()
        over = {name: job for name, job in jobs_of(server, "gpus").items() if job["status"]["phase"] == "Complete"}
        unfinished = 0

        def is_over(status):
            nonlocal unfinished
            phases = [job["status"]["phase"] for job in jobs_of(server, "gpus").values()]
            unfinished = max(unfinished, phases.count("Pending") + phases.count("Running"))
            return status["phase"] in ("Complete", "Failed")

        status = await_sweep(server, "gpus", is_over)["status"]
        points = status["points"]
        assert status["counts"]["complete"] == 8 == len(points), f"points: {points}"
        assert 0 < unfinished <= 2, f"{unfinished} jobs at a time, concurrency is 2"
        for point in points:
            old = {key: value for key, value in known.get(point["name"], point).items() if key != "front"}
            assert old.items() <= point.items(), f"{point['name']} was known as {old}, and is {point}"
        # What was over is the same job still, and each point has one that was completed.
        jobs = jobs_of(server, "gpus")
        for name, job in over.items():
            assert jobs[name]["metadata"]["uid"] == job["metadata"]["uid"], f"{name} was made again"
        complete = sorted(name for name, job in jobs.items() if job["status"]["phase"] == "Complete")
        wanted = sorted([point["job"] for point in points] + [name for name in complete if "-run" in name])
        assert complete == wanted and len(set(wanted)) == 10, f"completed jobs: {complete}, wanted: {wanted}"
        assert all(point["replayed"] for point in points), f"not replayed: {points}"
        # The command shows the same: a variable that is not read changes nothing, and which points are best.
        by_name = {point["name"]: point["iterationSeconds"] for point in points}
        for name, seconds in by_name.items():
            assert by_name[name.replace("MARK=a", "MARK=b")] == seconds, f"{name}: {by_name}"
        front = [point["name"] for point in points if point.get("front")]
        assert front and all("hostFactor=0" in name for name in front), f"front: {front}"
        print(f"{len(known)} of 8 points were known before the kill, {len(jobs)} jobs, {unfinished} at a time")

        status, _ = server.request("DELETE", f"{SWEEPS}/gpus")
        assert status in (200, 202), f"deleting the sweep: {status}"
        await_that("the sweep is gone", lambda: server.request("GET", f"{SWEEPS}/gpus")[0] == 404, 30)
        assert not jobs_of(server, "gpus"), f"left behind: {jobs_of(server, 'gpus').keys()}"


def test_a_sweep_of_points_that_fail_and_are_refused_tells_of_each(world):
    document = document_of(
        world, "mixed", {"command": [["python", "script.py"], ["sh", "-c", "exit 3"]], "servers": [1, 77]}
    )
    server = world.server
    wrong = json.loads(json.dumps(document))
    wrong["spec"]["matrix"]["servers"] = [0]
    status, answer = server.request("POST", SWEEPS, json.dumps(wrong), kind="application/json")
    assert status == 422 and answer["errors"][0]["pointer"] == "/spec/matrix/servers", f"{status}: {answer}"

    file = world.folder / "mixed.json"
    file.write_text(json.dumps(document))
    done = world.eidolon("sweep", "-f", file, "--submit", "-o", "json", seconds=300)
    assert done.returncode == 0, f"eidolon sweep --submit: {done.stderr}"
    rows = json.loads(done.stdout)
    phases = {row["name"]: row["phase"] + "/" + row.get("reason", "") for row in rows}
    assert sorted(phases.values())[:2] == ["Complete/IterationsMeasured", "Failed/CommandFailed"], f"{phases}"
    assert sorted(phases.values())[2:] == ["Refused/Refused"] * 2, f"{phases}"
    assert rows[0]["phase"] == "Complete" and rows[0]["front"], f"{rows}"
    listed = world.eidolon("get", "--sweeps").stdout
    assert "mixed" in listed and "4 of 4 points" in listed and "3 without a prediction" in listed, listed
    shown = world.eidolon("get", "--sweeps", "mixed").stdout
    assert "1 of 4 points are predicted" in shown and "Refused (Refused)" in shown, shown
    done = world.eidolon("delete", "--sweeps", "mixed")
    assert "default/mixed deleted" in done.stdout, f"{done.stdout}{done.stderr}"


def test_a_suspended_sweep_begins_nothing_and_is_changed_and_resumed(world):
    server = world.server
    document = document_of(world, "held", {"env.N": ["1", "2"]}, suspend=True, replays="off")
    status, answer = server.request("POST", SWEEPS, json.dumps(document), kind="application/json")
    assert status == 201, f"creating the sweep: {status}: {answer}"

    def said(*arguments):
        done = world.eidolon(*arguments)
        return done.returncode, done.stdout + done.stderr

    await_sweep(server, "held", lambda status: status["phase"] == "Pending" and "points" in status)
    code, text = said("get", "--sweeps", "held")
    assert "held  Suspended" in text and "eidolon resume --sweeps held" in text, text
    assert not jobs_of(server, "held"), "a suspended sweep has jobs"
    patch = {"kind": "application/merge-patch+json"}
    status, answer = server.request("PATCH", f"{SWEEPS}/held", '{"spec": {"matrix": {"env.N": ["3"]}}}', **patch)
    assert status == 422 and answer["errors"][0]["pointer"] == "/spec/matrix", f"{status}: {answer}"
    assert "delete the sweep and create another" in answer["errors"][0]["detail"], f"{answer}"
    status, answer = server.request("PATCH", f"{SWEEPS}/held", '{"spec": {"concurrency": 2}}', **patch)
    assert status == 200 and answer["spec"]["concurrency"] == 2 and answer["spec"]["suspend"], f"{status}: {answer}"
    code, text = said("resume", "--sweeps", "held")
    assert code == 0 and "default/held resumed" in text, text
    sweep = await_sweep(server, "held", lambda status: status["counts"]["pending"] + status["counts"]["running"] == 0)
    assert sorted(jobs_of(server, "held")) == ["held-p1", "held-p2"], f"{sweep}"
    # The same file again follows the sweep that there is, whatever became of its pace.
    file = world.folder / "held.json"
    file.write_text(json.dumps(document))
    code, text = said("sweep", "-f", str(file), "--submit")
    assert code == 0 and "env.N=2" in text, text
    code, text = said("suspend", "--sweeps", "held")
    assert code == 1 and "the sweep is over" in text, text
    server.request("DELETE", f"{SWEEPS}/held")
