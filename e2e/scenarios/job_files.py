"""A .job file is a test: a job, its script, and lines that Eidolon must print for it.

    why this test is here
    === job
    a SimulationJob in YAML; @DIRECTORY@ is a folder with the scripts
    === script train.py
    the script; there may be several, or none
    === copy e2e/kube/jobs/light.py
    (nothing: a script that the tree has)
    === todo texture memory is refused
    (nothing: the lines below are a real GPU's, and do not come yet; see harness/emulated.py)
    === expected
    light  Failed  OutOfMemory
      peak memory      81.2 GiB

The expected lines are, in their order, lines of `eidolon report`, or of `eidolon submit` where it refuses the document; one
that ends with " ..." is the beginning of a line. The report's other lines may say anything. `--update` writes them anew: in
the place of each the next line with its title, and all lines where none are expected yet, but for those of this machine.
"""

import re
import shutil
import subprocess

import pytest
from emulated import todo_emulated
from server import ROOT

SECTION = re.compile(r"^=== (.+)$", re.MULTILINE)
OF_THIS_MACHINE = ("simulation",)
EXPECTED = "expected"


def sections_of(text):
    """Returns the text under each heading, and above the first."""
    about, *parts = SECTION.split(text)
    sections = {"about": about.strip()}
    for name, content in zip(parts[::2], parts[1::2], strict=True):
        if name in sections:
            raise ValueError(f"section '{name}' stands twice")
        if name not in ("job", EXPECTED) and not re.fullmatch(r"script [\w.-]+|copy [\w./-]+|todo .+", name):
            raise ValueError(
                f"section '{name}' is none of 'job', 'script NAME', 'copy FILE', 'todo REASON' and 'expected'"
            )
        sections[name] = content.lstrip("\n")
    if "job" not in sections:
        raise ValueError("section 'job' is missing")
    if not sections["about"]:
        raise ValueError("nothing above the first section says what the test is about")
    return sections


def lines_of(text):
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def title_of(line):
    """Returns what a line tells of: its words up to a colon or two spaces."""
    return re.split(r" {2,}|: ", line.strip().removesuffix(" ..."))[0]


def is_met(expected, line):
    return line.startswith(expected[:-3]) if expected.endswith(" ...") else line == expected


def missing(expected, printed):
    """The first expected line that does not come where it should, and None when all do."""
    rest = iter(printed)
    return next((line for line in expected if not any(is_met(line, other) for other in rest)), None)


def renewed(expected, printed):
    if not expected:
        return [line for line in printed if title_of(line) not in OF_THIS_MACHINE]
    lines, rest = [], list(printed)
    for old in expected:
        at = next((at for at, line in enumerate(rest) if title_of(line) == title_of(old)), None)
        if at is not None:
            lines.append(old if is_met(old, rest[at]) else rest[at])
            rest = rest[at + 1 :]
    return lines


def run(path, server, folder):
    """Returns what Eidolon prints for the job of a file, without what differs in every run: the folder and numbers
    of processes."""
    sections = sections_of(path.read_text())
    scripts = folder / "job"
    scripts.mkdir()
    for name, content in sections.items():
        if name.startswith("script "):
            (scripts / name.removeprefix("script ")).write_text(content)
        elif name.startswith("copy "):
            shutil.copy(ROOT / name.removeprefix("copy "), scripts)
    document = folder / "job.yaml"
    document.write_text(sections["job"].replace("@DIRECTORY@", str(scripts)))

    def eidolon(*words):
        command = [server.build / "bin" / "eidolon", "--data-dir", server.data, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        text = (done.stdout or done.stderr).replace(str(scripts), "@DIRECTORY@")
        return done.returncode, lines_of(re.sub(r"\bpid \d+", "pid N", text))

    status, printed = eidolon("submit", "-f", document)
    if status:
        return printed
    name = re.search(r"name: ([\w-]+)", sections["job"])[1]
    server.wait(name, 300)
    status, printed = eidolon("report", name)
    assert status == 0, printed
    return printed


def check(path, server, folder, renew):
    printed = run(path, server, folder)
    sections = sections_of(path.read_text())
    if renew and not any(name.startswith("todo ") for name in sections):
        lines = renewed(lines_of(sections.get(EXPECTED, "")), printed)
        before = path.read_text().partition(f"\n=== {EXPECTED}\n")[0].rstrip("\n")
        path.write_text(f"{before}\n\n=== {EXPECTED}\n" + "".join(line + "\n" for line in lines))
        sections = sections_of(path.read_text())
    expected = lines_of(sections.get(EXPECTED, ""))
    assert expected, f"nothing is expected of {path.name}; write it with --update"
    line = missing(expected, printed)
    assert line is None, "not printed, or not here:\n" + f"{line}\n\nprinted:\n" + "\n".join(printed)


class JobTest(pytest.Function):
    def reportinfo(self):
        """Reports the file by which pytest takes the test, so that results name it as it can be run again."""
        return self.path, 0, self.name


class JobFile(pytest.File):
    """Collected as one test, which is named after the file."""

    def collect(self):
        def job(engine, tmp_path, renew):
            check(self.path, engine, tmp_path, renew)

        test = JobTest.from_parent(self, name=self.path.stem, callobj=job)
        for name in sections_of(self.path.read_text()):
            if name.startswith("todo "):
                test.add_marker(todo_emulated(name.removeprefix("todo ")))
        yield test
