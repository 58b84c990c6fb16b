#!/usr/bin/env python3
"""Rules of the dashboards (see README.md); exit 1 with one line for each breach."""

import json
import pathlib
import re
import subprocess
import sys

import pictures

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "helm/eidolon/files/dashboards"
RULES = ROOT / "helm/eidolon/files/rules.yaml"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
OPENAPI = ROOT / "services/controller/rest/openapi.json"
# Labels that variables take their values from, and the parameter of the REST API that says what these may be.
LABELS = {"namespace": "namespace", "simulation_job": "name"}
# What would end a string of PromQL, mean more than itself in a regular expression, or be markup.
HOSTILE = (
    'a"} or up{b="',
    "a\\",
    "a.*",
    "a|b",
    "a`b",
    "a'b",
    "$a",
    "${a}",
    "<img src=x onerror=alert(1)>",
    "a\nb",
    "A",
    "",
)
# Where Grafana shows markup or leads elsewhere: a variable in these would be put into HTML or an address.
MARKUP = {"text", "news", "dashlist", "canvas", "marcusolsson-dynamictext-panel"}


def known_metrics():
    text = subprocess.check_output(
        ["git", "-C", str(ROOT), "grep", "-hoE", '"eidolon_[a-z_]+"', "--", "services/*.cc"], text=True
    )
    return set(text.replace('"', "").split())


def written_values():
    """Returns, by label, the values that services give it literally."""
    pairs = r'\{"[a-z_]+", "[a-z_]+"\}'
    text = subprocess.run(
        ["git", "-C", str(ROOT), "grep", "-hoE", pairs, "--", "services/*metrics.cc"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = {}
    for label, value in re.findall(r'{"(\w+)", "(\w+)"}', text):
        found.setdefault(label, set()).add(value)
    return found


def check_panel(panel, metrics, written):
    for field in ("title", "description"):
        if not panel.get(field):
            yield f"no {field}"
    if not panel["fieldConfig"]["defaults"].get("unit"):
        yield "no unit"
    if panel.get("datasource") != SOURCE:
        yield "another data source than the variable's"
    if not panel.get("targets"):
        yield "no query"
    for target in panel.get("targets", []):
        query = target["expr"]
        if not target.get("legendFormat"):
            yield f"no legend: {query}"
        if target.get("datasource") != SOURCE:
            yield f"another data source than the variable's: {query}"
        for name in re.findall(r"\beidolon_[a-z_]+(?=[{\[ )]|$)", query):
            if name not in metrics:
                yield f"no service has {name}"
        for label, values in re.findall(r'(\w+)=~?"([^"$]+)"', query):
            for value in sorted(set(values.split("|")) - written.get(label, set(values.split("|")))):
                yield f"no service has the {label} {value}"
        for name, _, interval in re.findall(r"(eidolon_[a-z_]+_total)(\{[^}]*\})?(\[[^\]]*\])?", query):
            ratio = re.search(rf"sum\({name}\) / |\+ sum\({name}\)", query)
            if interval != "[$__rate_interval]" and not ratio:
                yield f"a bare counter: {name}"


def places_of(value, where=()):
    """Each text of a document with the names of the fields that lead to it."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from places_of(part, (*where, key))
    elif isinstance(value, list):
        for part in value:
            yield from places_of(part, where)
    elif isinstance(value, str):
        yield where, value


def parameters_of(openapi, path):
    """Returns the parameters of all methods of a route, references followed."""
    for method in openapi["paths"][path].values():
        for one in method["parameters"]:
            yield openapi["components"]["parameters"][one["$ref"].rsplit("/", 1)[1]] if "$ref" in one else one


def check_names(openapi):
    """Values of variables are names of namespaces and jobs: Grafana quotes them in ways that depend on its version
    and on the kind of variable, so the API must not take any that needs to be quoted."""
    parameters = list(parameters_of(openapi, "/api/v1/namespaces/{namespace}/simulationjobs/{name}"))
    for label, parameter in LABELS.items():
        patterns = {one["schema"].get("pattern", "") for one in parameters if one["name"] == parameter}
        if not patterns:
            yield f"the API has no parameter {parameter}"
        for pattern in patterns:
            for name in HOSTILE:
                if re.search(pattern.replace("$", r"\Z"), name):
                    yield f"the API takes {name!r} as a {parameter}; dashboards put the label {label} into queries"


def check_variables(board):
    """A variable is the whole value of a matcher in quotes, or the data source, and appears nowhere else."""
    for variable in board["templating"]["list"]:
        label = re.fullmatch(r"label_values\(.*?(\w+)\)", variable.get("definition", ""))
        if variable["type"] == "query" and not (label and label[1] in LABELS):
            yield f"variable ${variable['name']} takes values that may be any text"
        if variable["type"] not in ("query", "datasource", "textbox"):
            yield f"variable ${variable['name']} is of the type {variable['type']}"
    for where, text in places_of(board):
        if where[-1] == "uid" and text == SOURCE["uid"]:
            continue
        if where[-1] in ("expr", "definition", "query"):
            text = re.sub(r'\w+=~?"\$\w+"(?=[,}])', "", text).replace("[$__rate_interval]", "")
        if "$" in text:
            yield f"a variable outside of a matcher's quotes, in {'.'.join(where)}: {text}"
        if re.search(r"<\s*[a-zA-Z/!]", text) and where[-1] != "expr":
            yield f"markup in {'.'.join(where)}: {text}"
        if where[-1] in ("url", "content") or "links" in where:
            yield f"a link or a content, in {'.'.join(where)}: {text}"
    for panel in board["panels"]:
        if panel["type"] in MARKUP:
            yield f"panel '{panel.get('title')}' shows markup"


def check(path, metrics, written):
    board = json.loads(path.read_text())
    yield from check_variables(board)
    wanted = {"id": None, "editable": False, "graphTooltip": 1, "timezone": "", "uid": f"eidolon-{path.stem}"}
    for field, value in wanted.items():
        if board.get(field, "absent") != value:
            yield f"{field} is not {value!r}"
    if board["templating"]["list"][0]["name"] != "datasource":
        yield "the first variable is not the data source"
    names = [variable["name"] for variable in board["templating"]["list"]]
    text = json.dumps(board["panels"])
    for name in set(re.findall(r"\$\{?(\w+)", text)) - set(names) - {"__rate_interval"}:
        yield f"no variable ${name}"
    for panel in board["panels"]:
        for problem in check_panel(panel, metrics, written):
            yield f"panel '{panel.get('title')}': {problem}"


def undrawn(boards, rules):
    """What alerts and recording rules ask for, and no dashboard shows to whom they call."""
    drawn = {name for board in boards for name in re.findall(r"\beidolon_[a-z_]+", board)}
    for name in sorted(set(re.findall(r"\beidolon_[a-z_]+", rules)) - drawn):
        yield f"rules.yaml asks for {name}, which no dashboard draws"


def main():
    known = known_metrics(), written_values()
    problems = [f"{path.name}: {problem}" for path in sorted(FOLDER.glob("*.json")) for problem in check(path, *known)]
    problems += undrawn([path.read_text() for path in FOLDER.glob("*.json")], RULES.read_text())
    problems += check_names(json.loads(OPENAPI.read_text()))
    problems += pictures.problems_of()
    print("\n".join(problems) or f"{len(list(FOLDER.glob('*.json')))} dashboards are as they should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
