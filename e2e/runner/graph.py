"""Finds what a changed file reaches in a build folder, by the edges and the headers that ninja knows after a build."""

import collections
import functools
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Ninja writes `$ `, `$:` and `$$` for these characters in paths, and goes on in the next line after `$`.
WORD = re.compile(r"(?:\$.|[^ $])+")
COMPILED = ("services/", "shim/", "proto/")


def words_of(text):
    return [re.sub(r"\$(.)", r"\1", word) for word in WORD.findall(text)]


def edges_of(text):
    """(outputs, inputs) of every edge. Only test programs have inputs that are merely built first, since they may start
    those programs."""
    for line in text.replace("$\n", "").splitlines():
        if not line.startswith("build "):
            continue
        outputs, _, rest = re.sub(r" \|\|? ", lambda bar: f" {bar[0].strip()} ", line[6:]).partition(": ")
        outputs = [word for word in words_of(outputs) if word != "|"]
        before, _, order_only = rest.partition(" || ")
        inputs = [word for word in words_of(before)[1:] if word != "|"]
        if any(output.startswith("tests/") for output in outputs):
            inputs += words_of(order_only)
        yield outputs, inputs


class Graph:
    """Paths are relative to the tree for its files, and to the build folder for what is built."""

    def __init__(self, build, edges, headers, root=ROOT):
        """`headers`: the text of `ninja -t deps`."""
        self.build, self.root = os.path.realpath(build), os.path.realpath(root)
        self.names = {}
        self.users = collections.defaultdict(set)
        self.outputs = set()
        for outputs, inputs in edges:
            outputs = list(map(self.name, outputs))
            self.outputs.update(outputs)
            for path in map(self.name, inputs):
                self.users[path].update(outputs)
        output = None
        for line in headers.splitlines():
            if line.startswith(" "):
                self.users[self.name(line.strip())].add(output)
            elif line:
                output = self.name(line.partition(": #deps")[0])

    def name(self, path):
        if path not in self.names:
            whole = os.path.normpath(os.path.join(self.build, path))
            for top in (self.build, self.root):
                if whole.startswith(top + os.sep):
                    whole = whole[len(top) + 1 :]
                    break
            self.names[path] = whole
        return self.names[path]

    def starts(self, path):
        """Returns what is made of a file directly. Of a file that no edge names (data, a list of sources, one that
        is gone): all that is made in its folder, or in the nearest one above in which something is; None without
        such a folder."""
        if path in self.users and not path.endswith("CMakeLists.txt"):
            return self.users[path]
        folder = path
        while folder := os.path.dirname(folder):
            made = {output for output in self.outputs if output.startswith(folder + "/")}
            if made and folder.startswith(COMPILED):
                return made
        return None

    def reached(self, paths):
        """All that is made of the files, directly or not; None when that is not known for one of them."""
        waiting, seen = [], set()
        for path in paths:
            made = self.starts(path)
            if made is None:
                return None
            waiting += made
        while waiting:
            output = waiting.pop()
            if output not in seen:
                seen.add(output)
                waiting += self.users.get(output, ())
        return seen

    def programs_in(self, folder):
        """Test programs that link an object of the folder, or of the nearest one above of which any links one."""
        while folder:
            objects = [made for made in self.users if made.startswith(folder + "/CMakeFiles/")]
            if found := {user for made in objects for user in self.users[made] if user.startswith("tests/")}:
                return found
            folder = os.path.dirname(folder)
        return set()


@functools.cache
def read_graph(build):
    edges = edges_of((pathlib.Path(build) / "build.ninja").read_text())
    headers = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True, text=True)
    return Graph(build, edges, headers.stdout)


def name_of(case):
    """Returns the name of a test, without the values of its parameters. CMake leaves them after a name that a
    generator gave, with addresses that change with every build."""
    return case.partition("  # GetParam()")[0]


class CTestCase:
    """A test that ctest knows. `number` counts from 1, as ctest's -I does."""

    def __init__(self, number, entry, build):
        self.number, self.name = number, name_of(entry["name"])
        properties = {one["name"]: one["value"] for one in entry.get("properties", [])}
        self.labels = set(properties.get("LABELS", []))
        self.disabled = bool(properties.get("DISABLED"))
        environment = properties.get("ENVIRONMENT", [])
        texts = [*entry.get("command", []), *(environment if isinstance(environment, list) else [environment])]
        top = os.path.realpath(build) + os.sep
        parts = [
            os.path.normpath(word) for text in texts for word in re.split(r"[=:;,\s]", text) if word.startswith("/")
        ]
        # Outputs and folders of the build that its command names.
        self.uses = {
            word[len(top) :] if word.startswith(top) else "" for word in parts if (word + os.sep).startswith(top)
        }
        self.program = next((use for use in sorted(self.uses) if use.startswith("tests/")), None)

    def is_reached(self, paths, scripts, reached):
        """Whether a change can affect it: `reached` of the changed `paths`; tests without a program read `scripts`."""
        if not self.uses:
            return bool(scripts)
        for use in self.uses:
            folders = (use + "/",) if use else ("bin/", "lib/")
            if use in reached or (use != self.program and any(one.startswith(folders) for one in reached)):
                return True
        # Scripts beside the sources change without anything being made of them.
        return not self.program and any(path.endswith(".py") for path in paths)
