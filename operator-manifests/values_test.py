#!/usr/bin/env python3
"""Every leaf of the chart's values as null, empty, of another type and as nonsense: it renders sound manifests, or the
refusal names the leaf. Another sound value of a leaf changes the manifests.

    operator-manifests/values_test.py

Needs helm as render.py does. What a leaf may be is not read from the schema, but from the default and the lists below.
"""

import functools
import json
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import yaml
from render import CHART, HERE, run_helm

NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
IMAGE = re.compile(r"([A-Za-z0-9.-]+(:[0-9]+)?/)?[a-z0-9._/-]+(:[A-Za-z0-9_][A-Za-z0-9._-]*|@sha256:[0-9a-f]{64})")
# Templates that found nothing write this.
HOLES = ("<no value>", "%!", "<nil>", "nil>", "map[")
# Values that are none of a leaf of this type.
OTHERS = {
    bool: ["yes", 1, [], {}],
    int: ["two", True, 1.5, -1, [], {}],
    str: [7, True, ["a"], {"a": "b"}],
    list: ["text", 7, True, {"a": "b"}],
    dict: ["text", 7, True, ["a"]],
}
TABLES = yaml.safe_load((HERE / "testdata/values.yaml").read_text())
NONSENSE, EVERYTHING = TABLES["nonsense"], TABLES["everything"]
REQUIRED_TEXTS = set(TABLES["required"])
NEVER_NULL = {*REQUIRED_TEXTS, *TABLES["may_be_empty"], "timing.persistence.accessModes"}
DIGEST = "sha256:" + "ab" * 32
# Other values of a leaf of this type, of which the first that is taken must change the manifests.
CHANGED = {
    bool: [True, False],
    int: [7, 700],
    str: ["constrained", "Always", "other", "3Gi", "40s", DIGEST, "https://other/"],
    list: [["other"], [{"name": "other"}], [{"key": "other"}], [{"maxSkew": 1}], ["ReadWriteOncePod"]],
    dict: [{"other": "value"}, {"limits": {"cpu": 3}}],
}
# Settings without which a leaf means nothing.
NEEDS = {
    "controller.serviceAccount.create": ("controller.serviceAccount.name", "given"),
    "crds.keep": ("crds.install", True),
    "timing.libraries.folders": ("timing.libraries.image", "torch:13"),
}


def settings(values, path=()):
    """(name, default, whether it is a folder of others) of every setting."""
    for name, value in values.items():
        is_folder = isinstance(value, dict) and value and name != "resources"
        yield ".".join((*path, name)), value, is_folder
        if is_folder:
            yield from settings(value, (*path, name))


def merged(base, path, value):
    """`base` with one value replaced."""
    copy = json.loads(json.dumps(base))
    *folders, name = path.split(".")
    place = copy
    for folder in folders:
        place = place.setdefault(folder, {})
    place[name] = value
    return copy


