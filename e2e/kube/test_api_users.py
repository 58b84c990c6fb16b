"""Users of the cluster: over REST, by `kubectl eidolon`, and what no user may see."""

import base64
import json
import os
import pathlib
import re
import sys

import pytest

import cluster_commands as kube
from rest_user import Rest, token_of
import simulation_jobs as sim

JOBS = f"/api/v1/namespaces/{kube.TEAM}/simulationjobs"


# --- REST ----------------------------------------------------------------------------
@pytest.mark.fixed
def test_rest_permissions():
    """REST lets in holders of its tokens, each to their own namespace, and describes itself."""
    kube.user("alice")
    rest = Rest("alice")
    assert rest.status("GET", JOBS, token="") == 401
    other = kube.team("create", "token", "alice").strip()
    assert rest.status("GET", JOBS, token=other) == 401, "a token for the API server is let in"
    described = json.loads(rest.call("GET", "/openapi.json")[2])
    assert described == json.loads((kube.ROOT / "services/controller/rest/openapi.json").read_text())
    elsewhere = "/api/v1/namespaces/kube-system/simulationjobs"
    assert rest.status("GET", elsewhere) == 403
    assert rest.status("POST", elsewhere, json.dumps(sim.light("elsewhere"))) == 403
    assert rest.status("GET", "/api/v1/simulationjobs") == 403, "all namespaces are open"
    assert rest.status("GET", "/api/v1/watch/simulationjobs") == 403, "all namespaces may be watched"


@pytest.mark.fixed
def test_rest_roles():
    """Kubernetes' own roles hold ours: who may view the namespace reads jobs and logs, who may edit it makes them."""
    kube.user("alice")
    rest = Rest("alice")
    verbs = {"view": ["get", "list", "watch"], "edit": ["get", "list", "watch", "create", "patch", "delete"]}
    for role, allowed in verbs.items():
        kube.user(f"by-{role}", role)
        token = token_of(f"by-{role}")
        assert rest.status("GET", JOBS, token=token) == 200, f"{role} does not list jobs"
        assert rest.status("POST", JOBS, "{}", token=token) == (422 if role == "edit" else 403), role
        subject = f"--as=system:serviceaccount:{kube.TEAM}:by-{role}"
        asked = {(verb, kind): verb in allowed for verb in verbs["edit"] for kind in RESOURCES}
        for (verb, kind), may in {**asked, ("get", "simulationjobs/log"): True}.items():
            said = kube.team("auth", "can-i", verb, kind, subject, check=False).strip()
            assert said == ("yes" if may else "no"), f"{role} may {verb} {kind}: {said}"


RESOURCES = ("simulationjobs", "simulatedclusters", "simulationsweeps")


@pytest.mark.fixed
def test_rest(undisturbed):
    """REST writes the same resources: 201, replay, events, log, watch, 304, 404, 412, 422, and the same prediction."""
    kube.user("alice")
    rest = Rest("alice")
    # Fields of pods are not for everybody who may write jobs; this image has a user of its own.
    job = sim.light("by-rest", image=sim.torch_image())
    del job["spec"]["podTemplate"]
    body = json.dumps(job)
    key = [f"Idempotency-Key: {os.urandom(8).hex()}"]
    status, headers, text = rest.call("POST", JOBS, body, key)
    assert status == 201 and headers["location"] == f"{JOBS}/by-rest", text
    status, headers, _ = rest.call("POST", JOBS, body, key)
    assert status == 201 and headers.get("idempotent-replayed") == "true"
    status, _, text = rest.call("POST", JOBS, body.replace("by-rest", "by-rest-2"), key)
    assert status == 422, f"a key was used twice: {status} {text}"
    status, _, text = rest.call("POST", JOBS, body.replace('"servers": 2', '"servers": 0'))
    assert status == 422 and "/spec/servers" in text, text
    _, _, events = rest.call("GET", f"{JOBS}/by-rest/events", seconds=kube.PATIENCE_SECONDS)
    assert 'event: end\ndata: {"reason":"over"}' in events, events[-500:]
    _, headers, text = rest.call("GET", f"{JOBS}/by-rest")
    seen = json.loads(text)["status"]
    assert seen["phase"] == "Complete", json.dumps(seen["conditions"])
    assert sim.iterations(seen) == undisturbed
    assert rest.status("GET", f"{JOBS}/by-rest", headers=[f"If-None-Match: {headers['etag']}"]) == 304
    assert "step 0" in rest.call("GET", f"{JOBS}/by-rest/logs")[2]
    watch = rest.url(f"/api/v1/watch/namespaces/{kube.TEAM}/simulationjobs")
    seen = kube.in_cluster("curl", "-sS", "-m", "4", "-H", f"Authorization: Bearer {rest.token}", watch, check=False)
    assert "retry: 1000" in seen and '"by-rest"' in seen, f"watched: {seen[:500]}"
    status, _, text = rest.call("GET", f"{JOBS}/by-rest/timeline")
    assert status == 404 and "keeps no timeline" in text, f"timeline: {status} {text}"
    assert rest.status("DELETE", f"{JOBS}/by-rest", headers=['If-Match: "1"']) == 412, "an old tag deletes"
    assert rest.status("DELETE", f"{JOBS}/by-rest") == 200
    assert rest.status("GET", f"{JOBS}/by-rest") == 404


