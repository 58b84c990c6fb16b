"""Step torture of e2e/kube/run: many jobs over two nodes while pods, processes, services and a kubelet die at random."""

import collections
import json
import os
import random
import signal
import subprocess
import time

from cluster_commands import (
    CLUSTER,
    NAMESPACE,
    Failure,
    call,
    descendants,
    expect,
    first_process,
    jobs_path,
    kubectl,
    leader_pod,
    make_namespace,
    wait,
)
from harder import SETTLE_SECONDS
from lifecycle import helm

SPACE = "torture"
# Jobs that run at a time: more would share the two cores of a small machine until everything times out.
AT_ONCE = "6"
OVER = ("Complete", "Failed", "Interrupted")
# How a job may end when something of its own has died, or its controller in each of its attempts.
NAMED = {"AgentLost", "RankLost", "CommandFailed", "BackoffLimitExceeded", "ControllerRestarted"}


class Torture:
    """Mixed into Run; needs what Harder and Nodes have."""

    def torture(self):
        """Jobs over two nodes and random deaths: none is lost, doubled or hung, and all that complete say the same."""
        helm("upgrade", controller_maxRunningJobs=AT_ONCE)
        with self.second_node():
            self.torment(random.Random(self.seed))
        helm("upgrade")

    def torment(self, chance):
        make_namespace(SPACE)
        self.give_code(SPACE)
        kubectl("-n", SPACE, "apply", "-f", CLUSTER.parent / "jobs/cluster.yaml")
        names = [f"job-{number}" for number in range(self.tortured)]
        items = [self.tortured_job(name, servers=1 + number % 2) for number, name in enumerate(names)]
        documents = {"apiVersion": "v1", "kind": "List", "items": items}
        kubectl("-n", SPACE, "apply", "-f", "-", text_in=json.dumps(documents), timeout=300)
        started = time.monotonic()
        deaths = self.kill_at_random(chance, started, names)
        jobs = wait("all jobs are over", self.longest(), lambda: self.all_ended(names))
        seconds = time.monotonic() - started
        done = sum(deaths.values())
        expect(done == self.deadly, f"all jobs were over after {done} of {self.deadly} deaths: {dict(deaths)}")
        self.check_ends(jobs, names)
        self.check_pods(names)
        phases = collections.Counter(job["status"]["phase"] for job in jobs)
        nodes = collections.Counter(self.placed_on())
        print(
            f"     seed {self.seed}: {len(jobs)} jobs in {seconds:.0f} s on {dict(nodes)}, {dict(phases)}, attempts"
            f" {dict(collections.Counter(job['status']['attempt'] for job in jobs))}; deaths {dict(deaths)}"
        )
        kubectl("delete", "namespace", SPACE, "--timeout=240s", timeout=300)
        left = [line for line in descendants(1).values() if "light.py" in line]
        expect(not left, f"orphans: {left}")

    def tortured_job(self, name, servers):
        """Two ranks, on one server or on two."""
        document = self.document(name)
        document["spec"].update(
            {
                "servers": servers,
                "ranksPerServer": 2 // servers,
                "image": "e2e.local/debian:12",
                "command": ["python3", "light.py"],
                "iterations": {"warmup": 3, "measure": 200},
                "env": [{"name": "STEPS", "value": "1000000"}, {"name": "SPIN", "value": "50000"}],
                "podTemplate": {"securityContext": {"runAsUser": 1000}},
            }
        )
        return document

    def kill_at_random(self, chance, started, names):
        """How often each kind has died; ends when all deaths are done or all jobs over.

        A death is due when so many jobs are over: deaths meet jobs at work, from the first to the last ones, and a
        service that the kubelet restarts ever later does not die again before it was of use.
        """
        deaths = collections.Counter()
        kinds = [self.end_pod, self.end_rank, self.end_agent, self.end_network]
        kinds += [self.end_timing, self.end_controller, self.restart_kubelet]
        due = sorted(chance.uniform(0, 0.9 * len(names)) for _ in range(self.deadly))
        while due and time.monotonic() - started < self.longest():
            time.sleep(chance.uniform(0.5, 3))
            try:
                over, running = self.counts()
                if over == len(names):
                    break
                kind = chance.choice(kinds)
                if running and over >= due[0] and kind(chance):
                    deaths[kind.__name__] += 1
                    due.pop(0)
            except (Failure, OSError, subprocess.SubprocessError, StopIteration):
                continue  # It was gone before it could be killed.
        return deaths

    def longest(self):
        """Seconds in which all jobs are over, deaths and a busy machine included."""
        return 60 + 20 * self.tortured

    @staticmethod
    def counts():
        """How many jobs are over, how many run."""
        jobs = json.loads(kubectl("get", "--raw", jobs_path(SPACE), timeout=120))["items"]
        phases = [job.get("status", {}).get("phase") for job in jobs]
        return sum(phase in OVER for phase in phases), phases.count("Running")

    @staticmethod
    def running(component):
        """Names of the running pods of the jobs' namespace that have a label."""
        text = kubectl(
            "-n", SPACE, "get", "pods", "-l", component, "-o", "json", "--field-selector=status.phase=Running"
        )
        return [pod["metadata"]["name"] for pod in json.loads(text)["items"]]

    def some_server(self, chance):
        return (pods := self.running("batch.kubernetes.io/job-completion-index")) and chance.choice(pods)

    def end_pod(self, chance):
        pod = self.some_server(chance)
        return pod and kubectl("-n", SPACE, "delete", "pod", pod, "--grace-period=0", "--force", "--wait=false")

    def end_rank(self, chance):
        pod = self.some_server(chance)
        agent = pod and first_process(pod, SPACE, "server")
        ranks = [number for number, line in descendants(agent).items() if "light.py" in line] if agent else []
        if ranks:
            os.kill(max(ranks), signal.SIGKILL)
        return ranks

    def end_agent(self, chance):
        pod = self.some_server(chance)
        if pod:
            os.kill(first_process(pod, SPACE, "server"), signal.SIGKILL)
        return pod

    def end_network(self, _chance):
        pods = self.running("app.kubernetes.io/component=network")
        if pods:
            os.kill(first_process(pods[0], SPACE, "network"), signal.SIGKILL)
        return pods

    @staticmethod
    def end_timing(_chance):
        os.kill(first_process("eidolon-timing-0", NAMESPACE, "timing"), signal.SIGKILL)
        return True

    @staticmethod
    def end_controller(_chance):
        os.kill(first_process(leader_pod(), NAMESPACE, "controller"), signal.SIGKILL)
        return True

    @staticmethod
    def restart_kubelet(chance):
        call(CLUSTER / "restart_kubelet.sh", chance.choice((1, 2)), timeout=300)
        return True

    @staticmethod
    def all_ended(names):
        jobs = json.loads(kubectl("get", "--raw", jobs_path(SPACE), timeout=120))["items"]
        time.sleep(1)
        over = all(job.get("status", {}).get("phase") in OVER for job in jobs)
        return jobs if over and len(jobs) >= len(names) else None

    @staticmethod
    def check_ends(jobs, names):
        expect(sorted(job["metadata"]["name"] for job in jobs) == sorted(names), "jobs are lost or doubled")
        answers = collections.defaultdict(set)
        for job in jobs:
            status, name = job["status"], job["metadata"]["name"]
            ends = [entry for entry in status["conditions"] if entry["type"] in OVER and entry["status"] == "True"]
            expect(len(ends) == 1, f"{name} has ended {len(ends)} times: {status['conditions']}")
            if status["phase"] == "Complete":
                answers[job["spec"]["servers"]].add(tuple(status["prediction"]["iterationPicoseconds"]))
            else:
                expect(ends[0]["reason"] in NAMED and len(ends[0]["message"]) > 20, f"{name}: {ends[0]}")
        expect(sorted(answers) == [1, 2], f"jobs of {sorted(answers)} servers are complete")
        for servers, found in answers.items():
            expect(len(found) == 1, f"{len(found)} answers of jobs with {servers} servers")
            expect(len(next(iter(found))) == 200, "iterations are lost or doubled")

    @staticmethod
    def check_pods(names):
        """No job has two Indexed Jobs, and none runs on when it is over."""
        made = json.loads(kubectl("-n", SPACE, "get", "jobs.batch", "-o", "json"))["items"]
        owners = collections.Counter(job["metadata"]["labels"]["eidolon.dev/simulation-job"] for job in made)
        expect(set(owners) <= set(names) and set(owners.values()) <= {1}, f"twins: {owners}")
        words = [
            "-l",
            "batch.kubernetes.io/job-completion-index",
            "--field-selector=status.phase=Running",
            "-o",
            "name",
        ]
        wait("no server runs on", SETTLE_SECONDS, lambda: not kubectl("-n", SPACE, "get", "pods", *words))

    @staticmethod
    def placed_on():
        label = "batch.kubernetes.io/job-completion-index"
        return kubectl("-n", SPACE, "get", "pods", "-l", label, "-o", "jsonpath={.items[*].spec.nodeName}").split()
