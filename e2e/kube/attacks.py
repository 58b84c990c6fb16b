"""Attacks of tenants on each other, on the cluster's own namespaces and on the operator.

Each attack yields sentences that say what it achieved; none when it was held off.
"""

import contextlib
import json
import secrets
import time

import yaml

import cluster_commands as kube
from simulation_jobs import AS_USER, INDEX, OVER
from tenants import BLUE, one_server, plain, plain_sweep, remove_policies

OPERATOR = f"system:serviceaccount:{kube.NAMESPACE}:eidolon-controller"
SYSTEM = ("kube-system", "kube-public", "kube-node-lease")
GROUP = "eidolon.dev/v1alpha1"
NAME_SECONDS = 240  # A job of the torture waits for its turn first.
WORDS = "jobs of bob need the label cost-centre"
TABLES = yaml.safe_load((kube.HERE / "jobs/attacks.yaml").read_text())
POD_FIELDS, FOREIGN = TABLES["pod_fields"], TABLES["foreign"]


def owner(version, kind, name, uid):
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True}


def operator_can(*words, namespace=BLUE, document=None):
    """Returns whether a command in the operator's name is done."""
    return kube.tries(f"--as={OPERATOR}", *words, document=document, namespace=namespace)[0]


def phase(job, namespace=BLUE):
    said = kube.kubectl("get", "--raw", f"{kube.jobs_path(namespace)}/{job}", check=False)
    return json.loads(said).get("status", {}).get("phase", "") if said else ""


def reasons(kind, name, namespace=BLUE):
    """Reasons of an object's conditions."""
    status = kube.get(kind, name, namespace).get("status", {})
    return {entry["reason"] for entry in status.get("conditions", [])}


# --- another tenant's pod as the agent ------------------------------------------
def attack_foreign_agent(tenants):
    """A pod of red, owned by a Job of red that names blue's job as its owner, joins as that job's agent."""
    word = f"of-blue-{secrets.token_hex(8)}"
    # Its own pod starts nowhere for now.
    victim = one_server("victim", command=["/bin/sh", "-c", f"echo {word}; exec python3 light.py"])
    victim["spec"]["podTemplate"]["nodeSelector"] = {"kubernetes.io/hostname": "nowhere"}
    tenants.bob.does("create", document=victim)
    kube.wait("blue's job has its batch Job", lambda: tenants.bob.tries("get", "job", "victim")[0], 120)
    tenants.eve.does("create", document=one_server("decoy"))
    kube.wait("red's job has its batch Job", lambda: tenants.eve.tries("get", "job", "decoy")[0], 120)
    pod = forge(tenants, tenants.eve.reads("job", "decoy"), kube.get("simjob", "victim", BLUE)["metadata"]["uid"])

    def is_over():
        seen = tenants.eve.reads("pod", pod)["status"].get("phase")
        return seen in ("Succeeded", "Failed") or phase("victim") in OVER

    kube.wait("red's pod has joined, or has ended", is_over, kube.PATIENCE_SECONDS)
    if word in tenants.eve.tries("logs", pod, "--all-containers")[1]:
        yield "red's pod ran blue's command"
    if phase("victim") not in ("", "Pending"):
        yield f"blue's job is {phase('victim')} by red's pod"
    tenants.bob.does("delete", "simjob", "victim", "--timeout=120s")
    tenants.eve.does("delete", "simjob", "decoy", "--timeout=120s")