# --- kubectl eidolon, which the wheel brings -------------------------------------------
PROGRAM = """#!/bin/sh
PYTHONPATH={root}/python EIDOLON_PROGRAM={build}/bin/eidolon exec {python} -B -m eidolon.kubectl "$@"
"""


@pytest.fixture
def eidolon(build, tmp_path):
    program = tmp_path / "kubectl-eidolon"
    program.write_text(PROGRAM.format(root=kube.ROOT, build=build, python=sys.executable))
    program.chmod(0o755)

    def run(*words, document=None, status=0):
        """The plugin's output, found by kubectl as a user's would be."""
        words = [*words, *([] if "-n" in words else ["-n", kube.TEAM])]
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        more = {"text_in": document and json.dumps(document), "timeout": kube.PATIENCE_SECONDS, "env": environment}
        done = kube.run(kube.CLUSTER / "kube.sh", "kubectl", "eidolon", *words, **more)
        said = done.stdout + done.stderr
        assert done.returncode == status, f"kubectl eidolon {words}: {said}"
        return said

    return run


def test_plugin(eidolon, tmp_path):
    """kubectl eidolon submits and follows a job, prints logs, report and comparison, and says what is not there."""
    short = {"iterations": {"warmup": 3, "measure": 4, "tokens": 256}}
    said = eidolon("submit", "--follow", "-f", "-", document=sim.light("by-plugin", **short))
    mean = kube.get("simjob", "by-plugin")["status"]["prediction"]["iterationSeconds"]["mean"]
    predicted = f"{mean * 1e3:.4g} ms"
    for words in ("simulationjob.eidolon.dev/by-plugin", "step 0", "Complete", predicted):
        assert words in said
    eidolon("submit", "-f", "-", document=sim.light("by-plugin-2", **short))
    eidolon("wait", "by-plugin-2")
    assert "step 0" in eidolon("-n", kube.TEAM, "logs", "by-plugin")
    assert predicted in eidolon("report", "by-plugin")
    eidolon("report", "by-plugin", "--html", tmp_path / "report.html")
    assert "<html" in (tmp_path / "report.html").read_text()
    assert "speed-up" in eidolon("compare", "by-plugin", "by-plugin-2")
    assert "by-plugin-2" in eidolon("get")
    for words, said in [
        (("timeline", "by-plugin"), "keeps no timeline"),
        (("recording", "by-plugin"), "keeps no recording"),
        (("report", "nobody"), '"nobody" not found'),
        (("report", "by-plugin", f"--as=system:serviceaccount:{kube.TEAM}:default"), "forbidden"),
    ]:
        assert said in eidolon(*words, status=1), words
    sim.leaves_nothing("by-plugin", "by-plugin-2")


# --- secrets -------------------------------------------------------------------------
KUBERNETES_TOKEN = "var/run/secrets/kubernetes.io/serviceaccount/token"
TOKEN = "eidolon-pass-1".encode().hex()  # How every token begins.
ANY_TOKEN = re.compile(r"eyJ[\w-]{16,}\.eyJ[\w-]{16,}\.[\w-]{16,}")  # A signed token in JSON's form, whosever.


