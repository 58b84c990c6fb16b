"""Processes, pods, nodes and networks are lost under a running job: the same answer, or an end with a reason."""

import re
import time

import pytest

from cluster_commands import (
    NAMESPACE,
    PATIENCE_SECONDS,
    SETTLE_SECONDS,
    TEAM,
    apply,
    call,
    condition,
    finished,
    first_process,
    kubectl,
    leader_pod,
    node_of,
    on_node,
    wait,
)
from simulation_jobs import (
    AS_USER,
    INDEX,
    complete,
    failed,
    held,
    iterations,
    kill,
    kill_rank,
    leaves_nothing,
    light,
    network_pod,
    nodes_of,
    remove_pod,
    resume,
    server_pod,
    start_training,
)


# --- kill -9 -------------------------------------------------------------------------
def lead_elsewhere():
    pod = leader_pod()
    remove_pod(pod, NAMESPACE)
    started = time.monotonic()
    wait("another leader", 20, lambda: leader_pod() not in ("", pod))
    print(f"another controller led after {time.monotonic() - started:.1f} s")


KILLS = {
    "rank": lambda job: kill_rank(server_pod(job), TEAM),
    "agent": lambda job: kill(server_pod(job), TEAM, "server"),
    "pod": lambda job: remove_pod(server_pod(job), TEAM, "--wait=false"),
    "network": lambda _: kill(network_pod(), TEAM, "network"),
    "timing": lambda _: kill("eidolon-timing-0", NAMESPACE, "timing"),
    "controller": lambda _: kill(leader_pod(), NAMESPACE, "controller"),
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
    start_training(job)
    with held(job):
        KILLS[name](job)
    return job, time.monotonic()


@pytest.mark.parametrize("name", ENDS)
def test_deaths_of_the_program(name):
    """kill -9 of rank or agent: a named end in 30 s."""
    job, started = kill_under_training(name)
    reason, message = failed(job, seconds=60)
    took = time.monotonic() - started
    assert ENDS[name].get(reason, "no such reason") in message, reason
    assert took < 30
    assert finished(job, 1)["attempt"] == 1
    print(f"{reason} after {took:.1f} s: {message[:120]}")
    leaves_nothing(job)


@pytest.mark.parametrize("name", RETRIED)
def test_deaths(name, undisturbed):
    """kill -9 of pod, network, timing service, controller, and its whole pod: the same answer in a second attempt, in
    the first one after that of the timing service."""
    job, started = kill_under_training(name)
    status = complete(job, attempts=[2 if RETRIED[name] else 1])
    took = time.monotonic() - started
    if RETRIED[name]:
        assert condition(job, "Retried")[1] == RETRIED[name]
    assert iterations(status) == undisturbed
    print(f"complete after {took:.1f} s: {condition(job, 'Complete')[2][:120]}")
    leaves_nothing(job)


# --- the network between pods ----------------------------------------------------------
SHORT_SECONDS, LONG_SECONDS, LATEST_SECONDS = 3, 45, 150
NAMED = {"AgentLost", "ServiceLost", "RankLost", "CommandFailed", "Deadlock", "Stuck"}
CUTS = {
    "server": (lambda job: (server_pod(job), TEAM, "server"), SHORT_SECONDS),
    "simulator": (lambda _: (network_pod(), TEAM, "network"), SHORT_SECONDS),
    "timing": (lambda _: ("eidolon-timing-0", NAMESPACE, "timing"), SHORT_SECONDS),
    "server-for-long": (lambda job: (server_pod(job), TEAM, "server"), LONG_SECONDS),
}


@pytest.mark.parametrize("name", CUTS)
def test_network_loss(name, undisturbed):
    """Pods lose their network for seconds: the same answer, or an end with a reason; a cut for good ends in time."""
    find, seconds = CUTS[name]
    job = f"cut-{name}"
    start_training(job)
    found = find(job)
    resume(job)
    started = time.monotonic()
    cut(found, seconds)
    status = finished(job, PATIENCE_SECONDS)
    took = time.monotonic() - started
    kind = status["phase"]
    _, reason, message = condition(job, kind)
    if kind == "Complete":
        assert iterations(status) == undisturbed
    else:
        assert kind == "Failed" and reason in NAMED and len(message) > 20, f"{kind} {reason}: {message}"
        assert took < LATEST_SECONDS, f"{reason}: {message}"
    print(f"cut off for {seconds} s: {kind} {reason} after {took:.1f} s: {message[:120]}")
    leaves_nothing(job)


def cut(place, seconds):
    """Takes the node's end of the pod's cable away for a while."""
    node = node_of(*place[:2])
    own = call("nsenter", "-t", first_process(*place), "-n", "ip", "-o", "link", "show", "eth0")
    number = re.search(r"eth0@if(\d+)", own)[1]
    cable = re.search(rf"^{number}: ([^@:]+)", on_node(node, "ip", "-o", "link"), re.M)[1]
    on_node(node, "ip", "link", "set", "dev", cable, "down")
    try:
        time.sleep(seconds)
    finally:
        # Whoever was cut off for long may have been given up, cable and all.
        on_node(node, "ip", "link", "set", "dev", cable, "up", check=False)


# --- nodes ---------------------------------------------------------------------------
# Of one job, no two pods on a node.
SERVERS = {"matchExpressions": [{"key": INDEX, "operator": "Exists"}]}
TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": SERVERS}
APART = {**AS_USER, "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}}


def test_two_nodes(undisturbed, second_node):
    """A second node joins; a job over both has the prediction of one node's, to the picosecond."""
    apply(light("on-both", podTemplate=APART))
    both = complete("on-both", attempts=[1])
    assert nodes_of("on-both") == [1, second_node]
    assert iterations(both) == undisturbed
    print(f"{len(undisturbed)} iterations of {undisturbed[0] / 1e6:.1f} us and so on, equal on one node and on two")
    leaves_nothing("on-both")


def test_drain(undisturbed, second_node):
    """kubectl drain of a node under a running job: the job begins again and has the same answer."""
    start_training("drained", podTemplate=APART)
    assert nodes_of("drained") == [1, second_node]
    started = time.monotonic()
    words = ["--ignore-daemonsets", "--delete-emptydir-data", "--force", f"--timeout={SETTLE_SECONDS}s"]
    try:
        with held("drained"):
            kubectl("drain", f"node-{second_node}", *words)
    finally:
        kubectl("uncordon", f"node-{second_node}")
    status = complete("drained", attempts=[2])
    assert iterations(status) == undisturbed
    _, reason, message = condition("drained", "Retried")
    assert reason == "PodEvicted" and "evicted" in message, f"{reason}: {message}"
    print(f"{reason}, complete in attempt 2 after {time.monotonic() - started:.1f} s: {message[:120]}")
    leaves_nothing("drained")