def forge(tenants, genuine, victim_uid):
    """A batch Job of red whose owner is blue's job by UID, and a pod that it owns; the pod's name."""
    labels = {**genuine["metadata"]["labels"], "eidolon.dev/simulation-job": "forged"}
    spec = genuine["spec"]["template"]["spec"]
    # The garbage collector finds no such owner in red: the finalizer keeps the Job.
    owners = [owner(GROUP, "SimulationJob", "victim", victim_uid)]
    metadata = {"labels": labels, "ownerReferences": owners, "finalizers": ["red.example/kept"]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    job = kube.made("batch/v1", "Job", "forged", {"managedBy": "red.example/nobody", "template": template}, **metadata)
    tenants.eve.does("create", document=job)
    owners = [owner("batch/v1", "Job", "forged", tenants.eve.reads("job", "forged")["metadata"]["uid"])]
    metadata = {"labels": {**labels, INDEX: "0"}, "annotations": {INDEX: "0"}, "ownerReferences": owners}
    tenants.eve.does("create", document=kube.made("v1", "Pod", "forged-0", spec, **metadata))
    return "forged-0"


# --- names that are taken -----------------------------------------------------------
def attack_service_taken_over(tenants):
    """A job has the name of a Service that it must neither change nor take with it."""
    return taken_over(tenants, one_server("db"), "simjob", ["service/db"], serve(tenants, "db"))


def attack_network_taken_over(tenants):
    """The network service of a cluster has the name of a Deployment and Service of bob."""
    cluster = {**yaml.safe_load((kube.HERE / "jobs/cluster.yaml").read_text()), "metadata": {"name": "db"}}
    names = ["service/db-network", "deployment/db-network"]
    return taken_over(tenants, cluster, "simcluster", names, serve(tenants, "db-network"))


def serve(tenants, name):
    """Bob's Service and Deployment of a name."""
    text = json.dumps(kube.listing(FOREIGN["service"], FOREIGN["deployment"])).replace("of-bob", name)
    tenants.bob.does("create", document=json.loads(text))
    return {"app": name}


def taken_over(tenants, document, kind, names, selector):
    before = {name: tenants.bob.reads(name)["metadata"]["uid"] for name in names}
    name = document["metadata"]["name"]
    # Whoever may write simulation resources, and no Service.
    document["spec"].pop("podTemplate", None)
    tenants.sim.does("create", document=document)

    def selectors():
        specs = [tenants.bob.reads(object_name)["spec"] for object_name in names]
        return [spec["selector"].get("matchLabels", spec["selector"]) for spec in specs]

    def is_settled():
        if reasons(kind, name) == {"Queued", "Valid"}:  # Its turn comes later.
            return False
        if "NameTaken" in reasons(kind, name):
            return True
        owned = [tenants.bob.reads(object_name)["metadata"].get("ownerReferences") for object_name in names]
        return any(owned) or any(seen != selector for seen in selectors())

    with contextlib.suppress(kube.Failure):
        kube.wait("the name is used", is_settled, NAME_SECONDS)
    if any(seen != selector for seen in selectors()):
        yield f"the selector of {' and '.join(names)} is now {selectors()}"
    if "NameTaken" not in reasons(kind, name):
        yield f"{kind} {name} does not say NameTaken, but {sorted(reasons(kind, name))}"
    tenants.sim.does("delete", kind, name, "--timeout=120s")
    end = time.monotonic() + 15  # The garbage collector's time.
    while time.monotonic() < end and all(tenants.bob.tries("get", object_name)[0] for object_name in names):
        time.sleep(1)
    for object_name, uid in before.items():
        if not tenants.bob.tries("get", object_name)[0]:
            yield f"{object_name} of another is gone with {kind} {name}"
        elif tenants.bob.reads(object_name)["metadata"]["uid"] != uid:
            yield f"{object_name} of another was made anew"


# --- REST in the controller's name -----------------------------------------------
def attack_rest_passes_policies(tenants):
    """Bob creates over REST a job that an admission policy refuses him by kubectl."""
    policies = json.dumps(kube.listing(*TABLES["policies"])).replace("@BOB@", tenants.bob.username)
    try:
        kube.kubectl("apply", "-f", "-", text_in=policies)
        job = one_server("tried", suspend=True)
        # It holds some seconds after it was made.
        trial = lambda: tenants.bob.tries("create", "--dry-run=server", document=job)[1]
        kube.wait("the policy holds", lambda: WORDS in trial(), 60)
        yield from rest_writes(tenants)
    finally:
        remove_policies()


def rest_writes(tenants):
    """Returns what is wrong about jobs of bob over REST, one without and one with the label that the policy asks
    for."""
    rest, jobs = tenants.bob.rest(), f"/api/v1/namespaces/{BLUE}/simulationjobs"
    held = plain("without-label")
    status, _, text = rest.call("POST", jobs, json.dumps(held))
    if status == 201:
        yield "a job that the policy refuses bob by kubectl is created over REST"
    elif WORDS not in text:
        yield f"the refusal does not quote the policy: {status} {text[:300]}"
    held["metadata"] = {"name": "with-label", "labels": {"cost-centre": "7"}}
    status, _, text = rest.call("POST", jobs, json.dumps(held))
    if status != 201:
        yield f"a job that the policy admits is refused over REST: {status} {text[:300]}"
        return
    notes = kube.get("simjob", "with-label", BLUE)["metadata"].get("annotations", {})
    if notes.get("eidolon.dev/created-by") != tenants.bob.username:
        yield f"nothing records who created a job over REST: annotations {notes}"


# --- fields of pods ---------------------------------------------------------------
def attack_pod_fields(tenants):
    """A user who may write simulation jobs but no pods sets fields of their pods."""
    for number, (what, fields) in enumerate(POD_FIELDS.items()):
        yield from judged(tenants, plain(f"taken-{number}", **fields), f"a job with {what}")
    tenants.sim.does("create", document=plain("harmless"))
    for what, fields in POD_FIELDS.items():
        change = json.dumps({"spec": fields})
        if tenants.sim.tries("patch", "simjob", "harmless", "--type=merge", "-p", change)[0]:
            yield f"a job is given {what} later"
    tenants.sim.does("create", document=plain_sweep("honest"))
    uid = tenants.sim.reads("simsweep", "honest")["metadata"]["uid"]
    document = plain("of-sweep", **POD_FIELDS["another ServiceAccount"])
    document["metadata"]["ownerReferences"] = [owner(GROUP, "SimulationSweep", "honest", uid)]
    yield from judged(tenants, document, "a job with another ServiceAccount that pretends to be a sweep's")
    tenants.sim.does("delete", "simjob/harmless", "simsweep/honest")


def attack_pod_fields_of_sweeps(tenants):
    """A sweep, whose jobs the operator makes, sets fields of their pods."""
    for number, (what, fields) in enumerate(POD_FIELDS.items()):
        yield from judged(tenants, plain_sweep(f"swept-{number}", **fields), f"a sweep with {what}")
    for number, (what, matrix) in enumerate(TABLES["matrices"].items()):
        yield from judged(tenants, plain_sweep(f"points-{number}", matrix), f"a sweep whose matrix sets {what}")


def judged(tenants, document, what):
    """A sentence when the API server takes what `sim` creates, or refuses it for another reason."""
    good, said = tenants.sim.tries("create", document=document)
    if good:
        tenants.sim.does("delete", document["kind"].lower(), document["metadata"]["name"], "--timeout=60s")
        yield f"{what} is admitted"
    elif "create pods" not in said:
        yield f"{what} is refused for another reason: {said[:300]}"


def attack_pod_fields_over_rest(tenants):
    """Fields of pods are set over REST, where the operator writes."""
    rest = tenants.sim.rest()
    for kind, make in (("simulationjobs", plain), ("simulationsweeps", plain_sweep)):
        for number, (what, fields) in enumerate(POD_FIELDS.items()):
            path = f"/api/v1/namespaces/{BLUE}/{kind}"
            status, _, text = rest.call("POST", path, json.dumps(make(f"rest-{number}", **fields)))
            if status == 201:
                yield f"{kind} with {what} over REST: {status}"
                rest.call("DELETE", f"{path}/rest-{number}")
            elif "create pods" not in text:
                yield f"{kind} with {what} over REST: refused for another reason: {status} {text[:300]}"


def check_rights_are_kept(tenants):
    """Who may create pods sets these fields as before, and a sweep of theirs has its jobs."""
    for number, fields in enumerate(POD_FIELDS.values()):
        tenants.bob.does("create", "--dry-run=server", document=plain(f"bobs-{number}", **fields))
    sweep = plain_sweep("of-bob", podTemplate=AS_USER)
    sweep["spec"]["suspend"] = False
    tenants.bob.does("create", document=sweep)
    label = ("-l", "eidolon.dev/sweep=of-bob")
    jobs = kube.wait(
        "the operator makes the job of bob's sweep", lambda: tenants.bob.reads("simjob", *label)["items"], 60
    )
    assert jobs[0]["spec"]["podTemplate"] == AS_USER
    tenants.bob.does("delete", "simsweep", "of-bob", "--timeout=120s")


# --- the operator's own account -----------------------------------------------------
def attack_system_namespaces(tenants):
    """Simulation resources in the cluster's own namespaces, and the operator's writes there."""
    for namespace in SYSTEM:
        for document in (plain("there"), plain_sweep("there")):
            words = ("-n", namespace, "create", "--dry-run=server", "-f", "-")
            if kube.kubectl(*words, text_in=json.dumps(document), check=False).strip():
                yield f"a {document['kind']} is admitted to {namespace}"
        for kind, document in {**FOREIGN, "pod": TABLES["pod"]}.items():
            if operator_can("create", "--dry-run=server", namespace=namespace, document=document):
                yield f"the operator may make a {kind} in {namespace}"
    for words in (("delete", "deployment", "coredns"), ("delete", "service", "kube-dns")):
        if operator_can(*words, "--dry-run=server", namespace="kube-system"):
            yield f"the operator may {' '.join(words)} in kube-system"


def attack_operator_reach(tenants):
    """The operator's token deletes and changes what is not Eidolon's, and makes pods."""
    change = json.dumps({"metadata": {"labels": {"changed": "yes"}}})
    for kind, document in FOREIGN.items():
        tenants.bob.does("create", document=document)
        for words in (("delete", kind, "of-bob"), ("patch", kind, "of-bob", "--type=merge", "-p", change)):
            if operator_can(*words, "--dry-run=server"):
                yield f"the operator may {words[0]} a {kind} that is not Eidolon's"
        tenants.bob.does("delete", kind, "of-bob")
        if operator_can("create", "--dry-run=server", document=document):
            yield f"the operator may create a {kind} that belongs to no simulation"
    if operator_can("create", document=TABLES["pod"]):
        yield "the operator may create pods, not only on trial"
        tenants.bob.does("delete", "pod", "of-operator", "--grace-period=0", "--force")


ATTACKS = [function for name, function in dict(globals()).items() if name.startswith("attack_")]
