"""Steps of e2e/kube/run about where pods may be: in restricted namespaces throughout, and in those that the chart names."""

import json
import subprocess

from cluster_commands import (
    CLUSTER,
    ENFORCED,
    NAMESPACE,
    TEAM,
    condition,
    expect,
    kubectl,
    make_namespace,
    wait,
)
from lifecycle import helm

# Of Kubernetes itself, before anything is installed.
KUBERNETES = {"default", "kube-node-lease", "kube-public", "kube-system"}
OUTSIDE = "outside"
CONTROLLER = f"system:serviceaccount:{NAMESPACE}:eidolon-controller"
# Something that the controller makes for jobs.
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "tried"},
    "spec": {"clusterIP": "None", "selector": {"a": "b"}},
}
PRIVILEGED = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "privileged"},
    "spec": {"containers": [{"name": "a", "image": "a", "securityContext": {"privileged": True}}]},
}


class Places:
    """Mixed into Run; needs what Harder has."""

    def restricted(self):
        """Every namespace that has pods of services, jobs or the test enforces the restricted level of Pod Security."""
        spaces = json.loads(kubectl("get", "namespaces", "-o", "json"))["items"]
        levels = {space["metadata"]["name"]: space["metadata"]["labels"].get(ENFORCED) for space in spaces}
        pods = json.loads(kubectl("get", "pods", "-A", "-o", "json"))["items"]
        used = {pod["metadata"]["namespace"] for pod in pods} | {NAMESPACE, TEAM}
        own = set(levels) - KUBERNETES
        expect({NAMESPACE, TEAM} <= own and used - {"kube-system"} <= own, f"pods in {sorted(used)}")
        expect(all(levels[name] == "restricted" for name in own), f"levels: {levels}")
        for name in sorted(own):
            said = self.said_to(name, PRIVILEGED)
            expect('violates PodSecurity "restricted' in said, f"{name} takes a privileged pod: {said}")
        print(f"     restricted: {', '.join(sorted(own))}; {len(pods)} pods")

    def confined(self):
        """Where the chart names namespaces, or labels of them, jobs run there; elsewhere they say why they do not."""
        make_namespace(OUTSIDE)
        kubectl("label", "namespace", TEAM, "eidolon=yes")
        try:
            helm("upgrade", controller_namespaces=f"{{{TEAM}}}")
            self.is_told_outside("by-role", "AdmissionUnavailable", "cannot get resource")
            self.runs_in_the_team("named")
            helm("upgrade", controller_namespaceSelector_eidolon="yes")
            words = "with these labels alone: eidolon=yes"
            # A policy holds some seconds after it was made.
            wait("the policy holds", 60, lambda: words in self.said_to(OUTSIDE, SERVICE, f"--as={CONTROLLER}"))
            self.is_told_outside("by-label", "PodRefused", words)
            self.runs_in_the_team("labelled")
        finally:
            helm("upgrade")
            kubectl("label", "namespace", TEAM, "eidolon-")
            kubectl("delete", "namespace", OUTSIDE, "--timeout=120s", timeout=150)

    def runs_in_the_team(self, name):
        self.apply_light(name, spin=0)
        self.over_well(name, attempt=1)
        self.leaves_nothing(name)

    def is_told_outside(self, name, reason, words):
        """A job of the other namespace waits with a condition in the API server's words, and has no pod."""
        kubectl("-n", OUTSIDE, "apply", "-f", CLUSTER.parent / "jobs/cluster.yaml")
        for document in (self.short_job(name), self.with_own_cluster(f"{name}-alone")):
            job = document["metadata"]["name"]
            kubectl("-n", OUTSIDE, "apply", "-f", "-", text_in=json.dumps(document))
            wait(
                f"{job} says {reason}",
                60,
                lambda job=job: condition(job, "Scheduled", OUTSIDE)[:2] == ("False", reason),
            )
            said = condition(job, "Scheduled", OUTSIDE)[2]
            expect(words in said, f"{job}: {said}")
            print(f"     {job}: {reason}: {said[:160]}", flush=True)
            kubectl("-n", OUTSIDE, "delete", "simjob", job, "--timeout=60s")
        kubectl("-n", OUTSIDE, "delete", "simcluster", "h100", "--timeout=60s")
        pods = kubectl("-n", OUTSIDE, "get", "pods,jobs,deployments", "-o", "name")
        expect(not pods.strip(), f"outside: {pods}")

    def with_own_cluster(self, name):
        document = self.short_job(name)
        del document["spec"]["clusterRef"]
        document["spec"]["cluster"] = {"server": {"preset": "dgx-h100"}}
        return document

    @staticmethod
    def said_to(namespace, document, *words):
        """What the API server says when it is asked, on trial, to create an object."""
        done = subprocess.run(
            [str(CLUSTER / "kube.sh"), "kubectl", "-n", namespace, "create", "--dry-run=server", "-f", "-", *words],
            input=json.dumps(document),
            capture_output=True,
            text=True,
        )
        return done.stdout + done.stderr
