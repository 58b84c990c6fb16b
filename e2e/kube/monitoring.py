"""A real Prometheus in the test's cluster, told what to scrape by the chart's PodMonitors and what to judge by its rules.

The Prometheus operator is not built for this: it would cost as much as Prometheus itself. `scrape_configuration` does for
the fields that the chart uses what the operator does with them (prometheus-operator: pkg/prometheus/promcfg.go), and
refuses a PodMonitor that has any other. The API server knows the monitors by the definitions below.
"""

import json
import re
import time
import urllib.parse

import yaml

from cluster_commands import CLUSTER, HERE, call, kube, kubectl, wait

NAMESPACE = "monitoring"
GROUP = "monitoring.coreos.com"
IMAGE = "e2e.local/prometheus:3"
KINDS = {"PodMonitor": "podmonitors", "PrometheusRule": "prometheusrules"}
# Of a scrape; with the same meaning in Prometheus.
LIMITS = ("sampleLimit", "labelLimit", "labelNameLengthLimit", "labelValueLengthLimit", "bodySizeLimit")
META = "__meta_kubernetes_"
INTERVAL_SECONDS = 2  # Of the chart's PodMonitors here; 15 by default.


def definition(kind):
    """The operator's kind, its schema left open."""
    plural = KINDS[kind]
    open_spec = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": open_spec}}}
    spec = {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }
    metadata = {"name": f"{plural}.{GROUP}"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


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
    jobs = []
    for number, endpoint in enumerate(spec["podMetricsEndpoints"]):
        only(endpoint, ("port", "interval", "honorLabels", "metricRelabelings"), name)
        rules = [{**keep("(Failed|Succeeded)", "pod_phase"), "action": "drop"}]
        rules += selection(spec["selector"], name)
        rules.append(keep(endpoint["port"], "pod_container_port_name"))
        rules += [
            copied("namespace", "namespace"),
            copied("pod_container_name", "container"),
            copied("pod_name", "pod"),
        ]
        for key in spec.get("podTargetLabels", []):
            rules.append(copied(f"pod_label_{label(key)}", label(key), regex="(.+)", replacement="$1"))
        rules += [
            {"target_label": "job", "replacement": name},
            {"target_label": "endpoint", "replacement": endpoint["port"]},
        ]
        discovery = {"role": "pod"}
        if not everywhere:
            discovery["namespaces"] = {"names": [metadata["namespace"]]}
        jobs.append(
            {
                "job_name": f"podMonitor/{name}/{number}",
                "scrape_interval": endpoint["interval"],
                "scrape_timeout": endpoint["interval"],
                "honor_labels": endpoint.get("honorLabels", False),
                "kubernetes_sd_configs": [discovery],
                "relabel_configs": rules,
                "metric_relabel_configs": [snake(rule) for rule in endpoint.get("metricRelabelings", [])],
                **snake({limit: spec[limit] for limit in LIMITS if limit in spec}),
            }
        )
    return jobs


def installed(kind):
    """Objects of the operator's kinds, as the API server has them."""
    return json.loads(kubectl("get", f"{KINDS[kind]}.{GROUP}", "-A", "-o", "json"))["items"]


def make_image(cache, out):
    """Prometheus and nothing else."""
    program, archive = cache / "bin/prometheus", out / "prometheus.tar"
    if not archive.exists() or archive.stat().st_mtime < program.stat().st_mtime:
        files = ("--file", f"{program}=/prometheus", "--user", "65534:65534", "--plain")
        call("python3", CLUSTER / "images/mkimage.py", archive, IMAGE, *files)
    return archive


class Prometheus:
    """Runs as a pod of a restricted namespace, with the right to list pods."""

    @staticmethod
    def define():
        """Before the chart is installed: it makes monitors only where they are known."""
        kubectl("apply", "-f", "-", text_in=yaml.safe_dump_all(map(definition, KINDS)))
        for kind, plural in KINDS.items():
            kubectl("wait", "--for=condition=Established", f"crd/{plural}.{GROUP}", "--timeout=30s")
            wait(
                f"{kind} is served",
                30,
                lambda plural=plural: plural in kube("kubectl", "get", "--raw", f"/apis/{GROUP}/v1", check=False),
            )

    @staticmethod
    def start():
        jobs = [job for monitor in installed("PodMonitor") for job in scrape_configuration(monitor)]
        groups = [group for rule in installed("PrometheusRule") for group in rule["spec"]["groups"]]
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
        kubectl("delete", "crd", *[f"{plural}.{GROUP}" for plural in KINDS.values()], "--ignore-not-found")

    def __init__(self):
        self.address = kubectl("-n", NAMESPACE, "get", "pod", "prometheus", "-o", "jsonpath={.status.podIP}").strip()

    def ask(self, path, **parameters):
        """`data` of an answer of Prometheus' HTTP interface."""
        query = urllib.parse.urlencode(parameters)
        text = kube("curl", "-sS", "-m", "30", f"http://{self.address}:9090/api/v1/{path}?{query}")
        answer = json.loads(text)
        assert answer["status"] == "success", f"{path} {parameters}: {text[:1000]}"
        return answer["data"]

    def targets(self):
        """(job of Prometheus, component, pod, health, error) of what is scraped now."""
        return [
            (
                target["labels"]["job"],
                target["labels"].get("app_kubernetes_io_component", ""),
                target["labels"]["pod"],
                target["health"],
                target["lastError"],
            )
            for target in self.ask("targets", state="active")["activeTargets"]
        ]

    def series_over(self, query, since):
        """Series of a query, each with its values, at every scrape from a time of this machine's clock until now."""
        found = self.ask("query_range", query=query, start=since, end=time.time(), step=INTERVAL_SECONDS)
        return [
            (series["metric"], [(at, float(value)) for at, value in series["values"]]) for series in found["result"]
        ]

    def selectors(self, query):
        """Metrics that a query reads, each as a query of its own; from Prometheus' own reading of it."""
        found = []

        def walk(node):
            if isinstance(node, dict):
                if node.get("type") in ("vectorSelector", "matrixSelector"):
                    found.append(node["name"])
                for value in node.values():
                    walk(value)
            elif isinstance(node, list):
                for value in node:
                    walk(value)

        walk(self.ask("parse_query", query=query))
        assert found, f"{query} reads no metric"
        return found
