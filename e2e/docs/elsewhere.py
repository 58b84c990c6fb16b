"""Checks what tested.yaml may state about a command that the pages' sessions do not run.

    {part: NAME, as: WORDS}              a part of e2e/test is exactly these words
    {part: NAME, file: FILE, as: WORDS}  FILE, which that part runs, holds these words, as a shell or as Python has them
    {part: NAME, reads: FILE}            FILE, which that part runs, takes the command out of the page and runs it
    {same: PAGE}                         the same command stands on that page, too, and is run there or from there
    {minutes: N, as: WORDS}              it takes more than ten minutes, so that no test runs it; these words do

Where the words differ from the command, or a machine is needed, `why` says so. Steps of e2e/kube/run are named beside the
part: {part: kube, step: NAME, ...}.
"""

import functools
import json
import pathlib
import re
import shlex
import sys

import pages

ROOT = pathlib.Path(__file__).resolve().parents[2]
KNOWN = {"part", "as", "file", "reads", "same", "minutes", "why", "step"}


@functools.cache
def parts():
    """Words of each part of e2e/test, and of what continuous integration runs, as "all"."""
    sys.path.insert(0, str(ROOT / "e2e"))
    from runner.parts import all_parts

    whole = (ROOT / ".ci/run").read_text().splitlines()[-1].removeprefix("exec ./")
    return {"all": whole, **{part.name: " ".join(map(str, part.command)) for part in all_parts()}}


@functools.cache
def steps():
    """Of the cluster test, those that every run of the test command has: tests marked `fixed`."""
    found = set()
    for path in (ROOT / "e2e/kube").glob("test_*.py"):
        text = path.read_text()
        all_are = "\npytestmark = pytest.mark.fixed\n" in text
        marked = re.findall(r"^((?:@.*\n)*)def test_(\w+)", text, re.M)
        found |= {name for marks, name in marked if all_are or "mark.fixed\n" in marks}
    return found


def holds(file, words):
    """Returns whether the words stand there as a line of a shell, or as a list of texts."""
    split = shlex.split(words)
    listed = ", ".join(json.dumps(word) for word in split[1:])
    text = (ROOT / file).read_text()
    return words in map(str.strip, text.splitlines()) or (len(split) > 2 and listed in text)


def problem_of(page, command, what, others):
    """Returns what is wrong with `what`, or None. `others`: all pages by name."""
    if unknown := set(what) - KNOWN:
        return f"no rule for {', '.join(sorted(unknown))}"
    if "same" in what:
        return problem_of_same(page, command, what["same"], others)
    if "as" in what and what["as"] != command and not what.get("why"):
        return f"'{what['as']}' is another command: say why"
    if "minutes" in what:
        program = ROOT / what["as"].split()[0]
        if what["minutes"] <= 10 or not what.get("why"):
            return "what takes ten minutes or less is run, and what takes more says why"
        return None if program.exists() else f"no program {program.relative_to(ROOT)}"
    return problem_of_part(page, what)


def problem_of_same(page, command, other, others):
    if other == page or other not in others:
        return f"no other page {other}"
    if command not in map(pages.name_of, others[other].commands):
        return f"{other} does not have it"
    return f"{other} says the same of this page" if "same" in others[other].elsewhere.get(command, {}) else None


def problem_of_part(page, what):
    part = parts().get(what.get("part"))
    if part is None:
        return f"no part {what.get('part')} of e2e/test"
    if "step" in what and what["step"] not in steps():
        return f"no step {what['step']} in the short form of e2e/kube/run"
    file = what.get("reads") or what.get("file")
    if file and not (ROOT / file).is_file():
        return f"no file {file}"
    if "reads" in what:
        return None if f'"{page}"' in (ROOT / file).read_text() else f"{file} does not read {page}"
    if "as" not in what:
        return "which words are run? 'as' or 'reads' is missing"
    if file:
        return None if holds(file, what["as"]) else f"{file} does not hold '{what['as']}'"
    return None if part == what["as"] else f"the part {what['part']} runs '{part}'"
