#!/usr/bin/env python3
"""The chart as plain manifests, for those who do not use Helm.

    operator-manifests/render.py            write *.yaml beside this file
    operator-manifests/render.py --check    exit 1 when they differ from the chart, or break its rules

Needs helm: the one of e2e/kube/cluster, or of PATH.
"""

import collections
import os
import pathlib
import shutil
import subprocess
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
CHART = HERE.parent / "helm/eidolon"
NAMESPACE = "eidolon-system"
SKIPPED = 77
OLDEST = "1.30.0"  # Of Kubernetes, that the chart takes.
# Ways to install, each rendered and looked at.
VARIANTS = {
    "default": [],
    "namespaced": ["controller.watchNamespace=team"],
    "policies": ["networkPolicy.enabled=true", "networkPolicy.prometheusNamespaceLabels.team=monitoring"],
    "persistent": ["timing.persistence.enabled=true"],
    "gpu": ["timing.gpu=true"],
    "libraries": ["timing.gpu=true", "timing.libraries.image=torch:13"],
    "dashboards": ["grafana.dashboards.enabled=true"],
    "monitored": ["metrics.podMonitor.enabled=true", "metrics.prometheusRule.enabled=true"],
    "documented": ["metrics.prometheusRule.enabled=true", "metrics.prometheusRule.runbookUrl=https://docs.team/books"],
    "confined": ["controller.namespaces={team-a,team-b}", "controller.namespaceSelector.eidolon=yes"],
    "kept": ["timing.podDisruptionBudget.enabled=true"],
    "one": ["controller.replicas=1", "image.pullSecrets={regcred}", "crds.keep=false"],
}


def helm():
    text = subprocess.check_output(
        ["bash", "-c", f". {HERE.parent}/e2e/kube/cluster/env.sh; echo $bin/helm"], text=True
    ).strip()
    found = text if os.access(text, os.X_OK) else shutil.which("helm")
    if not found:
        print("render: helm is missing: run e2e/kube/cluster/build.sh")
        sys.exit(SKIPPED)
    return found


def run_helm(values, *options, namespace=NAMESPACE, version=OLDEST):
    command = [helm(), "template", "eidolon", str(CHART), "-n", namespace, "--kube-version", version, *options]
    for value in values:
        command += ["--set", value]
    return subprocess.run(command, capture_output=True, text=True)


def render(values, namespace=NAMESPACE):
    done = run_helm(values, namespace=namespace)
    if done.returncode != 0:
        sys.exit(f"render: {' '.join(done.args)}:\n{done.stderr}")
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def file_of(document):
    if document["kind"] == "CustomResourceDefinition":
        return "crds"
    if document["kind"] in ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"):
        return "rbac"
    return document["metadata"]["labels"]["app.kubernetes.io/component"]


def manifests():
    files = collections.defaultdict(list)
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }
    files["namespace"].append(namespace)
    for document in render([]):
        if "helm.sh/hook" in document["metadata"].get("annotations", {}):
            continue  # `helm test` and what goes before an uninstall are Helm's.
        document["metadata"].pop("annotations", None) if document["kind"] == "CustomResourceDefinition" else None
        files[file_of(document)].append(document)
    return {
        f"{name}.yaml": "# Rendered from helm/eidolon by operator-manifests/render.py.\n"
        + yaml.safe_dump_all(documents, sort_keys=False, width=110)
        for name, documents in files.items()
    }


def pods_of(documents):
    for document in documents:
        template = document.get("spec", {}).get("template")
        if template:
            yield document, template["spec"]


def breaches(documents):
    """Rules that hold in every variant."""
    for document in documents:
        name = f"{document['kind']} {document['metadata']['name']}"
        labels = document["metadata"].get("labels", {})
        if document["kind"] != "CustomResourceDefinition" and labels.get("app.kubernetes.io/part-of") != "eidolon":
            yield f"{name} lacks the common labels"
        for rule in document.get("rules", []):
            if "*" in [*rule["verbs"], *rule["resources"], *rule["apiGroups"]]:
                yield f"{name} has a wildcard"
            own_key = "secrets" in rule["resources"] and rule.get("resourceNames") == ["eidolon-passes"]
            named = rule.get("resourceNames") or rule["resources"] == ["serviceaccounts"]
            acts = [verb for verb in rule["verbs"] if verb == "impersonate" or verb.startswith("impersonate:")]
            if acts and not (named and acts == rule["verbs"]):
                yield f"{name} may act for anybody"
            if "pods/exec" in rule["resources"] or ("secrets" in rule["resources"] and not own_key):
                yield f"{name} asks for {rule['resources']}"
    for document, pod in pods_of(documents):
        name = f"{document['kind']} {document['metadata']['name']}"
        if not pod["securityContext"]["runAsNonRoot"]:
            yield f"{name} may run as root"
        asks = document["metadata"]["name"].endswith(("-controller", "-uninstall"))  # Whether it uses the API server.
        if not asks and pod.get("automountServiceAccountToken") is not False:
            yield f"{name} mounts a token that it does not need"
        for container in pod["containers"] + pod.get("initContainers", []):
            security = container["securityContext"]
            if not (
                security["readOnlyRootFilesystem"]
                and security["capabilities"] == {"drop": ["ALL"]}
                and security["allowPrivilegeEscalation"] is False
                and security["runAsGroup"]
            ):
                yield f"{name} has loose security settings"
            starts = container in pod.get("initContainers", []) or document["kind"] == "Job"
            if "requests" not in container["resources"] or not (starts or "readinessProbe" in container):
                yield f"{name} lacks requests or a readiness probe"
        if document["kind"] == "Job":
            continue
        selector = document["spec"]["selector"]["matchLabels"]
        if (
            "app.kubernetes.io/version" in selector
            or not selector.items() <= document["spec"]["template"]["metadata"]["labels"].items()
        ):
            yield f"{name} selects by what changes, or not its own pods"


