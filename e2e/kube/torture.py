"""Many jobs over two nodes while pods, processes, services and a kubelet die at random; another tenant may attack meanwhile.

What is lost, doubled, hung, unnamed, different or left over in the end is a finding: (what, sentence).
"""

import collections
import json
import os
import signal
import subprocess
import threading
import time

from attacks import ATTACKS
import cluster_commands as kube
import simulation_jobs as sim

WHAT = ("lost", "doubled", "hung", "unnamed", "different", "left over", "attack", "untried")
# Reasons with which a job may end when something of its own has died, or its controller in each of its attempts.
NAMED = {"AgentLost", "RankLost", "CommandFailed", "BackoffLimitExceeded", "ControllerRestarted"}
ITERATIONS = 200


class Torture:
    """Jobs of one namespace, and so many deaths among them; `chance` draws which."""

    def __init__(self, space, count, deaths, chance):
        self.space, self.deaths, self.chance = space, deaths, chance
        self.names = [f"job-{number}" for number in range(count)]

    def torment(self):
        """Findings about the jobs in the end."""
        items = [self.job(name, servers=1 + number % 2) for number, name in enumerate(self.names)]
        kube.apply(kube.listing(*items), self.space)
        self.started = time.monotonic()
        deaths = self.kill_at_random()
        while not self.all_ended() and not self.is_too_late():
            time.sleep(1)
        seconds = time.monotonic() - self.started
        jobs = self.jobs()
        findings = [*self.wrong_ends(jobs), *self.wrong_pods()]
        done = sum(deaths.values())
        if done != self.deaths:
            findings.append(("untried", f"all jobs were over after {done} of {self.deaths} deaths: {dict(deaths)}"))
        phases = collections.Counter(job.get("status", {}).get("phase") for job in jobs)
        pods = kube.objects("pods", "-l", sim.INDEX, namespace=self.space)
        nodes = collections.Counter(pod["spec"].get("nodeName") for pod in pods)
        attempts = collections.Counter(job.get("status", {}).get("attempt") for job in jobs)
        print(
            f"{len(jobs)} jobs in {seconds:.0f} s on {dict(nodes)}, {dict(phases)}, attempts {dict(attempts)};"
            f" deaths {dict(deaths)}"
        )
        return findings

    @staticmethod
    def job(name, servers):
        """Two ranks, on one server or on two."""
        size = {"servers": servers, "ranksPerServer": 2 // servers}
        return sim.light(name, spin=50_000, iterations={"warmup": 3, "measure": ITERATIONS}, **size)

    def kill_at_random(self):
        """How often each kind has died; ends when all deaths are done or all jobs over.

        A death is due when so many jobs are over: deaths meet jobs at work, from the first to the last ones, and a
        service that the kubelet restarts ever later does not die again before it was of use.
        """
        deaths = collections.Counter()
        kinds = [self.end_pod, self.end_rank, self.end_agent, self.end_network]
        kinds += [self.end_timing, self.end_controller, self.restart_kubelet]
        due = sorted(self.chance.uniform(0, 0.9 * len(self.names)) for _ in range(self.deaths))
        while due and not self.is_too_late():
            time.sleep(self.chance.uniform(0.5, 3))
            try:
                phases = self.phases()
                over = sum(phase in sim.OVER for phase in phases)
                if over == len(self.names):
                    break
                kind = self.chance.choice(kinds)
                if "Running" in phases and over >= due[0] and kind():
                    deaths[kind.__name__] += 1
                    due.pop(0)
            except (kube.Failure, OSError, subprocess.SubprocessError, StopIteration, AssertionError):
                continue  # It was gone before it could be killed.
        return deaths

    def is_too_late(self):
        """Returns whether all jobs should be over, deaths and a busy machine included."""
        return time.monotonic() - self.started > 60 + 20 * len(self.names)

    def jobs(self):
        """The jobs of these names; others of the namespace are an attacker's."""
        return [job for job in sim.jobs_of(self.space) if job["metadata"]["name"] in set(self.names)]

    def phases(self):
        return [job.get("status", {}).get("phase") for job in self.jobs()]

    def all_ended(self):
        phases = self.phases()
        return len(phases) >= len(self.names) and all(phase in sim.OVER for phase in phases)

    # --- deaths: each is true when something died ----------------------------------------
    def running(self, label):
        """Names of the running pods of the jobs' namespace that have a label."""
        running = kube.objects("pods", "-l", label, "--field-selector=status.phase=Running", namespace=self.space)
        return [pod["metadata"]["name"] for pod in running]

    def some_server(self):
        return (pods := self.running(sim.INDEX)) and self.chance.choice(pods)

    def end_pod(self):
        if pod := self.some_server():
            sim.remove_pod(pod, self.space, "--wait=false")
        return pod

    def end_rank(self):
        pod = self.some_server()
        ranks = sim.light_processes(kube.first_process(pod, self.space, "server")) if pod else []
        if ranks:
            os.kill(max(ranks), signal.SIGKILL)
        return ranks

    def end_agent(self):
        if pod := self.some_server():
            sim.kill(pod, self.space, "server")
        return pod

    def end_network(self):
        if pods := self.running("app.kubernetes.io/component=network"):
            sim.kill(pods[0], self.space, "network")
        return pods

    @staticmethod
    def end_timing():
        sim.kill("eidolon-timing-0", kube.NAMESPACE, "timing")
        return True

    @staticmethod
    def end_controller():
        sim.kill(kube.leader_pod(), kube.NAMESPACE, "controller")
        return True

    def restart_kubelet(self):
        kube.call(kube.CLUSTER / "restart_kubelet.sh", self.chance.choice((1, 2)))
        return True

    # --- findings ------------------------------------------------------------------------
    def wrong_ends(self, jobs):
        """Jobs that are lost, hang, have ended twice or for no reason that has a name, or say another thing than others."""
        seen = collections.Counter(job["metadata"]["name"] for job in jobs)
        yield from (("lost", name) for name in self.names if name not in seen)
        yield from (("doubled", name) for name, count in seen.items() if count > 1)
        answers = collections.defaultdict(set)
        for job in jobs:
            status, name = job.get("status", {}), job["metadata"]["name"]
            if status.get("phase") not in sim.OVER:
                yield "hung", f"{name}: {json.dumps(status)[:500]}"
                continue
            ends = [entry for entry in status["conditions"] if entry["type"] in sim.OVER and entry["status"] == "True"]
            if len(ends) != 1:
                yield "doubled", f"{name} has ended {len(ends)} times: {status['conditions']}"
            elif status["phase"] == "Complete":
                answers[job["spec"]["servers"]].add(tuple(status["prediction"]["iterationPicoseconds"]))
            elif ends[0]["reason"] not in NAMED or len(ends[0]["message"]) <= 20:
                yield "unnamed", f"{name}: {ends[0]}"
        if sorted(answers) != [1, 2]:
            yield "lost", f"jobs of {sorted(answers)} servers are complete"
        for servers, found in answers.items():
            if len(found) != 1 or len(next(iter(found))) != ITERATIONS:
                lengths = set(map(len, found))
                yield "different", f"{len(found)} answers of jobs with {servers} servers, of {lengths} iterations"

    def wrong_pods(self):
        """Jobs that have two Indexed Jobs, and pods that run on when their job is over."""
        made = kube.objects("jobs.batch", namespace=self.space)
        owners = collections.Counter(job["metadata"]["labels"].get("eidolon.dev/simulation-job") for job in made)
        for name in self.names:
            if owners[name] > 1:
                yield "doubled", f"{owners[name]} Indexed Jobs of {name}"
        chosen = f"{sim.INDEX},eidolon.dev/simulation-job in ({','.join(self.names)})"

        def left():
            return kube.names("pods", "-l", chosen, "--field-selector=status.phase=Running", namespace=self.space)

        try:
            kube.wait("no server runs on", lambda: not left())
        except kube.Failure:
            yield "left over", ", ".join(left())


def left_over():
    return [("left over", line) for line in sim.light_processes(1).values()]


class Attacker(threading.Thread):
    """Plays the attacks of tenants in random order until it is stopped; each at least once."""

    def __init__(self, tenants, chance):
        super().__init__(daemon=True)
        self.tenants, self.chance = tenants, chance
        self.done, self.achieved = collections.Counter(), []
        self.ended = threading.Event()

    def run(self):
        while not self.ended.is_set():
            self.play(self.chance.choice(ATTACKS))

    def play(self, attack):
        try:
            self.achieved += [(attack.__name__, sentence) for sentence in attack(self.tenants)]
            self.done[attack.__name__] += 1
        except Exception as error:  # noqa: BLE001
            print(f"{attack.__name__} did not get to its end: {str(error)[:200]}")
        finally:
            self.tenants.remove_traces()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()

    def findings(self):
        """Attacks that succeeded; those that nobody got to play are played now, in quiet."""
        for attack in ATTACKS:
            if not self.done[attack.__name__]:
                self.play(attack)
        print(f"attacks {dict(self.done)}")
        untried = [("untried", attack.__name__) for attack in ATTACKS if not self.done[attack.__name__]]
        return [("attack", f"{name}: {sentence}") for name, sentence in self.achieved] + untried
