"""Attacks of tenants on each other, on the cluster's own namespaces and on the operator.

Each attack returns sentences that say what it achieved; none when it was held off.
"""

import contextlib
import json
import secrets
import time

import yaml

from cluster_commands import HERE, NAMESPACE, PATIENCE_SECONDS, Failure, get, jobs_path, kubectl, listing, tries, wait
from simulation_jobs import AS_USER, INDEX, OVER
from tenants import BLUE, POLICY, one_server, plain, plain_sweep, remove_policies

OPERATOR = f"system:serviceaccount:{NAMESPACE}:eidolon-controller"
SYSTEM = ("kube-system", "kube-public", "kube-node-lease")
GROUP = "eidolon.dev/v1alpha1"
NAME_SECONDS = 240  # A job of the torture waits for its turn first.
WORDS = "jobs of bob need the label cost-centre"
# Fields of a job that only users with the permission to create pods may set.
POD_FIELDS = {
    "a folder of the node": {
        "podTemplate": {
            "volumes": [{"name": "node", "hostPath": {"path": "/"}}],
            "volumeMounts": [{"name": "node", "mountPath": "/node"}],
        }
    },
    "a privileged container": {
        "podTemplate": {"securityContext": {"privileged": True, "allowPrivilegeEscalation": True, "runAsUser": 0}}
    },
    "another ServiceAccount": {"podTemplate": {"serviceAccountName": "bob"}},
    "a Secret in a variable": {
        "env": [{"name": "TAKEN", "valueFrom": {"secretKeyRef": {"name": "of-bob", "key": "word"}}}]
    },
    "all of a Secret in variables": {"envFrom": [{"secretRef": {"name": "of-bob"}}]},
    "a volume": {"code": {"persistentVolumeClaim": {"claimName": "of-bob"}}},
}
# Fields of a sweep's matrix that would set the same in its points.
MATRICES = {
    "the template": {"podTemplate": [{"serviceAccountName": "bob"}]},
    "a field of the template": {"podTemplate.serviceAccountName": ["bob"]},
    "all variables": {"env": [POD_FIELDS["a Secret in a variable"]["env"]]},
    "a volume": {"code": [POD_FIELDS["a volume"]["code"]]},
    "a volume's name": {"code.persistentVolumeClaim.claimName": ["of-bob"]},
    "variables of a Secret": {"envFrom": [POD_FIELDS["all of a Secret in variables"]["envFrom"]]},
}
SELECTOR = {"matchLabels": {"app": "of-bob"}}
POD_TEMPLATE = {
    "metadata": {"labels": {"app": "of-bob"}},
    "spec": {
        "restartPolicy": "Always",
        "automountServiceAccountToken": False,
        "containers": [{"name": "a", "image": "e2e.local/debian:12", "command": ["sleep", "3600"]}],
    },
}


def made(version, kind, name, spec, **metadata):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


# Objects that no release of Eidolon made, of every kind that the operator may make.
FOREIGN = {
    "service": made("v1", "Service", "of-bob", {"clusterIP": "None", "selector": {"app": "of-bob"}}),
    "deployment": made(
        "apps/v1", "Deployment", "of-bob", {"replicas": 0, "selector": SELECTOR, "template": POD_TEMPLATE}
    ),
    "job": made(
        "batch/v1",
        "Job",
        "of-bob",
        {
            "suspend": True,
            "template": {**POD_TEMPLATE, "spec": {**POD_TEMPLATE["spec"], "restartPolicy": "Never"}},
        },
    ),
}
POD = made("v1", "Pod", "of-operator", POD_TEMPLATE["spec"])


def as_operator(*words, namespace=BLUE, document=None):
    """(whether it was done, what was said) of a command in the operator's name."""
    return tries(f"--as={OPERATOR}", *words, document=document, namespace=namespace)


def phase(job, namespace=BLUE):
    said = kubectl("get", "--raw", f"{jobs_path(namespace)}/{job}", check=False)
    return json.loads(said).get("status", {}).get("phase", "") if said else ""


def reasons(kind, name, namespace=BLUE):
    """Reasons of an object's conditions."""
    status = get(kind, name, namespace).get("status", {})
    return {entry["reason"] for entry in status.get("conditions", [])}


