"""Attacks of the step tenants of e2e/kube/run on what the operator may do: by fields of its jobs, and by its own account.

Mixed into Tenants, whose users they take.
"""

import json

from cluster_commands import NAMESPACE, expect, kubectl, wait

OPERATOR = f"system:serviceaccount:{NAMESPACE}:eidolon-controller"
BLUE = "blue"
SYSTEM = ("kube-system", "kube-public", "kube-node-lease")
GROUP = "eidolon.dev/v1alpha1"
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
# Objects that no release of Eidolon made, of every kind that the operator may make.
FOREIGN = {
    "service": {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "of-bob"},
        "spec": {"clusterIP": "None", "selector": {"app": "of-bob"}},
    },
    "deployment": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "of-bob"},
        "spec": {"replicas": 0, "selector": SELECTOR, "template": POD_TEMPLATE},
    },
    "job": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "of-bob"},
        "spec": {
            "suspend": True,
            "template": {**POD_TEMPLATE, "spec": {**POD_TEMPLATE["spec"], "restartPolicy": "Never"}},
        },
    },
}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "of-operator"}, "spec": POD_TEMPLATE["spec"]}


def as_operator(*words, namespace=BLUE, document=None):
    """(whether it was done, what was said) of a command in the operator's name."""
    words = [*words, *(["-f", "-"] if document is not None else [])]
    text = json.dumps(document) if document is not None else None
    try:
        return True, kubectl("-n", namespace, f"--as={OPERATOR}", *words, text_in=text)
    except Exception as error:  # noqa: BLE001
        return False, str(error)


class Reach:
    """Mixed into Tenants; needs `bob`, `sim` and `one_server`."""

    def plain(self, name, **changes):
        """A job that sets no field of its pods, and is not to run."""
        document = self.one_server(name, suspend=True, **changes)
        if "podTemplate" not in changes:
            del document["spec"]["podTemplate"]
        if "env" not in changes:
            del document["spec"]["env"]
        return document

    def sweep(self, name, matrix=None, **changes):
        job = self.plain(name, **changes)["spec"]
        for field in ("clusterRef", "suspend"):
            del job[field]
        job["cluster"] = {"servers": 1, "server": {"preset": "dgx-h100", "gpusPerServer": 1}}
        matrix = matrix or {"cluster.server.nics.gbps": [200]}
        return {
            "apiVersion": GROUP,
            "kind": "SimulationSweep",
            "metadata": {"name": name},
            "spec": {"job": job, "matrix": matrix, "suspend": True},
        }

    # --- fields of pods ---------------------------------------------------------------
    def attack_pod_fields(self):
        """Who may write simulation jobs and no pods sets fields of their pods."""
        found = []
        for number, (what, fields) in enumerate(POD_FIELDS.items()):
            name = f"taken-{number}"
            found += self.judged(self.plain(name, **fields), f"a job with {what}")
        self.sim.does("create", document=self.plain("harmless"))
        for what, fields in POD_FIELDS.items():
            good, _ = self.sim.tries("patch", "simjob", "harmless", "--type=merge", "-p", json.dumps({"spec": fields}))
            found += [f"a job is given {what} later"] if good else []
        self.sim.does("create", document=self.sweep("honest"))
        owner = {
            "apiVersion": GROUP,
            "kind": "SimulationSweep",
            "name": "honest",
            "uid": self.sim.reads("simsweep", "honest")["metadata"]["uid"],
            "controller": True,
        }
        document = self.plain("of-sweep", **POD_FIELDS["another ServiceAccount"])
        document["metadata"]["ownerReferences"] = [owner]
        found += self.judged(document, "a job with another ServiceAccount that pretends to be a sweep's")
        self.sim.does("delete", "simjob/harmless", "simsweep/honest")
        return found

    def attack_pod_fields_of_sweeps(self):
        """The same by a sweep, whose jobs the operator makes."""
        found = []
        for number, (what, fields) in enumerate(POD_FIELDS.items()):
            found += self.judged(self.sweep(f"swept-{number}", **fields), f"a sweep with {what}")
        for number, (what, matrix) in enumerate(MATRICES.items()):
            found += self.judged(self.sweep(f"points-{number}", matrix), f"a sweep whose matrix sets {what}")
        return found

    def judged(self, document, what):
        """A sentence when the API server takes what `sim` creates, or refuses it for another reason."""
        good, said = self.sim.tries("create", document=document)
        if good:
            self.sim.does("delete", document["kind"].lower(), document["metadata"]["name"], "--timeout=60s")
            return [f"{what} is admitted"]
        if "create pods" not in said:
            return [f"{what} is refused for another reason: {said[:300]}"]
        return []

    def attack_pod_fields_over_rest(self):
        """The same over REST, where the operator writes."""
        rest, found = self.sim.rest(), []
        for kind, make in (("simulationjobs", self.plain), ("simulationsweeps", self.sweep)):
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

    def check_rights_are_kept(self):
        """Who may create pods sets these fields as before, and a sweep of theirs has its jobs."""
        for number, fields in enumerate(POD_FIELDS.values()):
            self.bob.does("create", "--dry-run=server", document=self.plain(f"bobs-{number}", **fields))
        user = {"podTemplate": {"securityContext": {"runAsUser": 1000}}}
        sweep = self.sweep("of-bob", **user)
        sweep["spec"]["suspend"] = False
        self.bob.does("create", document=sweep)
        label = ("-l", "eidolon.dev/sweep=of-bob")
        jobs = wait("the operator makes the job of bob's sweep", 60, lambda: self.bob.reads("simjob", *label)["items"])
        expect(jobs[0]["spec"]["podTemplate"] == user["podTemplate"], f"{jobs[0]['spec']}")
        self.bob.does("delete", "simsweep", "of-bob", "--timeout=120s")

    # --- the operator's own account -----------------------------------------------------
    def attack_system_namespaces(self):
        """Simulation resources in the cluster's own namespaces, and the operator's writes there."""
        found = []
        for namespace in SYSTEM:
            for document in (self.plain("there"), self.sweep("there")):
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

    def attack_operator_reach(self):
        """The operator's token deletes and changes what is not Eidolon's, and makes pods."""
        found = []
        change = json.dumps({"metadata": {"labels": {"changed": "yes"}}})
        for kind, document in FOREIGN.items():
            self.bob.does("create", document=document)
            for words in (("delete", kind, "of-bob"), ("patch", kind, "of-bob", "--type=merge", "-p", change)):
                good, _ = as_operator(*words, "--dry-run=server")
                found += [f"the operator may {words[0]} a {kind} that is not Eidolon's"] if good else []
            self.bob.does("delete", kind, "of-bob")
            good, _ = as_operator("create", "--dry-run=server", document=document)
            found += [f"the operator may create a {kind} that belongs to no simulation"] if good else []
        good, _ = as_operator("create", document=POD)
        if good:
            found.append("the operator may create pods, not only on trial")
            self.bob.does("delete", "pod", "of-operator", "--grace-period=0", "--force")
        return found
