"""Steps of e2e/kube/run about the network between pods: it is lost for seconds, and comes back or not in time."""

import re
import time

from cluster_commands import (
    NAMESPACE,
    TEAM,
    call,
    condition,
    expect,
    finished,
    first_process,
    kubectl,
    node_of,
    on_node,
)
from harder import PATIENCE_SECONDS

SHORT_SECONDS, LONG_SECONDS, LATEST_SECONDS = 3, 45, 150
NAMED = {"AgentLost", "ServiceLost", "RankLost", "CommandFailed", "Deadlock", "Stuck"}


class Losses:
    """Mixed into Run; needs what Harder has."""

    def network_loss(self):
        """Pods lose their network for seconds: the same answer, or an end with a reason; a cut for good ends in time."""
        self.apply_light("connected", spin=0)
        undisturbed = self.over_well("connected", attempt=1)["prediction"]["iterationPicoseconds"]
        self.leaves_nothing("connected")
        for name, find, seconds in [
            ("server", lambda job: (self.server_pod(job), TEAM, "server"), SHORT_SECONDS),
            ("simulator", lambda _job: (self.simulator_pod(), TEAM, "network"), SHORT_SECONDS),
            ("timing", lambda _job: ("eidolon-timing-0", NAMESPACE, "timing"), SHORT_SECONDS),
            ("server-for-long", lambda job: (self.server_pod(job), TEAM, "server"), LONG_SECONDS),
        ]:
            job = f"cut-{name}"
            self.start_training(job)
            found = find(job)
            self.resume(job)
            started = time.monotonic()
            self.cut(found, seconds)
            status = finished(job, PATIENCE_SECONDS)
            took = time.monotonic() - started
            kind = status["phase"]
            verdict = condition(job, kind)
            if kind == "Complete":
                expect(status["prediction"]["iterationPicoseconds"] == undisturbed, f"{name}: another answer")
            else:
                expect(kind == "Failed" and verdict[1] in NAMED and len(verdict[2]) > 20, f"{name}: {verdict}")
                expect(took < LATEST_SECONDS, f"{name}: {verdict} after {took:.0f} s only")
            print(
                f"     {name} cut off for {seconds} s: {kind} {verdict[1]} after {took:.1f} s: {verdict[2][:120]}",
                flush=True,
            )
            self.leaves_nothing(job)

    @staticmethod
    def simulator_pod():
        return kubectl(
            "-n",
            TEAM,
            "get",
            "pods",
            "-l",
            "app.kubernetes.io/component=network",
            "-o",
            "jsonpath={.items[0].metadata.name}",
        ).strip()

    @staticmethod
    def cut(place, seconds):
        """Takes the node's end of the pod's cable away for a while."""
        node = node_of(*place[:2])
        own = call("nsenter", "-t", first_process(*place), "-n", "ip", "-o", "link", "show", "eth0")
        number = re.search(r"eth0@if(\d+)", own)[1]
        cable = re.search(rf"^{number}: ([^@:]+)", on_node(node, "ip", "-o", "link"), re.M)[1]
        on_node(node, "ip", "link", "set", "dev", cable, "down")
        try:
            time.sleep(seconds)
        finally:
            # Whoever was cut off for long may have been given up, cable and all.
            on_node(node, "ip", "link", "set", "dev", cable, "up", check=False)
