"""Determines what has changed since the tests last passed, and which groups of the others are sampled.

The base is --since, else $EIDOLON_TEST_SINCE, else the newest ancestor that tested.jsonl in the cache has as passed as a
whole. Without a base everything counts as changed. A commit counts when it changes something other than documents; it
has the group of its number on the first-parent line. A run has the groups of all commits since its base that count, so that
any four consecutive ones run every test, however many of them are tested at a time.
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
    """`whole`: nothing was left out that the change can affect, and all passed. `every`: as --all."""
    file = file or tested_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    row = {"commit": commit, "date": now, "parts": sorted(parts), "whole": whole, "all": every}
    with open(file, "a") as out:
        out.write(json.dumps(row) + "\n")


def passed_with_all(commit, file=None):
    return any(row.get("commit") == commit and row.get("whole") and row.get("all") for row in tested(file))


def base_of(git, since, file=None):
    """(commit or None, why this one)."""
    for name, why in ((since, f"--since {since}"), (os.environ.get(SINCE), f"{SINCE} {os.environ.get(SINCE)}")):
        if name:
            commit = git.line("merge-base", name, "HEAD")
            if commit is None and name == since:
                raise ValueError(f"no commit is called '{name}', or it has no ancestor in common with HEAD")
            return commit, why if commit else f"{why} is not known here"
    passed = {row.get("commit") for row in tested(file) if row.get("whole")}
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


def find_change(git, since=None, file=None):
    """(the change, the same for parts that build again). Without a base these take the newest commit as the change: they
    run most of what the release build runs, and take longest where no cache knows a base."""
    if git.head() is None:
        change = Change(everything=True, sentence="no git repository: everything counts as changed")
        return change, change
    base, why = base_of(git, since, file)
    if base is not None:
        change = change_since(git, base, why)
        return change, change
    change = Change(everything=True, sentence=f"{why}: everything counts as changed")
    parent = git.line("rev-parse", "--verify", "HEAD^")
    if parent is None:
        return change, change
    again = change_since(git, parent, "the newest commit; under sanitizers")
    again.groups = again.groups or groups_of(git, parent, {"changed"})
    change.sentence += f"; under sanitizers what {git.head()[:12]} changes, and {write_groups(again.groups)}"
    return change, again
