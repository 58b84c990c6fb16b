"""One job on the cluster, watched by several tests, and what the definitions say of jobs."""

import json
import re
import time

import pytest

import cluster_commands as kube
from simulation_jobs import iterations, submit

pytestmark = pytest.mark.fixed


def rows(name):
    return json.loads((kube.HERE / "jobs" / name).read_text())


def test_refusals():
    """The definitions refuse what is wrong and say so."""
    good = (kube.HERE / "jobs/job.yaml").read_text().replace("@IMAGE@", "x")
    for row in rows("refused.json"):
        text = good.replace(row["replace"], row["by"])
        assert text != good, f"row {row} changes nothing"
        # An admission policy holds some seconds after it was made, the rules of a definition at once.
        until = time.monotonic() + (30 if row.get("policy") else 0)
        while True:
            accepted, said = kube.tries("apply", "--dry-run=server", document=text)
            if accepted == row.get("accepted", False) and row.get("message", "") in said:
                break
            assert time.monotonic() < until, f"{row}: {said}"
            time.sleep(1)


@pytest.mark.starts(6)
def test_submit():
    """kubectl apply of a cluster and a job of 2 servers x 2 ranks completes."""
    submit()


def test_changes(first):
    """A job's command and sizes stay what they were; its turn and its end may be changed. Clusters have rules too."""
    for row in rows("changes.json"):
        change = json.dumps({"spec": row["spec"]})
        what = (row.get("kind", "simjob"), row.get("name", "first"))
        done, said = kube.tries("patch", *what, "--type=merge", "--dry-run=server", "-p", change)
        assert done == ("message" not in row), f"{row}: {said}"
        assert row.get("message", "") in said, f"{row}: {said}"


@pytest.mark.starts(6)
def test_equals_embedded(first, first_embedded):
    """The prediction and its critical path are those of embedded mode, to the picosecond."""
    alone = first_embedded["status"]
    assert iterations(alone) == iterations(first) and iterations(first)
    assert alone["prediction"]["criticalPath"] == first["prediction"]["criticalPath"]
    print(f"iterations {iterations(first)} ps in both modes")


def test_shows(first):
    """Columns, events, explain text, logs and metrics of the job tell the story."""
    table = kube.team("get", "simjob", "first")
    assert "Complete" in table and "100" in table
    events = kube.team("get", "events.events.k8s.io", "--field-selector", "regarding.name=first")
    for reason in ("Placed", "Started", "IterationsMeasured"):
        assert reason in events
    assert "warm" in kube.kubectl("explain", "simulationjob.spec.iterations")
    assert "step 5 loss" in kube.team("logs", "job/first", "--all-pods=true")
    page = kube.in_cluster("curl", "-sS", "-m", "10", f"http://{kube.pod_ip(kube.leader_pod())}:9401/metrics")
    assert re.search(r'eidolon_predicted_iteration_seconds\{.*simulation_job="first"', page), page[-3000:]


def test_shows_objects(first):
    """An Indexed Job and a headless Service of the job's name; what its pods are given; no secret."""
    batch, service = kube.get("job", "first")["spec"], kube.get("service", "first")["spec"]
    assert (batch["completionMode"], batch["completions"], batch["parallelism"]) == ("Indexed", 2, 2)
    assert service["clusterIP"] == "None"
    pods = kube.objects("pods", "-l", "batch.kubernetes.io/job-name=first")
    assert len(pods) == 2, "one pod for each server"
    for spec in (pod["spec"] for pod in pods):
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        (copies,) = spec["initContainers"]
        mounts = [{mount["name"] for mount in of["volumeMounts"]} for of in (copies, spec["containers"][0])]
        assert [list(volumes[name]) for name in mounts[0] & mounts[1]] == [["emptyDir", "name"]]
        (token,) = volumes["eidolon-token"]["projected"]["sources"]
        assert token["serviceAccountToken"]["expirationSeconds"] == 3600
        assert token["serviceAccountToken"]["audience"] == "agents.eidolon.dev"
    assert not kube.names("secrets")


@pytest.mark.last(1)
def test_deletes(first):
    """Deleting a job leaves none of its objects."""
    kube.team("delete", "simjob", "--all", f"--timeout={kube.SETTLE_SECONDS}s")
    kube.wait("pods are gone", lambda: not kube.names("pods,jobs,services", "-l", "eidolon.dev/simulation-job"))