def loose_monitors(documents):
    """PodMonitors of all namespaces that take over labels, any metric, or any number of samples."""
    for document in documents:
        spec = document.get("spec", {})
        if document["kind"] != "PodMonitor" or not spec.get("namespaceSelector", {}).get("any"):
            continue
        for endpoint in spec["podMetricsEndpoints"]:
            kept = [rule for rule in endpoint.get("metricRelabelings", []) if rule["action"] == "keep"]
            limits = ("sampleLimit", "labelLimit", "labelNameLengthLimit", "labelValueLengthLimit", "bodySizeLimit")
            if endpoint["honorLabels"] or not kept or not all(spec.get(limit) for limit in limits):
                yield document["metadata"]["name"]


def identity(document):
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]


def shared():
    """Two releases of one name in two namespaces: what both would make."""
    releases = [
        {identity(document) for document in render(["rbac.userRoles=false", "crds.install=false"], namespace)}
        for namespace in (NAMESPACE, "another")
    ]
    yield from (f"two releases make {' '.join(name)}" for name in sorted(releases[0] & releases[1]))


def pod_makers(documents):
    """Namespaces in which somebody may make pods or what makes them; "" stands for all."""
    makers = {
        document["metadata"]["name"]
        for document in documents
        for rule in document.get("rules", [])
        if "create" in rule["verbs"] and {"pods", "jobs", "deployments"} & set(rule["resources"])
    }
    return {
        document["metadata"].get("namespace", "")
        for document in documents
        if "roleRef" in document and document["roleRef"]["name"] in makers
    }


def expectations(name, documents):
    """Returns what a variant is for."""
    kinds = collections.Counter(document["kind"] for document in documents)
    text = yaml.safe_dump_all(documents)
    truths = {
        "default": kinds["CustomResourceDefinition"] == 3
        and pod_makers(documents) == {""}
        and kinds["PodDisruptionBudget"] == 1
        and kinds["ValidatingAdmissionPolicy"] == kinds["ValidatingAdmissionPolicyBinding"] == 4
        and text.count("helm.sh/resource-policy: keep") == 3,
        "namespaced": "--watch-namespace=team" in text
        and pod_makers(documents) == {"team"}
        and not any(
            rule.get("resources") == ["jobs"]
            for document in documents
            if document["kind"] == "ClusterRole"
            for rule in document["rules"]
        ),
        "policies": kinds["NetworkPolicy"] == 2 and "--network-policies" in text,
        "persistent": "volumeClaimTemplates" in text,
        "gpu": "nvidia.com/gpu: 1" in text
        and "--own-gpu=0" in text
        and "memory: 2Gi" in text
        and "initContainers" not in text,
        "libraries": all(
            word in text
            for word in (
                "image: torch:13",
                "libcudnn*.so.9",
                "/nvidia/*/lib",
                "--own-gpu-libraries=/libraries",
                "name: libraries",
            )
        ),
        "dashboards": kinds["ConfigMap"] == len(list((CHART / "files/dashboards").iterdir()))
        and "grafana_dashboard" in text,
        # Plain `helm template` knows no cluster, hence no API of the Prometheus operator.
        "monitored": kinds["PodMonitor"] == 2
        and not list(loose_monitors(documents))
        and kinds["PrometheusRule"] == 1
        and text.count("https://eidolon.dev/runbooks/#") == text.count("runbook_url:") > 0,
        "documented": text.count("https://docs.team/books#") == text.count("runbook_url:") > 0,
        "confined": pod_makers(documents) == {"team-a", "team-b"} and kinds["ValidatingAdmissionPolicy"] == 5,
        "kept": kinds["PodDisruptionBudget"] == 2,
        "one": kinds["PodDisruptionBudget"] == 0 and text.count("name: regcred") == 4 and "resource-policy" not in text,
    }
    if not truths[name]:
        yield f"the variant '{name}' is not what it is for"


def main():
    problems = []
    files = manifests()
    if "--check" not in sys.argv[1:]:
        for name, text in files.items():
            (HERE / name).write_text(text)
    for name, text in files.items():
        if not (HERE / name).exists() or (HERE / name).read_text() != text:
            problems.append(f"{name} differs from the chart: run operator-manifests/render.py")
    for variant, values in VARIANTS.items():
        documents = render(values)
        problems += [f"{variant}: {problem}" for problem in [*breaches(documents), *expectations(variant, documents)]]
    problems += shared()
    print(
        "\n".join(problems) or f"{len(files)} manifests equal the chart; {len(VARIANTS)} ways to install hold the rules"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
