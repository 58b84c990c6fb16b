"""Tests when jobs run and with how much: queues, quotas, memory limits, suspended jobs, sweeps."""

import collections
import json
import re
import time

import pytest

from chart import helm
import cluster_commands as kube
import simulation_jobs as sim


# --- queues --------------------------------------------------------------------------
@pytest.mark.timeout(4 * kube.PATIENCE_SECONDS, func_only=True)
def test_queue(pytestconfig):
    """Many jobs of three namespaces: all end, none is starved, the controller's memory stays flat."""
    queued = pytestconfig.option.queued
    spaces = {"queue-a": queued // 2, "queue-b": queued // 4, "queue-c": queued // 4}
    # Jobs compete once the network service of their cluster runs; which pod starts first says nothing about turns.
    for space in spaces:
        kube.make_namespace(space)
        sim.give_cluster(space)
    for space in spaces:
        ready = ("wait", "simulatedcluster/h100", "--for=condition=Ready", f"--timeout={kube.SETTLE_SECONDS}s")
        kube.kubectl("-n", space, *ready)
    # Nobody looks until all are there: how fast they are created says nothing about turns.
    kube.scale_controllers(0)
    for space, count in spaces.items():
        kube.apply(kube.listing(*(sim.idle(f"job-{number}") for number in range(count))), space)
    kube.scale_controllers(2)
    before = controller_numbers()
    started = time.monotonic()
    jobs = kube.wait("all jobs are over", lambda: all_over(spaces), 1800)
    seconds = time.monotonic() - started
    after = controller_numbers()
    assert {job["status"]["phase"] for job in jobs} == {"Failed"}, "a job that does nothing has a prediction"
    ends = [entry for job in jobs for entry in job["status"]["conditions"] if entry["type"] == "Failed"]
    assert {entry["reason"] for entry in ends} == {"NoIterations"}
    # Each namespace has a third of the turns while it has jobs; in order of age, two of them would have none in the
    # first half.
    events = [event for space in spaces for event in kube.objects("events.events.k8s.io", namespace=space)]
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
        kube.remove_namespace(space)


def all_over(spaces):
    jobs = [job for space in spaces for job in sim.jobs_of(space)]
    over = [job for job in jobs if job.get("status", {}).get("phase") in sim.OVER]
    time.sleep(2)
    return jobs if len(over) == len(jobs) == sum(spaces.values()) else None


def controller_numbers():
    """(resident MiB, requests sent to the API server) of the controller that leads."""
    page = kube.in_cluster("curl", "-sS", "-m", "10", f"http://{kube.pod_ip(kube.leader_pod())}:9401/metrics")
    requests = float(re.search(r"^eidolon_controller_kubernetes_requests_total (\S+)", page, re.M)[1])
    with open(f"/proc/{kube.first_process(kube.leader_pod(), kube.NAMESPACE, 'controller')}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024, requests


# --- what pods may use ---------------------------------------------------------------
LIMITS = {"hard": {"limits.cpu": "1000", "limits.memory": "10Ti"}}


def test_quota():
    """A quota on limits of CPU and memory takes the pods of a job and of its own network service."""
    kube.apply(kube.made("v1", "ResourceQuota", "limits", LIMITS))
    try:
        helm("upgrade", controller_cpuLimitMillisPerRank="4000")
        kube.apply(sim.with_cluster(sim.light("within-quota"), servers=2))
        sim.complete("within-quota", attempts=[1])
        sim.leaves_nothing("within-quota")
    finally:
        kube.team("delete", "resourcequota", "limits")
        helm("upgrade")


HOG = "held = bytearray(1 << 30); print(len(held))"


def test_killed_for_memory():
    """A job that needs more host memory than limits.memoryPerServer fails with OutOfMemory, the figure and the field."""
    kube.apply(sim.idle("hog", command=["python3", "-c", HOG], limits={"memoryPerServer": "256Mi"}))
    reason, said = sim.failed("hog")
    assert reason == "OutOfMemory" and kube.get("simjob", "hog")["status"]["attempt"] == 1, said
    assert "limits.memoryPerServer" in said and ("256.00 MiB" in said or str(256 << 20) in said), said
    assert "reached its limit" in said, said
    print(said[:260])
    sim.leaves_nothing("hog")


# --- suspended jobs --------------------------------------------------------------------
@pytest.mark.fixed
def test_suspends():
    """A job that another queue holds back has no pods; it runs when let go, stops when held again, and can go on."""
    changes = {"iterations": {"warmup": 3, "measure": 300}}
    kube.apply(sim.light("held", spin=400_000, suspend=True, **changes))
    kube.apply(sim.light("foreign", managedBy="kueue.x-k8s.io/multikueue", **changes))
    kube.wait("the job is held", lambda: kube.condition("held", "Scheduled")[:2] == ("False", "Suspended"))
    time.sleep(3)
    assert not placed("held"), "a suspended job has pods"
    suspend("simjob", "held", False)
    kube.wait("held trains", lambda: sim.virtual_seconds("held") > 0.02, kube.PATIENCE_SECONDS)
    suspend("simjob", "held", True)
    kube.wait("its pods are gone", lambda: not placed("held"))
    assert kube.condition("held", "Scheduled")[1] == "Suspended"
    suspend("simjob", "held", False)
    assert len(sim.iterations(sim.complete("held", attempts=[2]))) == 300
    assert "status" not in kube.get("simjob", "foreign"), "another manager's job is touched"
    assert not placed("foreign"), "another manager's job has pods"
    sim.leaves_nothing("held", "foreign")


def suspend(kind, name, value, **changes):
    kube.team("patch", kind, name, "--type=merge", "-p", json.dumps({"spec": {"suspend": value, **changes}}))


def placed(job):
    return kube.names("pods,jobs", "-l", f"eidolon.dev/simulation-job={job}")


# --- sweeps --------------------------------------------------------------------------
SWEEPS = f"/apis/eidolon.dev/v1alpha1/namespaces/{kube.TEAM}/simulationsweeps"


def status_of(name):
    return json.loads(kube.kubectl("get", "--raw", f"{SWEEPS}/{name}")).get("status", {})


def known():
    """Returns how many points of the sweep are known."""
    return status_of("widths").get("counts", {}).get("complete", 0)


def jobs_of_sweep():
    return {job["metadata"]["name"]: job for job in kube.objects("simjob", "-l", "eidolon.dev/sweep=widths")}


def widths(name, matrix):
    """A sweep over the speed of NICs, by jobs of two servers."""
    job = sim.light(name, spin=20_000, iterations={"warmup": 3, "measure": 60})
    sim.with_cluster(job, servers=2, server={"preset": "dgx-h100", "gpusPerServer": 2, "nics": {"count": 2}})
    return sim.sweep(name, job, matrix, price={"H100-SXM5-80GB": 2.5})


@pytest.mark.fixed
def test_sweeps_refused():
    """A sweep over values that no job may have fails and names the field."""
    kube.apply(widths("wrong", {"servers": [0]}))
    kube.wait("the wrong one is refused", lambda: status_of("wrong").get("phase") == "Failed", 60)
    assert "/spec/matrix/servers" in json.dumps(status_of("wrong")["conditions"])
    kube.team("delete", "simsweep", "wrong", "--timeout=60s")


@pytest.mark.fixed
def test_sweeps():
    """A sweep has a job for each point, goes on after kill -9 of the controller, runs nothing twice, takes its jobs
    with it."""
    kube.apply(widths("widths", {"cluster.server.nics.gbps": [100, 200, 400]}))
    kube.wait("a point is known", lambda: known() >= 1, 240)
    suspend_and_resume()
    before = {name: job["metadata"]["uid"] for name, job in jobs_of_sweep().items()}
    sim.kill(kube.leader_pod(), kube.NAMESPACE, "controller")
    kube.wait("all points are known", lambda: status_of("widths").get("phase") in ("Complete", "Failed"), 480)
    assert known() == 3
    seconds = [point["iterationSeconds"] for point in status_of("widths")["points"]]
    assert seconds[0] > seconds[1] > seconds[2], f"NICs of 100, 200 and 400 Gbit/s: {seconds}"
    jobs = jobs_of_sweep()
    assert sorted(jobs) == ["widths-p1", "widths-p2", "widths-p3"]
    for name, uid in before.items():
        assert jobs[name]["metadata"]["uid"] == uid, f"{name} was made again"
    assert jobs["widths-p1"]["status"]["attempt"] == 1, "a point that was known ran again"
    table = kube.team("get", "simsweep", "widths")
    assert "Complete" in table and " 3 " in table
    assert "env.NAME" in kube.kubectl("explain", "simulationsweep.spec.matrix")
    change = json.dumps({"spec": {"price": {"H100-SXM5-80GB": 3}}})
    assert "patched" not in kube.team("patch", "simsweep", "widths", "--type=merge", "-p", change, check=False)
    print(f"{len(before)} jobs before the kill; iterations of {', '.join(f'{s:.6f}' for s in seconds)} s")
    kube.team("delete", "simsweep", "widths", "--timeout=60s")
    kube.wait("its jobs are gone", lambda: not jobs_of_sweep(), 120)


def suspend_and_resume():
    """A suspended sweep lets its job end and begins no other; resumed, with another concurrency, it goes on."""
    done = known()
    suspend("simsweep", "widths", True)
    kube.wait("no job of the suspended sweep runs", lambda: status_of("widths").get("phase") == "Pending", 240)
    held = known()
    assert done <= held <= done + 1 and len(jobs_of_sweep()) == held
    assert "widths" in kube.team("get", "simsweep", "--field-selector", "spec.suspend=true", "-o", "name")
    suspend("simsweep", "widths", False, concurrency=2)
    kube.wait("another point begins", lambda: len(jobs_of_sweep()) > held, 120)
