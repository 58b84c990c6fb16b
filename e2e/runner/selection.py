"""Selects the parts that run, and how much of each: all of what a change can affect, and a sample of the others."""

import dataclasses

from runner.affects import affected_by, is_document
from runner.change import write_changes
from runner.history import SLOW_SECONDS
from runner.parts import Choice, sample, some, whole


@dataclasses.dataclass
class Affected:
    """The affected parts: the first path that affects all of each, and the words of `part:word` rows with the path."""

    everything: str = ""
    parts: dict = dataclasses.field(default_factory=dict)
    words: dict = dataclasses.field(default_factory=dict)


def affected(paths):
    found = Affected()
    for path in sorted(paths):
        parts = affected_by(path)
        if parts is None or "everything" in parts:
            found.everything = found.everything or path
            continue
        for name in parts:
            name, _, word = name.partition(":")
            if word:
                found.words.setdefault(name, {})[word] = path
            else:
                found.parts.setdefault(name, path)
    return found


def choice_of(part, change, reason, seconds):
    """Returns what of a part runs, or None. `seconds`: of its tests, as far as they are known."""
    if change.everything:
        return whole(part, "everything counts as changed")
    if reason.everything:
        return whole(part, f"{reason.everything} affects everything")
    path = reason.parts.get(part.name)
    if path and part.programs:
        return some(part, change.groups, why=f"what {path} reaches, and a sample")
    if path and part.narrow and change.only_documents:
        return Choice(path, 0.4, part.narrow(change.paths), part.command)
    if path:
        return whole(part, path)
    if part.name == "test-release" and "scripts" in reason.parts:
        return some(part, change.groups or {0})
    if change.only_documents:
        return None
    if part.always:
        return whole(part, "")
    return sample(part, change.groups, reason.words.get(part.name, {}), seconds)


def select(parts, changes, every=False, quick=False, seconds=None):
    """{part: what of it runs}, in the parts' order, with the parts that these stand on. `changes`: of each part, by its
    name. `seconds`: of each test, by part."""
    reasons = {id(change): affected(change.paths) for change in changes.values()}
    chosen = {}
    for part in parts:
        if part.again and quick:
            continue
        change = changes[part.name]
        choice = (
            whole(part, "", every=True)
            if every
            else choice_of(part, change, reasons[id(change)], (seconds or {}).get(part.name))
        )
        if choice:
            chosen[part.name] = choice
    by_name = {part.name: part for part in parts}
    waiting = list(chosen)
    while waiting:
        for name in by_name[waiting.pop()].needs:
            if name not in chosen:
                chosen[name] = whole(by_name[name], "others stand on it")
                waiting.append(name)
    return {part.name: chosen[part.name] for part in parts if part.name in chosen}


def for_programs(change, part="", seconds=None):
    """Returns what programs.py has to know of the change, for a part that runs unit tests."""

    def paths_of(name, without=""):
        parts = {path: affected_by(path) or () for path in sorted(change.paths)}
        return [path for path in parts if name in parts[path] and without not in parts[path]]

    release = (seconds or {}).get("test-release", {})
    return {
        "everything": change.everything or bool(affected(change.paths).everything),
        "paths": paths_of(part),
        "scripts": paths_of("scripts"),
        "fuzzers": paths_of("fuzz", without=part),
        "groups": sorted(change.groups),
        "slow": sorted(test for test, took in release.items() if took >= SLOW_SECONDS),
    }


def write_bases(changes):
    """Writes the first lines of a run."""
    lines = write_changes(changes)
    paths = {path for change in changes.values() for path in change.paths}
    unknown = sorted(path for path in paths if affected_by(path) is None)
    if unknown:
        lines.append(f"no row of e2e/runner/affects.txt covers {', '.join(unknown[:5])}: everything counts as changed")
    documents = sorted(filter(is_document, paths))
    if documents and len(documents) < len(paths):
        lines.append(f"{len(documents)} of the changed files are documents")
    return lines
