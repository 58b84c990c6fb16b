"""Steps of e2e/kube/run that ask more: REST with permissions, every panel of the dashboards, deaths, a long queue."""

import collections
import json
import math
import os
import re
import signal
import time

from cluster_commands import (
    CLUSTER,
    NAMESPACE,
    ROOT,
    TEAM,
    call,
    condition,
    descendants,
    expect,
    finished,
    first_process,
    get,
    jobs_path,
    kube,
    kubectl,
    leader_pod,
    make_namespace,
    pod_ip,
    user,
    wait,
)
from monitoring import INTERVAL_SECONDS, Prometheus, make_image
from monitoring import NAMESPACE as MONITORING

AUDIENCE = "rest.eidolon.dev"
# How long a job may take that does not hang: a machine busy with other things takes ten times as long as an idle one.
# What is promised in seconds (a named end after a death) has a bound of its own.
PATIENCE_SECONDS = 900
# How long objects and processes may take to be there, or gone.
SETTLE_SECONDS = 240


class Rest:
    """A user of the REST interface: a service account with a role in one namespace."""

    def __init__(self, user, namespace=TEAM):
        self.address = (
            kubectl("-n", NAMESPACE, "get", "service", "eidolon-controller", "-o", "jsonpath={.spec.clusterIP}").strip()
            + ":8080"
        )
        self.token = kubectl("-n", namespace, "create", "token", user, "--audience", AUDIENCE).strip()

    def url(self, path):
        return f"http://{self.address}{path}"

    def call(self, method, path, body=None, headers=(), token=None, seconds=60):
        """(status, headers in lower case, body)."""
        command = ["curl", "-sS", "-i", "-m", str(seconds), "-X", method, self.url(path)]
        if token is None:
            token = self.token
        for header in ([f"Authorization: Bearer {token}"] if token else []) + list(headers):
            command += ["-H", header]
        if body is not None:
            command += ["-H", "Content-Type: application/json", "--data-binary", "@-"]
        text = kube(*command, text_in=body, timeout=seconds + 10).replace("\r\n", "\n")
        head, _, content = text.partition("\n\n")
        while head.startswith("HTTP/1.1 100"):
            head, _, content = content.partition("\n\n")
        lines = head.splitlines()
        named = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        return int(lines[0].split()[1]), named, content


