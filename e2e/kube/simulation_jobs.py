"""Jobs of the tests: their documents, what happens to them while they train, and how they end."""

import contextlib
import copy
import functools
import json
import os
import pathlib
import signal
import time

import yaml

import images
import cluster_commands as kube

OVER = ("Complete", "Failed", "Interrupted")
INDEX = "batch.kubernetes.io/job-completion-index"
AS_USER = {"securityContext": {"runAsUser": 1000}}
IMAGE = "e2e.local/debian:12"


# --- documents -----------------------------------------------------------------------
@functools.cache
def torch_image():
    return f"e2e.local/torch:{images.torch_key()}"


def document(name, **changes):
    """The usual job: two servers, two ranks each, the stock torch wheel."""
    made = yaml.safe_load((kube.HERE / "jobs/job.yaml").read_text().replace("@IMAGE@", torch_image()))
    made["metadata"]["name"] = name
    made["spec"].update(copy.deepcopy(changes))
    return made


# The job `first`, which several tests look at. Its environment has a word that its recording must not have.
FIRST = {
    "outputs": {"timeline": {"iterations": 1}, "recording": True},
    "env": [{"name": "SECRET", "value": "kept-to-itself"}],
}


def embedded_first():
    """The same job for `eidolon up`."""
    job = document("first", **FIRST)
    del job["spec"]["clusterRef"], job["spec"]["image"]
    job["spec"]["cluster"] = yaml.safe_load((kube.HERE / "jobs/cluster.yaml").read_text())["spec"]
    job["spec"]["code"] = {"directory": str(kube.HERE / "jobs")}
    return job


def light(name, spin=0, **changes):
    """A job of the usual size whose ranks need no framework; it lasts as long as their loops turn."""
    changes = {"iterations": {"warmup": 3, "measure": 900}, "podTemplate": AS_USER, "image": IMAGE, **changes}
    env = [{"name": "STEPS", "value": "1000000"}, {"name": "SPIN", "value": str(spin)}]
    return document(name, **{"command": ["python3", "light.py"], "env": env, **changes})


def idle(name, **changes):
    """A job of one rank that does nothing and needs no code."""
    made = light(name, **{"servers": 1, "ranksPerServer": 1, "command": ["/bin/true"], **changes})
    for field in ("code", "env", "iterations"):
        del made["spec"][field]
    return made


def with_cluster(made, **cluster):
    """The job with a cluster of its own."""
    del made["spec"]["clusterRef"]
    made["spec"]["cluster"] = {"server": {"preset": "dgx-h100"}, **cluster}
    return made


def sweep(name, job, matrix, **changes):
    spec = {"job": job["spec"], "matrix": matrix, **changes}
    return kube.made("eidolon.dev/v1alpha1", "SimulationSweep", name, spec)


def give_code(namespace=kube.TEAM):
    files = [f"--from-file={kube.HERE / 'jobs' / name}" for name in ("train.py", "light.py")]
    kube.give(namespace, "train-code", *files)


def give_cluster(namespace=kube.TEAM):
    kube.kubectl("-n", namespace, "apply", "-f", kube.HERE / "jobs/cluster.yaml")


# --- their ends ----------------------------------------------------------------------
def jobs_of(namespace):
    return json.loads(kube.kubectl("get", "--raw", kube.jobs_path(namespace), timeout=120))["items"]


def iterations(status):
    return status["prediction"]["iterationPicoseconds"]


def complete(job, attempts=None, namespace=kube.TEAM):
    """The status of a job that has to complete, in one of these attempts."""
    status = kube.finished(job, kube.PATIENCE_SECONDS, namespace)
    assert status["phase"] == "Complete", f"{job} is {status['phase']}: {json.dumps(status['conditions'])}"
    assert attempts is None or status["attempt"] in attempts, f"{job}: {status['attempt']}, {status['conditions']}"
    return status


def submit():
    """Runs the job `first` anew; it stays. Its status."""
    kube.team("delete", "simjob", "first", "--ignore-not-found", "--timeout=60s")
    kube.apply(document("first", **FIRST))
    give_cluster()
    status = complete("first")
    assert "timeline" in status and "recording" in status
    return status


def failed(job, seconds=kube.PATIENCE_SECONDS):
    """(reason, message) of a job that has to fail."""
    status = kube.finished(job, seconds)
    assert status["phase"] == "Failed", f"{job}: {status['phase']} {status['conditions']}"
    return kube.condition(job, "Failed")[1:]


