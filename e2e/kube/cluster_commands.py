"""Commands in the cluster of the tests."""

import functools
import json
import pathlib
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CLUSTER = HERE / "cluster"
NAMESPACE, TEAM = "eidolon-system", "team"
ENFORCED = "pod-security.kubernetes.io/enforce"
# How long a job may take that does not hang: a machine busy with other things takes ten times as long as an idle one.
# Promises in seconds (a named end after a death) have bounds of their own.
PATIENCE_SECONDS = 900
# Time that objects and processes may take to be there, or gone.
SETTLE_SECONDS = 240


class Failure(Exception):
    pass


def run(*command, text_in=None, timeout=300, **more):
    command = [str(word) for word in command]
    return subprocess.run(command, input=text_in, capture_output=True, text=True, timeout=timeout, **more)


def call(*command, check=True, **more):
    """Returns what a command prints."""
    done = run(*command, **more)
    if check and done.returncode != 0:
        output = done.stdout[-2000:] + done.stderr[-4000:]
        raise Failure(f"{' '.join(done.args)}: status {done.returncode}\n{output}")
    return done.stdout


def in_cluster(*command, **more):
    return call(CLUSTER / "kube.sh", *command, **more)


def kubectl(*command, **more):
    return in_cluster("kubectl", *command, **more)


def team(*words, **more):
    """kubectl in the team's namespace."""
    return kubectl("-n", TEAM, *words, **more)


def apply(document, namespace=TEAM):
    kubectl("-n", namespace, "apply", "-f", "-", text_in=json.dumps(document), timeout=300)


def made(version, kind, name, spec, **metadata):
    """A document."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def listing(*documents):
    return {"apiVersion": "v1", "kind": "List", "items": documents}


def tries(*words, document=None, namespace=TEAM):
    """(whether kubectl did it, its output); a document, parsed or as text, is its input."""
    text = json.dumps(document) if isinstance(document, (dict, list)) else document
    words = [*words, *(["-f", "-"] if text is not None else [])]
    done = run(CLUSTER / "kube.sh", "kubectl", "-n", namespace, *words, text_in=text, timeout=120)
    return done.returncode == 0, (done.stdout + done.stderr).strip()


def objects(kind, *words, namespace=TEAM):
    return json.loads(kubectl("-n", namespace, "get", kind, *words, "-o", "json", timeout=120))["items"]


def names(kinds, *words, namespace=TEAM, check=True):
    """KIND/NAME of each object."""
    return kubectl("-n", namespace, "get", kinds, *words, "-o", "name", check=check).split()


def get(kind, name, namespace=TEAM):
    if kind == "simjob":
        return json.loads(kubectl("get", "--raw", f"{jobs_path(namespace)}/{name}"))
    return json.loads(kubectl("-n", namespace, "get", kind, name, "-o", "json"))


def jobs_path(namespace):
    """Does without kubectl's discovery, which on a busy machine sometimes knows no custom resources."""
    return f"/apis/eidolon.dev/v1alpha1/namespaces/{namespace}/simulationjobs"


