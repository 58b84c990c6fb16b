"""What steps of e2e/kube/run stand on, brought where it is missing, and what a failed step leaves, removed."""

import json
import subprocess

from cluster_commands import (
    CLUSTER,
    HERE,
    NAMESPACE,
    TEAM,
    Failure,
    expect,
    get,
    kube,
    kubectl,
    make_namespace,
)
from forms import FIRST
from harder import SETTLE_SECONDS
from lifecycle import helm
from monitoring import NAMESPACE as MONITORING
from monitoring import Prometheus

# Steps that ask about the job that submit leaves.
ABOUT_FIRST = {"changes", "equals_embedded", "shows", "rest", "deletes"}
# Namespaces that no step made.
LASTING = {"default", "kube-node-lease", "kube-public", "kube-system", MONITORING, NAMESPACE, TEAM}


class Standing:
    """Mixed into Run; needs what Harder has."""

    def bring(self, name):
        """Makes what a step needs and finds missing: the release, the team's cluster and code, the job of submit."""
        if name in FIRST:
            return
        if not self.stands:
            self.bring_release()
            self.give_code()
            kubectl("-n", TEAM, "apply", "-f", HERE / "jobs/cluster.yaml")
            self.stands = True
        if name in ABOUT_FIRST and not self.has_first():
            print(f"     {name} asks about the job of submit, which runs first", flush=True)
            self.submit()

    @staticmethod
    def bring_release():
        """The chart, where `uninstalls` or nobody has been."""
        if "eidolon" in kube("helm", "list", "-n", NAMESPACE, "--short").split():
            return
        Prometheus.define()
        for name in (NAMESPACE, TEAM):
            if not kubectl("get", "namespace", name, "--ignore-not-found"):
                make_namespace(name)
        helm("install")

    @staticmethod
    def has_first():
        said = kubectl("-n", TEAM, "get", "simjob", "first", "--ignore-not-found", "-o", "json", check=False)
        return bool(said.strip()) and json.loads(said).get("status", {}).get("phase") == "Complete"

    @property
    def predicted(self):
        """Iterations of the job of submit."""
        return get("simjob", "first")["status"]["prediction"]["iterationPicoseconds"]

    @staticmethod
    def build_all():
        """Prometheus and other people's systems; nothing where they are there."""
        done = subprocess.run([str(CLUSTER / "build.sh"), "all"], timeout=5400)
        expect(done.returncode == 0, "cluster/build.sh failed; see the lines above")

    def tidy(self):
        """After a failed step: its objects, processes and values are not met by the next one."""
        self.stands = False
        for what in (self.tidy_jobs, self.tidy_namespaces, self.tidy_release):
            try:
                what()
            except (Failure, subprocess.SubprocessError) as error:
                print(f"     after the failure: {error}", flush=True)

    def tidy_jobs(self):
        kubectl("-n", TEAM, "delete", "simsweep", "--all", f"--timeout={SETTLE_SECONDS}s", timeout=300)
        left = kubectl("-n", TEAM, "get", "simjob", "-o", "name").split()
        left = [name.rpartition("/")[2] for name in left]
        for job in left:
            self.resume(job)  # Its ranks may be stopped.
        if left := [job for job in left if job != "first"]:
            kubectl("-n", TEAM, "delete", "simjob", *left, f"--timeout={SETTLE_SECONDS}s", timeout=300)

    @staticmethod
    def tidy_namespaces():
        made = {name.rpartition("/")[2] for name in kubectl("get", "namespaces", "-o", "name").split()} - LASTING
        if made:
            kubectl("delete", "namespace", *sorted(made), f"--timeout={SETTLE_SECONDS}s", timeout=300)

    def tidy_release(self):
        if "eidolon" not in kube("helm", "list", "-n", NAMESPACE, "--short").split():
            return
        helm("upgrade")
        self.scale_controllers(2)
