"""Runs every command of the documentation, or demands to be told which test does.

A page's commands run one after another in one shell, in a folder of their own, as they stand: blocks with a title become
files there, `bash` blocks and indented ones are run. Output that a page shows below a command with a prompt must be
printed, numbers aside. tested.yaml says for a page what else its folder holds, what runs
instead of a command, and which commands something else runs; see there. A page that it does not name runs whole. What
tested.yaml says of a command that no page has, or of a test that is not there, fails as well.
"""

import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

import elsewhere
import pages
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent

PAGES = ["README.md", "CONTRIBUTING.md", "docs/**/*.md", "{}/README.md", "e2e/**/README.md"]
FOLDERS = ("dashboards", "helm", "operator-manifests", "python", "services", "shim")
MINUTES = 8
# Files that a command says it writes.
WRITTEN = re.compile(r"(?:--(?:html|svg|timeline|record|table|out)|\s-o|[^&\d]>)\s+([\w.-]+\.\w+)\b")


def all_pages(root=ROOT):
    found = {path for pattern in PAGES if "{}" not in pattern for path in root.glob(pattern)}
    return sorted(found | {root / name / "README.md" for name in FOLDERS if (root / name / "README.md").exists()})


class Page:
    """A page, its commands, and what tested.yaml says of it."""

    def __init__(self, path, said, root=ROOT):
        self.path, self.name = path, str(path.relative_to(root))
        self.files, self.instead = said.get("files", {}), said.get("instead", {})
        self.elsewhere, self.at = said.get("elsewhere", {}), said.get("titled", ".")
        self.unknown = set(said) - {"files", "instead", "elsewhere", "titled"}
        self.commands = pages.commands_of(path)

    def run_here(self):
        """(as the page has it, what is run) of all commands that nothing else runs."""
        for command in self.commands:
            name = pages.name_of(command)
            if name not in self.elsewhere:
                yield command, self.instead.get(name, {"run": command})["run"]

    def problems(self, others):
        """Returns what is wrong with what is said, without running anything."""
        yield from pages.problems_of(self.path)
        names = {pages.name_of(command) for command in self.commands}
        for word in sorted(self.unknown):
            yield f"tested.yaml: no rule for '{word}'"
        for name in sorted({*self.instead, *self.elsewhere} - names):
            yield f"tested.yaml: the page does not have '{name}'"
        for name in sorted(set(self.instead) & set(self.elsewhere)):
            yield f"tested.yaml: '{name}' is run both here and elsewhere"
        for name, what in self.instead.items():
            if set(what) != {"run", "why"} or not what["why"]:
                yield f"tested.yaml: '{name}': what runs instead has 'run' and 'why'"
        for source in self.files.values():
            if not (ROOT / source).exists():
                yield f"tested.yaml: no file {source}"
        for name, what in self.elsewhere.items():
            if problem := elsewhere.problem_of(self.name, name, what, others):
                yield f"tested.yaml: '{name}': {problem}"


def read(root=ROOT, table=HERE / "tested.yaml"):
    """Pages with commands, and what is wrong with pages or table."""
    said = yaml.safe_load(table.read_text()) or {}
    found = {page.name: page for page in (Page(p, {}, root) for p in all_pages(root))}
    wrong = [f"tested.yaml: no page {name}" for name in said if name not in found]
    for name, what in said.items():
        if name in found:
            found[name] = Page(found[name].path, what, root)
    for page in found.values():
        wrong += [f"{page.name}: {problem}" for problem in page.problems(found)]
    return [page for page in found.values() if page.commands], wrong


def script_of(page):
    lines = ["set -e -o pipefail", "trap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT"]
    for command, run in page.run_here():
        lines += [f"echo {shlex.quote('+ ' + pages.name_of(command))}", run]
    return "\n".join(lines) + "\n"


def fill(folder, page):
    """Returns what the page's reader has by then: the table's files, and those that the page shows."""
    for name, source in page.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, folder / name)
        else:
            shutil.copy(ROOT / source, folder / name)
    for block in pages.blocks(page.path.read_text()):
        if block.title:
            (folder / page.at / block.title).write_text(block.body)


def ends(process, page):
    """Returns what it printed once it ended, and what is wrong with how it did."""
    try:
        output, _ = process.communicate(timeout=60 * MINUTES)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return output, f"no end within {MINUTES} minutes"
    if process.returncode == 0:
        return output, ""
    ran = re.findall(r"^\+ (.*)$", output, re.M)
    return output, f"'{ran[-1] if ran else page.name}' ended with {process.returncode}"


def is_written(file, since):
    return file.stat().st_size > 0 and file.stat().st_mtime >= since


def run_page(page, build, python):
    """The page's commands in a folder of their own; what went wrong, or nothing."""
    with tempfile.TemporaryDirectory(prefix="eidolon-docs-") as name:
        folder = pathlib.Path(name)
        fill(folder, page)
        environment = {
            **os.environ,
            "PATH": f"{python}/bin:{build}/bin:{os.environ['PATH']}",
            "HOME": name,
            "TREE": str(ROOT),
            "BUILD": str(build),
            # torchrun's ranks share its import of torch, which is half of what most pages take.
            "RANKS_GO_ON": "1",
            "XDG_DATA_HOME": f"{name}/data",
            "XDG_CACHE_HOME": f"{name}/.cache",
            "EIDOLON_CACHE_DIR": os.environ.get("EIDOLON_CACHE_DIR", os.path.expanduser("~/.cache/eidolon")),
        }
        started = time.time()
        process = subprocess.Popen(
            ["bash", "-c", script_of(page)],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        output, problem = ends(process, page)
        if problem:
            return f"{problem}:\n{output[-3000:]}"
        for command, _ in page.run_here():
            for written in WRITTEN.findall(" " + command):
                if not any(is_written(file, started) for file in folder.rglob(written)):
                    return f"'{pages.name_of(command)}' wrote no {written}"
        for line in pages.not_printed(page.path, output):
            return f"the page shows a line that no command printed: '{line}':\n{output[-3000:]}"
    return ""
