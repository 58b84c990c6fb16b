"""When jobs run and with how much: queues, quotas, memory limits, suspended jobs, sweeps."""

import collections
import json
import re
import time

import pytest

from chart import helm
from cluster_commands import (
    NAMESPACE,
    PATIENCE_SECONDS,
    SETTLE_SECONDS,
    TEAM,
    apply,
    condition,
    first_process,
    get,
    jobs_path,
    kube,
    kubectl,
    leader_pod,
    listing,
    make_namespace,
    names,
    objects,
    pod_ip,
    remove_namespace,
    scale_controllers,
    team,
    wait,
)
from simulation_jobs import (
    OVER,
    complete,
    failed,
    give_cluster,
    idle,
    iterations,
    kill,
    leaves_nothing,
    light,
    sweep,
    virtual_seconds,
    with_cluster,
)


# --- queues --------------------------------------------------------------------------
@pytest.mark.timeout(4 * PATIENCE_SECONDS, func_only=True)
def test_queue(pytestconfig):
    """Many jobs of three namespaces: all end, none is starved, the controller's memory stays flat."""
    queued = pytestconfig.option.queued
    spaces = {"queue-a": queued // 2, "queue-b": queued // 4, "queue-c": queued // 4}
    # Jobs compete once the network service of their cluster runs; which pod starts first says nothing about turns.
    for space in spaces:
        make_namespace(space)
        give_cluster(space)
    for space in spaces:
        ready = ("wait", "simulatedcluster/h100", "--for=condition=Ready", f"--timeout={SETTLE_SECONDS}s")
        kubectl("-n", space, *ready)
    # Nobody looks until all are there: how fast they are created says nothing about turns.
    scale_controllers(0)
    for space, count in spaces.items():
        apply(listing(*(idle(f"job-{number}") for number in range(count))), space)
    scale_controllers(2)
    before = controller_numbers()
    started = time.monotonic()
    jobs = wait("all jobs are over", 1800, lambda: all_over(spaces))
    seconds = time.monotonic() - started
    after = controller_numbers()
    assert {job["status"]["phase"] for job in jobs} == {"Failed"}, "a job that does nothing has a prediction"
    ends = [entry for job in jobs for entry in job["status"]["conditions"] if entry["type"] == "Failed"]
    assert {entry["reason"] for entry in ends} == {"NoIterations"}
    # Each namespace has a third of the turns while it has jobs; in order of age, two of them would have none in the
    # first half.
    events = [event for space in spaces for event in objects("events.events.k8s.io", namespace=space)]
    events = sorted((event for event in events if event["reason"] == "Placed"), key=lambda event: event["eventTime"])
    half = [event["metadata"]["namespace"] for event in events[: queued // 2]]
    for space in ("queue-b", "queue-c"):
        assert half.count(space) >= len(half) // 6, f"{space} waited for others: {half}"
    print(
        f"{queued} jobs in {seconds:.0f} s, {(after[1] - before[1]) / queued:.1f} requests to the API server for each;"
        f" the controller's memory {before[0]:.0f} -> {after[0]:.0f} MiB; first half {collections.Counter(half)}"
    )
    assert after[0] < before[0] + 64, "the controller has grown"
    for space in spaces:
        remove_namespace(space)


def all_over(spaces):
    jobs = [
        job for space in spaces for job in json.loads(kubectl("get", "--raw", jobs_path(space), timeout=120))["items"]
    ]
    over = [job for job in jobs if job.get("status", {}).get("phase") in OVER]
    time.sleep(2)
    return jobs if len(over) == len(jobs) == sum(spaces.values()) else None


def controller_numbers():
    """(resident MiB, requests sent to the API server) of the controller that leads."""
    page = kube("curl", "-sS", "-m", "10", f"http://{pod_ip(leader_pod())}:9401/metrics")
    requests = float(re.search(r"^eidolon_controller_kubernetes_requests_total (\S+)", page, re.M)[1])
    with open(f"/proc/{first_process(leader_pod(), NAMESPACE, 'controller')}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024, requests


# --- what pods may use ---------------------------------------------------------------
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "limits"},
    "spec": {"hard": {"limits.cpu": "1000", "limits.memory": "10Ti"}},
}


def test_quota():
    """A quota on limits of CPU and memory takes the pods of a job and of its own network service."""
    apply(QUOTA)
    try:
        helm("upgrade", controller_cpuLimitMillisPerRank="4000")
        apply(with_cluster(light("within-quota"), servers=2))
        complete("within-quota", attempts=[1])
        leaves_nothing("within-quota")
    finally:
        team("delete", "resourcequota", "limits")
        helm("upgrade")


HOG = "held = bytearray(1 << 30); print(len(held))"


def test_killed_for_memory():
    """A job that needs more host memory than limits.memoryPerServer fails with OutOfMemory, the figure and the field."""
    apply(idle("hog", command=["python3", "-c", HOG], limits={"memoryPerServer": "256Mi"}))
    reason, said = failed("hog")
    assert reason == "OutOfMemory" and get("simjob", "hog")["status"]["attempt"] == 1, said
    assert "limits.memoryPerServer" in said and ("256.00 MiB" in said or str(256 << 20) in said), said
    assert "reached its limit" in said, said
    print(said[:260])
    leaves_nothing("hog")


# --- suspended jobs --------------------------------------------------------------------
def test_suspends():
    """A job that another queue holds back has no pods; it runs when let go, stops when held again, and can go on."""
    changes = {"iterations": {"warmup": 3, "measure": 300}}
    apply(light("held", spin=400_000, suspend=True, **changes))
    apply(light("foreign", managedBy="kueue.x-k8s.io/multikueue", **changes))
    wait("the job is held", SETTLE_SECONDS, lambda: condition("held", "Scheduled")[:2] == ("False", "Suspended"))
    time.sleep(3)
    assert not placed("held"), "a suspended job has pods"
    suspend("simjob", "held", False)
    wait("held trains", PATIENCE_SECONDS, lambda: virtual_seconds("held") > 0.02)
    suspend("simjob", "held", True)
    wait("its pods are gone", SETTLE_SECONDS, lambda: not placed("held"))
    assert condition("held", "Scheduled")[1] == "Suspended"
    suspend("simjob", "held", False)
    assert len(iterations(complete("held", attempts=[2]))) == 300
    assert "status" not in get("simjob", "foreign"), "another manager's job is touched"
    assert not placed("foreign"), "another manager's job has pods"
    leaves_nothing("held", "foreign")


def suspend(kind, name, value, **changes):
    team("patch", kind, name, "--type=merge", "-p", json.dumps({"spec": {"suspend": value, **changes}}))


def placed(job):
    return names("pods,jobs", "-l", f"eidolon.dev/simulation-job={job}")


# --- sweeps --------------------------------------------------------------------------
SWEEPS = f"/apis/eidolon.dev/v1alpha1/namespaces/{TEAM}/simulationsweeps"


def status_of(name):
    return json.loads(kubectl("get", "--raw", f"{SWEEPS}/{name}")).get("status", {})


def known():
    """How many points of the sweep are known."""
    return status_of("widths").get("counts", {}).get("complete", 0)


def jobs_of_sweep():
    return {job["metadata"]["name"]: job for job in objects("simjob", "-l", "eidolon.dev/sweep=widths")}


def widths(name, matrix):
    """A sweep over the speed of NICs, by jobs of two servers."""
    job = light(name, spin=20_000, iterations={"warmup": 3, "measure": 60})
    with_cluster(job, servers=2, server={"preset": "dgx-h100", "gpusPerServer": 2, "nics": {"count": 2}})
    return sweep(name, job, matrix, price={"H100-SXM5-80GB": 2.5})


def test_sweeps_refused():
    """A sweep over values that no job may have fails and names the field."""
    apply(widths("wrong", {"servers": [0]}))
    wait("the wrong one is refused", 60, lambda: status_of("wrong").get("phase") == "Failed")
    assert "/spec/matrix/servers" in json.dumps(status_of("wrong")["conditions"])
    team("delete", "simsweep", "wrong", "--timeout=60s")


def test_sweeps():
    """A sweep has a job for each point, goes on after kill -9 of the controller, runs nothing twice, takes its jobs
    with it."""
    apply(widths("widths", {"cluster.server.nics.gbps": [100, 200, 400]}))
    wait("a point is known", 240, lambda: known() >= 1)
    suspend_and_resume()
    before = {name: job["metadata"]["uid"] for name, job in jobs_of_sweep().items()}
    kill(leader_pod(), NAMESPACE, "controller")
    wait("all points are known", 480, lambda: status_of("widths").get("phase") in ("Complete", "Failed"))
    assert known() == 3
    seconds = [point["iterationSeconds"] for point in status_of("widths")["points"]]
    assert seconds[0] > seconds[1] > seconds[2], f"NICs of 100, 200 and 400 Gbit/s: {seconds}"
    jobs = jobs_of_sweep()
    assert sorted(jobs) == ["widths-p1", "widths-p2", "widths-p3"]
    for name, uid in before.items():
        assert jobs[name]["metadata"]["uid"] == uid, f"{name} was made again"
    assert jobs["widths-p1"]["status"]["attempt"] == 1, "a point that was known ran again"
    table = team("get", "simsweep", "widths")
    assert "Complete" in table and " 3 " in table
    assert "env.NAME" in kubectl("explain", "simulationsweep.spec.matrix")
    change = json.dumps({"spec": {"price": {"H100-SXM5-80GB": 3}}})
    assert "patched" not in team("patch", "simsweep", "widths", "--type=merge", "-p", change, check=False)
    print(f"{len(before)} jobs before the kill; iterations of {', '.join(f'{s:.6f}' for s in seconds)} s")
    team("delete", "simsweep", "widths", "--timeout=60s")
    wait("its jobs are gone", 120, lambda: not jobs_of_sweep())


def suspend_and_resume():
    """A suspended sweep lets its job end and begins no other; resumed, with another concurrency, it goes on."""
    done = known()
    suspend("simsweep", "widths", True)
    wait("no job of the suspended sweep runs", 240, lambda: status_of("widths").get("phase") == "Pending")
    held = known()
    assert done <= held <= done + 1 and len(jobs_of_sweep()) == held
    assert "widths" in team("get", "simsweep", "--field-selector", "spec.suspend=true", "-o", "name")
    suspend("simsweep", "widths", False, concurrency=2)
    wait("another point begins", 120, lambda: len(jobs_of_sweep()) > held)