# --- another tenant's pod as the agent ------------------------------------------
def attack_foreign_agent(tenants):
    """A pod of red, owned by a Job of red that names blue's job as its owner, joins as that job's agent."""
    word = f"of-blue-{secrets.token_hex(8)}"
    # Its own pod starts nowhere for now.
    victim = one_server("victim", command=["/bin/sh", "-c", f"echo {word}; exec python3 light.py"])
    victim["spec"]["podTemplate"]["nodeSelector"] = {"kubernetes.io/hostname": "nowhere"}
    tenants.bob.does("create", document=victim)
    wait("blue's job has its batch Job", 120, lambda: tenants.bob.tries("get", "job", "victim")[0])
    tenants.eve.does("create", document=one_server("decoy"))
    wait("red's job has its batch Job", 120, lambda: tenants.eve.tries("get", "job", "decoy")[0])
    pod = forge(tenants, tenants.eve.reads("job", "decoy"), get("simjob", "victim", BLUE)["metadata"]["uid"])

    def is_over():
        seen = tenants.eve.reads("pod", pod)["status"].get("phase")
        return seen in ("Succeeded", "Failed") or phase("victim") in OVER

    wait("red's pod has joined, or has ended", PATIENCE_SECONDS, is_over)
    found = []
    if word in tenants.eve.tries("logs", pod, "--all-containers")[1]:
        found.append("red's pod ran blue's command")
    if phase("victim") not in ("", "Pending"):
        found.append(f"blue's job is {phase('victim')} by red's pod")
    tenants.bob.does("delete", "simjob", "victim", "--timeout=120s")
    tenants.eve.does("delete", "simjob", "decoy", "--timeout=120s")
    return found


def forge(tenants, genuine, victim_uid):
    """A batch Job of red whose owner is blue's job by UID, and a pod that it owns; the pod's name."""
    labels = {**genuine["metadata"]["labels"], "eidolon.dev/simulation-job": "forged"}
    owner = {"apiVersion": GROUP, "kind": "SimulationJob", "name": "victim", "uid": victim_uid, "controller": True}
    spec = genuine["spec"]["template"]["spec"]
    template = {"metadata": {"labels": labels}, "spec": spec}
    # The garbage collector finds no such owner in red: the finalizer keeps the Job.
    metadata = {"labels": labels, "ownerReferences": [owner], "finalizers": ["red.example/kept"]}
    job = made("batch/v1", "Job", "forged", {"managedBy": "red.example/nobody", "template": template}, **metadata)
    tenants.eve.does("create", document=job)
    uid = tenants.eve.reads("job", "forged")["metadata"]["uid"]
    by_job = {"apiVersion": "batch/v1", "kind": "Job", "name": "forged", "uid": uid, "controller": True}
    metadata = {"labels": {**labels, INDEX: "0"}, "annotations": {INDEX: "0"}, "ownerReferences": [by_job]}
    tenants.eve.does("create", document=made("v1", "Pod", "forged-0", spec, **metadata))
    return "forged-0"


# --- names that are taken -----------------------------------------------------------
def attack_service_taken_over(tenants):
    """A job has the name of a Service that it must neither change nor take with it."""
    return taken_over(tenants, one_server("db"), "simjob", ["service/db"], serve(tenants, "db"))


def attack_network_taken_over(tenants):
    """The network service of a cluster has the name of a Deployment and Service of bob."""
    cluster = {**yaml.safe_load((HERE / "jobs/cluster.yaml").read_text()), "metadata": {"name": "db"}}
    names = ["service/db-network", "deployment/db-network"]
    return taken_over(tenants, cluster, "simcluster", names, serve(tenants, "db-network"))


def serve(tenants, name):
    """Bob's Service and Deployment of a name."""
    label = {"app": name}
    container = {"name": "db", "image": "e2e.local/debian:12", "command": ["sleep", "3600"]}
    template = {"metadata": {"labels": label}, "spec": {"containers": [container]}}
    service, deployment = {"clusterIP": "None", "selector": label}, {"replicas": 0, "selector": {"matchLabels": label}}
    objects = listing(
        made("v1", "Service", name, service), made("apps/v1", "Deployment", name, {**deployment, "template": template})
    )
    tenants.bob.does("create", document=objects)
    return label


