"""Pods of a tenant expose metrics in the operator's name and in other tenants'; Prometheus keeps none of them."""

import json
import time

import pytest
import yaml

from cluster_commands import HERE, kubectl, wait
from monitoring import INTERVAL_SECONDS

FORGED = yaml.safe_load((HERE / "jobs/forged_metrics.yaml").read_text())


@pytest.fixture(scope="module")
def forged(tenants):
    """The time since when red's pods expose lies and floods under the labels of agents and of the controller."""
    since = time.time()
    pages = [f"--from-literal={name}={text}" for name, text in FORGED["pages"].items()]
    server = f"--from-file={HERE / 'jobs/metrics_server.py'}"
    tenants.eve.does("create", "configmap", "pages", server, *pages)
    for component in FORGED["components"]:
        for page in FORGED["pages"]:
            pod = json.dumps(FORGED["pod"]).replace("{page}", page).replace("{component}", component)
            tenants.eve.does("create", document=json.loads(pod))
    ready = ("wait", "--for=condition=Ready", "pod", "--all", "--timeout=120s")
    kubectl("-n", "red", *ready, timeout=150)
    return since


@pytest.fixture(scope="module")
def scraped(prometheus, forged):
    """The same, once new pods were found, and every target that will be scraped was, twice."""
    wait("pods of red are scraped", lambda: any("lies" in target[2] for target in prometheus.targets()), 60)
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
