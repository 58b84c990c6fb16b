"""Steps of e2e/kube/run about the chart's life: upgrade, rollback, what an uninstall keeps and leaves."""

import json

from cluster_commands import NAMESPACE, ROOT, TEAM, expect, get, kube, kubectl, wait
from monitoring import INTERVAL_SECONDS, Prometheus

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
# What Kubernetes itself keeps in every namespace.
EVERYWHERE = {"configmap/kube-root-ca.crt", "serviceaccount/default"}


def helm(verb, **values):
    """helm install or upgrade with the test's values, and others in their place ("_" stands for ".")."""
    changed = {**VALUES, **{name.replace("_", "."): value for name, value in values.items()}}
    kube(
        "helm",
        verb,
        "eidolon",
        ROOT / "helm/eidolon",
        "-n",
        NAMESPACE,
        "--wait",
        "--timeout",
        "180s",
        *[word for pair in changed.items() for word in ("--set", "=".join(pair))],
        timeout=240,
    )


def left_in(namespace):
    """Everything in a namespace, of every kind that can be listed, but events and what is always there."""
    kinds = kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
    kinds = [kind for kind in kinds if not kind.startswith("events")]
    found = kubectl(
        "-n", namespace, "get", ",".join(kinds), "-o", 'jsonpath={range .items[*]}{.kind}/{.metadata.name}{"\\n"}{end}'
    ).split()
    return {f"{kind.lower()}/{name}" for kind, _, name in (entry.partition("/") for entry in found)} - EVERYWHERE


class Lifecycle:
    """Mixed into Run; needs what Harder has."""

    def upgrades(self):
        """helm upgrade replaces the services under a running job, helm rollback too: always the same answer."""
        before = self.generations()
        helm("upgrade")
        expect(self.generations() == before, f"an upgrade to the same changes {before} to {self.generations()}")
        self.start_training("upgraded")
        helm("upgrade", controller_memoryPerRank="500Mi", timing_podAnnotations_test="changed")
        before = self.replaced(before, "500Mi")
        # Each of the two old controllers may have led before it was replaced.
        status = self.over_well("upgraded", attempt=(2, 3))
        self.leaves_nothing("upgraded")
        kube("helm", "rollback", "eidolon", "1", "-n", NAMESPACE, "--wait", "--timeout", "180s", timeout=240)
        self.replaced(before, "512Mi")
        self.apply_light("rolled-back", spin=0)
        after = self.over_well("rolled-back", attempt=1)["prediction"]
        expect(status["prediction"]["iterationPicoseconds"] == after["iterationPicoseconds"], "another answer")
        print(f"     the job that was upgraded is complete in attempt {status['attempt']}")
        self.leaves_nothing("rolled-back")

    def replaced(self, before, memory):
        """Generations of the services, which are those of a change."""
        arguments = get("deployment", "eidolon-controller", NAMESPACE)["spec"]["template"]["spec"]["containers"][0][
            "args"
        ]
        expect(f"--memory-per-rank={memory}" in arguments, f"{arguments}")
        after = self.generations()
        expect(all(after[name] > before[name] for name in before), f"{before} {after}")
        return after

    @staticmethod
    def generations():
        return {
            kind: get(kind, name, NAMESPACE)["metadata"]["generation"]
            for kind, name in (("deployment", "eidolon-controller"), ("statefulset", "eidolon-timing"))
        }

    def uninstalls(self):
        """helm uninstall leaves what is marked keep, which the next install takes up; else nothing."""
        helm("upgrade", crds_keep="true")
        kubectl(
            "-n",
            TEAM,
            "apply",
            "-f",
            "-",
            text_in=json.dumps({**self.short_job("kept"), "spec": {**self.short_job("kept")["spec"], "suspend": True}}),
        )
        self.uninstall()
        definitions = self.definitions()
        expect(len(definitions) == 2, f"kept definitions: {definitions}")
        helm("install")
        wait(
            "the kept job is looked after",
            60,
            lambda: get("simjob", "kept").get("status", {}).get("phase") == "Pending",
        )
        kubectl("-n", TEAM, "delete", "simjob", "kept", "--timeout=60s")
        kubectl("-n", TEAM, "delete", "simulatedcluster", "--all", "--timeout=60s")
        self.uninstall()
        expect(not self.definitions(), f"left: {self.definitions()}")
        wait("nothing of the team's is left", 40, lambda: left_in(TEAM) <= self.of_the_team())
        Prometheus.stop()

    @staticmethod
    def of_the_team():
        """What the steps made there themselves."""
        return {
            "configmap/train-code",
            *(f"{kind}/{name}" for kind in ("serviceaccount", "rolebinding") for name in ("alice", "carol")),
        }

    @staticmethod
    def uninstall():
        kube("helm", "uninstall", "eidolon", "-n", NAMESPACE, "--wait", "--timeout", "120s", timeout=180)
        left = kubectl("get", "clusterrole,clusterrolebinding", "-o", "name")
        expect("eidolon" not in left, left)
        # Kubernetes collects what belonged to something that is gone.
        wait("the namespace is empty", 60, lambda: not left_in(NAMESPACE))

    @staticmethod
    def definitions():
        return [name for name in kubectl("get", "crd", "-o", "name").split() if name.endswith(".eidolon.dev")]