def taken_over(tenants, document, kind, names, selector):
    before = {name: tenants.bob.reads(name)["metadata"]["uid"] for name in names}
    name = document["metadata"]["name"]
    # Whoever may write simulation resources, and no Service.
    if "podTemplate" in document.get("spec", {}):
        del document["spec"]["podTemplate"]
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

    found = []
    with contextlib.suppress(Failure):
        wait("the name is used", NAME_SECONDS, is_settled)
    if any(seen != selector for seen in selectors()):
        found.append(f"the selector of {' and '.join(names)} is now {selectors()}")
    if "NameTaken" not in reasons(kind, name):
        found.append(f"{kind} {name} does not say NameTaken, but {sorted(reasons(kind, name))}")
    tenants.sim.does("delete", kind, name, "--timeout=120s")
    end = time.monotonic() + 15  # The garbage collector's time.
    while time.monotonic() < end and all(tenants.bob.tries("get", object_name)[0] for object_name in names):
        time.sleep(1)
    for object_name, uid in before.items():
        if not tenants.bob.tries("get", object_name)[0]:
            found.append(f"{object_name} of another is gone with {kind} {name}")
        elif tenants.bob.reads(object_name)["metadata"]["uid"] != uid:
            found.append(f"{object_name} of another was made anew")
    return found


# --- REST in the controller's name -----------------------------------------------
def attack_rest_passes_policies(tenants):
    """Bob creates over REST a job that an admission policy refuses him by kubectl."""
    try:
        refuse_bob(tenants)
        return list(rest_writes(tenants))
    finally:
        remove_policies()


def rest_writes(tenants):
    """What is wrong about jobs of bob over REST, one without and one with the label that the policy asks for."""
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
    notes = get("simjob", "with-label", BLUE)["metadata"].get("annotations", {})
    if notes.get("eidolon.dev/created-by") != tenants.bob.username:
        yield f"nothing records who created a job over REST: annotations {notes}"


def refuse_bob(tenants):
    """An admission policy about bob's jobs, which holds some seconds after it was made."""
    registration = "admissionregistration.k8s.io/v1"
    rule = {
        "apiGroups": ["eidolon.dev"],
        "apiVersions": ["*"],
        "operations": ["CREATE"],
        "resources": ["simulationjobs"],
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "bob", "expression": f"request.userInfo.username == '{tenants.bob.username}'"}],
        "validations": [{"expression": "'cost-centre' in object.metadata.?labels.orValue({})", "message": WORDS}],
    }
    binding = {"policyName": POLICY, "validationActions": ["Deny"]}
    policies = listing(
        made(registration, "ValidatingAdmissionPolicy", POLICY, spec),
        made(registration, "ValidatingAdmissionPolicyBinding", POLICY, binding),
    )
    kubectl("apply", "-f", "-", text_in=json.dumps(policies))
    job = one_server("tried", suspend=True)
    wait(
        "the policy holds",
        60,
        lambda: WORDS in tenants.bob.tries("create", "--dry-run=server", document=job)[1],
    )


# --- fields of pods ---------------------------------------------------------------
def attack_pod_fields(tenants):
    """A user who may write simulation jobs but no pods sets fields of their pods."""
    found = []
    for number, (what, fields) in enumerate(POD_FIELDS.items()):
        name = f"taken-{number}"
        found += judged(tenants, plain(name, **fields), f"a job with {what}")
    tenants.sim.does("create", document=plain("harmless"))
    for what, fields in POD_FIELDS.items():
        good, _ = tenants.sim.tries("patch", "simjob", "harmless", "--type=merge", "-p", json.dumps({"spec": fields}))
        found += [f"a job is given {what} later"] if good else []
    tenants.sim.does("create", document=plain_sweep("honest"))
    owner = {
        "apiVersion": GROUP,
        "kind": "SimulationSweep",
        "name": "honest",
        "uid": tenants.sim.reads("simsweep", "honest")["metadata"]["uid"],
        "controller": True,
    }
    document = plain("of-sweep", **POD_FIELDS["another ServiceAccount"])
    document["metadata"]["ownerReferences"] = [owner]
    found += judged(tenants, document, "a job with another ServiceAccount that pretends to be a sweep's")
    tenants.sim.does("delete", "simjob/harmless", "simsweep/honest")
    return found


def attack_pod_fields_of_sweeps(tenants):
    """A sweep, whose jobs the operator makes, sets fields of their pods."""
    found = []
    for number, (what, fields) in enumerate(POD_FIELDS.items()):
        found += judged(tenants, plain_sweep(f"swept-{number}", **fields), f"a sweep with {what}")
    for number, (what, matrix) in enumerate(MATRICES.items()):
        found += judged(tenants, plain_sweep(f"points-{number}", matrix), f"a sweep whose matrix sets {what}")
    return found


