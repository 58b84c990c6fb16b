"""The files that a job leaves, its timeline and its recording, and folded jobs: equal to those of embedded mode."""

import json

import pytest
import trace_tables

import cluster_commands as kube
from rest_user import Rest
from simulation_jobs import complete, iterations, submit, torch_image

pytestmark = pytest.mark.fixed
# Slices of an iteration: what lies on which track, since the first slice. Lines of Python name folders, which differ.
SLICES = """
    SELECT parent.name AS above, track.name AS track, slice.name AS name, category, dur,
           ts - (SELECT min(ts) FROM slice) AS ts
    FROM slice JOIN track ON track.id = track_id LEFT JOIN track parent ON parent.id = track.parent_id
"""
COUNTERS = """
    SELECT track.name AS track, value, ts - (SELECT min(ts) FROM slice) AS ts
    FROM counter JOIN track ON track.id = track_id
"""


@pytest.fixture
def files(first, build, tmp_path):
    """Fetches the timeline or the recording of `first` from each controller and by REST; the path of one of them."""
    kube.user("alice")
    rest = Rest("alice")
    (tmp_path / "token").write_text(rest.token)

    def by_rest(what, *options):
        url = rest.url(f"/api/v1/namespaces/{kube.TEAM}/simulationjobs/first/{what}")
        return kube.in_cluster("curl", "-sS", "-m", "60", *options, "-H", f"Authorization: Bearer {rest.token}", url)

    def fetch(what):
        status = first
        # A controller that went took the files with it.
        if by_rest(what, "-o", "/dev/null", "-w", "%{http_code}") != "200":
            status = submit()
        pods = kube.objects("pods", "-l", "app.kubernetes.io/component=controller", namespace=kube.NAMESPACE)
        assert len(pods) > 1, "several controllers"
        paths = [tmp_path / f"{pod['metadata']['name']}.{what}" for pod in pods]
        for pod, path in zip(pods, paths):
            server = f"http://{kube.pod_ip(pod['metadata']['name'])}:8080"
            words = ("--server", server, "--token-file", tmp_path / "token", "-n", kube.TEAM)
            kube.in_cluster(build / "bin/eidolon", *words, what, "first", "-o", path)
        paths.append(tmp_path / f"rest.{what}")
        by_rest(what, "--fail", "-o", paths[-1])
        assert {path.stat().st_size for path in paths} == {status[what]["bytes"]}
        assert len({path.read_bytes() for path in paths}) == 1, "controllers give different files"
        print(f"{len(paths)} times the same {status[what]['bytes']} bytes, from {len(pods)} controllers")
        return paths[0]

    return fetch


def test_timelines(files, first_embedded, build, server, tmp_path):
    """A job's timeline is that of embedded mode; each controller gives the same file."""
    path = tmp_path / "embedded.pftrace"
    name = first_embedded["metadata"]["name"]
    kube.call(build / "bin/eidolon", "--data-dir", server.data, "timeline", name, "-o", path)
    trace = files("timeline")
    for sql in (SLICES, COUNTERS):
        rows = [sorted(map(repr, trace_tables.ask(file, sql))) for file in (trace, path)]
        different = sorted(set(rows[0]) ^ set(rows[1]))
        assert rows[0] == rows[1] and rows[0], f"{len(different)} rows differ: {different[:6]}"
        print(f"{len(rows[0])} rows as in embedded mode")


def test_recordings(files, first, build):
    """A job's recording, from each controller the same, replays to the same prediction to the picosecond."""
    file = files("recording")
    assert b"kept-to-itself" not in file.read_bytes(), "the recording has a variable of the environment"
    replayed = json.loads(kube.call(build / "bin/eidolon", "replay", file, "-o", "json"))["status"]
    assert iterations(replayed) == iterations(first) and iterations(first)
    print(f"{iterations(first)} ps, run and replay")


# --- folded --------------------------------------------------------------------------
PROGRAMS = kube.ROOT / "e2e/folding/programs"
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


@pytest.mark.starts(24)
def test_folded(embedded):
    """A folded job has pods for live ranks alone, finds its classes, and the prediction of embedded mode."""
    kube.give(kube.TEAM, "folded-code", f"--from-file={PROGRAMS / 'halves.py'}")
    job = lambda **more: kube.made("eidolon.dev/v1alpha1", "SimulationJob", "folded", {**FOLDED, **more})
    kube.team("delete", "simjob", "folded", "--ignore-not-found", "--timeout=120s")
    kube.apply(job(image=torch_image(), code={"configMapRef": {"name": "folded-code"}}))
    status = complete("folded")
    assert status["attempt"] == 2 and "failedAttempts" not in status
    assert status["foldDimensions"] == [{"stride": 8, "size": 2}]
    assert status["servers"] == 8
    assert status["prediction"]["folding"]["live"] == LIVE
    # Each completion index stands for a server with a live rank.
    batch = kube.get("job", "folded")["spec"]
    assert (batch["completions"], batch["parallelism"]) == (len(SERVERS), len(SERVERS))
    pods = kube.objects("pods", "-l", "batch.kubernetes.io/job-name=folded")
    assert [json.loads(pod["metadata"]["annotations"]["eidolon.dev/servers"]) for pod in pods] == [SERVERS] * 4
    alone = embedded(job(code={"directory": str(PROGRAMS)}))
    assert iterations(status) == iterations(alone["status"])
    print(f"{len(SERVERS)} pods for 8 servers; iterations {iterations(status)} ps in both modes")
    kube.team("delete", "simjob/folded", "configmap/folded-code", "--timeout=120s")