def render(values):
    """The manifests, or what helm says."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(values, file)
        file.flush()
        done = run_helm([], "-f", file.name)
    return (done.stdout, "") if done.returncode == 0 else ("", done.stderr)


def pods_of(document):
    if document["kind"] == "Pod":
        yield document["metadata"], document["spec"]
    template = document.get("spec", {}).get("template")
    if template:
        yield template["metadata"], template["spec"]


def unsound_texts(where, mapping, pattern):
    for name, value in (mapping or {}).items():
        if not isinstance(value, str) or not pattern.fullmatch(value):
            yield f"{where}: {name} is {value!r}"


def unsound(text):
    """What an API server would refuse, or a user would not expect."""
    for hole in HOLES:
        if hole in text:
            yield f"{hole!r} in the manifests"
    documents = [document for document in yaml.safe_load_all(text) if document]
    accounts = {entry["metadata"]["name"] for entry in documents if entry["kind"] == "ServiceAccount"}
    for document in documents:
        where = f"{document['kind']} {document['metadata']['name']}"
        if not NAME.fullmatch(document["metadata"]["name"]):
            yield f"{where} has no such name"
        yield from unsound_texts(where, document["metadata"].get("labels"), LABEL)
        yield from unsound_texts(where, document["metadata"].get("annotations"), re.compile(r"(?s).*"))
        for metadata, pod in pods_of(document):
            yield from unsound_texts(where, metadata.get("labels"), LABEL)
            yield from unsound_texts(where, metadata.get("annotations"), re.compile(r"(?s).*"))
            yield from unsound_texts(where, pod.get("nodeSelector"), LABEL)
            account = pod.get("serviceAccountName", "default")
            if account not in accounts | {"default", "given"}:
                yield f"{where} has the account {account!r}, which nobody makes"
            for container in pod["containers"] + pod.get("initContainers", []):
                if not IMAGE.fullmatch(container["image"]):
                    yield f"{where} has the image {container['image']!r}"
                for word in container.get("args", []):
                    if not isinstance(word, str) or word.endswith("=") or word.startswith("/"):
                        yield f"{where} has the argument {word!r}"
                if not isinstance(container["resources"], dict):
                    yield f"{where} has the resources {container['resources']!r}"


def names(refusal, path):
    """Returns whether a refusal tells that it is about this leaf or folder."""
    *folders, last = path.split(".")
    pointer = "/".join(["", *path.split(".")])
    missing = re.escape(f"at '{'/'.join(['', *folders])}': missing propert") + f".*'{last}'"
    return f"at '{pointer}'" in refusal or f"at '{pointer}/" in refusal or re.search(missing, refusal) is not None


def unsound_row(row):
    """Returns what is wrong about a leaf or folder that must render; None: nothing."""
    path, value = row
    text, refusal = render(merged(EVERYTHING, path, value))
    problems = [refusal.strip()] if refusal else list(unsound(text))
    return f"{path} = {value!r}: {'; '.join(problems)}" if problems else None


def unrefused_rows(rows):
    """Rows of different leaves that must be refused; helm tells of all at once."""
    values = EVERYTHING
    for path, value in rows:
        values = merged(values, path, value)
    _, refusal = render(values)
    return [f"{path} = {value!r} is not refused by name" for path, value in rows if not names(refusal, path)]


def table():
    """Rows (leaf or folder, value) that must render, and those that must be refused; the folders."""
    defaults = list(settings(yaml.safe_load((CHART / "values.yaml").read_text())))
    folders = [path for path, _, is_folder in defaults if is_folder]
    renders, refused = [(path, {}) for path in folders], []
    for path, default in ((path, default) for path, default, is_folder in defaults if not is_folder):
        kind = type(default)
        (refused if kind in (bool, int) or path in NEVER_NULL else renders).append((path, None))
        if kind is str:
            (refused if path in REQUIRED_TEXTS else renders).append((path, ""))
        elif kind in (list, dict) and path not in NEVER_NULL:
            renders.append((path, kind()))
        refused += [(path, value) for value in [*OTHERS[kind], *NONSENSE.get(path, [])]]
    return renders, refused, folders


@functools.cache
def rendered(values):
    """The manifests of values as JSON."""
    return render(json.loads(values))[0]


def without_effect(leaf):
    """Returns what is wrong about a leaf whose value changes nothing; None: nothing."""
    path, default = leaf
    given = functools.reduce(lambda values, name: (values or {}).get(name), path.split("."), EVERYTHING)
    base = merged(EVERYTHING, *NEEDS[path]) if path in NEEDS else EVERYTHING
    for value in CHANGED[type(default)]:
        text, refusal = render(merged(base, path, value))
        if not refusal and value != (default if given is None else given):
            return f"{path} = {value!r} has no effect" if text == rendered(json.dumps(base)) else None
    return f"{path} takes no value of CHANGED"


def rounds(rows):
    """Rows in lists that have each leaf once."""
    lists = []
    for row in rows:
        for round_ in lists:
            if row[0] not in {other for other, _ in round_}:
                round_.append(row)
                break
        else:
            lists.append([row])
    return lists


def undocumented():
    """Leaves of values.yaml without a line before them that says what they mean."""
    lines = (CHART / "values.yaml").read_text().splitlines()
    path = []
    for number, line in enumerate(lines):
        named = re.match(r"( *)([A-Za-z]+):(.*)", line)
        if not named:
            continue
        path = [*path[: len(named[1]) // 2], named[2]]
        is_folder = not named[3].strip() and number + 1 < len(lines)
        if not is_folder and not re.match(r" *# ", lines[number - 1]):
            # The parts of one setting, such as requests of resources, are explained there.
            if not any(re.match(r" *# ", lines[above - 1]) for above in parents(lines, number)):
                yield f"{'.'.join(path)} is not explained"


def parents(lines, number):
    """Lines that a line stands under."""
    depth = len(lines[number]) - len(lines[number].lstrip())
    for above in range(number - 1, -1, -1):
        own = len(lines[above]) - len(lines[above].lstrip())
        if own < depth and re.match(r" *[A-Za-z]+:", lines[above]):
            depth = own
            yield above


def old_cluster():
    done = run_helm([], version="1.29.9")
    if done.returncode == 0 or "1.30" not in done.stderr:
        yield f"Kubernetes 1.29 is not refused: {done.stderr}"


def contents():
    """Values that say something, and what must be there then; others that are refused together."""
    for row in TABLES["contents"]:
        chosen = EVERYTHING
        for path, value in row["values"].items():
            chosen = merged(chosen, path, value)
        text, refusal = render(chosen)
        problems = [refusal] if refusal else list(unsound(text))
        problems += [f"{word!r} is missing" for word in row.get("there", []) if word not in text]
        problems += [f"{word!r} is there" for word in row.get("absent", []) if word in text]
        yield from (f"{row['values']}: {problem}" for problem in problems)
    for row in TABLES["refused"]:
        text, refusal = render(row["values"])
        if text or row["word"] not in refusal:
            yield f"{row['values']}: {refusal or 'renders'}"


def main():
    renders, refused, folders = table()
    others = [(path, value) for path in folders for value in (None, "text")]
    with ThreadPoolExecutor(2) as pool:
        problems = [problem for problem in pool.map(unsound_row, renders) if problem]
        defaults = settings(yaml.safe_load((CHART / "values.yaml").read_text()))
        leaves = [(path, default) for path, default, is_folder in defaults if not is_folder]
        problems += filter(None, pool.map(without_effect, leaves))
        for found in pool.map(unrefused_rows, rounds(refused) + [[row] for row in others]):
            problems += found
    problems += [*contents(), *undocumented(), *old_cluster()]
    count = len(renders) + len(refused) + len(others)
    print("\n".join(problems) or f"{count} values of {len({row[0] for row in renders})} leaves and folders are sound")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
