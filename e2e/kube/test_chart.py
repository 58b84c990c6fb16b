"""The chart's life: what is released, installed as the README says, upgraded, confined and uninstalled."""

import contextlib
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import pytest
import yaml

from chart import HELM_SECONDS, helm
from claims import commands
import cluster_commands as kube
from monitoring import Prometheus
import simulation_jobs as sim

REGISTRY = "registry.example/eidolon"
# --- releases ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def releases(build):
    """Two releases of one build."""
    with tempfile.TemporaryDirectory() as folder:
        outs = [pathlib.Path(folder) / name for name in ("one", "two")]
        for out in outs:
            words = ("--build", build, "--out", out, "--registry", REGISTRY, "--untested")
            kube.call(sys.executable, "-B", kube.ROOT / "e2e/release", *words)
        yield outs


def test_release(releases):
    """Two releases of one build are equal, and their provenance names every file."""
    sums = [(out / "SHA256SUMS").read_text() for out in releases]
    assert sums[0] == sums[1]
    kube.call("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=releases[0])
    files = {line.split("  ")[1] for line in sums[0].splitlines()}
    subjects = json.loads((releases[0] / "provenance.json").read_text())["subject"]
    assert {subject["name"] for subject in subjects} | {"provenance.json"} == files
    print(f"{len(files)} files, twice the same: {', '.join(sorted(files))}")


def test_release_chart(releases):
    """The chart of a release names the images by their digests."""
    (package,) = releases[0].glob("eidolon-*.tgz")
    text = kube.in_cluster("helm", "template", "eidolon", package, "--kube-version", "1.30.0")
    about = yaml.safe_load(kube.in_cluster("helm", "show", "chart", package))["annotations"]
    for image in ("services", "injection"):
        digest = manifest_of(releases[0] / f"images/{image}.tar")
        name = f"{REGISTRY}/{image}@{digest}"
        assert name in text and name in about["artifacthub.io/images"], name
    assert not re.search(rf"{re.escape(REGISTRY)}/\w+:", text), "an image by its tag"


def manifest_of(archive):
    return json.loads(kube.call("tar", "-xOf", archive, "index.json"))["manifests"][0]["digest"]


def test_release_bills(releases):
    """The bill of each image names every file, and each belongs to a package that is there."""
    bills = sorted((releases[0] / "images").glob("*.spdx.json"))
    assert len(bills) == 2
    for path in bills:
        bill = json.loads(path.read_text())
        archive = path.with_name(path.name.replace(".spdx.json", ".tar"))
        files = {entry["fileName"]: entry["SPDXID"] for entry in bill["files"]}
        listed = set()
        manifest = manifest_of(archive).split(":")[1]
        for layer in json.loads(kube.call("tar", "-xOf", archive, f"blobs/sha256/{manifest}"))["layers"]:
            blob = f"blobs/sha256/{layer['digest'].split(':')[1]}"
            found = kube.call("bash", "-c", f"set -o pipefail; tar -xOf {archive} {blob} | tar -tzf -")
            listed |= {f"./{name}" for name in found.split() if not name.endswith("/")}
        assert set(files) == listed, path.name
        packages = {package["SPDXID"]: package["name"] for package in bill["packages"]}
        owned = {entry["relatedSpdxElement"] for entry in bill["relationships"] if entry["spdxElementId"] in packages}
        assert owned == set(files.values()), f"{path.name}: files of no package"
        assert {"eidolon", "libc6"} <= set(packages.values()), path.name


# --- installed, and used as the README says ------------------------------------------
@pytest.mark.fixed
def test_install():
    """helm test of the chart as the README installs it, in a namespace that admits restricted pods only."""
    kube.in_cluster("helm", "test", "eidolon", "-n", kube.NAMESPACE, "--timeout", "240s")
    assert kube.get("namespace", kube.NAMESPACE)["metadata"]["labels"][kube.ENFORCED] == "restricted"


SPACE = "readme"
IMAGE = "registry.example/team/train:1"


@pytest.mark.starts(6)
@pytest.mark.fixed
def test_readme(cluster, tmp_path):
    """The cluster and the job of helm/README.md, with the image alone replaced, and its watch until the end."""
    text = commands()
    assert IMAGE in text
    lines = text.replace(IMAGE, sim.torch_image()).splitlines()
    kube.make_namespace(SPACE)
    with contextlib.ExitStack() as stack:
        stack.callback(kube.remove_namespace, SPACE)
        watched = stack.enter_context(open(cluster.state / "log/readme.watch", "w+"))
        obey("\n".join(lines[1:-1]))
        again_from_files(text, tmp_path)
        words = [str(kube.CLUSTER / "kube.sh"), *shlex.split(lines[-1]), "-n", SPACE]
        watch = stack.enter_context(subprocess.Popen(words, stdout=watched, cwd=kube.HERE / "jobs"))
        stack.callback(watch.kill)
        status = sim.complete("first", namespace=SPACE)
        time.sleep(2)
        watched.seek(0)
        shown = watched.read()
        assert "Complete" in shown and status["predicted"] in shown
        print(shown.splitlines()[-1])


def again_from_files(text, folder):
    """README.md applies the same two documents as files; they are there by now, and stay what they are."""
    line = next(line for line in (kube.ROOT / "README.md").read_text().splitlines() if line.startswith("kubectl apply"))
    documents = text.replace(IMAGE, sim.torch_image()).partition("<<END\n")[2].partition("\nEND")[0]
    for name, document in zip(("cluster.yaml", "job.yaml"), documents.split("\n---\n")):
        (folder / name).write_text(document + "\n")
    obey(f"cd {folder}\n{line}")


def obey(text):
    """Runs lines as a user would who has set the namespace, in the folder of the program."""
    shell = f'set -e\nkubectl() {{ command kubectl -n {SPACE} "$@"; }}\n{text}\n'
    kube.call("bash", "-c", f"cd {kube.HERE / 'jobs'} && exec {kube.CLUSTER / 'kube.sh'} bash -s", text_in=shell)


# --- where pods may be ---------------------------------------------------------------
# Namespaces of Kubernetes itself, before anything is installed.
KUBERNETES = {"default", "kube-node-lease", "kube-public", "kube-system"}
OUTSIDE = "outside"
CONTROLLER = f"system:serviceaccount:{kube.NAMESPACE}:eidolon-controller"


# A service as the controller makes it for a job. Of two policies that refuse a request the API server quotes any one, so
# no other policy than that of namespaces may refuse this one.
MANAGED = {"app.kubernetes.io/managed-by": "eidolon-controller"}
JOB = {"apiVersion": "eidolon.dev/v1alpha1", "kind": "SimulationJob", "name": "tried", "uid": "1", "controller": True}
SPEC = {"clusterIP": "None", "selector": {"a": "b"}}
SERVICE = kube.made("v1", "Service", "tried", SPEC, labels=MANAGED, ownerReferences=[JOB])
CONTAINER = {"name": "a", "image": "a", "securityContext": {"privileged": True}}
PRIVILEGED = kube.made("v1", "Pod", "privileged", {"containers": [CONTAINER]})


def test_restricted():
    """Every namespace that has pods of services, jobs or the test enforces the restricted level of Pod Security."""
    spaces = json.loads(kube.kubectl("get", "namespaces", "-o", "json"))["items"]
    levels = {space["metadata"]["name"]: space["metadata"]["labels"].get(kube.ENFORCED) for space in spaces}
    pods = json.loads(kube.kubectl("get", "pods", "-A", "-o", "json"))["items"]
    used = {pod["metadata"]["namespace"] for pod in pods} | {kube.NAMESPACE, kube.TEAM}
    own = set(levels) - KUBERNETES
    assert {kube.NAMESPACE, kube.TEAM} <= own and used - {"kube-system"} <= own, f"pods in {sorted(used)}"
    for name in sorted(own):
        assert levels[name] == "restricted", f"levels: {levels}"
        said = said_to(name, PRIVILEGED)
        assert 'violates PodSecurity "restricted' in said, f"{name} takes a privileged pod: {said}"
    print(f"restricted: {', '.join(sorted(own))}; {len(pods)} pods")


def said_to(namespace, document, *words):
    """The API server's answer to the creation of an object on trial."""
    return kube.tries("create", "--dry-run=server", *words, document=document, namespace=namespace)[1]


@pytest.fixture
def outside():
    """A namespace that no release names; afterwards every namespace is named again."""
    kube.make_namespace(OUTSIDE)
    kube.kubectl("label", "namespace", kube.TEAM, "eidolon=yes")
    yield
    helm("upgrade")
    kube.kubectl("label", "namespace", kube.TEAM, "eidolon-")
    kube.remove_namespace(OUTSIDE)


def test_confined_by_roles(outside):
    """Where the chart names namespaces, jobs run there; elsewhere they say why they do not."""
    helm("upgrade", controller_namespaces=f"{{{kube.TEAM}}}")
    is_told_outside("by-role", "AdmissionUnavailable", "cannot get resource")
    runs_in_the_team("named")


def test_confined_by_labels(outside):
    """Where the chart names labels of namespaces, jobs run there; elsewhere they say why they do not."""
    helm("upgrade", controller_namespaceSelector_eidolon="yes")
    words = "with these labels alone: eidolon=yes"
    # A policy holds some seconds after it was made.
    trial = lambda: said_to(OUTSIDE, SERVICE, f"--as={CONTROLLER}")
    kube.wait("the policy holds", lambda: words in trial(), 60, seen=trial)
    is_told_outside("by-label", "PodRefused", words)
    runs_in_the_team("labelled")


def runs_in_the_team(name):
    kube.apply(sim.light(name))
    sim.complete(name, attempts=[1])
    sim.leaves_nothing(name)


def is_told_outside(name, reason, words):
    """A job of the other namespace waits with a condition in the API server's words, and has no pod."""
    sim.give_cluster(OUTSIDE)
    for document in (sim.idle(name), sim.with_cluster(sim.idle(f"{name}-alone"))):
        job = document["metadata"]["name"]
        kube.apply(document, OUTSIDE)
        waits = lambda: kube.condition(job, "Scheduled", OUTSIDE)
        kube.wait(f"{job} says {reason}", lambda: waits()[:2] == ("False", reason), 60)
        said = waits()[2]
        assert words in said
        print(f"{job}: {reason}: {said[:160]}")
        kube.kubectl("-n", OUTSIDE, "delete", "simjob", job, "--timeout=60s")
    kube.kubectl("-n", OUTSIDE, "delete", "simcluster", "h100", "--timeout=60s")
    assert not kube.names("pods,jobs,deployments", namespace=OUTSIDE)


# --- upgraded ------------------------------------------------------------------------
@pytest.mark.timeout(4 * kube.PATIENCE_SECONDS, func_only=True)
def test_upgrades():
    """helm upgrade replaces the services under a running job, helm rollback too: always the same answer."""
    before = generations()
    helm("upgrade")
    assert generations() == before, "an upgrade to the same changes services"
    sim.start_training("upgraded")
    with sim.held("upgraded"):
        helm("upgrade", controller_memoryPerRank="500Mi", timing_podAnnotations_test="changed")
    before = replaced(before, "500Mi")
    # Each of the two old controllers may have led before it was replaced.
    status = sim.complete("upgraded", attempts=(2, 3))
    sim.leaves_nothing("upgraded")
    sim.start_training("rolled-back")
    first = json.loads(kube.in_cluster("helm", "history", "eidolon", "-n", kube.NAMESPACE, "-o", "json"))[0]["revision"]
    words = ("-n", kube.NAMESPACE, "--wait", "--timeout", HELM_SECONDS)
    with sim.held("rolled-back"):
        kube.in_cluster("helm", "rollback", "eidolon", first, *words, timeout=600)
    replaced(before, "512Mi")
    after = sim.complete("rolled-back", attempts=(2, 3))
    assert sim.iterations(status) == sim.iterations(after)
    print(f"complete in attempts {status['attempt']} (upgraded) and {after['attempt']} (rolled back)")
    sim.leaves_nothing("rolled-back")


def replaced(before, memory):
    """Generations of the services, which are those of a change."""
    pod = kube.get("deployment", "eidolon-controller", kube.NAMESPACE)["spec"]["template"]["spec"]
    assert f"--memory-per-rank={memory}" in pod["containers"][0]["args"]
    after = generations()
    assert all(after[name] > before[name] for name in before), f"{before} {after}"
    return after


def generations():
    services = (("deployment", "eidolon-controller"), ("statefulset", "eidolon-timing"))
    return {kind: kube.get(kind, name, kube.NAMESPACE)["metadata"]["generation"] for kind, name in services}


def test_upgrades_definitions(tmp_path):
    """A chart with another definition brings it, and the next takes it back."""
    words = "Another explanation of the phase."
    chart = shutil.copytree(kube.ROOT / "helm/eidolon", tmp_path / "eidolon")
    path = chart / "files/crds/simulationjobs.yaml"
    text = path.read_text()
    changed = text.replace("Where the job stands.", words)
    assert changed != text, "the definition has other words than this test"
    path.write_text(changed)
    helm("upgrade", chart=chart)
    definition = ("get", "crd", "simulationjobs.eidolon.dev", "-o", "yaml")
    assert words in kube.kubectl(*definition)
    helm("upgrade")
    assert words not in kube.kubectl(*definition)


# --- uninstalled ---------------------------------------------------------------------
# Objects that Kubernetes itself keeps in every namespace.
EVERYWHERE = {"configmap/kube-root-ca.crt", "serviceaccount/default"}


@pytest.mark.timeout(4 * kube.PATIENCE_SECONDS, func_only=True)
@pytest.mark.fixed
@pytest.mark.last(2)
def test_uninstalls(cluster):
    """helm uninstall ends what is at work and leaves what is marked keep, which a release of another name takes up."""
    cluster.stands = False
    helm("upgrade", crds_keep="true")
    kube.team("delete", "simjob", "--all", f"--timeout={kube.SETTLE_SECONDS}s")
    kube.apply(sim.idle("kept", suspend=True))
    sim.start_training("at-work", iterations={"warmup": 3, "measure": 60})
    uninstall("eidolon")
    assert len(definitions()) == 3, f"kept definitions: {definitions()}"
    nothing_is_at_work()
    install_renamed()
    phase = lambda: kube.get("simjob", "kept").get("status", {}).get("phase")
    kube.wait("the kept job is looked after", lambda: phase() == "Pending")
    sim.complete("at-work", attempts=[2])
    kube.team("delete", "simjob", "--all", "--timeout=60s")
    kube.team("delete", "simulatedcluster", "--all", "--timeout=60s")
    uninstall("renamed")
    assert not definitions()
    kube.wait("nothing of the team's is left", lambda: left_in(kube.TEAM) <= of_the_team())
    Prometheus.stop()


def nothing_is_at_work():
    """No pod and no network service is left; the job that ran says that it waits, and for what."""
    kube.wait("nothing is at work", lambda: not kube.names("pods,jobs,deployments,services"))
    assert kube.get("simjob", "at-work")["status"]["phase"] == "Pending"
    for kind in ("Scheduled", "Running"):
        said = kube.condition("at-work", kind)
        assert said[:2] == ("False", "ControllerStopped") and "begins the job again" in said[2], kind


def install_renamed():
    """The definitions belong to the former release: another one is told so, unless it takes them over."""
    words = ["helm", "install", "renamed", "helm/eidolon", "-n", kube.NAMESPACE]
    refused = kube.in_cluster(*words[:3], kube.ROOT / words[3], *words[4:], "--dry-run=server", check=False)
    assert not refused.strip(), "another release is not refused"
    helm("install", words=[*words, "--take-ownership"])


def uninstall(release):
    words = ("-n", kube.NAMESPACE, "--wait", "--timeout", f"{kube.SETTLE_SECONDS}s")
    kube.in_cluster("helm", "uninstall", release, *words)
    assert "eidolon" not in kube.kubectl("get", "clusterrole,clusterrolebinding", "-o", "name")
    # Kubernetes collects what belonged to something that is gone.
    kube.wait("the namespace is empty", lambda: not left_in(kube.NAMESPACE))


def definitions():
    return [name for name in kube.kubectl("get", "crd", "-o", "name").split() if name.endswith(".eidolon.dev")]


def left_in(namespace):
    """Everything in a namespace, of every kind that can be listed, but events and what is always there."""
    kinds = kube.kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
    kinds = ",".join(kind for kind in kinds if not kind.startswith("events"))
    each = 'jsonpath={range .items[*]}{.kind}/{.metadata.name}{"\\n"}{end}'
    found = kube.kubectl("-n", namespace, "get", kinds, "-o", each).split()
    return {f"{kind.lower()}/{name}" for kind, _, name in (entry.partition("/") for entry in found)} - EVERYWHERE


def of_the_team():
    """The tests' own objects there."""
    users = ("alice", "by-edit", "by-view", "carol")
    return {"configmap/train-code", *(f"{kind}/{name}" for kind in ("serviceaccount", "rolebinding") for name in users)}
