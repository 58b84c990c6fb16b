"""A real Prometheus in the test's cluster, told what to scrape by the chart's PodMonitors and what to judge by its rules.

The Prometheus operator is not built for this: it would cost as much as Prometheus itself. `scrape_configuration` does for
the fields that the chart uses what the operator does with them (prometheus-operator: pkg/prometheus/promcfg.go), and
refuses a PodMonitor that has any other. The API server knows the monitors by the definitions of jobs/monitors.yaml.
"""

import json
import re
import time
import urllib.parse

import yaml

from cluster_commands import HERE, in_cluster, kubectl, wait
from mkimage import write_image

NAMESPACE = "monitoring"
GROUP = "monitoring.coreos.com"
IMAGE = "e2e.local/prometheus:3"
PLURALS = ("podmonitors", "prometheusrules")
# Limits of a scrape; with the same meaning in Prometheus.
LIMITS = ("sampleLimit", "labelLimit", "labelNameLengthLimit", "labelValueLengthLimit", "bodySizeLimit")
META = "__meta_kubernetes_"
INTERVAL_SECONDS = 2  # Of the chart's PodMonitors here; 15 by default.


def label(name):
    """A Kubernetes label as Prometheus names it."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", name)


def only(fields, known, what):
    assert set(fields) <= set(known), f"{what}: the test knows nothing of {set(fields) - set(known)}"


def keep(regex, *sources):
    return {"source_labels": [f"{META}{source}" for source in sources], "regex": regex, "action": "keep"}


def copied(source, target, **more):
    return {"source_labels": [f"{META}{source}"], "target_label": target, **more}


def selection(selector, name):
    """Rules that keep the pods of a label selector."""
    only(selector, ("matchLabels", "matchExpressions"), name)
    wanted = [(key, [value]) for key, value in sorted(selector["matchLabels"].items())]
    for expression in selector.get("matchExpressions", []):
        assert expression["operator"] == "In", f"{name}: {expression}"
        wanted.append((expression["key"], expression["values"]))
    return [
        keep(f"({'|'.join(map(re.escape, values))});true", f"pod_label_{label(key)}", f"pod_labelpresent_{label(key)}")
        for key, values in wanted
    ]


def snake(fields):
    """Fields of a monitor as Prometheus' configuration names them."""
    return {re.sub(r"[A-Z]", lambda capital: f"_{capital[0].lower()}", name): value for name, value in fields.items()}


def scrape_configuration(monitor):
    """Jobs of Prometheus that a PodMonitor stands for."""
    metadata, spec = monitor["metadata"], monitor["spec"]
    name = f"{metadata['namespace']}/{metadata['name']}"
    only(spec, ("namespaceSelector", "selector", "podTargetLabels", "podMetricsEndpoints", *LIMITS), name)
    everywhere = spec.get("namespaceSelector", {})
    assert everywhere in ({}, {"any": True}), f"{name}: namespaces {everywhere}"
    return [job_of(metadata, spec, number, not everywhere) for number in range(len(spec["podMetricsEndpoints"]))]


def job_of(metadata, spec, number, is_narrow):
    """The job of Prometheus for one endpoint of a PodMonitor; a narrow one sees the monitor's namespace alone."""
    name, endpoint = f"{metadata['namespace']}/{metadata['name']}", spec["podMetricsEndpoints"][number]
    only(endpoint, ("port", "interval", "honorLabels", "metricRelabelings"), name)
    rules = [
        {**keep("(Failed|Succeeded)", "pod_phase"), "action": "drop"},
        *selection(spec["selector"], name),
        keep(endpoint["port"], "pod_container_port_name"),
        copied("namespace", "namespace"),
        copied("pod_container_name", "container"),
        copied("pod_name", "pod"),
    ]
    for key in spec.get("podTargetLabels", []):
        rules.append(copied(f"pod_label_{label(key)}", label(key), regex="(.+)", replacement="$1"))
    rules.append({"target_label": "job", "replacement": name})
    rules.append({"target_label": "endpoint", "replacement": endpoint["port"]})
    namespaces = {"namespaces": {"names": [metadata["namespace"]]}} if is_narrow else {}
    return {
        "job_name": f"podMonitor/{name}/{number}",
        "scrape_interval": endpoint["interval"],
        "scrape_timeout": endpoint["interval"],
        "honor_labels": endpoint.get("honorLabels", False),
        "kubernetes_sd_configs": [{"role": "pod", **namespaces}],
        "relabel_configs": rules,
        "metric_relabel_configs": [snake(rule) for rule in endpoint.get("metricRelabelings", [])],
        **snake({limit: spec[limit] for limit in LIMITS if limit in spec}),
    }


