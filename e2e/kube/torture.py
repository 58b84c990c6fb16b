"""Steps of e2e/kube/run in which many jobs run over two nodes while pods, processes, services and a kubelet die at random.

torture has one tenant; in hostile, which `e2e/torture --kubernetes` runs, another one plays the attacks of the step tenants
meanwhile. Both end by counting what is lost, doubled, hung, unnamed, different or left over.
"""

import collections
import json
import os
import random
import signal
import subprocess
import threading
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
    """Mixed into Run; needs what Harder, Nodes and Tenants have."""

    space = SPACE  # The namespace of the jobs.

    def torture(self):
        """Jobs over two nodes and random deaths: none is lost, doubled or hung, and all that complete say the same."""
        helm("upgrade", controller_maxRunningJobs=AT_ONCE)
        with self.second_node():
            make_namespace(SPACE)
            self.give_code(SPACE)
            kubectl("-n", SPACE, "apply", "-f", CLUSTER.parent / "jobs/cluster.yaml")
            findings = self.torment(random.Random(self.seed))
            kubectl("delete", "namespace", SPACE, "--timeout=240s", timeout=300)
            findings += self.left_over()
        helm("upgrade")
        self.report(findings)

    def hostile(self):
        """Jobs over two nodes, random deaths, and a tenant who attacks meanwhile: nothing is lost, no attack succeeds."""
        helm("upgrade", controller_maxRunningJobs=AT_ONCE)
        with self.second_node():
            with self.two_tenants():
                self.space = self.bob.namespace
                attacker = Attacker(self, random.Random(self.seed + 1))
                attacker.start()
                try:
                    findings = self.torment(random.Random(self.seed))
                finally:
                    attacker.stop()
                findings += attacker.findings()
            findings += self.left_over()
            self.space = SPACE
        helm("upgrade")
        self.report(findings)

    def torment(self, chance):
        """(what, sentence) of all that is wrong about the jobs in the end."""
        names = [f"job-{number}" for number in range(self.tortured)]
        items = [self.tortured_job(name, servers=1 + number % 2) for number, name in enumerate(names)]
        documents = {"apiVersion": "v1", "kind": "List", "items": items}
        kubectl("-n", self.space, "apply", "-f", "-", text_in=json.dumps(documents), timeout=300)
        started = time.monotonic()
        deaths = self.kill_at_random(chance, started, names)
        while not (jobs := self.all_ended(names)) and time.monotonic() - started < self.longest():
            pass
        seconds = time.monotonic() - started
        jobs = self.jobs_of(names)
        findings = [*self.wrong_ends(jobs, names), *self.wrong_pods(names)]
        done = sum(deaths.values())
        if done != self.deadly:
            findings.append(("untried", f"all jobs were over after {done} of {self.deadly} deaths: {dict(deaths)}"))
        phases = collections.Counter(job.get("status", {}).get("phase") for job in jobs)
        nodes = collections.Counter(self.placed_on())
        attempts = collections.Counter(job.get("status", {}).get("attempt") for job in jobs)
        print(
            f"     seed {self.seed}: {len(jobs)} jobs in {seconds:.0f} s on {dict(nodes)}, {dict(phases)}, attempts"
            f" {dict(attempts)}; deaths {dict(deaths)}",
            flush=True,
        )
        return findings

    @staticmethod
    def left_over():
        left = [line for line in descendants(1).values() if "light.py" in line]
        return [("left over", line) for line in left]

    @staticmethod
    def report(findings):
        counts = collections.Counter(what for what, _ in findings)
        words = ("lost", "doubled", "hung", "unnamed", "different", "left over", "attack", "untried")
        print("     " + ", ".join(f"{what} {counts[what]}" for what in words), flush=True)
        expect(not findings, "\n".join(f"{what}: {sentence}" for what, sentence in findings))

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
                over, running = self.counts(names)
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

    def jobs_of(self, names):
        """The jobs of these names; others of the namespace are an attacker's."""
        jobs = json.loads(kubectl("get", "--raw", jobs_path(self.space), timeout=120))["items"]
        return [job for job in jobs if job["metadata"]["name"] in set(names)]

    def counts(self, names):
        """How many jobs are over, how many run."""
        phases = [job.get("status", {}).get("phase") for job in self.jobs_of(names)]
        return sum(phase in OVER for phase in phases), phases.count("Running")

    def running(self, component):
        """Names of the running pods of the jobs' namespace that have a label."""
        text = kubectl(
            "-n", self.space, "get", "pods", "-l", component, "-o", "json", "--field-selector=status.phase=Running"
        )
        return [pod["metadata"]["name"] for pod in json.loads(text)["items"]]

    def some_server(self, chance):
        return (pods := self.running("batch.kubernetes.io/job-completion-index")) and chance.choice(pods)

    def end_pod(self, chance):
        pod = self.some_server(chance)
        return pod and kubectl("-n", self.space, "delete", "pod", pod, "--grace-period=0", "--force", "--wait=false")

    def end_rank(self, chance):
        pod = self.some_server(chance)
        agent = pod and first_process(pod, self.space, "server")
        ranks = [number for number, line in descendants(agent).items() if "light.py" in line] if agent else []
        if ranks:
            os.kill(max(ranks), signal.SIGKILL)
        return ranks

    def end_agent(self, chance):
        pod = self.some_server(chance)
        if pod:
            os.kill(first_process(pod, self.space, "server"), signal.SIGKILL)
        return pod

    def end_network(self, _chance):
        pods = self.running("app.kubernetes.io/component=network")
        if pods:
            os.kill(first_process(pods[0], self.space, "network"), signal.SIGKILL)
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

    def all_ended(self, names):
        jobs = self.jobs_of(names)
        time.sleep(1)
        over = all(job.get("status", {}).get("phase") in OVER for job in jobs)
        return jobs if over and len(jobs) >= len(names) else None

    @staticmethod
    def wrong_ends(jobs, names):
        """Jobs that are lost, hang, have ended twice or for no reason that has a name, or say another thing than others."""
        seen = collections.Counter(job["metadata"]["name"] for job in jobs)
        yield from (("lost", name) for name in names if name not in seen)
        yield from (("doubled", name) for name, count in seen.items() if count > 1)
        answers = collections.defaultdict(set)
        for job in jobs:
            status, name = job.get("status", {}), job["metadata"]["name"]
            if status.get("phase") not in OVER:
                yield "hung", f"{name}: {json.dumps(status)[:500]}"
                continue
            ends = [entry for entry in status["conditions"] if entry["type"] in OVER and entry["status"] == "True"]
            if len(ends) != 1:
                yield "doubled", f"{name} has ended {len(ends)} times: {status['conditions']}"
            elif status["phase"] == "Complete":
                answers[job["spec"]["servers"]].add(tuple(status["prediction"]["iterationPicoseconds"]))
            elif ends[0]["reason"] not in NAMED or len(ends[0]["message"]) <= 20:
                yield "unnamed", f"{name}: {ends[0]}"
        if sorted(answers) != [1, 2]:
            yield "lost", f"jobs of {sorted(answers)} servers are complete"
        for servers, found in answers.items():
            if len(found) != 1 or len(next(iter(found))) != 200:
                yield (
                    "different",
                    f"{len(found)} answers of jobs with {servers} servers, of {set(map(len, found))} iterations",
                )

    def wrong_pods(self, names):
        """Jobs that have two Indexed Jobs, and pods that run on when their job is over."""
        made = json.loads(kubectl("-n", self.space, "get", "jobs.batch", "-o", "json"))["items"]
        owners = collections.Counter(job["metadata"]["labels"].get("eidolon.dev/simulation-job") for job in made)
        for name in names:
            if owners[name] > 1:
                yield "doubled", f"{owners[name]} Indexed Jobs of {name}"
        chosen = f"batch.kubernetes.io/job-completion-index,eidolon.dev/simulation-job in ({','.join(names)})"
        words = ["-l", chosen, "--field-selector=status.phase=Running", "-o", "name"]
        try:
            wait(
                "no server runs on",
                SETTLE_SECONDS,
                lambda: not kubectl("-n", self.space, "get", "pods", *words).strip(),
            )
        except Failure:
            yield "left over", kubectl("-n", self.space, "get", "pods", *words)

    def placed_on(self):
        label = "batch.kubernetes.io/job-completion-index"
        return kubectl("-n", self.space, "get", "pods", "-l", label, "-o", "jsonpath={.items[*].spec.nodeName}").split()


