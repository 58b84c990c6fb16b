#!/usr/bin/env python3
"""Writes the chart's custom resource definitions from the schema of the REST API, so that there is one schema.

    crds.py            write helm/eidolon/files/crds/*.yaml, and the names of the GPU models beside them
    crds.py --check    exit 1 when what is there differs

services/controller/rest/openapi.json is the source; a C++ test holds it equal with what the validator accepts.
Here it becomes structural: references are resolved, what Kubernetes does not know is rewritten, sizes are
capped (CEL needs to know its cost), and rules that concern several fields are added.
"""

import json
import pathlib
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPENAPI = ROOT / "services/controller/rest/openapi.json"
OUT = ROOT / "helm/eidolon/files/crds"
MODELS = ROOT / "services/timing/gpu_model/models"
GROUP = "eidolon.dev"
NAME_MAX = 52  # Jobs, services and the host names of pods are derived from it.
SWEEP_NAME_MAX = 40  # The names of its jobs are longer.

RESERVED = (
    "MASTER_ADDR MASTER_PORT WORLD_SIZE RANK LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK GROUP_RANK"
    " NNODES LD_PRELOAD NPROC_PER_NODE TRITON_LIBCUDA_PATH"
).split()
# Fields of a job that may change after its creation, and those that may until it runs: a queue such as Kueue gives
# suspended jobs the nodes that it has found for them.
MUTABLE = {"suspend", "ttlSecondsAfterFinished"}
MUTABLE_WHILE_SUSPENDED = {"podTemplate"}
KEEP = (
    "type description enum minimum maximum minLength maxLength pattern minItems maxItems"
    " format x-kubernetes-preserve-unknown-fields"
).split()
CAPS = {
    "command": 512,
    "env": 512,
    "warnings": 64,
    "iterationPicoseconds": 1000,
    "ranks": 128,
    "assumedKernels": 64,
    "unsupportedCalls": 1024,
    "conditions": 16,
    "live": 294912,  # Of a status; any rank of a folded job may be.
}

# Longer lists than an object of Kubernetes can hold, and than CEL's estimate of costs would bear.
LIST_CAPS = {"cables": 8192, "plugs": 8192, "faults": 1000, "background": 1000}
# Texts that come in long lists.
TEXT_CAPS = {"command[]": 16384, "link": 256}
# Characters of all texts of a list or map together. etcd takes 1.5 MiB for an object and its status; what is not counted
# here (fields of pods, which the schema does not look into) the controller bounds: services/controller/job/object_size.h.
TOTAL_MAX = 131072


class Converter:
    def __init__(self, document, status):
        self.schemas, self.status = document["components"]["schemas"], status

    def resolve(self, schema):
        if "$ref" not in schema:
            return schema
        return self.schemas[schema["$ref"].rsplit("/", 1)[1]]

    def convert(self, schema, name=""):
        schema = self.resolve(schema)
        if self.status and name == "cluster":  # Filled in by the controller; nobody writes it.
            return {
                "description": "The cluster's spec with every field.",
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
            }
        out = {key: schema[key] for key in KEEP if key in schema}
        if "oneOf" in schema:  # Not structural; the controller's validator looks at it.
            return {
                "description": schema["description"],
                "x-kubernetes-preserve-unknown-fields": True,
                **({"default": schema["default"]} if "default" in schema else {}),
            }
        if "exclusiveMinimum" in schema:
            out.update(minimum=schema["exclusiveMinimum"], exclusiveMinimum=True)
        if "default" in schema and not schema.get("x-kubernetes-no-default") and not self.status:
            out["default"] = schema["default"]
        if schema["type"] == "integer":
            out["format"] = "int64"
        if schema["type"] == "string" and "enum" not in schema and "maxLength" not in schema and not self.status:
            out["maxLength"] = TEXT_CAPS.get(name, 4096)
        if schema["type"] == "array":
            out["items"] = self.convert(schema["items"], name + "[]")
            out.setdefault("maxItems", CAPS.get(name, 256))
            out["maxItems"] = min(out["maxItems"], LIST_CAPS.get(name, out["maxItems"]))
            if (
                "properties" not in self.resolve(schema["items"])
                and "type" in out["items"]
                and out["items"]["type"] == "object"
            ):
                out["items"]["x-kubernetes-preserve-unknown-fields"] = True
        if "properties" in schema:
            out["properties"] = {key: self.convert(value, key) for key, value in schema["properties"].items()}
            if "required" in schema:
                out["required"] = list(schema["required"])
        elif isinstance(schema.get("additionalProperties"), dict):
            out["additionalProperties"] = self.convert(schema["additionalProperties"], name + "{}")
            out["maxProperties"] = 64
        return out


def rule(expression, message, **more):
    return {"rule": expression, "message": message, **more}