def installed(plural):
    """Objects of a kind of the operator, as the API server has them."""
    return json.loads(kubectl("get", f"{plural}.{GROUP}", "-A", "-o", "json"))["items"]


def make_image(cache, out):
    """Prometheus and nothing else."""
    program, archive = cache / "bin/prometheus", out / "prometheus.tar"
    if not archive.exists() or archive.stat().st_mtime < program.stat().st_mtime:
        write_image(archive, IMAGE, files=[(program, "/prometheus")], user="65534:65534", plain=True)
    return archive


class Prometheus:
    """Runs as a pod of a restricted namespace, with the right to list pods."""

    @staticmethod
    def define():
        """Before the chart is installed: it makes monitors only where they are known."""
        kubectl("apply", "-f", HERE / "jobs/monitors.yaml")
        kubectl("wait", "--for=condition=Established", "-f", HERE / "jobs/monitors.yaml", "--timeout=30s")
        served = lambda: kubectl("get", "--raw", f"/apis/{GROUP}/v1", check=False)
        wait("monitors are served", lambda: all(plural in served() for plural in PLURALS), 30)

    @staticmethod
    def start():
        jobs = [job for monitor in installed("podmonitors") for job in scrape_configuration(monitor)]
        groups = [group for rule in installed("prometheusrules") for group in rule["spec"]["groups"]]
        assert len(jobs) == 2 and groups, f"{len(jobs)} jobs, {len(groups)} groups of rules"
        configuration = {
            "global": {"evaluation_interval": "2s"},
            "rule_files": ["/etc/prometheus/rules.yml"],
            "scrape_configs": jobs,
        }
        files = {"prometheus.yml": yaml.safe_dump(configuration), "rules.yml": yaml.safe_dump({"groups": groups})}
        metadata = {"name": "prometheus", "namespace": NAMESPACE}
        documents = [
            *yaml.safe_load_all((HERE / "jobs/prometheus.yaml").read_text()),
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": files},
        ]
        kubectl("apply", "-f", "-", text_in=yaml.safe_dump_all(documents))
        kubectl("-n", NAMESPACE, "wait", "--for=condition=Ready", "pod/prometheus", "--timeout=90s", timeout=120)

    @staticmethod
    def stop():
        kubectl("delete", "-f", HERE / "jobs/prometheus.yaml", "--ignore-not-found", "--timeout=60s")
        kubectl("delete", "-f", HERE / "jobs/monitors.yaml", "--ignore-not-found")

    def __init__(self):
        self.address = kubectl("-n", NAMESPACE, "get", "pod", "prometheus", "-o", "jsonpath={.status.podIP}").strip()

    def ask(self, path, **parameters):
        """`data` of an answer of Prometheus' HTTP interface."""
        query = urllib.parse.urlencode(parameters)
        text = in_cluster("curl", "-sS", "-m", "30", f"http://{self.address}:9090/api/v1/{path}?{query}")
        answer = json.loads(text)
        assert answer["status"] == "success", f"{path} {parameters}: {text[:1000]}"
        return answer["data"]

    def targets(self):
        """(job of Prometheus, component, pod, health, error) of what is scraped now."""
        found = [(target, target["labels"]) for target in self.ask("targets", state="active")["activeTargets"]]
        component = "app_kubernetes_io_component"
        return [
            (labels["job"], labels.get(component, ""), labels["pod"], target["health"], target["lastError"])
            for target, labels in found
        ]

    def series_over(self, query, since):
        """Series of a query, each with its values, at every scrape from a time of this machine's clock until now."""
        found = self.ask("query_range", query=query, start=since, end=time.time(), step=INTERVAL_SECONDS)
        return [
            (series["metric"], [(at, float(value)) for at, value in series["values"]]) for series in found["result"]
        ]

    def selectors(self, query):
        """Metrics that a query reads, each as a query of its own; from Prometheus' own reading of it."""
        found, nodes = [], [self.ask("parse_query", query=query)]
        while nodes:
            node = nodes.pop()
            if isinstance(node, dict):
                found += [node["name"]] if node.get("type") in ("vectorSelector", "matrixSelector") else []
                node = node.values()
            nodes += [one for one in node if isinstance(one, (dict, list))]
        assert found, f"{query} reads no metric"
        return found