def judged(tenants, document, what):
    """A sentence when the API server takes what `sim` creates, or refuses it for another reason."""
    good, said = tenants.sim.tries("create", document=document)
    if good:
        tenants.sim.does("delete", document["kind"].lower(), document["metadata"]["name"], "--timeout=60s")
        return [f"{what} is admitted"]
    if "create pods" not in said:
        return [f"{what} is refused for another reason: {said[:300]}"]
    return []


def attack_pod_fields_over_rest(tenants):
    """Fields of pods are set over REST, where the operator writes."""
    rest, found = tenants.sim.rest(), []
    for kind, make in (("simulationjobs", plain), ("simulationsweeps", plain_sweep)):
        for number, (what, fields) in enumerate(POD_FIELDS.items()):
            document = make(f"rest-{number}", **fields)
            path = f"/api/v1/namespaces/{BLUE}/{kind}"
            status, _, text = rest.call("POST", path, json.dumps(document))
            if status == 201:
                found.append(f"{kind} with {what} over REST: {status}")
                rest.call("DELETE", f"{path}/rest-{number}")
            elif "create pods" not in text:
                found.append(f"{kind} with {what} over REST: refused for another reason: {status} {text[:300]}")
    return found


def check_rights_are_kept(tenants):
    """Who may create pods sets these fields as before, and a sweep of theirs has its jobs."""
    for number, fields in enumerate(POD_FIELDS.values()):
        tenants.bob.does("create", "--dry-run=server", document=plain(f"bobs-{number}", **fields))
    sweep = plain_sweep("of-bob", podTemplate=AS_USER)
    sweep["spec"]["suspend"] = False
    tenants.bob.does("create", document=sweep)
    label = ("-l", "eidolon.dev/sweep=of-bob")
    jobs = wait("the operator makes the job of bob's sweep", 60, lambda: tenants.bob.reads("simjob", *label)["items"])
    assert jobs[0]["spec"]["podTemplate"] == AS_USER
    tenants.bob.does("delete", "simsweep", "of-bob", "--timeout=120s")


# --- the operator's own account -----------------------------------------------------
def attack_system_namespaces(tenants):
    """Simulation resources in the cluster's own namespaces, and the operator's writes there."""
    found = []
    for namespace in SYSTEM:
        for document in (plain("there"), plain_sweep("there")):
            words = ("-n", namespace, "create", "--dry-run=server", "-f", "-")
            if kubectl(*words, text_in=json.dumps(document), check=False).strip():
                found.append(f"a {document['kind']} is admitted to {namespace}")
        for kind, document in {**FOREIGN, "pod": POD}.items():
            good, _ = as_operator("create", "--dry-run=server", namespace=namespace, document=document)
            found += [f"the operator may make a {kind} in {namespace}"] if good else []
    for words in (("delete", "deployment", "coredns"), ("delete", "service", "kube-dns")):
        good, _ = as_operator(*words, "--dry-run=server", namespace="kube-system")
        found += [f"the operator may {' '.join(words)} in kube-system"] if good else []
    return found


def attack_operator_reach(tenants):
    """The operator's token deletes and changes what is not Eidolon's, and makes pods."""
    found = []
    change = json.dumps({"metadata": {"labels": {"changed": "yes"}}})
    for kind, document in FOREIGN.items():
        tenants.bob.does("create", document=document)
        for words in (("delete", kind, "of-bob"), ("patch", kind, "of-bob", "--type=merge", "-p", change)):
            good, _ = as_operator(*words, "--dry-run=server")
            found += [f"the operator may {words[0]} a {kind} that is not Eidolon's"] if good else []
        tenants.bob.does("delete", kind, "of-bob")
        good, _ = as_operator("create", "--dry-run=server", document=document)
        found += [f"the operator may create a {kind} that belongs to no simulation"] if good else []
    good, _ = as_operator("create", document=POD)
    if good:
        found.append("the operator may create pods, not only on trial")
        tenants.bob.does("delete", "pod", "of-operator", "--grace-period=0", "--force")
    return found


ATTACKS = [
    attack_foreign_agent,
    attack_service_taken_over,
    attack_network_taken_over,
    attack_rest_passes_policies,
    attack_pod_fields,
    attack_pod_fields_of_sweeps,
    attack_pod_fields_over_rest,
    attack_system_namespaces,
    attack_operator_reach,
]
