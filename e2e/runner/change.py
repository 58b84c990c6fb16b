"""Determines what has changed since each part last passed, and which groups of the others are sampled.

The base of a part is --since, else $EIDOLON_TEST_SINCE, else the newest ancestor where tested.jsonl in the cache says that
the part passed. A part that failed there keeps its former base, while the parts beside it have the new one. Without a base
everything counts as changed. A commit counts when it changes something other than documents; it has the group of its number
on the first-parent line. A part samples the groups of all commits since its base that count, so that any four consecutive
ones run every test, however many of them are tested at a time.
"""

import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import subprocess

from runner.affects import is_document
from sampling import GROUPS, group_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
SINCE = "EIDOLON_TEST_SINCE"
ALL_GROUPS = frozenset(range(GROUPS))
WORKING_DAY_SECONDS = 8 * 3600


def cache_folder():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "eidolon"
    return pathlib.Path(os.environ.get("EIDOLON_CACHE_DIR") or cache)


class Git:
    """Questions to the repository. What git does not answer is None."""

    def __init__(self, root=ROOT):
        self.root = str(root)

    def __call__(self, *words):
        try:
            done = subprocess.run(["git", "-C", self.root, *words], capture_output=True, text=True)
        except FileNotFoundError:
            return None
        return done.stdout if done.returncode == 0 else None

    def line(self, *words):
        text = self(*words)
        return text.strip() or None if text is not None else None

    def paths(self, *words):
        text = self(*words)
        return None if text is None else {path for path in text.split("\0") if path}

    def head(self):
        return self.line("rev-parse", "--verify", "HEAD^{commit}")

    def uncommitted(self):
        """Paths of the tree that differ from HEAD, or that are new."""
        changed = self.paths("diff", "--name-only", "--no-renames", "-z", "HEAD", "--")
        new = self.paths("ls-files", "-z", "--others", "--exclude-standard")
        return None if changed is None or new is None else changed | new

    def committed(self, base):
        return self.paths("diff", "--name-only", "--no-renames", "-z", base, "HEAD", "--")

    def a_working_day_before(self):
        """The newest commit of the first-parent line that is a working day older than HEAD, or None."""
        at = self.line("log", "-1", "--format=%ct", "HEAD")
        return at and self.line("rev-list", "-1", "--first-parent", f"--before={int(at) - WORKING_DAY_SECONDS}", "HEAD")

    def counting(self):
        """Commits of the first-parent line that count, from the first one; None if the line is cut off."""
        if self.line("rev-parse", "--is-shallow-repository") != "false":
            return None
        form = ("--first-parent", "--diff-merges=first-parent", "--no-renames", "--name-only", "--reverse")
        text = self("-c", "core.quotePath=false", "log", *form, "--format=%x00%H", "HEAD")
        if text is None:
            return None
        commits = [lines.split("\n") for lines in text.split("\0")[1:]]
        return [one[0] for one in commits if any(path and not is_document(path) for path in one[1:])]


@dataclasses.dataclass
class Change:
    """`paths` differ from the base, unless everything counts as changed. `groups`: sampled of what it cannot affect."""

    paths: frozenset = frozenset()
    everything: bool = False
    groups: frozenset = ALL_GROUPS
    sentence: str = ""

    @property
    def only_documents(self):
        return bool(self.paths) and not self.everything and all(map(is_document, self.paths))


def tested_file():
    return cache_folder() / "tested.jsonl"


def read_rows(file):
    """One row a line. Half a line, of a run that was killed, is passed over."""
    rows = []
    for line in file.read_text().splitlines() if file.exists() else []:
        with contextlib.suppress(ValueError):
            rows.append(json.loads(line))
    return rows


def tested(file=None):
    """Returns what runs have recorded, from the oldest."""
    return read_rows(file or tested_file())


def record(commit, parts, whole, every, file=None):
    """`parts`: those that passed in a run of all that the change since their bases can affect. `whole`: no part was left out
    that this change can affect, and all passed. `every`: as --all."""
    file = file or tested_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    row = {"commit": commit, "date": now, "parts": sorted(parts), "whole": whole, "all": every}
    with open(file, "a") as out:
        out.write(json.dumps(row) + "\n")


def passed_with_all(commit, file=None):
    return any(row.get("commit") == commit and row.get("whole") and row.get("all") for row in tested(file))


