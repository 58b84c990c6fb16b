"""Steps of e2e/kube/run about several nodes: a job over two, and a node that is drained under a running job."""

import contextlib
import time

from cluster_commands import (
    CLUSTER,
    TEAM,
    call,
    condition,
    expect,
    finished,
    kubectl,
    node_of,
    state_of,
)
from harder import PATIENCE_SECONDS, SETTLE_SECONDS

SECOND = 2
# Of one job, no two pods on a node.
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {
                    "matchExpressions": [{"key": "batch.kubernetes.io/job-completion-index", "operator": "Exists"}]
                },
            }
        ]
    }
}
AS_USER = {"securityContext": {"runAsUser": 1000}}


class Nodes:
    """Mixed into Run; needs what Harder has."""

    def two_nodes(self):
        """A second node joins; a job over both has the prediction of one node's, to the picosecond."""
        with self.second_node():
            self.apply_light(
                "on-one", spin=0, podTemplate={**AS_USER, "nodeSelector": {"kubernetes.io/hostname": "node-1"}}
            )
            one = self.over_well("on-one", attempt=1)
            self.apply_light("on-both", spin=0, podTemplate={**AS_USER, "affinity": APART})
            both = self.over_well("on-both", attempt=1)
            for job, nodes in (("on-one", [1]), ("on-both", [1, SECOND])):
                expect(self.nodes_of(job) == nodes, f"{job} ran on nodes {self.nodes_of(job)}")
            answers = [status["prediction"]["iterationPicoseconds"] for status in (one, both)]
            expect(answers[0] == answers[1], "the nodes change the answer")
            print(
                f"     {len(answers[1])} iterations of {answers[1][0] / 1e6:.1f} us and so on, equal on one node and on two"
            )
            for job in ("on-one", "on-both"):
                self.leaves_nothing(job)

    def drain(self):
        """kubectl drain of a node under a running job: the job begins again and has the same answer."""
        with self.second_node():
            self.apply_light("in-peace", spin=0, podTemplate={**AS_USER, "affinity": APART})
            undisturbed = self.over_well("in-peace", attempt=1)["prediction"]["iterationPicoseconds"]
            self.leaves_nothing("in-peace")
            self.start_training("drained", podTemplate={**AS_USER, "affinity": APART})
            expect(self.nodes_of("drained") == [1, SECOND], f"drained runs on {self.nodes_of('drained')}")
            started = time.monotonic()
            try:
                words = ["--ignore-daemonsets", "--delete-emptydir-data", "--force", f"--timeout={SETTLE_SECONDS}s"]
                with self.held("drained"):
                    kubectl("drain", f"node-{SECOND}", *words)
            finally:
                kubectl("uncordon", f"node-{SECOND}")
            status = finished("drained", PATIENCE_SECONDS)
            expect(
                status["phase"] == "Complete" and status["attempt"] == 2, f"{status['attempt']}: {status['conditions']}"
            )
            expect(status["prediction"]["iterationPicoseconds"] == undisturbed, "another answer")
            retried = condition("drained", "Retried")
            expect(retried[1] == "PodEvicted" and "evicted" in retried[2], f"{retried}")
            seconds = time.monotonic() - started
            print(
                f"     {retried[1]}, complete in attempt {status['attempt']} after {seconds:.1f} s: {retried[2][:120]}"
            )
            self.leaves_nothing("drained")

    @contextlib.contextmanager
    def second_node(self):
        """A second node takes pods meanwhile. It has no images of frameworks, so that other steps stay on the first."""
        if not (state_of(SECOND) / "run/holder.pid").exists():
            archives = [self.images / f"{name}.tar" for name in ("services", "injection")]
            call(CLUSTER / "add_node.sh", SECOND, *archives, timeout=600)
        kubectl("uncordon", f"node-{SECOND}")
        try:
            yield
        finally:
            kubectl("cordon", f"node-{SECOND}")

    @staticmethod
    def nodes_of(job):
        label = f"eidolon.dev/simulation-job={job},batch.kubernetes.io/job-completion-index"
        pods = kubectl("-n", TEAM, "get", "pods", "-l", label, "-o", "jsonpath={.items[*].metadata.name}").split()
        return sorted({node_of(pod, TEAM) for pod in pods})