class Attacker(threading.Thread):
    """Plays the attacks of the step tenants in random order until it is stopped; each at least once."""

    def __init__(self, run, chance):
        super().__init__(daemon=True)
        self.run_of, self.chance = run, chance
        self.attacks = run.attacks()
        self.done, self.achieved = collections.Counter(), []
        self.ended = threading.Event()

    def run(self):
        while not self.ended.is_set():
            self.play(self.chance.choice(self.attacks))

    def play(self, attack):
        try:
            self.achieved += [(attack.__name__, sentence) for sentence in attack()]
            self.done[attack.__name__] += 1
        except Exception as error:  # noqa: BLE001
            print(f"     {attack.__name__} did not get to its end: {str(error)[:200]}", flush=True)
        finally:
            self.run_of.remove_traces()

    def stop(self):
        self.ended.set()
        self.join()

    def findings(self):
        """(what, sentence) of attacks that succeeded; those that nobody got to play are played now, in quiet."""
        for attack in self.attacks:
            if not self.done[attack.__name__]:
                self.play(attack)
        print(f"     attacks {dict(self.done)}", flush=True)
        untried = [("untried", attack.__name__) for attack in self.attacks if not self.done[attack.__name__]]
        return [("attack", f"{name}: {sentence}") for name, sentence in self.achieved] + untried
