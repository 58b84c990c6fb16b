"""Step of e2e/kube/run about folded jobs: pods of live ranks alone, and classes that are found while the job runs."""

import json
import sys

from cluster_commands import ROOT, TEAM, call, expect, finished, get, kubectl
from harder import PATIENCE_SECONDS

NAME = "folded"
PROGRAMS = ROOT / "e2e/folding/programs"
# Sixteen ranks, whose halves differ: the first attempt finds that with ranks 0 and 15.
CLUSTER = {
    "servers": 8,
    "server": {"preset": "dgx-h100", "gpusPerServer": 2, "nics": {"count": 2, "gbps": 400}},
    "fabric": {"preset": "rail-optimised"},
}
SPEC = {
    "cluster": CLUSTER,
    "command": ["torchrun", "halves.py"],
    "iterations": {"warmup": 3, "measure": 4},
    "hostModel": {"kind": "fixed"},
    "folding": {"mode": "required"},
}
LIVE, SERVERS = [0, 7, 8, 15], [0, 3, 4, 7]


class Folded:
    """Mixed into Run; needs its cluster, images and `build`."""

    def folded(self):
        """A folded job has pods for live ranks alone, finds its classes, and the prediction of embedded mode."""
        program = f"--from-file={PROGRAMS / 'halves.py'}"
        code = kubectl("-n", TEAM, "create", "configmap", f"{NAME}-code", program, "--dry-run=client", "-o", "yaml")
        kubectl("apply", "-f", "-", text_in=code)
        document = {"apiVersion": "eidolon.dev/v1alpha1", "kind": "SimulationJob", "metadata": {"name": NAME}}
        kubectl("-n", TEAM, "delete", "simjob", NAME, "--ignore-not-found", "--timeout=120s")
        spec = {**SPEC, "image": self.torch_image, "code": {"configMapRef": {"name": f"{NAME}-code"}}}
        kubectl("-n", TEAM, "apply", "-f", "-", text_in=json.dumps({**document, "spec": spec}))
        status = finished(NAME, PATIENCE_SECONDS)
        expect(status["phase"] == "Complete", json.dumps(status["conditions"], indent=1))
        expect(status["attempt"] == 2 and "failedAttempts" not in status, f"attempts: {json.dumps(status)[:2000]}")
        expect(status["foldDimensions"] == [{"stride": 8, "size": 2}], f"classes: {status['foldDimensions']}")
        expect(status["servers"] == 8, f"servers: {status['servers']}")
        expect(status["prediction"]["folding"]["live"] == LIVE, f"{status['prediction']['folding']}")
        self.check_pods()
        embedded = self.folded_embedded({**document, "spec": {**SPEC, "code": {"directory": str(PROGRAMS)}}})
        told = [one["prediction"]["iterationPicoseconds"] for one in (status, embedded)]
        expect(told[0] == told[1], f"Kubernetes {told[0]}, embedded {told[1]}")
        print(f"     {len(SERVERS)} pods for 8 servers; iterations {told[0]} ps in both modes")
        kubectl("-n", TEAM, "delete", f"simjob/{NAME}", f"configmap/{NAME}-code", "--timeout=120s")

    @staticmethod
    def check_pods():
        """Each completion index stands for a server with a live rank."""
        batch = get("job", NAME)["spec"]
        expect((batch["completions"], batch["parallelism"]) == (len(SERVERS), len(SERVERS)), f"{batch}")
        label = f"batch.kubernetes.io/job-name={NAME}"
        pods = json.loads(kubectl("-n", TEAM, "get", "pods", "-l", label, "-o", "json"))["items"]
        expect(len(pods) == len(SERVERS), f"{len(pods)} pods for {len(SERVERS)} servers with live ranks")
        for pod in pods:
            servers = json.loads(pod["metadata"]["annotations"]["eidolon.dev/servers"])
            expect(servers == SERVERS, f"{servers}")

    def folded_embedded(self, document):
        sys.path.insert(0, str(ROOT / "e2e/harness"))
        from server import Server

        environment = call(ROOT / "e2e/environment").strip()
        with Server(self.build, environment) as server:
            job = server.run(json.dumps(document), seconds=PATIENCE_SECONDS)
        expect(job["status"]["phase"] == "Complete", json.dumps(job["status"]["conditions"], indent=1))
        return job["status"]
