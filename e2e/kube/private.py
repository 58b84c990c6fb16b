"""Steps of e2e/kube/run about what nobody may see, and about jobs that another queue admits."""

import base64
import json
import pathlib
import re
import time

from cluster_commands import (
    HERE,
    NAMESPACE,
    TEAM,
    condition,
    descendants,
    expect,
    first_process,
    get,
    kube,
    kubectl,
    leader_pod,
    user,
    wait,
)
from harder import PATIENCE_SECONDS, SETTLE_SECONDS, Rest

KUBERNETES_TOKEN = "var/run/secrets/kubernetes.io/serviceaccount/token"
TOKEN = "eidolon-pass-1".encode().hex()  # How every token begins.
ANY_TOKEN = re.compile(r"eyJ[\w-]{16,}\.eyJ[\w-]{16,}\.[\w-]{16,}")  # A signed token in JSON's form, whosever.


def file_in(pod, namespace, container, path):
    return pathlib.Path(f"/proc/{first_process(pod, namespace, container)}/root/{path}").read_text()


class Private:
    """Mixed into Run; needs what Harder has."""

    def secrets(self):
        """No token, key or code of a user is in any log, object, event, metric or command line."""
        user("carol")
        rest = Rest("carol")
        self.start_training("private", iterations={"warmup": 3, "measure": 400})
        expect(
            rest.call("GET", f"/api/v1/namespaces/{TEAM}/simulationjobs/private/logs")[0] == 200, "no log for its owner"
        )
        secret = {
            "the user's token": rest.token,
            "the pod's token": file_in(self.server_pod("private"), TEAM, "server", "eidolon/token/token"),
            "the controller's token": file_in(leader_pod(), NAMESPACE, "controller", KUBERNETES_TOKEN),
            "a token": TOKEN,
            "the user's code": (HERE / "jobs/light.py").read_text().splitlines()[0].strip('"'),
        }
        for name, value in get("secret", "eidolon-passes", NAMESPACE)["data"].items():
            secret[f"{name} of tokens"] = base64.b64decode(value).decode("latin-1")
            secret[f"{name} of tokens, encoded"] = value
        expect(len(secret) > 4 and all(len(value) > 24 for value in secret.values()), f"{list(secret)}")
        places = self.what_may_be_read()
        expect("eidolon-agent" in places["command lines"], "no command line of an agent")
        self.resume("private")
        self.over_well("private", attempt=1)
        places.update({f"{name} afterwards": text for name, text in self.what_may_be_read().items()})
        public = [name for name in secret if "public" in name]
        for place, text in places.items():
            for what, value in secret.items():
                expect(what in public or value.strip() not in text, f"{what} is in {place}")
            expect(not ANY_TOKEN.search(text), f"a token is in {place}")
        print(
            f"     {len(secret)} secrets, {len(places)} places, {sum(map(len, places.values())) / 1e6:.1f} MB of text"
        )
        self.leaves_nothing("private")

    @staticmethod
    def what_may_be_read():
        """Text by where it stands: logs and metrics of all our pods, all objects but those that hold secrets or code."""
        places = {"command lines": "\n".join(line for line in descendants(1).values() if "eidolon" in line)}
        for namespace in (NAMESPACE, TEAM):
            for pod in json.loads(kubectl("-n", namespace, "get", "pods", "-o", "json"))["items"]:
                name = pod["metadata"]["name"]
                places[f"log of {name}"] = kubectl("-n", namespace, "logs", name, "--all-containers", check=False)
                for container in pod["spec"]["containers"]:
                    for port in container.get("ports", []):
                        if port.get("name") == "metrics" and pod["status"].get("phase") == "Running":
                            address = f"http://{pod['status']['podIP']}:{port['containerPort']}/metrics"
                            places[f"metrics of {name}"] = kube("curl", "-sS", "-m", "10", address, check=False)
        kinds = kubectl("api-resources", "--verbs=list", "-o", "name").split()
        kinds = [kind for kind in kinds if kind not in ("secrets", "configmaps")]
        places["all objects"] = kubectl("get", ",".join(kinds), "-A", "-o", "json")
        expect(
            "SimulationJob" in places["all objects"] and '"kind": "Event"' in places["all objects"], "not all objects"
        )
        return places

    def key_replaced(self):
        """An emptied Secret and restarted services have another key; jobs run as before."""
        self.apply_light("before", spin=0)
        before = self.over_well("before", attempt=1)["prediction"]["iterationPicoseconds"]
        old = get("secret", "eidolon-passes", NAMESPACE)["data"]
        kubectl("-n", NAMESPACE, "patch", "secret", "eidolon-passes", "--type=merge", "-p", '{"data": null}')
        services = ("deployment/eidolon-controller", "statefulset/eidolon-timing")
        kubectl("-n", NAMESPACE, "rollout", "restart", *services)
        for service in services:
            kubectl("-n", NAMESPACE, "rollout", "status", service, f"--timeout={SETTLE_SECONDS}s")
        new = wait("there is a key", SETTLE_SECONDS, lambda: get("secret", "eidolon-passes", NAMESPACE).get("data"))
        expect(set(new) == set(old) and all(new[name] != old[name] for name in old), "the key is as it was")
        self.apply_light("after", spin=0)
        after = self.over_well("after", attempt=1)["prediction"]["iterationPicoseconds"]
        expect(before == after, "another answer")
        for name in ("before", "after"):
            self.leaves_nothing(name)

    def suspends(self):
        """A job that another queue holds back has no pods; it runs when let go, stops when held again, and can go on."""
        changes = {"iterations": {"warmup": 3, "measure": 300}}
        self.apply_light("held", spin=400_000, suspend=True, **changes)
        self.apply_light("foreign", spin=0, managedBy="kueue.x-k8s.io/multikueue", **changes)
        wait("the job is held", SETTLE_SECONDS, lambda: condition("held", "Scheduled")[:2] == ("False", "Suspended"))
        time.sleep(3)
        expect(not self.placed("held"), "a suspended job has pods")
        self.suspend("held", False)
        wait(
            "held trains",
            PATIENCE_SECONDS,
            lambda: get("simjob", "held")["status"].get("progress", {}).get("virtualSeconds", 0) > 0.02,
        )
        self.suspend("held", True)
        wait("its pods are gone", SETTLE_SECONDS, lambda: not self.placed("held"))
        expect(condition("held", "Scheduled")[1] == "Suspended", "not held again")
        self.suspend("held", False)
        status = self.over_well("held", attempt=2)
        expect(len(status["prediction"]["iterationPicoseconds"]) == 300, "not all iterations")
        expect(
            "status" not in get("simjob", "foreign") and not self.placed("foreign"), "another manager's job is touched"
        )
        for name in ("held", "foreign"):
            self.leaves_nothing(name)

    @staticmethod
    def suspend(job, value):
        kubectl("-n", TEAM, "patch", "simjob", job, "--type=merge", "-p", json.dumps({"spec": {"suspend": value}}))

    @staticmethod
    def placed(job):
        return kubectl("-n", TEAM, "get", "pods,jobs", "-l", f"eidolon.dev/simulation-job={job}", "-o", "name").split()
