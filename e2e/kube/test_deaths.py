"""Processes, pods, nodes and networks are lost under a running job: the same answer, or an end with a reason."""

import re
import time

import pytest

import cluster_commands as kube
import simulation_jobs as sim


# --- kill -9 -------------------------------------------------------------------------
def lead_elsewhere():
    pod = kube.leader_pod()
    sim.remove_pod(pod, kube.NAMESPACE)
    started = time.monotonic()
    kube.wait("another leader", lambda: kube.leader_pod() not in ("", pod), 20)
    print(f"another controller led after {time.monotonic() - started:.1f} s")


KILLS = {
    "rank": lambda job: sim.kill_rank(sim.server_pod(job), kube.TEAM),
    "agent": lambda job: sim.kill(sim.server_pod(job), kube.TEAM, "server"),
    "pod": lambda job: sim.remove_pod(sim.server_pod(job), kube.TEAM, "--wait=false"),
    "network": lambda _: sim.kill(sim.network_pod(), kube.TEAM, "network"),
    "timing": lambda _: sim.kill("eidolon-timing-0", kube.NAMESPACE, "timing"),
    "controller": lambda _: sim.kill(kube.leader_pod(), kube.NAMESPACE, "controller"),
    "leader": lambda _: lead_elsewhere(),
}
ENDS = {
    # Its launcher may collect it and end before the agent looks; then the launcher's words count.
    "rank": {"RankLost": "rank 3", "CommandFailed": "rank 3 ended with status -9"},
    "agent": {"AgentLost": "server 1"},
}
RETRIED = {
    "pod": "PodDeleted",
    "network": "ServiceLost",
    "timing": None,
    "controller": "ControllerRestarted",
    "leader": "ControllerRestarted",
}


def kill_under_training(name):
    """The job under which something was killed, and the time since."""
    job = f"dies-{name}"
    sim.start_training(job)
    with sim.held(job):
        KILLS[name](job)
    return job, time.monotonic()


@pytest.mark.parametrize("name", ENDS)
def test_deaths_of_the_program(name):
    """kill -9 of rank or agent: a named end in 30 s."""
    job, started = kill_under_training(name)
    reason, message = sim.failed(job, seconds=60)
    took = time.monotonic() - started
    assert ENDS[name].get(reason, "no such reason") in message, reason
    assert took < 30
    assert kube.finished(job, 1)["attempt"] == 1
    print(f"{reason} after {took:.1f} s: {message[:120]}")
    sim.leaves_nothing(job)


@pytest.mark.parametrize("name", RETRIED)
def test_deaths(name, undisturbed):
    """kill -9 of pod, network, timing service, controller, and its whole pod: the same answer in a second attempt, in
    the first one after that of the timing service."""
    job, started = kill_under_training(name)
    status = sim.complete(job, attempts=[2 if RETRIED[name] else 1])
    took = time.monotonic() - started
    if RETRIED[name]:
        assert kube.condition(job, "Retried")[1] == RETRIED[name]
    assert sim.iterations(status) == undisturbed
    print(f"complete after {took:.1f} s: {kube.condition(job, 'Complete')[2][:120]}")
    sim.leaves_nothing(job)


# --- the network between pods ----------------------------------------------------------
SHORT_SECONDS, LONG_SECONDS, LATEST_SECONDS = 3, 45, 150
NAMED = {"AgentLost", "ServiceLost", "RankLost", "CommandFailed", "Deadlock", "Stuck"}
CUTS = {
    "server": (lambda job: (sim.server_pod(job), kube.TEAM, "server"), SHORT_SECONDS),
    "simulator": (lambda _: (sim.network_pod(), kube.TEAM, "network"), SHORT_SECONDS),
    "timing": (lambda _: ("eidolon-timing-0", kube.NAMESPACE, "timing"), SHORT_SECONDS),
    "server-for-long": (lambda job: (sim.server_pod(job), kube.TEAM, "server"), LONG_SECONDS),
}


@pytest.mark.parametrize("name", CUTS)
def test_network_loss(name, undisturbed):
    """Pods lose their network for seconds: the same answer, or an end with a reason; a cut for good ends in time."""
    find, seconds = CUTS[name]
    job = f"cut-{name}"
    sim.start_training(job)
    place = cable_of(*find(job))  # Found while ranks are stopped: a busy machine takes as long for it as the job does.
    sim.resume(job)
    started = time.monotonic()
    cut(*place, seconds)
    status = kube.finished(job, kube.PATIENCE_SECONDS)
    took = time.monotonic() - started
    kind = status["phase"]
    _, reason, message = kube.condition(job, kind)
    if kind == "Complete":
        assert sim.iterations(status) == undisturbed
    else:
        assert kind == "Failed" and reason in NAMED and len(message) > 20, f"{kind} {reason}: {message}"
        assert took < LATEST_SECONDS, f"{reason}: {message}"
    print(f"cut off for {seconds} s: {kind} {reason} after {took:.1f} s: {message[:120]}")
    sim.leaves_nothing(job)


def cable_of(pod, namespace, container):
    """(number of the node, its end of the pod's cable)."""
    node = kube.node_of(pod, namespace)
    process = kube.first_process(pod, namespace, container)
    own = kube.call("nsenter", "-t", process, "-n", "ip", "-o", "link", "show", "eth0")
    number = re.search(r"eth0@if(\d+)", own)[1]
    return node, re.search(rf"^{number}: ([^@:]+)", kube.on_node(node, "ip", "-o", "link"), re.M)[1]


def cut(node, cable, seconds):
    """Takes the node's end of a cable away for a while."""
    kube.on_node(node, "ip", "link", "set", "dev", cable, "down")
    try:
        time.sleep(seconds)
    finally:
        # Whoever was cut off for long may have been given up, cable and all.
        kube.on_node(node, "ip", "link", "set", "dev", cable, "up", check=False)


# --- nodes ---------------------------------------------------------------------------
# No two pods of one job run on a node.
SERVERS = {"matchExpressions": [{"key": sim.INDEX, "operator": "Exists"}]}
TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": SERVERS}
APART = {**sim.AS_USER, "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}}


def test_two_nodes(undisturbed, second_node):
    """A second node joins; a job over both has the prediction of one node's, to the picosecond."""
    kube.apply(sim.light("on-both", podTemplate=APART))
    both = sim.complete("on-both", attempts=[1])
    assert sim.nodes_of("on-both") == [1, second_node]
    assert sim.iterations(both) == undisturbed
    print(f"{len(undisturbed)} iterations of {undisturbed[0] / 1e6:.1f} us and so on, equal on one node and on two")
    sim.leaves_nothing("on-both")


def test_drain(undisturbed, second_node):
    """kubectl drain of a node under a running job: the job begins again and has the same answer."""
    sim.start_training("drained", podTemplate=APART)
    assert sim.nodes_of("drained") == [1, second_node]
    started = time.monotonic()
    words = ["--ignore-daemonsets", "--delete-emptydir-data", "--force", f"--timeout={kube.SETTLE_SECONDS}s"]
    try:
        with sim.held("drained"):
            kube.kubectl("drain", f"node-{second_node}", *words)
    finally:
        kube.kubectl("uncordon", f"node-{second_node}")
    status = sim.complete("drained", attempts=[2])
    assert sim.iterations(status) == undisturbed
    _, reason, message = kube.condition("drained", "Retried")
    assert reason == "PodEvicted" and "evicted" in message, f"{reason}: {message}"
    print(f"{reason}, complete in attempt 2 after {time.monotonic() - started:.1f} s: {message[:120]}")
    sim.leaves_nothing("drained")
