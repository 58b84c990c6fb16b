#!/usr/bin/env python3
"""Writes the chart's custom resource definitions from the schema of the REST API, so that there is one schema.

    crds.py            write helm/eidolon/files/crds/*.yaml, and the names of the GPU models beside them
    crds.py --check    exit 1 when what is there differs

services/controller/rest/openapi.json is the source; a C++ test holds it equal with what the validator accepts.
Here it becomes structural: references are resolved, what Kubernetes does not know is rewritten, sizes are
capped (CEL needs to know its cost), and crds.yaml adds columns and rules that concern several fields.
"""

import copy
import json
import pathlib
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPENAPI = ROOT / "services/controller/rest/openapi.json"
OUT = ROOT / "helm/eidolon/files/crds"
MODELS = ROOT / "services/timing/gpu_model/models"
RULES = "x-kubernetes-validations"
OPEN = "x-kubernetes-preserve-unknown-fields"
TABLES = yaml.safe_load(pathlib.Path(__file__).with_suffix(".yaml").read_text())
KEEP = TABLES["keep"].split()


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
            return {"description": "The cluster's spec with every field.", "type": "object", OPEN: True}
        if "oneOf" in schema:  # Not structural; the controller's validator looks at it.
            default = {"default": schema["default"]} if "default" in schema else {}
            return {"description": schema["description"], OPEN: True, **default}
        out = {key: schema[key] for key in KEEP if key in schema}
        if "exclusiveMinimum" in schema:
            out.update(minimum=schema["exclusiveMinimum"], exclusiveMinimum=True)
        if "default" in schema and not schema.get("x-kubernetes-no-default") and not self.status:
            out["default"] = schema["default"]
        if schema["type"] == "integer":
            out["format"] = "int64"
        if schema["type"] == "string" and not {"enum", "maxLength"} & set(schema) and not self.status:
            out["maxLength"] = TABLES["texts"].get(name, 4096)
        if schema["type"] == "array":
            self.convert_list(schema, name, out)
        if "properties" in schema:
            out["properties"] = {key: self.convert(value, key) for key, value in schema["properties"].items()}
            if "required" in schema:
                out["required"] = list(schema["required"])
        elif isinstance(schema.get("additionalProperties"), dict):
            out["additionalProperties"] = self.convert(schema["additionalProperties"], name + "{}")
            out["maxProperties"] = 64
        return out

    def convert_list(self, schema, name, out):
        out["items"] = self.convert(schema["items"], name + "[]")
        out.setdefault("maxItems", TABLES["lists"].get(name, 256))
        out["maxItems"] = min(out["maxItems"], TABLES["long_lists"].get(name, out["maxItems"]))
        if "properties" not in self.resolve(schema["items"]) and out["items"].get("type") == "object":
            out["items"][OPEN] = True


def merge(schema, changes):
    """Sets fields of a schema, and removes those that are null."""
    for key, value in changes.items():
        if value is None:
            del schema[key]
        elif isinstance(value, dict) and key in schema:
            merge(schema[key], value)
        else:
            schema[key] = value


def field_of(spec, path):
    for name in path.split("."):
        spec = spec["properties"][name]
    return spec


def same_rules(kind, spec, table):
    """The fields that stay what they were."""
    while_suspended = table.get("mutable_while_suspended", ())
    for name in spec["properties"]:
        if name in table["mutable"]:
            continue
        same = f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})"
        message = f"{name} cannot be changed: delete the {kind.removeprefix('Simulation').lower()} and create another"
        if name in while_suspended:
            same = f"(has(oldSelf.suspend) && oldSelf.suspend) || ({same})"
            message = f"{name} cannot be changed while the job is not suspended"
        yield {"rule": same, "message": message}


def spec_of(document, kind, table):
    spec = Converter(document, status=False).convert(document["components"]["schemas"][table["spec"]])
    merge(spec, table["changes"])
    for path, expression in table.get("totals", {}).items():
        name, most = path.rpartition(".")[2], table["total_max"]
        message = f"{name} must have at most {most} characters in all: put large parts into a ConfigMap or the image"
        rule = {"rule": f"{expression}.sum() <= {most}", "message": message}
        field_of(spec, path).setdefault(RULES, []).append(rule)
    if "mutable" in table:
        spec[RULES] = [*spec.pop(RULES, []), *same_rules(kind, spec, table)]
    return spec


def status_of(document, table):
    status = Converter(document, status=True).convert(document["components"]["schemas"][table["status"]])
    merge(status["properties"]["conditions"], TABLES["conditions"])
    if "own_status" not in table:
        return status
    own = copy.deepcopy(table["own_status"])
    merge(status["properties"]["conditions"], own["properties"].pop("conditions"))
    own["properties"]["conditions"] = status["properties"]["conditions"]
    return own


def definition(document, kind, table):
    words = {"{kind}": kind, "{singular}": kind.lower(), "{short}": table["short"], "{name_max}": str(table["name"])}
    text = json.dumps(TABLES["definition"])
    for word, by in words.items():
        text = text.replace(word, by)
    made = json.loads(text)
    version = made["spec"]["versions"][0]
    fields = ("name", "type", "jsonPath", "description", "priority")
    version["additionalPrinterColumns"] = [dict(zip(fields, column)) for column in table["columns"]]
    version["selectableFields"] = [{"jsonPath": path} for path in table.get("selectable", ())]
    if not version["selectableFields"]:
        del version["selectableFields"]
    schema = version["schema"]["openAPIV3Schema"]
    schema["description"] = document["components"]["schemas"][kind]["description"]
    schema["properties"] |= {"spec": spec_of(document, kind, table), "status": status_of(document, table)}
    return made


class Plain(yaml.SafeDumper):
    def ignore_aliases(self, data):
        return True


def main():
    document = json.loads(OPENAPI.read_text())
    models = sorted(path.stem for path in MODELS.glob("*.yaml"))
    files = {OUT.parent / "gpu_models.yaml": (MODELS, models)}
    for kind, table in TABLES["definitions"].items():
        files[OUT / f"{kind.lower()}s.yaml"] = OPENAPI, definition(document, kind, table)
    differing = []
    for path, (source, content) in files.items():
        words = f"# Generated by e2e/kube/crds.py from {source.relative_to(ROOT)}.\n"
        text = words + yaml.dump(content, Dumper=Plain, sort_keys=False, width=110)
        if "--check" not in sys.argv[1:]:
            OUT.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            differing.append(str(path.relative_to(ROOT)))
    if differing:
        sys.exit(f"crds: {', '.join(differing)} differ from the schema: run e2e/kube/crds.py")


if __name__ == "__main__":
    main()
