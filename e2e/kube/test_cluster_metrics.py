"""A real Prometheus over the cluster: numbers for every panel and rule."""

import json
import math
import time

import pytest

from cluster_commands import NAMESPACE, PATIENCE_SECONDS, TEAM, apply, condition, get, objects, team, wait
from monitoring import INTERVAL_SECONDS
from simulation_jobs import complete, document, light, sweep, with_cluster

# Panels of what has gone wrong, which is nothing here: the page's tests of dashboards show them with data.
OF_FAILURES = ("What failed, and where",)


@pytest.fixture(scope="module")
def watched(prometheus):
    """(when it began, targets of Prometheus meanwhile) of a job that is over, beside a sweep that is held."""
    server = {"preset": "dgx-h100", "gpusPerServer": 2}
    held = with_cluster(light("watched-widths"), servers=2, server=server)
    apply(sweep("watched-widths", held, {"cluster.server.nics.gbps": [200, 400]}, suspend=True))
    # The parameters of jobs/train.py give it a model FLOPs utilization.
    iterations = {"warmup": 3, "measure": 900, "tokens": 256, "parameters": 8_393_728}
    apply(document("watched", iterations=iterations, env=[{"name": "STEPS", "value": "1000"}]))
    wait("the job runs", lambda: condition("watched", "Running")[0] == "True", PATIENCE_SECONDS)
    since = time.time()
    targets = []
    while get("simjob", "watched")["status"].get("phase") == "Running":
        targets = max(targets, prometheus.targets(), key=lambda found: sum(target[3] == "up" for target in found))
        time.sleep(2)
    complete("watched")
    apply(light("watched-light", iterations={"warmup": 3, "measure": 50}))  # It has no tokens.
    complete("watched-light")
    time.sleep(2 * INTERVAL_SECONDS)
    yield since, targets
    team(
        "delete",
        "simjob/watched",
        "simjob/watched-light",
        "simsweep/watched-widths",
        "--ignore-not-found",
        "--timeout=60s",
    )


@pytest.mark.starts(6)
def test_panels_targets(watched):
    """A real Prometheus scrapes what the chart's monitors name while a job runs."""
    _, targets = watched
    up = sorted(target[1] for target in targets if target[3] == "up")
    assert up == ["agent", "agent", "controller", "controller", "network", "timing"], f"targets: {targets}"


def test_panels(prometheus, watched):
    """Every panel of every dashboard has numbers of the job."""
    boards = objects("configmap", "-l", "grafana_dashboard=1", namespace=NAMESPACE)
    queries = [
        (f"{name}: {panel['title']}", target["expr"])
        for board in boards
        for name, text in board["data"].items()
        for panel in json.loads(text)["panels"]
        for target in panel["targets"]
    ]
    assert queries
    missing = [problem for what, query in queries if (problem := problem_of(prometheus, what, query, watched[0]))]
    assert not missing, "\n".join(missing)
    print(f"{len(queries)} queries of {len(boards)} dashboards")


def problem_of(prometheus, what, text, since):
    """Returns why the panel `what` has no numbers of the job; None: it has."""
    text = text.replace("$__rate_interval", f"{4 * INTERVAL_SECONDS}s")  # As Grafana has it.
    text = text.replace("$namespace", TEAM).replace("$simulation_job", "watched").replace("$jobs", "watch.*")
    assert "$" not in text, f"{what}: a variable is left"
    series = prometheus.series_over(text, since)
    if not series:
        return None if what.endswith(OF_FAILURES) else f"{what}: no answer to {text}"
    wrong = [(labels, values) for labels, values in series if not any(math.isfinite(value) for _, value in values)]
    return f"{what}: {wrong[0][0]} {wrong[0][1][-3:]}" if wrong else None


def test_panels_rules(prometheus, watched):
    """Each rule is judged without an error, of metrics that are there, and does not fire in a cluster that is well."""
    rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
    for rule in rules:
        assert rule["health"] == "ok" and rule.get("state") != "firing", json.dumps(rule)
        for metric in prometheus.selectors(rule["query"]):
            assert prometheus.ask("query", query=metric)["result"], f"{rule['name']}: nobody has {metric}"
    assert rules
    print(f"{len(rules)} rules")
