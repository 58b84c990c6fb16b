"""Two tenants of the cluster who attack each other and the operator.

`blue` and `red` have a namespace each, which enforces no level of Pod Security. `bob` and `eve` hold the role `edit` in
theirs; `sim`, in blue, may write simulation resources and nothing else.
"""

import json
import re

import yaml

from cluster_commands import Failure, kubectl, names, remove_namespace, settings, tries, user
from rest_user import Rest
from simulation_jobs import give_cluster, give_code, light, sweep, with_cluster

BLUE, RED = "blue", "red"
POLICY = "bob-names-a-cost-centre"
POLICIES = ("validatingadmissionpolicybinding", "validatingadmissionpolicy")


class Tenant:
    """A user who has a role in one namespace, and a token."""

    def __init__(self, namespace, name, role):
        self.namespace, self.name = namespace, name
        self.username = f"system:serviceaccount:{namespace}:{name}"
        user(name, role, namespace)
        state = settings()[1]
        configuration = yaml.safe_load((state / "admin.kubeconfig").read_text())
        token = kubectl("-n", namespace, "create", "token", name, "--duration=2h").strip()
        for entry in configuration["users"]:
            entry["user"] = {"token": token}
        self.file = state / f"{namespace}-{name}.kubeconfig"
        self.file.touch(mode=0o600)
        self.file.write_text(yaml.safe_dump(configuration))

    def tries(self, *words, document=None):
        """(whether the API server did it, what it said)."""
        return tries(f"--kubeconfig={self.file}", *words, document=document, namespace=self.namespace)

    def does(self, *words, document=None):
        good, said = self.tries(*words, document=document)
        if not good:
            raise Failure(f"{self.username}: kubectl {' '.join(map(str, words))}: {said}")
        return said

    def reads(self, *words):
        return json.loads(self.does("get", *words, "-o", "json"))

    def rest(self):
        return Rest(self.name, self.namespace)


class Tenants:
    def come(self):
        for name in (BLUE, RED):
            self.remove(name)
            kubectl("create", "namespace", name)
            give_code(name)
            give_cluster(name)
        self.bob = Tenant(BLUE, "bob", "edit")
        self.sim = Tenant(BLUE, "sim", "eidolon-editor")
        self.eve = Tenant(RED, "eve", "edit")
        self.bob.does("create", "secret", "generic", "of-bob", "--from-literal=word=hidden")

    def go(self):
        remove_policies()
        for name in (RED, BLUE):
            self.remove(name)

    def remove(self, namespace):
        let_go(namespace)
        remove_namespace(namespace)

    @staticmethod
    def remove_traces():
        """Removes what attacks have made, so that they can be played again; other jobs of blue stay."""
        let_go(RED)
        remove_policies(check=False)
        kinds = "simjob,simsweep,jobs.batch,pods,deployments,services"
        for namespace, kept in ((BLUE, r"job-|h100|network"), (RED, r"h100|network")):
            found = names(kinds, namespace=namespace, check=False)
            made = [name for name in found if not re.match(kept, name.partition("/")[2])]
            if made:
                words = ("--ignore-not-found", "--timeout=60s")
                kubectl("-n", namespace, "delete", *made, *words, check=False, timeout=120)
        kubectl("-n", BLUE, "delete", "simcluster", "db", "--ignore-not-found", check=False)


def remove_policies(check=True):
    for kind in POLICIES:
        kubectl("delete", kind, POLICY, "--ignore-not-found", check=check)


def let_go(namespace):
    """Objects of an attacker have finalizers that nobody else removes."""
    change = '{"metadata": {"finalizers": null}}'
    for job in names("jobs.batch", namespace=namespace, check=False):
        if "forged" in job:
            kubectl("-n", namespace, "patch", job, "--type=merge", "-p", change, check=False)


# --- their documents -----------------------------------------------------------------
def one_server(name, **changes):
    """A job of one rank that is over in seconds."""
    size = {"servers": 1, "ranksPerServer": 1, "iterations": {"warmup": 3, "measure": 20}}
    return light(name, **{**size, **changes})


def plain(name, **changes):
    """A job that sets no field of its pods, and is not to run."""
    document = one_server(name, suspend=True, **changes)
    for field in {"podTemplate", "env"} - set(changes):
        del document["spec"][field]
    return document


def plain_sweep(name, matrix=None, **changes):
    job = with_cluster(plain(name, **changes), servers=1, server={"preset": "dgx-h100", "gpusPerServer": 1})
    del job["spec"]["suspend"]
    return sweep(name, job, matrix or {"cluster.server.nics.gbps": [200]}, suspend=True)