def wait(what, test, seconds=SETTLE_SECONDS, seen=None):
    """The first true value of a test; `seen` says what there is instead when none comes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = test()
        if value:
            return value
        time.sleep(0.5)
    raise Failure(f"{what}: not within {seconds} s" + (f"; seen: {seen()}" if seen else ""))


@functools.cache
def settings():
    """(folder of programs and images, folder of the cluster's state, name of its cgroup)."""
    text = call("bash", "-c", f". {CLUSTER}/env.sh; echo $KUBE_CACHE $KUBE_STATE $KUBE_CGROUP")
    cache, state, cgroup = text.split()
    return pathlib.Path(cache), pathlib.Path(state), cgroup


def condition(job, kind, namespace=TEAM):
    """(status, reason, message) of a job's condition."""
    for entry in get("simjob", job, namespace).get("status", {}).get("conditions", []):
        if entry["type"] == kind:
            return entry["status"], entry["reason"], entry.get("message", "")
    return "", "", ""


def finished(job, seconds, namespace=TEAM):
    """The status of a job that is over."""

    def status():
        return get("simjob", job, namespace).get("status", {})

    def over():
        found = status()
        return found if found.get("phase") in ("Complete", "Failed", "Interrupted") else None

    return wait(f"job {job} is over", over, seconds, lambda: json.dumps(status().get("conditions")))


def make_namespace(name):
    """A namespace that admits restricted pods only, as every one of the run; its label says so."""
    space = made("v1", "Namespace", name, {}, labels={ENFORCED: "restricted"})
    kubectl("create", "-f", "-", text_in=json.dumps(space))


def remove_namespace(name):
    kubectl("delete", "namespace", name, "--ignore-not-found", f"--timeout={SETTLE_SECONDS}s", timeout=300)


def give(namespace, name, *words, kind="configmap"):
    """`kubectl create KIND NAME`, whether the object is there or not."""
    document = kubectl("-n", namespace, "create", kind, name, *words, "--dry-run=client", "-o", "yaml")
    kubectl("apply", "-f", "-", text_in=document)


def leader_pod():
    return kubectl("-n", NAMESPACE, "get", "lease", "eidolon-operator", "-o", "jsonpath={.spec.holderIdentity}").strip()


def user(name, role="eidolon-editor", namespace=TEAM):
    """A service account with a role in a namespace, by default to edit its jobs; made once."""
    give(namespace, name, kind="serviceaccount")
    give(namespace, name, f"--clusterrole={role}", f"--serviceaccount={namespace}:{name}", kind="rolebinding")


def scale_controllers(count):
    label = ("-l", "app.kubernetes.io/component=controller")
    kubectl("-n", NAMESPACE, "scale", "deployment", "eidolon-controller", f"--replicas={count}")
    if count == 0:
        wait("no controller is left", lambda: not names("pods", *label, namespace=NAMESPACE))
        return
    settle("deployment/eidolon-controller")
    pods = names("pods", *label, namespace=NAMESPACE)
    wait("one leads", lambda: f"pod/{leader_pod()}" in pods)


def settle(service):
    """Waits until every pod of a service is of its present kind."""
    kubectl("-n", NAMESPACE, "rollout", "status", service, f"--timeout={SETTLE_SECONDS}s", timeout=300)


def pod_ip(name, namespace=NAMESPACE):
    return kubectl("-n", namespace, "get", "pod", name, "-o", "jsonpath={.status.podIP}").strip()


def node_of(pod, namespace):
    """Number of the node that a pod runs on."""
    return int(get("pod", pod, namespace)["spec"]["nodeName"].rsplit("-", 1)[1])


def state_of(node):
    """The folder of a node's state."""
    return pathlib.Path(settings()[1]) / ("" if node == 1 else f"n{node}")


def on_node(node, *command, **more):
    """Runs a command in a node's network namespace."""
    holder = (state_of(node) / "run/holder.pid").read_text().strip()
    return call("nsenter", "-t", holder, "-n", "--", *command, **more)


def first_process(pod, namespace, container):
    """The process number, on this machine, of a container's first process."""
    entries = get("pod", pod, namespace)["status"]["containerStatuses"]
    number = next(entry["containerID"] for entry in entries if entry["name"] == container).rsplit("/", 1)[1]
    socket = state_of(node_of(pod, namespace)) / "run/containerd.sock"
    text = call("ctr", "-a", socket, "-n", "k8s.io", "task", "ls")
    for line in text.splitlines():
        if line.startswith(number):
            return int(line.split()[1])
    raise Failure(f"no process of container {number}:\n{text}")


def descendants(process):
    """Process numbers of all that a process has started, with their command lines."""
    parents = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            parents[int(folder.name)] = parent, (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, ValueError):
            continue
    found = {}
    edge = {process}
    while edge:
        edge = {number for number, (parent, _) in parents.items() if parent in edge} - set(found)
        found.update({number: parents[number][1] for number in edge})
    return found
