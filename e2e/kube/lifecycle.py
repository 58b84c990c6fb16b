"""Steps of e2e/kube/run about the chart's life: upgrade, rollback, what an uninstall keeps and leaves."""

import json
import pathlib
import shutil
import tempfile

from cluster_commands import NAMESPACE, ROOT, TEAM, condition, expect, get, kube, kubectl, wait
from harder import SETTLE_SECONDS
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
HELM_SECONDS = "480s"
# What Kubernetes itself keeps in every namespace.
EVERYWHERE = {"configmap/kube-root-ca.crt", "serviceaccount/default"}


def helm(verb, words=(), chart="helm/eidolon", **values):
    """helm install or upgrade with the test's values, and others in their place ("_" stands for ".").

    `words`: the beginning of the command, from the project's folder, where it is not the usual one.
    """
    changed = {**VALUES, **{name.replace("_", "."): value for name, value in values.items()}}
    words = words or ["helm", verb, "eidolon", str(ROOT / chart), "-n", NAMESPACE]
    kube(
        *[ROOT / word if word == "helm/eidolon" else word for word in words],
        "--wait",
        "--timeout",
        HELM_SECONDS,
        *[word for pair in changed.items() for word in ("--set", "=".join(pair))],
        timeout=600,
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
        with self.held("upgraded"):
            helm("upgrade", controller_memoryPerRank="500Mi", timing_podAnnotations_test="changed")
        before = self.replaced(before, "500Mi")
        # Each of the two old controllers may have led before it was replaced.
        status = self.over_well("upgraded", attempt=(2, 3))
        self.leaves_nothing("upgraded")
        self.start_training("rolled-back")
        first = json.loads(kube("helm", "history", "eidolon", "-n", NAMESPACE, "-o", "json"))[0]["revision"]
        with self.held("rolled-back"):
            kube(
                "helm", "rollback", "eidolon", first, "-n", NAMESPACE, "--wait", "--timeout", HELM_SECONDS, timeout=600
            )
        self.replaced(before, "512Mi")
        after = self.over_well("rolled-back", attempt=(2, 3))
        answers = [ended["prediction"]["iterationPicoseconds"] for ended in (status, after)]
        expect(answers[0] == answers[1], "another answer")
        print(f"     complete in attempts {status['attempt']} (upgraded) and {after['attempt']} (rolled back)")
        self.leaves_nothing("rolled-back")
        self.upgrades_definitions()

    @staticmethod
    def upgrades_definitions():
        """A chart with another definition brings it, and the next takes it back."""
        words = "Another explanation of the phase."
        with tempfile.TemporaryDirectory() as folder:
            chart = shutil.copytree(ROOT / "helm/eidolon", pathlib.Path(folder) / "eidolon")
            path = chart / "files/crds/simulationjobs.yaml"
            text = path.read_text()
            changed = text.replace("Where the job stands.", words)
            expect(changed != text, "the definition has other words than this test")
            path.write_text(changed)
            helm("upgrade", chart=chart)
        expect(
            words in kubectl("get", "crd", "simulationjobs.eidolon.dev", "-o", "yaml"), "the definition is the old one"
        )
        helm("upgrade")
        expect(words not in kubectl("get", "crd", "simulationjobs.eidolon.dev", "-o", "yaml"), "the definition stays")

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
        """helm uninstall ends what is at work and leaves what is marked keep, which a release of another name takes up."""
        helm("upgrade", crds_keep="true")
        kubectl("-n", TEAM, "delete", "simjob", "--all", f"--timeout={SETTLE_SECONDS}s", timeout=300)
        held = self.short_job("kept")
        held["spec"]["suspend"] = True
        kubectl("-n", TEAM, "apply", "-f", "-", text_in=json.dumps(held))
        self.start_training("at-work", iterations={"warmup": 3, "measure": 60})
        self.uninstall()
        definitions = self.definitions()
        expect(len(definitions) == 3, f"kept definitions: {definitions}")
        self.nothing_is_at_work()
        self.install_renamed()
        wait(
            "the kept job is looked after",
            SETTLE_SECONDS,
            lambda: get("simjob", "kept").get("status", {}).get("phase") == "Pending",
        )
        self.over_well("at-work", attempt=2)
        kubectl("-n", TEAM, "delete", "simjob", "--all", "--timeout=60s")
        kubectl("-n", TEAM, "delete", "simulatedcluster", "--all", "--timeout=60s")
        self.uninstall("renamed")
        expect(not self.definitions(), f"left: {self.definitions()}")
        wait("nothing of the team's is left", SETTLE_SECONDS, lambda: left_in(TEAM) <= self.of_the_team())
        Prometheus.stop()

    @staticmethod
    def nothing_is_at_work():
        """No pod and no network service is left; the job that ran says that it waits, and for what."""
        kinds = "pods,jobs,deployments,services"
        wait("nothing is at work", SETTLE_SECONDS, lambda: not kubectl("-n", TEAM, "get", kinds, "-o", "name").strip())
        expect(get("simjob", "at-work")["status"]["phase"] == "Pending", f"{get('simjob', 'at-work')['status']}")
        for kind in ("Scheduled", "Running"):
            said = condition("at-work", kind)
            expect(said[:2] == ("False", "ControllerStopped") and "begins the job again" in said[2], f"{kind}: {said}")

    @staticmethod
    def install_renamed():
        """The definitions belong to the former release: another one is told so, unless it takes them over."""
        words = ["helm", "install", "renamed", "helm/eidolon", "-n", NAMESPACE]
        refused = kube(*words[:3], ROOT / words[3], *words[4:], "--dry-run=server", check=False)
        expect(not refused.strip(), f"another release is not refused: {refused[:500]}")
        helm("install", words=[*words, "--take-ownership"])

    @staticmethod
    def of_the_team():
        """What the steps made there themselves."""
        users = ("alice", "by-edit", "by-view", "carol")
        of_users = {f"{kind}/{name}" for kind in ("serviceaccount", "rolebinding") for name in users}
        return {"configmap/train-code", *of_users}

    @staticmethod
    def uninstall(release="eidolon"):
        kube("helm", "uninstall", release, "-n", NAMESPACE, "--wait", "--timeout", f"{SETTLE_SECONDS}s")
        left = kubectl("get", "clusterrole,clusterrolebinding", "-o", "name")
        expect("eidolon" not in left, left)
        # Kubernetes collects what belonged to something that is gone.
        wait("the namespace is empty", SETTLE_SECONDS, lambda: not left_in(NAMESPACE))

    @staticmethod
    def definitions():
        return [name for name in kubectl("get", "crd", "-o", "name").split() if name.endswith(".eidolon.dev")]
