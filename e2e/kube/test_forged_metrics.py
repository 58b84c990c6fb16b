"""Pods of a tenant expose metrics in the operator's name and in other tenants'; Prometheus keeps none of them."""

import json
import time

import pytest

from cluster_commands import NAMESPACE, kubectl, wait
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


def pages():
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "pages"},
        "data": {"server.py": SERVER, **{name: "\n".join(lines) + "\n" for name, lines in PAGES.items()}},
    }


def pod(page, component):
    """A pod that serves a page of PAGES under the labels of a component."""
    container = {
        "name": "server",
        "image": "e2e.local/debian:12",
        "command": ["python3", "/page/server.py", page],
        "ports": [{"name": "metrics", "containerPort": 9464}],
        "readinessProbe": {"tcpSocket": {"port": 9464}, "periodSeconds": 1},
        "volumeMounts": [{"name": "page", "mountPath": "/page"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{page}-{component}", "labels": {**LABELS, "app.kubernetes.io/component": component}},
        "spec": {"containers": [container], "volumes": [{"name": "page", "configMap": {"name": "pages"}}]},
    }


@pytest.fixture(scope="module")
def forged(tenants):
    """The time since when red's pods expose lies and floods under the labels of agents and of the controller."""
    since = time.time()
    tenants.eve.does("create", document=pages())
    for component in ("agent", "controller"):
        for page in PAGES:
            tenants.eve.does("create", document=pod(page, component))
    ready = ("wait", "--for=condition=Ready", "pod", "--all", "--timeout=120s")
    kubectl("-n", "red", *ready, timeout=150)
    return since


@pytest.fixture(scope="module")
def scraped(prometheus, forged):
    """The same, once new pods were found, and every target that will be scraped was, twice."""
    wait("pods of red are scraped", 60, lambda: any("lies" in target[2] for target in prometheus.targets()))
    time.sleep(6 * INTERVAL_SECONDS)
    return forged


def series_of(prometheus, query, since):
    return [json.dumps(labels) for labels, _ in prometheus.series_over(query, since)]


def test_tenant_metrics_of_others(prometheus, scraped):
    """No series with the namespace of another, or with names of the controller, comes from red's pods."""
    forged = '{pod=~"(lies|many|long)-(agent|controller)",namespace!="red",__name__!~"up|scrape_.*"}'
    assert series_of(prometheus, forged, scraped) == []
    names = "eidolon_(controller|job|predicted|sweep|timing)_.*"
    assert series_of(prometheus, f'{{namespace="red",__name__=~"{names}"}}', scraped) == []


def test_tenant_metrics_alerts(prometheus, scraped):
    """The operator has no alert by red's numbers."""
    alerts = 'ALERTS{namespace=~"red|blue"} or ALERTS{pod=~"lies-.*"}'
    assert series_of(prometheus, alerts, scraped) == []


def test_tenant_metrics_floods(prometheus, scraped):
    """Prometheus keeps no more samples and no longer labels of red's pods than a pod of a job has."""
    counts = prometheus.series_over('count by (pod) ({namespace="red"})', scraped)
    assert all(value <= 100 for _, values in counts for _, value in values), counts
    assert series_of(prometheus, "eidolon_agent_long", scraped) == []
