"""Steps of e2e/kube/run about what pods may use: a quota on limits, and a job that uses more memory than its limit."""

import json

from cluster_commands import TEAM, condition, expect, finished, kubectl
from harder import PATIENCE_SECONDS
from lifecycle import helm

QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "limits"},
    "spec": {"hard": {"limits.cpu": "1000", "limits.memory": "10Ti"}},
}
HOG = "held = bytearray(1 << 30); print(len(held))"
LIMIT = "256Mi"


class Memory:
    """Mixed into Run; needs what Harder and Places have."""

    def quota(self):
        """A quota on limits of CPU and memory takes the pods of a job and of its own network service."""
        kubectl("-n", TEAM, "apply", "-f", "-", text_in=json.dumps(QUOTA))
        try:
            helm("upgrade", controller_cpuLimitMillisPerRank="4000")
            document = self.light_document("within-quota", spin=0)
            del document["spec"]["clusterRef"]
            document["spec"]["cluster"] = {"servers": document["spec"]["servers"], "server": {"preset": "dgx-h100"}}
            kubectl("-n", TEAM, "apply", "-f", "-", text_in=json.dumps(document))
            self.over_well("within-quota", attempt=1)
            self.leaves_nothing("within-quota")
        finally:
            kubectl("-n", TEAM, "delete", "resourcequota", "limits")
            helm("upgrade")

    def killed_for_memory(self):
        """A job that needs more host memory than limits.memoryPerServer fails with OutOfMemory, the figure and the field."""
        document = self.short_job("hog")
        document["spec"].update({"command": ["python3", "-c", HOG], "limits": {"memoryPerServer": LIMIT}})
        kubectl("-n", TEAM, "apply", "-f", "-", text_in=json.dumps(document))
        status = finished("hog", PATIENCE_SECONDS)
        verdict = condition("hog", "Failed")
        expect(verdict[1] == "OutOfMemory" and status["attempt"] == 1, f"{verdict} {status['conditions']}")
        said = verdict[2]
        expect("limits.memoryPerServer" in said and ("256.00 MiB" in said or str(256 << 20) in said), said)
        expect("reached its limit" in said, said)
        print(f"     {said[:260]}")
        self.leaves_nothing("hog")
