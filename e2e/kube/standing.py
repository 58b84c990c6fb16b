"""What the tests stand on: a cluster with the chart, made for them or kept from before."""

import os
import shutil
import subprocess
import sys
import time

import monitoring
from chart import helm, install_words, is_installed
import cluster_commands as kube
from simulation_jobs import give_cluster, give_code, resume, torch_image

# Namespaces that no test made.
LASTING = {"default", "kube-node-lease", "kube-public", "kube-system", monitoring.NAMESPACE, kube.NAMESPACE, kube.TEAM}


def missing():
    """Returns why the cluster cannot run here; empty when it can."""
    if os.geteuid() != 0:
        return "needs root: it starts a cluster in namespaces of its own"
    if subprocess.run(["unshare", "-m", "-n", "true"], capture_output=True).returncode != 0:
        return "needs the right to make namespaces"
    if not os.access("/sys/fs/cgroup", os.W_OK):
        return "needs to write /sys/fs/cgroup"
    absent = [name for name in ("containerd", "runc", "nft", "openssl", "ip", "ctr") if shutil.which(name) is None]
    return f"needs {', '.join(absent)}: see e2e/kube/cluster/packages.txt" if absent else ""


class Cluster:
    """`aloud()`: a context in which output is seen at once."""

    def __init__(self, build, aloud):
        self.build, self.aloud = build, aloud
        self.cache, self.state, _ = kube.settings()
        self.images = self.cache / "project"
        self.stands = False  # Whether release, cluster and code are known to be there.
        self.lasting = set(LASTING)  # Namespaces that outlive a failed test.

    def is_there(self):
        return (self.state / "run/holder.ready").exists()

    def refuse_another(self):
        if self.is_there():
            down = kube.CLUSTER / "down.sh"
            raise kube.Failure(f"{self.state} has a cluster: name a step to use it, or remove it with {down}")

    def start(self):
        """Programs, images of services, shim with agent and a user's torch, and a cluster that has them."""
        with self.aloud():
            print(flush=True)
        self.build_programs("core")
        self.aloud_for("images", lambda: self.make_image("services", "injection", "torch"))
        self.aloud_for("start", lambda: kube.call(kube.CLUSTER / "up.sh", timeout=600))
        torch = torch_image().rpartition("/")[2].replace(":", "-")
        self.aloud_for("load images", lambda: self.load("services", "injection", torch))

    def aloud_for(self, what, act):
        started = time.monotonic()
        act()
        with self.aloud():
            print(f"     {what}: {time.monotonic() - started:.1f} s", flush=True)

    def build_programs(self, extent="all"):
        """Kubernetes, etcd, CoreDNS and Helm; with `all` Prometheus and other people's systems, too. Quick where they
        are there."""
        with self.aloud():
            done = subprocess.run([str(kube.CLUSTER / "build.sh"), extent], timeout=5400)
        if done.returncode != 0:
            raise kube.Failure("cluster/build.sh failed; see the lines above")

    def make_image(self, *kinds):
        made = ("--build", self.build, "--out", self.images, "--base", self.cache / "base/debian.tar")
        kube.call(sys.executable, "-B", kube.HERE / "images.py", *made, *kinds, timeout=2400)

    def load(self, *images):
        kube.call(kube.CLUSTER / "load.sh", *self.archives(*images), timeout=1200)

    def archives(self, *images):
        return [self.images / f"{name}.tar" for name in images]

    def bring(self):
        """The release, the team's namespace, cluster and code."""
        if self.stands:
            return
        if not is_installed():
            for name in (kube.NAMESPACE, kube.TEAM):
                if not kube.kubectl("get", "namespace", name, "--ignore-not-found"):
                    kube.make_namespace(name)
            monitoring.Prometheus.define()
            helm("install", words=install_words())
        give_code()
        give_cluster()
        self.stands = True

    def tidy(self):
        """After a failed test: its objects, processes and values are not met by the next one."""
        self.stands = False
        for what in (self.tidy_jobs, self.tidy_namespaces, self.tidy_release):
            try:
                what()
            except (kube.Failure, subprocess.SubprocessError) as error:
                print(f"after the failure: {error}", flush=True)

    @staticmethod
    def tidy_jobs():
        kube.team("delete", "simsweep", "--all", f"--timeout={kube.SETTLE_SECONDS}s")
        left = [name.rpartition("/")[2] for name in kube.names("simjob")]
        for job in left:
            resume(job)  # Its ranks may be stopped.
        if left := [job for job in left if job != "first"]:
            kube.team("delete", "simjob", *left, f"--timeout={kube.SETTLE_SECONDS}s")

    def tidy_namespaces(self):
        for name in sorted({name.rpartition("/")[2] for name in kube.names("namespaces")} - self.lasting):
            kube.remove_namespace(name)

    @staticmethod
    def tidy_release():
        if is_installed():
            helm("upgrade")
            kube.scale_controllers(2)

    def stop(self):
        kube.call(kube.CLUSTER / "down.sh", check=False)
