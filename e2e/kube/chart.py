"""The chart of the tests: with which values it is installed and upgraded, and what the README says of it."""

import shlex

from claims import commands
from cluster_commands import NAMESPACE, ROOT, in_cluster
from monitoring import INTERVAL_SECONDS

VALUES = {
    "image.registry": "e2e.local",
    "image.tag": "test",
    "image.pullPolicy": "Never",
    "controller.cpuMillisPerRank": "100",
    "controller.memoryPerRank": "512Mi",
    "crds.keep": "false",
    "metrics.podMonitor.enabled": "true",
    "metrics.podMonitor.interval": f"{INTERVAL_SECONDS}s",
    "metrics.prometheusRule.enabled": "true",
    "grafana.dashboards.enabled": "true",
}
HELM_SECONDS = "480s"


def helm(verb, words=(), chart="helm/eidolon", **values):
    """helm install or upgrade with the test's values, and others in their place ("_" stands for ".").

    `words`: the beginning of the command, from the project's folder, where it is not the usual one.
    """
    changed = {**VALUES, **{name.replace("_", "."): value for name, value in values.items()}}
    words = words or ["helm", verb, "eidolon", str(ROOT / chart), "-n", NAMESPACE]
    words = [ROOT / word if word == "helm/eidolon" else word for word in words]
    sets = [word for pair in changed.items() for word in ("--set", "=".join(pair))]
    in_cluster(*words, "--wait", "--timeout", HELM_SECONDS, *sets, timeout=600)


def install_words():
    """`helm install ...`, as helm/README.md has it."""
    words = shlex.split(commands().splitlines()[0])
    assert words[:3] == ["helm", "install", "eidolon"], f"the README begins with {words}"
    return words


def is_installed():
    return "eidolon" in in_cluster("helm", "list", "-n", NAMESPACE, "--short").split()