class Harder:
    """Mixed into Run; needs its cluster, images, `document` and `predicted`."""

    def rest(self):
        """REST writes the same resources, for those the cluster lets: 401, 403, 201, replay, 304, events, log."""
        user("alice")
        rest = Rest("alice")
        jobs = f"/api/v1/namespaces/{TEAM}/simulationjobs"
        body = json.dumps(self.document("by-rest"))
        key = ["Idempotency-Key: one"]
        expect(rest.call("GET", jobs, token="")[0] == 401, "no token is let in")
        other = kubectl("-n", TEAM, "create", "token", "alice").strip()
        expect(rest.call("GET", jobs, token=other)[0] == 401, "a token for the API server is let in")
        told = json.loads(rest.call("GET", "/openapi.json")[2])
        expect(told == json.loads((ROOT / "services/controller/rest/openapi.json").read_text()), "another description")
        self.check_roles(rest, jobs)
        elsewhere = "/api/v1/namespaces/kube-system/simulationjobs"
        expect(
            rest.call("GET", elsewhere)[0] == 403 and rest.call("POST", elsewhere, body)[0] == 403,
            "another namespace is open",
        )
        expect(rest.call("GET", "/api/v1/simulationjobs")[0] == 403, "all namespaces are open")
        status, headers, text = rest.call("POST", jobs, body, key)
        expect(status == 201 and headers["location"] == f"{jobs}/by-rest", text)
        status, headers, _ = rest.call("POST", jobs, body, key)
        expect(status == 201 and headers.get("idempotent-replayed") == "true", "not replayed")
        status, headers, text = rest.call("POST", jobs, body.replace("by-rest", "by-rest-2"), key)
        expect(status == 422, f"a key was used twice: {status} {text}")
        status, _, text = rest.call("POST", jobs, body.replace('"servers": 2', '"servers": 0'))
        expect(status == 422 and "/spec/servers" in text, text)
        _, _, events = rest.call("GET", f"{jobs}/by-rest/events", seconds=PATIENCE_SECONDS)
        expect('event: end\ndata: {"reason":"over"}' in events, events[-500:])
        status, headers, text = rest.call("GET", f"{jobs}/by-rest")
        seen = json.loads(text)["status"]
        expect(seen["phase"] == "Complete", json.dumps(seen["conditions"]))
        expect(seen["prediction"]["iterationPicoseconds"] == self.predicted, "another answer by REST")
        tag = headers["etag"]
        expect(rest.call("GET", f"{jobs}/by-rest", headers=[f"If-None-Match: {tag}"])[0] == 304, "no 304")
        expect("step 5 loss" in rest.call("GET", f"{jobs}/by-rest/logs")[2], "no log")
        watch = f"/api/v1/watch/namespaces/{TEAM}/simulationjobs"
        seen = kube("curl", "-sS", "-m", "4", "-H", f"Authorization: Bearer {rest.token}", rest.url(watch), check=False)
        expect("retry: 1000" in seen and '"by-rest"' in seen, f"watched: {seen[:500]}")
        expect(rest.call("GET", "/api/v1/watch/simulationjobs")[0] == 403, "all namespaces may be watched")
        status, _, text = rest.call("GET", f"{jobs}/by-rest/timeline")
        expect(status == 404 and "keeps no timeline" in text, f"timeline: {status} {text}")
        expect(rest.call("DELETE", f"{jobs}/by-rest", headers=['If-Match: "1"'])[0] == 412, "an old tag deletes")
        expect(rest.call("DELETE", f"{jobs}/by-rest")[0] == 200, "not deleted")
        expect(rest.call("GET", f"{jobs}/by-rest")[0] == 404, "still there")

    @staticmethod
    def check_roles(rest, jobs):
        """Kubernetes' own roles hold ours: who may view the namespace reads jobs and logs, who may edit it makes them."""
        verbs = {"view": ["get", "list", "watch"], "edit": ["get", "list", "watch", "create", "patch", "delete"]}
        for role, allowed in verbs.items():
            user(f"by-{role}", role)
            token = kubectl("-n", TEAM, "create", "token", f"by-{role}", "--audience", AUDIENCE).strip()
            expect(rest.call("GET", jobs, token=token)[0] == 200, f"{role} does not list jobs")
            may_create = rest.call("POST", jobs, "{}", token=token)[0] == 422
            expect(may_create == (role == "edit"), f"{role} may create: {may_create}")
            subject = f"--as=system:serviceaccount:{TEAM}:by-{role}"
            for verb in verbs["edit"]:
                for kind in ("simulationjobs", "simulatedclusters", "simulationsweeps"):
                    said = kubectl("auth", "can-i", verb, kind, "-n", TEAM, subject, check=False).strip()
                    expect(said == ("yes" if verb in allowed else "no"), f"{role} may {verb} {kind}: {said}")
            said = kubectl("auth", "can-i", "get", "simulationjobs/log", "-n", TEAM, subject, check=False).strip()
            expect(said == "yes", f"{role} may read logs: {said}")

    def panels(self):
        """A real Prometheus scrapes what the chart's monitors name; every panel and rule has numbers while a job runs."""
        prometheus = self.bring_prometheus()
        # Panels and rules about sweeps have numbers while there is one.
        kubectl("-n", TEAM, "apply", "-f", "-", text_in=json.dumps(self.held_sweep("watched-widths")))
        kubectl("-n", TEAM, "apply", "-f", "-", text_in=self.long_job("watched"))
        wait("the job runs", PATIENCE_SECONDS, lambda: condition("watched", "Running")[0] == "True")
        since = time.time()
        targets = []
        while get("simjob", "watched")["status"].get("phase") == "Running":
            seen = prometheus.targets()
            targets = max(targets, seen, key=lambda found: sum(target[3] == "up" for target in found))
            time.sleep(2)
        status = finished("watched", 60)
        expect(status["phase"] == "Complete", json.dumps(status["conditions"]))
        expect(
            sorted(target[1] for target in targets if target[3] == "up")
            == ["agent", "agent", "controller", "controller", "network", "timing"],
            f"targets: {targets}",
        )
        time.sleep(2 * INTERVAL_SECONDS)
        queries = 0
        boards = json.loads(kubectl("-n", NAMESPACE, "get", "configmap", "-l", "grafana_dashboard=1", "-o", "json"))[
            "items"
        ]
        for name, text in [entry for board in boards for entry in board["data"].items()]:
            for panel in json.loads(text)["panels"]:
                for target in panel["targets"]:
                    queries += 1
                    self.check_query(prometheus, f"{name}: {panel['title']}", target["expr"], since)
        rules = self.check_rules(prometheus)
        expect(queries and rules, f"{queries} queries, {rules} rules")
        print(
            f"     {queries} queries of {len(boards)} dashboards and {rules} rules, by Prometheus over {len(targets)} pods"
        )
        kubectl("-n", TEAM, "delete", "simjob/watched", "simsweep/watched-widths", "--timeout=60s")

    def bring_prometheus(self):
        """The Prometheus of the cluster, built and started where there is none."""
        if not kubectl("get", "pod", "prometheus", "-n", MONITORING, "--ignore-not-found"):
            self.build_all()
            call(CLUSTER / "load.sh", make_image(self.cache, self.images), timeout=600)
            Prometheus.start()
        return Prometheus()

    def held_sweep(self, name):
        """A suspended sweep of two points."""
        job = self.light_document(name, spin=0)["spec"]
        del job["clusterRef"]
        job["cluster"] = {"servers": 2, "server": {"preset": "dgx-h100", "gpusPerServer": 2}}
        return {
            "apiVersion": "eidolon.dev/v1alpha1",
            "kind": "SimulationSweep",
            "metadata": {"name": name},
            "spec": {"job": job, "matrix": {"cluster.server.nics.gbps": [200, 400]}, "suspend": True},
        }

    @staticmethod
    def check_query(prometheus, what, text, since):
        text = text.replace("$__rate_interval", f"{4 * INTERVAL_SECONDS}s")  # As Grafana has it.
        text = text.replace("$namespace", TEAM).replace("$simulation_job", "watched").replace("$jobs", "watch.*")
        expect("$" not in text, f"{what}: a variable is left in {text}")
        series = prometheus.series_over(text, since)
        expect(series, f"{what}: no answer to {text}")
        for labels, values in series:
            expect(any(math.isfinite(value) for _, value in values), f"{what}: {labels} {values[-3:]}")

    @staticmethod
    def check_rules(prometheus):
        """Each is judged without an error, of metrics that are there, and says nothing of a cluster that is well."""
        rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
        for rule in rules:
            expect(rule["health"] == "ok" and rule.get("state") != "firing", json.dumps(rule))
            for metric in prometheus.selectors(rule["query"]):
                expect(prometheus.ask("query", query=metric)["result"], f"{rule['name']}: nobody has {metric}")
        return len(rules)

    def deaths(self):
        """kill -9 of rank, agent, pod, network, timing service, controller, and its whole pod: the same answer, in a
        second attempt where the first one was not ended by the program, or a named end in 30 s."""
        self.apply_light("undisturbed", spin=0)
        undisturbed = self.over_well("undisturbed", attempt=1)
        retried = dict.fromkeys(("controller", "leader"), "ControllerRestarted")
        retried.update(pod="PodDeleted", network="ServiceLost")
        for name, kill, reasons in [
            # Its launcher may collect it and end before the agent looks; then the launcher's words count.
            ("rank", self.kill_rank, {"RankLost": "rank 3", "CommandFailed": "rank 3 ended with status -9"}),
            ("agent", self.kill_agent, {"AgentLost": "server 1"}),
            ("pod", self.kill_pod, {}),
            ("network", self.kill_network, {}),
            ("timing", self.kill_timing, {}),
            ("controller", self.kill_controller, {}),
            ("leader", self.delete_leader, {}),
        ]:
            job = f"dies-{name}"
            self.start_training(job)
            with self.held(job):
                kill(job)
            started = time.monotonic()
            if reasons:
                status = finished(job, 60)
                verdict = condition(job, "Failed")
                took = time.monotonic() - started
                named = reasons.get(verdict[1], "no such reason")
                expect(status["phase"] == "Failed" and named in verdict[2], f"{name}: {verdict} {status['conditions']}")
                expect(took < 30, f"{name}: after {took:.0f} s only")
                expect(status["attempt"] == 1, f"{name}: attempt {status['attempt']}")
            else:
                status = self.over_well(job, attempt=1 if name == "timing" else 2)
                took = time.monotonic() - started
                verdict = condition(job, "Complete")
                if name != "timing":
                    expect(condition(job, "Retried")[1] == retried[name], f"{name}: {status['conditions']}")
                expect(
                    status["prediction"]["iterationPicoseconds"] == undisturbed["prediction"]["iterationPicoseconds"],
                    f"{name}: another answer",
                )
            print(f"     {name}: {status['phase']} {verdict[1]} after {took:.1f} s: {verdict[2][:120]}", flush=True)
            self.leaves_nothing(job)
        self.leaves_nothing("undisturbed")

    @staticmethod
    def over_well(job, attempt):
        """Its status; `attempt`: one number, or several that will do."""
        status = finished(job, PATIENCE_SECONDS)
        attempts = attempt if isinstance(attempt, tuple) else (attempt,)
        expect(
            status["phase"] == "Complete" and status["attempt"] in attempts,
            f"{job}: attempt {status['attempt']}, {status['conditions']}",
        )
        return status

    def light_document(self, name, spin, **changes):
        """A job of the usual size whose ranks need no framework; it lasts as long as their loops turn."""
        document = self.document(name)
        document["spec"].update(
            {
                "image": "e2e.local/debian:12",
                "command": ["python3", "light.py"],
                "iterations": {"warmup": 3, "measure": 900},
                "env": [{"name": "STEPS", "value": "1000000"}, {"name": "SPIN", "value": str(spin)}],
                "podTemplate": {"securityContext": {"runAsUser": 1000}},
                **changes,
            }
        )
        return document

    def apply_light(self, name, spin, **changes):
        document = self.light_document(name, spin, **changes)
        kubectl("-n", TEAM, "apply", "-f", "-", text_in=json.dumps(document))

    @staticmethod
    def leaves_nothing(job):
        """With the job go its pods and every process of theirs."""
        kubectl("-n", TEAM, "delete", "simjob", job, f"--timeout={SETTLE_SECONDS}s")
        wait(
            f"nothing of {job} is left",
            SETTLE_SECONDS,
            lambda: not kubectl(
                "-n", TEAM, "get", "pods,jobs,services", "-l", f"eidolon.dev/simulation-job={job}", "-o", "name"
            ).strip(),
        )
        left = [line for line in descendants(1).values() if "light.py" in line]
        expect(not left, f"orphans of {job}: {left}")

    @staticmethod
    def server_pod(job, server=1):
        return kubectl(
            "-n",
            TEAM,
            "get",
            "pods",
            "-l",
            f"eidolon.dev/simulation-job={job},batch.kubernetes.io/job-completion-index={server}",
            "-o",
            "jsonpath={.items[0].metadata.name}",
        ).strip()

    def ranks(self, job):
        """Process numbers, on this machine, of server 1's processes that run the job's program."""
        agent = first_process(self.server_pod(job), TEAM, "server")
        ranks = [number for number, line in descendants(agent).items() if "light.py" in line]
        expect(ranks, f"no rank: {descendants(agent)}")
        return ranks

    def kill_rank(self, job):
        os.kill(max(self.ranks(job)), signal.SIGKILL)

    def kill_agent(self, job):
        os.kill(first_process(self.server_pod(job), TEAM, "server"), signal.SIGKILL)

    def kill_pod(self, job):
        kubectl("-n", TEAM, "delete", "pod", self.server_pod(job), "--grace-period=0", "--force", "--wait=false")

    @staticmethod
    def kill_network(_job):
        pod = kubectl(
            "-n",
            TEAM,
            "get",
            "pods",
            "-l",
            "app.kubernetes.io/component=network",
            "-o",
            "jsonpath={.items[0].metadata.name}",
        ).strip()
        os.kill(first_process(pod, TEAM, "network"), signal.SIGKILL)

    @staticmethod
    def kill_timing(_job):
        os.kill(first_process("eidolon-timing-0", NAMESPACE, "timing"), signal.SIGKILL)

    @staticmethod
    def kill_controller(_job):
        os.kill(first_process(leader_pod(), NAMESPACE, "controller"), signal.SIGKILL)

    @staticmethod
    def delete_leader(_job):
        pod = leader_pod()
        kubectl("-n", NAMESPACE, "delete", "pod", pod, "--grace-period=0", "--force")
        started = time.monotonic()
        wait("another leader", 20, lambda: leader_pod() not in ("", pod))
        print(f"     another controller led after {time.monotonic() - started:.1f} s")

    def queue(self):
        """Many jobs of three namespaces: all end, none is starved, the controller's memory stays flat."""
        queued = self.queued
        spaces = {"queue-a": queued // 2, "queue-b": queued // 4, "queue-c": queued // 4}
        # Jobs compete once the network service of their cluster runs; which pod starts first says nothing about turns.
        for space in spaces:
            make_namespace(space)
            kubectl("-n", space, "apply", "-f", CLUSTER.parent / "jobs/cluster.yaml")
        for space in spaces:
            kubectl(
                *("-n", space, "wait", "simulatedcluster/h100", "--for=condition=Ready"),
                f"--timeout={SETTLE_SECONDS}s",
                timeout=SETTLE_SECONDS + 30,
            )
        # Nobody looks until all are there: how fast they are created says nothing about turns.
        self.scale_controllers(0)
        for space, count in spaces.items():
            documents = [self.short_job(f"job-{number}") for number in range(count)]
            kubectl(
                "-n",
                space,
                "apply",
                "-f",
                "-",
                text_in=json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}),
                timeout=300,
            )
        self.scale_controllers(2)
        before = self.controller_numbers()
        started = time.monotonic()
        jobs = wait("all jobs are over", 1800, lambda: self.all_over(spaces))
        seconds = time.monotonic() - started
        after = self.controller_numbers()
        expect(all(job["status"]["phase"] == "Failed" for job in jobs), "a job that does nothing has a prediction")
        expect(
            {entry["reason"] for job in jobs for entry in job["status"]["conditions"] if entry["type"] == "Failed"}
            == {"NoIterations"},
            "another reason than NoIterations",
        )
        # Each namespace has a third of the turns while it has jobs; in order of age, two of them would have none in the
        # first half.
        events = [
            event
            for space in spaces
            for event in json.loads(kubectl("-n", space, "get", "events.events.k8s.io", "-o", "json", timeout=120))[
                "items"
            ]
            if event["reason"] == "Placed"
        ]
        half = [event["metadata"]["namespace"] for event in sorted(events, key=lambda event: event["eventTime"])][
            : queued // 2
        ]
        for space in ("queue-b", "queue-c"):
            expect(half.count(space) >= len(half) // 6, f"{space} waited for others: {half}")
        print(
            f"     {queued} jobs in {seconds:.0f} s, {(after[1] - before[1]) / queued:.1f} requests to the API server"
            f" for each; the controller's memory {before[0]:.0f} -> {after[0]:.0f} MiB;"
            f" first half {collections.Counter(half)}"
        )
        expect(after[0] < before[0] + 64, "the controller has grown")
        for space in spaces:
            kubectl("delete", "namespace", space, "--timeout=240s", timeout=300)

    @staticmethod
    def scale_controllers(count):
        kubectl("-n", NAMESPACE, "scale", "deployment", "eidolon-controller", f"--replicas={count}")
        if count == 0:
            wait(
                "no controller is left",
                SETTLE_SECONDS,
                lambda: not kubectl(
                    "-n", NAMESPACE, "get", "pods", "-l", "app.kubernetes.io/component=controller", "-o", "name"
                ).strip(),
            )
            return
        kubectl(
            "-n", NAMESPACE, "rollout", "status", "deployment", "eidolon-controller", f"--timeout={SETTLE_SECONDS}s"
        )
        pods = kubectl("-n", NAMESPACE, "get", "pods", "-l", "app.kubernetes.io/component=controller", "-o", "name")
        wait("one leads", SETTLE_SECONDS, lambda: f"pod/{leader_pod()}" in pods.split())

    @staticmethod
    def all_over(spaces):
        jobs = [
            job
            for space in spaces
            for job in json.loads(kubectl("get", "--raw", jobs_path(space), timeout=120))["items"]
        ]
        over = [job for job in jobs if job.get("status", {}).get("phase") in ("Complete", "Failed", "Interrupted")]
        time.sleep(2)
        return jobs if len(over) == len(jobs) == sum(spaces.values()) else None

    @staticmethod
    def controller_numbers():
        """(resident MiB, requests sent to the API server) of the controller that leads."""
        page = kube("curl", "-sS", "-m", "10", f"http://{pod_ip(leader_pod())}:9401/metrics")
        requests = float(re.search(r"^eidolon_controller_kubernetes_requests_total (\S+)", page, re.M).group(1))
        process = first_process(leader_pod(), NAMESPACE, "controller")
        status = open(f"/proc/{process}/status").read()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024, requests

    def long_job(self, name):
        document = self.document(name)
        document["spec"]["iterations"] = {"warmup": 3, "measure": 900, "tokens": 256}
        document["spec"]["env"] = [{"name": "STEPS", "value": "1000"}]
        return json.dumps(document)

    @staticmethod
    def short_job(name):
        return {
            "apiVersion": "eidolon.dev/v1alpha1",
            "kind": "SimulationJob",
            "metadata": {"name": name},
            "spec": {
                "clusterRef": {"name": "h100"},
                "servers": 1,
                "ranksPerServer": 1,
                "image": "e2e.local/debian:12",
                "command": ["/bin/true"],
                "podTemplate": {"securityContext": {"runAsUser": 1000}},
                "hostModel": {"kind": "fixed"},
            },
        }