def total_rule(expression, field):
    return rule(
        f"{expression}.sum() <= {TOTAL_MAX}",
        f"{field} must have at most {TOTAL_MAX} characters in all: put large parts into a ConfigMap or the image",
    )


def name_rules(length):
    return [
        rule(
            f"size(self.metadata.name) <= {length} && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
            f"metadata.name must be at most {length} lower-case letters, digits and '-', beginning with a "
            "letter: other objects are named after it",
        )
    ]


def job_spec(document):
    spec = Converter(document, status=False).convert({"$ref": "#/components/schemas/JobSpec"})
    fields = spec["properties"]
    del fields["code"]["properties"]["directory"]  # Embedded mode only.
    fields["image"].update(minLength=1, maxLength=1024)
    spec["required"] = ["command", "image"]
    fields["managedBy"]["default"] = "eidolon.dev/controller"
    fields["limits"]["properties"]["memoryPerServer"]["pattern"] = r"^[1-9][0-9]*(\.[0-9]+)?(k|M|G|T|Ki|Mi|Gi|Ti)?$"
    fields["env"]["x-kubernetes-list-type"] = "map"
    fields["env"]["x-kubernetes-list-map-keys"] = ["name"]
    fields["env"]["items"]["properties"]["name"].update(maxLength=256, pattern="^[^=]+$")
    reserved = "|".join(RESERVED)
    fields["env"]["items"]["x-kubernetes-validations"] = [
        rule(
            f"!self.name.matches('^(EIDOLON_.*|PET_.*|{reserved})$')",
            "this variable is set by Eidolon for every rank and cannot be changed",
            fieldPath=".name",
        )
    ]
    fields["code"]["x-kubernetes-validations"] = [
        rule(
            "!(has(self.configMapRef) && has(self.persistentVolumeClaim))",
            "configMapRef and persistentVolumeClaim exclude each other",
        )
    ]
    rules = [
        rule(
            "has(self.clusterRef) != has(self.cluster)",
            "exactly one of clusterRef (a SimulatedCluster of the namespace) and cluster (described in "
            "place) is required",
        )
    ]
    for name in fields:
        if name in MUTABLE or name == "command":
            continue
        same = f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})"
        message = f"{name} cannot be changed: delete the job and create another"
        if name in MUTABLE_WHILE_SUSPENDED:
            same = f"(has(oldSelf.suspend) && oldSelf.suspend) || ({same})"
            message = f"{name} cannot be changed while the job is not suspended"
        rules.append(rule(same, message))
    fields["command"]["x-kubernetes-validations"] = [
        rule("self == oldSelf", "command cannot be changed: delete the job and create another"),
        total_rule("self.map(word, size(word))", "command"),
    ]
    fields["env"]["x-kubernetes-validations"] = [
        total_rule("self.map(entry, size(entry.name) + (has(entry.value) ? size(entry.value) : 0))", "env")
    ]
    for name in ("labels", "annotations", "nodeSelector"):
        fields["podTemplate"]["properties"][name]["x-kubernetes-validations"] = [
            total_rule("self.map(key, size(key) + size(self[key]))", name)
        ]
    spec["x-kubernetes-validations"] = rules
    return spec


