"""What mkdocs is told beside mkdocs.yml: pages of reference made from the API's schema, and links to files of the
source tree, which the site does not have."""

import json
import pathlib
import re

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPENAPI = ROOT / "services/controller/rest/openapi.json"
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)\s#]+)(#[^)]*)?\)")


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def resolved(api, schema):
    while "$ref" in schema:
        at = api
        for part in schema["$ref"].lstrip("#/").split("/"):
            at = at[part]
        schema = at
    return schema


def limits(schema):
    parts = []
    if "enum" in schema:
        parts.append("one of " + ", ".join(f"`{value}`" for value in schema["enum"]))
    for word, name in (("minimum", "at least"), ("maximum", "at most"), ("default", "default")):
        if word in schema:
            parts.append(f"{name} `{json.dumps(schema[word])}`")
    return "; ".join(parts)


def rows(api, schema, path):
    """A line for each field below, in the order of the schema."""
    schema = resolved(api, schema)
    if schema.get("type") == "array":
        yield from rows(api, schema.get("items", {}), path + "[]")
    for name, field in schema.get("properties", {}).items():
        field = resolved(api, field)
        own = f"{path}.{name}" if path else name
        yield f"| `{own}` | {field.get('type', '')} | {cell(field.get('description', ''))} | {cell(limits(field))} |"
        yield from rows(api, field, own)


def fields_page(api, title, introduction, name, path):
    lines = [f"# {title}", "", introduction, "", "| field | type | meaning | limits |", "| --- | --- | --- | --- |"]
    return "\n".join([*lines, *rows(api, api["components"]["schemas"][name], path)]) + "\n"


def rest_page(api):
    lines = [
        "# REST",
        "",
        api["info"]["description"],
        "",
        "| method | path | what | query |",
        "| --- | --- | --- | --- |",
    ]
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            query = [f"`{p['name']}`" for p in operation.get("parameters", []) if p.get("in") == "query"]
            lines.append(f"| {method.upper()} | `{path}` | {cell(operation.get('summary', ''))} | {', '.join(query)} |")
    return "\n".join(lines) + "\n"


def on_files(files, config):
    api = json.loads(OPENAPI.read_text())
    source = "Made from the schema of the API, which `/openapi.json` serves and `eidolon explain FIELD` prints."
    pages = {
        "job": fields_page(api, "Fields of a job", source, "JobSpec", "spec"),
        "cluster": fields_page(api, "Fields of a cluster", source, "ClusterSpec", "spec"),
        "prediction": fields_page(
            api,
            "What a prediction holds",
            f"`status.prediction` of a job; a report shows these figures and no others. {source}",
            "Prediction",
            "prediction",
        ),
        "rest": rest_page(api),
    }
    for name, content in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def on_page_markdown(markdown, page, **_):
    """Links out of docs/ become the path of a file that is there; one that is not ends the build."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def replaced(match):
        target = (folder / match[2]).resolve()
        if target.is_relative_to(ROOT / "docs"):
            return match[0]
        if not target.exists():
            raise PluginError(f"{page.file.src_uri}: no file {match[2]}")
        return f"{match[1]} (`{target.relative_to(ROOT)}`)"

    return LINK.sub(replaced, markdown)