def test_secrets():
    """No token, key or code of a user is in any log, object, event, metric or command line."""
    kube.user("carol")
    rest = Rest("carol")
    sim.start_training("private", iterations={"warmup": 3, "measure": 400})
    assert rest.status("GET", f"{JOBS}/private/logs") == 200, "no log for its owner"
    secret = {
        "the user's token": rest.token,
        "the pod's token": file_in(sim.server_pod("private"), kube.TEAM, "server", "eidolon/token/token"),
        "the controller's token": file_in(kube.leader_pod(), kube.NAMESPACE, "controller", KUBERNETES_TOKEN),
        "a token": TOKEN,
        "the user's code": (kube.HERE / "jobs/light.py").read_text().splitlines()[0].strip('"'),
    }
    for name, value in kube.get("secret", "eidolon-passes", kube.NAMESPACE)["data"].items():
        secret[f"{name} of tokens"] = base64.b64decode(value).decode("latin-1")
        secret[f"{name} of tokens, encoded"] = value
    assert len(secret) > 4 and all(len(value) > 24 for value in secret.values()), f"{list(secret)}"
    places = what_may_be_read()
    assert "eidolon-agent" in places["command lines"], "no command line of an agent"
    sim.resume("private")
    sim.complete("private", attempts=[1])
    places.update({f"{name} afterwards": text for name, text in what_may_be_read().items()})
    for place, text in places.items():
        # Secrets are not shown by failed tests either.
        found = [what for what, value in secret.items() if "public" not in what and value.strip() in text]
        assert not found, f"in {place}"
        has_token = bool(ANY_TOKEN.search(text))
        assert not has_token, f"in {place}"
    print(f"{len(secret)} secrets, {len(places)} places, {sum(map(len, places.values())) / 1e6:.1f} MB of text")
    sim.leaves_nothing("private")


def file_in(pod, namespace, container, path):
    return pathlib.Path(f"/proc/{kube.first_process(pod, namespace, container)}/root/{path}").read_text()


def what_may_be_read():
    """Text by where it stands: logs and metrics of all our pods, all objects but those that hold secrets or code."""
    places = {"command lines": "\n".join(line for line in kube.descendants(1).values() if "eidolon" in line)}
    for namespace in (kube.NAMESPACE, kube.TEAM):
        for pod in kube.objects("pods", namespace=namespace):
            name = pod["metadata"]["name"]
            places[f"log of {name}"] = kube.kubectl("-n", namespace, "logs", name, "--all-containers", check=False)
            for port in [port for container in pod["spec"]["containers"] for port in container.get("ports", [])]:
                if port.get("name") == "metrics" and pod["status"].get("phase") == "Running":
                    address = f"http://{pod['status']['podIP']}:{port['containerPort']}/metrics"
                    places[f"metrics of {name}"] = kube.in_cluster("curl", "-sS", "-m", "10", address, check=False)
    kinds = kube.kubectl("api-resources", "--verbs=list", "-o", "name").split()
    kinds = ",".join(kind for kind in kinds if kind not in ("secrets", "configmaps"))
    places["all objects"] = kube.kubectl("get", kinds, "-A", "-o", "json")
    complete_list = "SimulationJob" in places["all objects"] and '"kind": "Event"' in places["all objects"]
    assert complete_list, "not all objects"
    return places


def test_key_replaced(undisturbed):
    """An emptied Secret and restarted services have another key; jobs run as before."""
    old = kube.get("secret", "eidolon-passes", kube.NAMESPACE)["data"]
    kube.kubectl("-n", kube.NAMESPACE, "patch", "secret", "eidolon-passes", "--type=merge", "-p", '{"data": null}')
    services = ("deployment/eidolon-controller", "statefulset/eidolon-timing")
    kube.kubectl("-n", kube.NAMESPACE, "rollout", "restart", *services)
    for service in services:
        kube.settle(service)
    new = kube.wait("there is a key", lambda: kube.get("secret", "eidolon-passes", kube.NAMESPACE).get("data"))
    is_another = set(new) == set(old) and all(new[name] != old[name] for name in old)
    assert is_another
    kube.apply(sim.light("after"))
    assert sim.iterations(sim.complete("after", attempts=[1])) == undisturbed
    sim.leaves_nothing("after")