def definition(document, kind, short, spec, status, columns, name_max, selectable=()):
    plural = f"{kind.lower()}s"
    schema = {
        "type": "object",
        "description": document["components"]["schemas"][kind]["description"],
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
        "x-kubernetes-validations": name_rules(name_max),
    }
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
        **({"selectableFields": [{"jsonPath": path} for path in selectable]} if selectable else {}),
        "schema": {"openAPIV3Schema": schema},
    }
    names = {
        "kind": kind,
        "listKind": kind + "List",
        "plural": plural,
        "singular": kind.lower(),
        "shortNames": [short],
        "categories": ["eidolon"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def column(name, kind, path, description, priority=0):
    return {
        "name": name,
        "type": kind,
        "jsonPath": path,
        "description": description,
        **({"priority": priority} if priority else {}),
    }


def conditions_schema(status):
    conditions = status["properties"]["conditions"]
    conditions["x-kubernetes-list-type"] = "map"
    conditions["x-kubernetes-list-map-keys"] = ["type"]
    item = conditions["items"]["properties"]
    del item["reason"]["enum"]  # A newer controller may know more reasons than this definition.
    item["reason"].update(maxLength=128, pattern="^[A-Za-z]([A-Za-z0-9]*[A-Za-z0-9])?$")
    item["message"]["maxLength"] = 32768


def job_definition(document):
    status = Converter(document, status=True).convert({"$ref": "#/components/schemas/JobStatus"})
    conditions_schema(status)
    columns = [
        column("Phase", "string", ".status.phase", "Where the job stands."),
        column("Progress", "integer", ".status.progress.percent", "Percent of the wanted iterations."),
        column("Predicted", "string", ".status.predicted", "Time of an iteration, or of a program without any."),
        column("Reason", "string", ".status.conditions[-1:].reason", "Reason of the newest condition.", 1),
        column("Attempt", "integer", ".status.attempt", "How often it was started."),
        column("Servers", "integer", ".status.servers", "Emulated servers.", 1),
        column("Age", "date", ".metadata.creationTimestamp", "Since its creation."),
    ]
    selectable = (".status.phase", ".spec.clusterRef.name", ".spec.suspend")
    return definition(document, "SimulationJob", "simjob", job_spec(document), status, columns, NAME_MAX, selectable)


def sweep_definition(document):
    spec = Converter(document, status=False).convert({"$ref": "#/components/schemas/SweepSpec"})
    fields = spec["properties"]
    for name in ("recording", "replays"):  # Embedded mode only.
        del fields[name]
    spec["required"] = ["job", "matrix"]
    values = fields["matrix"]["additionalProperties"]["items"]
    fields["matrix"]["additionalProperties"]["items"] = {"x-kubernetes-preserve-unknown-fields": True, **values}
    spec["x-kubernetes-validations"] = [
        rule(
            f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})",
            f"{name} cannot be changed: delete the sweep and create another",
        )
        for name in ("price",)
    ]  # CEL does not see values of any type: the controller refuses a sweep whose job or matrix was changed.
    status = Converter(document, status=True).convert({"$ref": "#/components/schemas/SweepStatus"})
    conditions_schema(status)
    columns = [
        column("Phase", "string", ".status.phase", "Where the sweep stands."),
        column("Points", "integer", ".status.counts.points", "Combinations of values."),
        column("Predicted", "integer", ".status.counts.complete", "Points with a prediction."),
        column("Failed", "integer", ".status.counts.failed", "Points that are over without one."),
        column("Running", "integer", ".status.counts.running", "Points whose job runs.", 1),
        column("Best", "string", ".status.best.name", "The point with the highest throughput so far.", 1),
        column("Age", "date", ".metadata.creationTimestamp", "Since its creation."),
    ]
    selectable = (".status.phase", ".spec.suspend")
    return definition(document, "SimulationSweep", "simsweep", spec, status, columns, SWEEP_NAME_MAX, selectable)


def cluster_definition(document):
    spec = Converter(document, status=False).convert({"$ref": "#/components/schemas/ClusterSpec"})
    spec["x-kubernetes-validations"] = [
        rule(
            "has(self.server.preset) || has(self.server.gpu)",
            "server needs a preset or the name of a GPU model",
            fieldPath=".server",
        )
    ]
    status = {
        "type": "object",
        "description": "What presets became.",
        "properties": {
            "observedGeneration": {"type": "integer", "format": "int64", "description": "Of which spec."},
            "resolved": {
                "type": "object",
                "description": "The spec with every field.",
                "x-kubernetes-preserve-unknown-fields": True,
            },
        },
    }
    job_status = Converter(document, status=True).convert({"$ref": "#/components/schemas/JobStatus"})
    conditions_schema(job_status)
    conditions = job_status["properties"]["conditions"]
    conditions["items"]["properties"]["type"]["enum"] = ["Accepted", "Ready"]
    status["properties"]["conditions"] = conditions
    columns = [
        column("Servers", "integer", ".status.resolved.servers", "Servers of the cluster."),
        column("GPU", "string", ".status.resolved.server.gpu", "GPU model."),
        column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status', "Its network service runs."),
        column("Age", "date", ".metadata.creationTimestamp", "Since its creation."),
    ]
    return definition(document, "SimulatedCluster", "simcluster", spec, status, columns, NAME_MAX)


class Plain(yaml.SafeDumper):
    def ignore_aliases(self, data):
        return True


def main():
    document = json.loads(OPENAPI.read_text())
    files = {
        "simulationjobs.yaml": job_definition(document),
        "simulatedclusters.yaml": cluster_definition(document),
        "simulationsweeps.yaml": sweep_definition(document),
    }
    models = sorted(path.stem for path in MODELS.glob("*.yaml"))
    files = {OUT / name: content for name, content in files.items()}
    files[OUT.parent / "gpu_models.yaml"] = models
    differing = []
    for path, content in files.items():
        source = MODELS if content is models else OPENAPI
        text = f"# Generated by e2e/kube/crds.py from {source.relative_to(ROOT)}.\n" + yaml.dump(
            content, Dumper=Plain, sort_keys=False, width=110
        )
        if "--check" not in sys.argv[1:]:
            OUT.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            differing.append(str(path.relative_to(ROOT)))
    if differing:
        sys.exit(f"crds: {', '.join(differing)} differ from the schema: run e2e/kube/crds.py")


if __name__ == "__main__":
    main()