def leaves_nothing(*jobs):
    """With each job go its pods and every process of theirs."""
    kube.team("delete", "simjob", *jobs, f"--timeout={kube.SETTLE_SECONDS}s")
    for job in jobs:
        of_job = ("-l", f"eidolon.dev/simulation-job={job}")
        kube.wait(f"nothing of {job} is left", lambda: not kube.names("pods,jobs,services", *of_job))
    left = light_processes(1)
    assert not left, f"orphans of {jobs}: {left}"


# --- their pods and processes --------------------------------------------------------
def nodes_of(job):
    """Numbers of the nodes that the servers of a job are on."""
    pods = kube.objects("pods", "-l", f"eidolon.dev/simulation-job={job},{INDEX}")
    return sorted({kube.node_of(pod["metadata"]["name"], kube.TEAM) for pod in pods})


def pod_by(label, namespace=kube.TEAM):
    """Name of the first pod that a label selects."""
    return kube.kubectl("-n", namespace, "get", "pods", "-l", label, "-o", "jsonpath={.items[0].metadata.name}").strip()


def server_pod(job, server=1):
    return pod_by(f"eidolon.dev/simulation-job={job},{INDEX}={server}")


def network_pod():
    return pod_by("app.kubernetes.io/component=network")


def kill(pod, namespace, container):
    """kill -9 of a container's first process."""
    os.kill(kube.first_process(pod, namespace, container), signal.SIGKILL)


def light_processes(process):
    """Those of its descendants in the cluster's pods that run the program of light jobs, with their command lines. Other
    tests run it on this machine, too."""
    found = {number: line for number, line in kube.descendants(process).items() if "light.py" in line}
    return {number: line for number, line in found.items() if is_in_cluster(number)}


def is_in_cluster(process):
    try:
        return f"/{kube.settings()[2]}" in pathlib.Path(f"/proc/{process}/cgroup").read_text()
    except OSError:  # It has ended.
        return False


def kill_rank(pod, namespace):
    """kill -9 of the last rank of a server with a light job; its process number."""
    ranks = light_processes(kube.first_process(pod, namespace, "server"))
    assert ranks, f"no rank in {pod}"
    os.kill(max(ranks), signal.SIGKILL)
    return max(ranks)


def remove_pod(pod, namespace=kube.TEAM, *words):
    kube.kubectl("-n", namespace, "delete", "pod", pod, "--grace-period=0", "--force", *words)


# --- jobs at work --------------------------------------------------------------------
def start_training(job, spin=400_000, **changes):
    """A job whose four ranks meet in collectives, and of which those of server 1 are stopped then, so that no machine
    is so fast that it is over before something has happened to it. `held` or `resume` lets them go on."""
    kube.apply(light(job, spin, **changes))

    def has_ranks():
        if stopped := signal_ranks(job, signal.SIGSTOP):
            return stopped
        phase = kube.get("simjob", job).get("status", {}).get("phase")
        assert phase not in ("Complete", "Failed"), f"{job} was over too soon: {phase}"
        return []

    kube.wait(f"{job} has ranks", has_ranks, kube.PATIENCE_SECONDS)

    def trains():
        if virtual_seconds(job) > 0.05:
            return True
        resume(job)
        time.sleep(0.3)
        signal_ranks(job, signal.SIGSTOP)
        return False

    kube.wait(f"{job} trains", trains, kube.PATIENCE_SECONDS)
    assert kube.condition(job, "Running")[:2] == ("True", "Started"), f"{job} was over too soon"


def virtual_seconds(job):
    return kube.get("simjob", job).get("status", {}).get("progress", {}).get("virtualSeconds", 0)


def signal_ranks(job, number):
    """The ranks of server 1 that were there to get the signal. Looks at this machine's processes alone, which takes
    milliseconds: the Kubernetes API is slow where much else goes on."""
    signalled = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            variables = (folder / "environ").read_bytes().split(b"\0")
            if words[-2:] == [b"light.py", b""] and f"HOSTNAME={job}-1".encode() in variables:
                os.kill(int(folder.name), number)
                signalled.append(int(folder.name))
    return signalled


def resume(job):
    signal_ranks(job, signal.SIGCONT)


@contextlib.contextmanager
def held(job):
    """Until the block's end no rank of this attempt's server 1 takes a step, so the job is not over."""
    ranks = signal_ranks(job, signal.SIGSTOP)
    assert ranks, f"{job} was over too soon"
    try:
        yield
    finally:
        for rank in ranks:
            with contextlib.suppress(ProcessLookupError):  # It went with its attempt.
                os.kill(rank, signal.SIGCONT)