def base_of(git, since, rows, parts):
    """(commit or None, why this one) for parts that have a base together. `rows`: of tested.jsonl."""
    for name, why in ((since, f"--since {since}"), (os.environ.get(SINCE), f"{SINCE} {os.environ.get(SINCE)}")):
        if name:
            commit = git.line("merge-base", name, "HEAD")
            if commit is None and name == since:
                raise ValueError(f"no commit is called '{name}', or it has no ancestor in common with HEAD")
            return commit, why if commit else f"{why} is not known here"
    passed = {row.get("commit") for row in rows if row.get("whole") or parts <= set(row.get("parts", ()))}
    line = git("rev-list", "HEAD") if passed else None
    commit = next((one for one in (line or "").split() if one in passed), None)
    return commit, "the newest commit that has passed" if commit else "no ancestor has passed here"


def groups_of(git, base, uncommitted):
    """The groups that the commits after the base have. What is not committed counts as one more commit."""
    head = git.head()
    counting = git.counting()
    if counting is None:  # Of a shallow clone the number is not known.
        return frozenset({group_of(head)})
    after = set((git("rev-list", "--first-parent", f"{base}..HEAD") or "").split())
    numbers = {number for number, commit in enumerate(counting) if commit in after}
    if any(not is_document(path) for path in uncommitted):
        numbers.add(len(counting))
    return frozenset(number % GROUPS for number in numbers or {len(counting) - 1})


def newest_groups(git):
    """The group of HEAD, or of the newest commit before it that counts; of no repository the first one."""
    parent = git.line("rev-parse", "--verify", "HEAD^")
    return groups_of(git, parent, ()) if parent else frozenset({0})


def write_groups(groups):
    numbers = ", ".join(str(group + 1) for group in sorted(groups))
    return f"group{'s' * (len(groups) > 1)} {numbers} of {GROUPS}"


def change_since(git, base, why):
    uncommitted, committed = git.uncommitted(), git.committed(base)
    if uncommitted is None or committed is None:
        return Change(
            everything=True, sentence="git cannot compare the tree with its base: everything counts as changed"
        )
    paths = frozenset(uncommitted | committed)
    change = Change(paths=paths, groups=groups_of(git, base, uncommitted))
    files = f"{len(paths)} changed file{'s' * (len(paths) != 1)}"
    if change.only_documents:
        change.groups = frozenset()
        change.sentence = f"base {base[:12]} ({why}): {files}, only documents: no sample"
    else:
        change.sentence = f"base {base[:12]} ({why}): {files}; of the rest {write_groups(change.groups)}"
    return change


def without_a_base(git, why, again):
    """The change for parts that have passed nowhere: that of the last eight hours before HEAD. Those that build again take
    the newest commit as the change: they run most of what the release build runs, and take longest with cold caches. The
    sample is one group, whatever number of commits that is: no run before has left the others to this one."""
    base = git.line("rev-parse", "--verify", "HEAD^") if again else git.a_working_day_before()
    if base is None:
        return Change(everything=True, sentence=f"{why}: everything counts as changed")
    what = f"what {git.head()[:12]} changes" if again else "what the last eight hours have changed"
    change = change_since(git, base, what)
    change.groups = newest_groups(git)
    change.sentence = f"{why}: {what} ({len(change.paths)} files), and {write_groups(change.groups)}"
    return change


def find_changes(git, parts, since=None, file=None):
    """{part: its change}. Parts that build again have one base together, and the same change has the same object."""
    if git.head() is None:
        change = Change(everything=True, sentence="no git repository: everything counts as changed")
        return {part.name: change for part in parts}
    rows = tested(file)
    building = frozenset(part.name for part in parts if part.again)
    made, changes = {}, {}
    for part in parts:
        base, why = base_of(git, since, rows, building if part.again else {part.name})
        key = base or (why, part.again)
        if key not in made:
            made[key] = change_since(git, base, why) if base else without_a_base(git, why, part.again)
        changes[part.name] = made[key]
    return changes


def write_changes(changes):
    """A sentence for each different change, with the parts that have it unless most have."""
    parts = {}
    for name, change in changes.items():
        parts.setdefault(id(change), []).append((name, change))
    ordered = sorted(parts.values(), key=len, reverse=True)
    lines = []
    for same in ordered:
        names = ", ".join(name for name, _ in same)
        lines.append(same[0][1].sentence if same is ordered[0] else f"{names}: {same[0][1].sentence}")
    return lines
