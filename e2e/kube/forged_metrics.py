"""Step of e2e/kube/run about pods of tenants that expose metrics in the operator's name and in other tenants'."""

import json
import time

from cluster_commands import NAMESPACE, expect, kubectl, wait
from monitoring import INTERVAL_SECONDS

SAMPLES, NAMES = 200_000, 50
LABELS = {
    "app.kubernetes.io/name": "eidolon",
    "app.kubernetes.io/managed-by": "eidolon-controller",
    "eidolon.dev/simulation-job": "victim",
}
LIES = [
    'eidolon_controller_store_writable{namespace="%s"} 0' % NAMESPACE,
    'eidolon_controller_waiting_jobs{namespace="%s"} 7' % NAMESPACE,
    'eidolon_job_progress_ratio{namespace="blue",simulation_job="victim"} 0.001',
    'eidolon_predicted_iteration_seconds{namespace="blue",simulation_job="victim",statistic="mean"} 1e9',
    'eidolon_network_link_utilisation_ratio{namespace="blue",tier="spine"} 42',
    'eidolon_sweep_points{namespace="blue",simulation_sweep="victim",phase="failed"} 99',
]
# The metrics page of each pod of red: metrics of other namespaces, and floods of series.
PAGES = {
    "lies": LIES,
    "many": [f'eidolon_agent_many_{number % NAMES}{{number="{number}"}} 1' for number in range(3)],
    "long": ['eidolon_agent_long{text="%s"} 1' % ("x" * 100_000)],
}
SERVER = """
import http.server, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
page = open("/page/" + sys.argv[1]).read()
if sys.argv[1] == "many":
    page += "".join(f'eidolon_agent_many_{n %% %d}{{number="{n}"}} 1\\n' for n in range(%d))
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(page.encode())
http.server.ThreadingHTTPServer(("", 9464), Page).serve_forever()
""" % (NAMES, SAMPLES)


class ForgedMetrics:
    """Mixed into Run; needs what Tenants has, and a Prometheus."""

    def tenant_metrics(self):
        """A tenant's pods expose lies and floods under the labels of agents and of the controller: Prometheus keeps none."""
        prometheus = self.bring_prometheus()
        with self.two_tenants():
            since = time.time()
            for component in ("agent", "controller"):
                for name in PAGES:
                    self.expose(name, component)
            kubectl("-n", "red", "wait", "--for=condition=Ready", "pod", "--all", "--timeout=120s", timeout=150)
            # New pods are found by watching; then two scrapes of every target that will be scraped.
            wait("pods of red are scraped", 60, lambda: any("lies" in target[2] for target in prometheus.targets()))
            time.sleep(6 * INTERVAL_SECONDS)
            attacks = [self.attack_others_metrics, self.attack_alerts, self.attack_floods]
            achieved = [found for attack in attacks for found in self.play(attack, prometheus, since)]
        expect(not achieved, f"{len(achieved)} attacks succeeded:\n" + "\n".join(achieved))

    def expose(self, name, component):
        """A pod of red that serves a page of PAGES."""
        config = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "pages"},
            "data": {"server.py": SERVER, **{key: "\n".join(lines) + "\n" for key, lines in PAGES.items()}},
        }
        self.eve.does("apply", document=config)
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{component}", "labels": {**LABELS, "app.kubernetes.io/component": component}},
            "spec": {
                "containers": [
                    {
                        "name": "server",
                        "image": "e2e.local/debian:12",
                        "command": ["python3", "/page/server.py", name],
                        "ports": [{"name": "metrics", "containerPort": 9464}],
                        "readinessProbe": {"tcpSocket": {"port": 9464}, "periodSeconds": 1},
                        "volumeMounts": [{"name": "page", "mountPath": "/page"}],
                    }
                ],
                "volumes": [{"name": "page", "configMap": {"name": "pages"}}],
            },
        }
        self.eve.does("create", document=pod)

    @staticmethod
    def attack_others_metrics(prometheus, since):
        """Series with the namespace of another, or with names of the controller, that come from red's pods."""
        found = []
        forged = '{pod=~"(lies|many|long)-(agent|controller)",namespace!="red",__name__!~"up|scrape_.*"}'
        for labels, _ in prometheus.series_over(forged, since):
            found.append(f"red's pod writes {json.dumps(labels)}")
        names = "eidolon_(controller|job|predicted|sweep|timing)_.*"
        for labels, _ in prometheus.series_over(f'{{namespace="red",__name__=~"{names}"}}', since):
            found.append(f"red's pod writes the controller's {json.dumps(labels)}")
        return found

    @staticmethod
    def attack_alerts(prometheus, since):
        """Alerts of the operator by red's numbers."""
        alerts = prometheus.series_over('ALERTS{namespace=~"red|blue"} or ALERTS{pod=~"lies-.*"}', since)
        return [f"red makes an alert: {json.dumps(labels)}" for labels, _ in alerts]

    @staticmethod
    def attack_floods(prometheus, since):
        """More samples or longer labels than a pod of a job has."""
        found = []
        for labels, values in prometheus.series_over('count by (pod) ({namespace="red"})', since):
            most = max(value for _, value in values)
            if most > 100:
                found.append(f"{labels} brings {most:.0f} series")
        for labels, _ in prometheus.series_over("eidolon_agent_long", since):
            found.append(f"a label of {max(map(len, labels.values()))} characters is kept")
        return found
