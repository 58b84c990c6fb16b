"""Commands that sentences name (`eidolon report JOB --html FILE`): their subcommands, flags and programs must be there.

They hold placeholders and are not run; what is run stands in a block.
"""

import re
import shlex
import subprocess

SPAN = re.compile(r"(?<!`)`(eidolon [^`\n]+|(?:e2e|dashboards|operator-manifests)/[^`\n]+)`(?!`)")
FENCED = re.compile(r"^( *)(```+|~~~+).*?^\1\2", re.M | re.S)
ROW = re.compile(r"'(eidolon[^']*)'\) commands='([^']*)' flags='([^']*)' ;;")


def tree_of(program):
    """Path of each command: its subcommands and flags, as completion knows them."""
    text = subprocess.check_output([program, "completion", "bash"], text=True)
    return {path: (set(commands.split()), set(flags.split())) for path, commands, flags in ROW.findall(text)}


def words_of(span):
    try:
        words = shlex.split(span)
    except ValueError:
        words = span.split()
    end = next((at for at, word in enumerate(words) if word in ("--", "&", "|", "...")), len(words))
    return words[:end]


def problem_of(span, tree):
    """What the command does not have, or None."""
    path, flags = "eidolon", set(tree["eidolon"][1])
    for word in words_of(span)[1:]:
        commands = tree[path][0]
        if word in commands:
            path += f" {word}"
            flags |= tree[path][1]
        elif re.match(r"--?[a-z]", word):
            if word.partition("=")[0] not in flags:
                return f"{path} has no {word}"
        elif commands and re.fullmatch(r"[a-z-]+", word):
            return f"{path} has no command {word}"
    return None


def problems_of(path, tree, root):
    """Yields the problems of a page."""
    for span in SPAN.findall(FENCED.sub("", path.read_text())):
        if span.startswith("eidolon "):
            if problem := problem_of(span, tree):
                yield f"`{span}`: {problem}"
        elif not re.search(r"[*<{A-Z]", program := span.split()[0].partition(":")[0]):
            if not (root / program).exists():
                yield f"`{span}`: no {program}"
