"""The files that a job leaves, its timeline and its recording, and folded jobs: equal to those of embedded mode."""

import json

import trace_tables

from cluster_commands import (
    NAMESPACE,
    ROOT,
    TEAM,
    apply,
    call,
    get,
    give,
    kube,
    objects,
    pod_ip,
    team,
    user,
)
from rest_user import Rest
from simulation_jobs import complete, document, embedded_document, iterations, torch_image

# Of an iteration: what lies on which track, since the first slice. Lines of Python name folders, which differ.
SLICES = """
    SELECT parent.name AS above, track.name AS track, slice.name AS name, category, dur,
           ts - (SELECT min(ts) FROM slice) AS ts
    FROM slice JOIN track ON track.id = track_id LEFT JOIN track parent ON parent.id = track.parent_id
"""
COUNTERS = """
    SELECT track.name AS track, value, ts - (SELECT min(ts) FROM slice) AS ts
    FROM counter JOIN track ON track.id = track_id
"""


def test_timelines(build, server, embedded, tmp_path):
    """A job's timeline and critical path are those of embedded mode; each controller gives the same file."""
    outputs = {"timeline": {"iterations": 1}}
    status = run(document("timed", outputs=outputs))
    trace = fetch_from_each(build, tmp_path, "timed", "timeline", status)
    job = embedded(embedded_document(outputs=outputs))
    path = tmp_path / "embedded.pftrace"
    call(build / "bin/eidolon", "--data-dir", server.data, "timeline", job["metadata"]["name"], "-o", path)
    for sql in (SLICES, COUNTERS):
        rows = [sorted(map(repr, trace_tables.ask(file, sql))) for file in (trace, path)]
        different = sorted(set(rows[0]) ^ set(rows[1]))
        assert rows[0] == rows[1] and rows[0], f"{len(different)} rows differ: {different[:6]}"
        print(f"{len(rows[0])} rows as in embedded mode")
    for part in ("iterationPicoseconds", "criticalPath"):
        found = [one["prediction"].get(part) for one in (status, job["status"])]
        assert found[0] == found[1] and found[0], part
    team("delete", "simjob", "timed", "--timeout=120s")


def test_recordings(build, tmp_path):
    """A job's recording, from each controller the same, replays to the same prediction to the picosecond."""
    secret = [{"name": "SECRET", "value": "kept-to-itself"}]
    status = run(document("recorded", outputs={"recording": True}, env=secret))
    file = fetch_from_each(build, tmp_path, "recorded", "recording", status)
    assert b"kept-to-itself" not in file.read_bytes(), "the recording has a variable of the environment"
    replayed = json.loads(call(build / "bin/eidolon", "replay", file, "-o", "json"))["status"]
    assert iterations(status) == iterations(replayed) and iterations(status)
    print(f"{iterations(status)} ps, run and replay")
    team("delete", "simjob", "recorded", "--timeout=120s")


def run(job):
    """Its status once it has completed."""
    name = job["metadata"]["name"]
    team("delete", "simjob", name, "--ignore-not-found", "--timeout=120s")
    apply(job)
    return complete(name)


def fetch_from_each(build, folder, name, what, status):
    """The file that each controller gives by `eidolon timeline` or `eidolon recording`, and the service by REST."""
    user("alice")
    rest = Rest("alice")
    (folder / "token").write_text(rest.token)
    pods = objects("pods", "-l", "app.kubernetes.io/component=controller", namespace=NAMESPACE)
    assert len(pods) > 1, "several controllers"
    files = []
    for number, pod in enumerate(pods):
        files.append(folder / f"{number}.{what}")
        server = f"http://{pod_ip(pod['metadata']['name'])}:8080"
        words = ("--server", server, "--token-file", folder / "token", "-n", TEAM)
        kube(build / "bin/eidolon", *words, what, name, "-o", files[-1])
    files.append(folder / f"rest.{what}")
    url = rest.url(f"/api/v1/namespaces/{TEAM}/simulationjobs/{name}/{what}")
    kube("curl", "-sS", "--fail", "-m", "60", "-o", files[-1], "-H", f"Authorization: Bearer {rest.token}", url)
    assert {file.stat().st_size for file in files} == {status[what]["bytes"]}
    assert len({file.read_bytes() for file in files}) == 1, "controllers give different files"
    print(f"{len(files)} times the same {status[what]['bytes']} bytes, from {len(pods)} controllers")
    return files[0]


# --- folded --------------------------------------------------------------------------
PROGRAMS = ROOT / "e2e/folding/programs"
# Sixteen ranks, whose halves differ: the first attempt finds that with ranks 0 and 15.
FOLDED = {
    "cluster": {
        "servers": 8,
        "server": {"preset": "dgx-h100", "gpusPerServer": 2, "nics": {"count": 2, "gbps": 400}},
        "fabric": {"preset": "rail-optimised"},
    },
    "command": ["torchrun", "halves.py"],
    "iterations": {"warmup": 3, "measure": 4},
    "hostModel": {"kind": "fixed"},
    "folding": {"mode": "required"},
}
LIVE, SERVERS = [0, 7, 8, 15], [0, 3, 4, 7]


def test_folded(embedded):
    """A folded job has pods for live ranks alone, finds its classes, and the prediction of embedded mode."""
    give(TEAM, "folded-code", f"--from-file={PROGRAMS / 'halves.py'}")
    job = {"apiVersion": "eidolon.dev/v1alpha1", "kind": "SimulationJob", "metadata": {"name": "folded"}}
    code = {"configMapRef": {"name": "folded-code"}}
    status = run({**job, "spec": {**FOLDED, "image": torch_image(), "code": code}})
    assert status["attempt"] == 2 and "failedAttempts" not in status
    assert status["foldDimensions"] == [{"stride": 8, "size": 2}]
    assert status["servers"] == 8
    assert status["prediction"]["folding"]["live"] == LIVE
    # Each completion index stands for a server with a live rank.
    batch = get("job", "folded")["spec"]
    assert (batch["completions"], batch["parallelism"]) == (len(SERVERS), len(SERVERS))
    pods = objects("pods", "-l", "batch.kubernetes.io/job-name=folded")
    assert [json.loads(pod["metadata"]["annotations"]["eidolon.dev/servers"]) for pod in pods] == [SERVERS] * 4
    alone = embedded({**job, "spec": {**FOLDED, "code": {"directory": str(PROGRAMS)}}})
    assert iterations(status) == iterations(alone["status"])
    print(f"{len(SERVERS)} pods for 8 servers; iterations {iterations(status)} ps in both modes")
    team("delete", "simjob/folded", "configmap/folded-code", "--timeout=120s")
