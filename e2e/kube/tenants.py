"""Steps of e2e/kube/run that play tenants of one cluster, who attack each other and the operator.

Two tenants, `blue` and `red`, have a namespace each, which enforces no level of Pod Security. `bob` and `eve` hold the role
`edit` in theirs; `sim`, in blue, may write simulation resources and nothing else. Each attack returns sentences that say
what it achieved; none when it was held off.
"""

import contextlib
import json
import re
import secrets
import subprocess
import time

import yaml

from cluster_commands import (
    CLUSTER,
    HERE,
    Failure,
    expect,
    get,
    jobs_path,
    kubectl,
    settings,
    wait,
)
from harder import PATIENCE_SECONDS, SETTLE_SECONDS, Rest
from reach import BLUE, GROUP, Reach

RED = "red"
OVER = ("Complete", "Failed", "Interrupted")
POLICY = "bob-names-a-cost-centre"
NAME_SECONDS = 240  # A job of the torture waits for its turn first.
WORDS = "jobs of bob need the label cost-centre"
INDEX = "batch.kubernetes.io/job-completion-index"


class Tenant:
    """A user who has a role in one namespace, and a token."""

    def __init__(self, namespace, name, role):
        self.namespace, self.name = namespace, name
        self.username = f"system:serviceaccount:{namespace}:{name}"
        subject = f"--serviceaccount={namespace}:{name}"
        for kind, *more in (("serviceaccount",), ("rolebinding", f"--clusterrole={role}", subject)):
            document = kubectl("-n", namespace, "create", kind, name, *more, "--dry-run=client", "-o", "yaml")
            kubectl("apply", "-f", "-", text_in=document)
        state = settings()[1]
        configuration = yaml.safe_load((state / "admin.kubeconfig").read_text())
        token = kubectl("-n", namespace, "create", "token", name, "--duration=2h").strip()
        for user in configuration["users"]:
            user["user"] = {"token": token}
        self.file = state / f"{namespace}-{name}.kubeconfig"
        self.file.touch(mode=0o600)
        self.file.write_text(yaml.safe_dump(configuration))

    def tries(self, *words, document=None):
        """(whether the API server did it, what it said)."""
        done = subprocess.run(
            [
                str(CLUSTER / "kube.sh"),
                "kubectl",
                f"--kubeconfig={self.file}",
                "-n",
                self.namespace,
                *map(str, words),
                *(["-f", "-"] if document is not None else []),
            ],
            input=json.dumps(document) if document is not None else None,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode == 0, (done.stdout + done.stderr).strip()

    def does(self, *words, document=None):
        good, said = self.tries(*words, document=document)
        expect(good, f"{self.username}: kubectl {' '.join(map(str, words))}: {said}")
        return said

    def reads(self, *words):
        return json.loads(self.does("get", *words, "-o", "json"))

    def rest(self):
        return Rest(self.name, self.namespace)


def phase(job, namespace=BLUE):
    said = kubectl("get", "--raw", f"{jobs_path(namespace)}/{job}", check=False)
    return json.loads(said).get("status", {}).get("phase", "") if said else ""


def reasons(kind, name, namespace=BLUE):
    """Reasons of an object's conditions."""
    status = get(kind, name, namespace).get("status", {})
    return {entry["reason"] for entry in status.get("conditions", [])}


class Tenants(Reach):
    """Mixed into Run; needs what Harder has."""

    def tenants(self):
        """Two tenants attack each other, the cluster's own namespaces and the operator: every attack is held off."""
        with self.two_tenants():
            achieved = [found for attack in self.attacks() for found in self.play(attack)]
            self.check_rights_are_kept()
        expect(not achieved, f"{len(achieved)} attacks succeeded:\n" + "\n".join(achieved))

    def attacks(self):
        return [
            self.attack_foreign_agent,
            self.attack_service_taken_over,
            self.attack_network_taken_over,
            self.attack_rest_passes_policies,
            self.attack_pod_fields,
            self.attack_pod_fields_of_sweeps,
            self.attack_pod_fields_over_rest,
            self.attack_system_namespaces,
            self.attack_operator_reach,
        ]

    @staticmethod
    def play(attack, *arguments):
        """What an attack achieved; prints it, with the attack's name."""
        name = attack.__name__.removeprefix("attack_")
        try:
            found = [f"{name}: {sentence}" for sentence in attack(*arguments)]
        except (Failure, subprocess.SubprocessError) as error:
            found = [f"{name}: was not played to its end: {error}"]
        print("\n".join(f"     {line}" for line in found) or f"     {name}: held off", flush=True)
        return found

    @contextlib.contextmanager
    def two_tenants(self):
        try:
            for name in (BLUE, RED):
                self.remove_namespace(name)
                kubectl("create", "namespace", name)
                self.give_code(name)
                kubectl("-n", name, "apply", "-f", HERE / "jobs/cluster.yaml")
            self.bob = Tenant(BLUE, "bob", "edit")
            self.sim = Tenant(BLUE, "sim", "eidolon-editor")
            self.eve = Tenant(RED, "eve", "edit")
            self.bob.does("create", "secret", "generic", "of-bob", "--from-literal=word=hidden")
            yield
        finally:
            for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
                kubectl("delete", kind, POLICY, "--ignore-not-found")
            for name in (RED, BLUE):
                self.remove_namespace(name)

    @staticmethod
    def remove_namespace(name):
        """Objects of an attacker have finalizers that nobody else removes."""
        Tenants.let_go(name)
        kubectl("delete", "namespace", name, "--ignore-not-found", f"--timeout={SETTLE_SECONDS}s", timeout=300)

    @staticmethod
    def let_go(namespace):
        for job in kubectl("-n", namespace, "get", "jobs.batch", "-o", "name", check=False).split():
            change = '{"metadata": {"finalizers": null}}'
            if "forged" in job:
                kubectl("-n", namespace, "patch", job, "--type=merge", "-p", change, check=False)

    def remove_traces(self):
        """What attacks have made, so that they can be played again; other jobs of blue stay."""
        self.let_go(RED)
        for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
            kubectl("delete", kind, POLICY, "--ignore-not-found", check=False)
        kinds = "simjob,simsweep,jobs.batch,pods,deployments,services"
        for namespace, kept in ((BLUE, r"job-|h100|network"), (RED, r"h100|network")):
            names = kubectl("-n", namespace, "get", kinds, "-o", "name", check=False).split()
            made = [name for name in names if not re.match(kept, name.partition("/")[2])]
            if made:
                kubectl(
                    "-n", namespace, "delete", *made, "--ignore-not-found", "--timeout=60s", check=False, timeout=120
                )
        kubectl("-n", BLUE, "delete", "simcluster", "db", "--ignore-not-found", check=False)

    def one_server(self, name, **changes):
        """A job of one rank that is over in seconds."""
        document = self.light_document(name, spin=0, servers=1, ranksPerServer=1)
        document["spec"]["iterations"] = {"warmup": 3, "measure": 20}
        document["spec"].update(changes)
        return document

    # --- another tenant's pod as the agent ------------------------------------------
    def attack_foreign_agent(self):
        """A pod of red, owned by a Job of red that names blue's job as its owner, joins as that job's agent."""
        word = f"of-blue-{secrets.token_hex(8)}"
        # Its own pod starts nowhere for now.
        victim = self.one_server("victim", command=["/bin/sh", "-c", f"echo {word}; exec python3 light.py"])
        victim["spec"]["podTemplate"]["nodeSelector"] = {"kubernetes.io/hostname": "nowhere"}
        self.bob.does("create", document=victim)
        wait("blue's job has its batch Job", 120, lambda: self.bob.tries("get", "job", "victim")[0])
        self.eve.does("create", document=self.one_server("decoy"))
        wait("red's job has its batch Job", 120, lambda: self.eve.tries("get", "job", "decoy")[0])
        pod = self.forge(self.eve.reads("job", "decoy"), get("simjob", "victim", BLUE)["metadata"]["uid"])

        def is_over():
            seen = self.eve.reads("pod", pod)["status"].get("phase")
            return seen in ("Succeeded", "Failed") or phase("victim") in OVER

        wait("red's pod has joined, or has ended", PATIENCE_SECONDS, is_over)
        found = []
        if word in self.eve.tries("logs", pod, "--all-containers")[1]:
            found.append("red's pod ran blue's command")
        if phase("victim") not in ("", "Pending"):
            found.append(f"blue's job is {phase('victim')} by red's pod")
        self.bob.does("delete", "simjob", "victim", "--timeout=120s")
        self.eve.does("delete", "simjob", "decoy", "--timeout=120s")
        return found

    def forge(self, genuine, victim_uid):
        """A batch Job of red whose owner is blue's job by UID, and a pod that it owns; the pod's name."""
        labels = {**genuine["metadata"]["labels"], "eidolon.dev/simulation-job": "forged"}
        owner = {"apiVersion": GROUP, "kind": "SimulationJob", "name": "victim", "uid": victim_uid, "controller": True}
        template = genuine["spec"]["template"]
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            # The garbage collector finds no such owner in red: the finalizer keeps the Job.
            "metadata": {
                "name": "forged",
                "labels": labels,
                "ownerReferences": [owner],
                "finalizers": ["red.example/kept"],
            },
            "spec": {
                "managedBy": "red.example/nobody",
                "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
            },
        }
        self.eve.does("create", document=job)
        uid = self.eve.reads("job", "forged")["metadata"]["uid"]
        by_job = {"apiVersion": "batch/v1", "kind": "Job", "name": "forged", "uid": uid, "controller": True}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "forged-0",
                "labels": {**labels, INDEX: "0"},
                "annotations": {INDEX: "0"},
                "ownerReferences": [by_job],
            },
            "spec": template["spec"],
        }
        self.eve.does("create", document=pod)
        return "forged-0"

    # --- names that are taken -----------------------------------------------------------
    def attack_service_taken_over(self):
        """A job has the name of somebody's Service, which it must neither change nor take with it."""
        return self.taken_over(self.one_server("db"), "simjob", ["service/db"], self.serve("db"))

    def attack_network_taken_over(self):
        """A cluster's network service would have the name of somebody's Deployment and Service."""
        cluster = {**yaml.safe_load((HERE / "jobs/cluster.yaml").read_text()), "metadata": {"name": "db"}}
        names = ["service/db-network", "deployment/db-network"]
        return self.taken_over(cluster, "simcluster", names, self.serve("db-network"))

    def serve(self, name):
        """Bob's Service and Deployment of a name."""
        label = {"app": name}
        container = {"name": "db", "image": "e2e.local/debian:12", "command": ["sleep", "3600"]}
        self.bob.does(
            "create",
            document={
                "apiVersion": "v1",
                "kind": "List",
                "items": [
                    {
                        "apiVersion": "v1",
                        "kind": "Service",
                        "metadata": {"name": name},
                        "spec": {"clusterIP": "None", "selector": label},
                    },
                    {
                        "apiVersion": "apps/v1",
                        "kind": "Deployment",
                        "metadata": {"name": name},
                        "spec": {
                            "replicas": 0,
                            "selector": {"matchLabels": label},
                            "template": {"metadata": {"labels": label}, "spec": {"containers": [container]}},
                        },
                    },
                ],
            },
        )
        return {"app": name}

    def taken_over(self, document, kind, names, selector):
        before = {name: self.bob.reads(name)["metadata"]["uid"] for name in names}
        name = document["metadata"]["name"]
        # Whoever may write simulation resources, and no Service.
        if "podTemplate" in document.get("spec", {}):
            del document["spec"]["podTemplate"]
        self.sim.does("create", document=document)

        def selectors():
            specs = [self.bob.reads(object_name)["spec"] for object_name in names]
            return [spec["selector"].get("matchLabels", spec["selector"]) for spec in specs]

        def is_settled():
            if reasons(kind, name) == {"Queued", "Valid"}:  # Its turn comes later.
                return False
            if "NameTaken" in reasons(kind, name):
                return True
            owned = [self.bob.reads(object_name)["metadata"].get("ownerReferences") for object_name in names]
            return any(owned) or any(seen != selector for seen in selectors())

        found = []
        with contextlib.suppress(Failure):
            wait("the name is used", NAME_SECONDS, is_settled)
        if any(seen != selector for seen in selectors()):
            found.append(f"the selector of {' and '.join(names)} is now {selectors()}")
        if "NameTaken" not in reasons(kind, name):
            found.append(f"{kind} {name} does not say NameTaken, but {sorted(reasons(kind, name))}")
        self.sim.does("delete", kind, name, "--timeout=120s")
        end = time.monotonic() + 15  # The garbage collector's time.
        while time.monotonic() < end and all(self.bob.tries("get", object_name)[0] for object_name in names):
            time.sleep(1)
        for object_name, uid in before.items():
            if not self.bob.tries("get", object_name)[0]:
                found.append(f"{object_name} of another is gone with {kind} {name}")
            elif self.bob.reads(object_name)["metadata"]["uid"] != uid:
                found.append(f"{object_name} of another was made anew")
        return found

    # --- REST in the controller's name -----------------------------------------------
    def attack_rest_passes_policies(self):
        """What an admission policy refuses a user by kubectl, it refuses over REST."""
        try:
            self.refuse_bob()
            return list(self.rest_writes())
        finally:
            for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
                kubectl("delete", kind, POLICY, "--ignore-not-found")

    def rest_writes(self):
        """What is wrong about jobs of bob over REST, one without and one with the label that the policy asks for."""
        rest, jobs = self.bob.rest(), f"/api/v1/namespaces/{BLUE}/simulationjobs"
        held = self.plain("without-label")
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
        if notes.get("eidolon.dev/created-by") != self.bob.username:
            yield f"nothing records who created a job over REST: annotations {notes}"

    def refuse_bob(self):
        """An admission policy about bob's jobs, which holds some seconds after it was made."""
        policy = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": POLICY},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {
                    "resourceRules": [
                        {
                            "apiGroups": ["eidolon.dev"],
                            "apiVersions": ["*"],
                            "operations": ["CREATE"],
                            "resources": ["simulationjobs"],
                        }
                    ]
                },
                "matchConditions": [
                    {"name": "bob", "expression": f"request.userInfo.username == '{self.bob.username}'"}
                ],
                "validations": [
                    {"expression": "'cost-centre' in object.metadata.?labels.orValue({})", "message": WORDS}
                ],
            },
        }
        binding = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": POLICY},
            "spec": {"policyName": POLICY, "validationActions": ["Deny"]},
        }
        documents = {"apiVersion": "v1", "kind": "List", "items": [policy, binding]}
        kubectl("apply", "-f", "-", text_in=json.dumps(documents))
        job = self.one_server("tried", suspend=True)
        wait(
            "the policy holds",
            60,
            lambda: WORDS in self.bob.tries("create", "--dry-run=server", document=job)[1],
        )
