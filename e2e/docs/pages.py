"""Commands that pages of documentation hold: blocks for a shell, and the commands in them."""

import dataclasses
import functools
import re
import subprocess

SHELLS = ("bash", "console", "sh", "shell", "zsh")
OTHERS = ("json", "promql", "python", "sql", "text", "yaml")
FENCE = re.compile(r"^( *)(```+|~~~+)(\w*)(.*)$")
# Words with which a line for a shell begins, where its block does not declare that it is for one.
PROGRAM = re.compile(
    r"(\$ |export |cd |source |sudo )?(\./)?((e2e|build|shim|dashboards|operator-manifests)/"
    r"|(eidolon|pip3?|helm|kubectl|curl|git|ctest|pre-commit|cmake|ninja|torchrun|python3?)( |$))|\$ |source |export "
)
COMMENT = re.compile(r"\s{2,}#.*$")


@dataclasses.dataclass
class Block:
    line: int
    language: str  # "" where the page does not say it, "indented" without a fence.
    title: str
    lines: list

    @property
    def body(self):
        return "\n".join(self.lines) + "\n"

    def looks_like_shell(self):
        return any(PROGRAM.match(line) for line in self.lines)

    def is_shell(self):
        return self.language in SHELLS or (self.language in ("", "indented") and self.looks_like_shell())


def blocks(text):
    """Fenced blocks, also of lists, and indented ones."""
    found, open_fence, indented, blank = [], None, None, True
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if open_fence:
            margin, marks = open_fence
            if fence and fence[2].startswith(marks) and not fence[3] and not fence[4].strip():
                open_fence = None
            else:
                found[-1].lines.append(line[min(margin, len(line) - len(line.lstrip())) :])
        elif fence:
            open_fence, indented = (len(fence[1]), fence[2]), None
            title = re.search(r'title="([^"]+)"', fence[4])
            found.append(Block(number, fence[3], title[1] if title else "", []))
        elif line.startswith("    ") and (indented or blank):
            if not indented:
                indented = Block(number, "indented", "", [])
                found.append(indented)
            indented.lines.append(line[4:])
        elif line.strip():
            indented = None
        elif indented:
            indented.lines.append("")
        blank = not line.strip()
    return found


def for_shell(block):
    """The block's lines as a shell gets them: where some have a prompt, only these, and what continues them."""
    if not any(line.startswith("$ ") for line in block.lines):
        return block.lines
    kept, goes_on = [], False
    for line in block.lines:
        if line.startswith("$ ") or goes_on:
            kept.append(line.removeprefix("$ "))
            goes_on = line.endswith("\\")
    return kept


def shown(block):
    """Output that the block shows below the commands with a prompt; "..." stands for lines that are left out."""
    if not any(line.startswith("$ ") for line in block.lines):
        return []
    commands = for_shell(block)
    lines = [line for line in block.lines if line.removeprefix("$ ") not in commands]
    return [line for line in lines if line.strip() not in ("", "...")]


def masked(line):
    """The line without what differs from run to run: numbers, bars, colours, and how columns are aligned."""
    plain = re.sub(r"\x1b\[[\d;]*m|[█▏▎▍▌▋▊▉]+", "", line)
    return " ".join(re.sub(r"\d[\d.,:]*( \d{3}\b)*", "0", plain).split())


def not_printed(path, output):
    """Lines that the page shows as output, and that its commands did not print."""
    printed = {masked(line) for line in output.splitlines()}
    lines = [line for block in blocks(path.read_text()) if block.is_shell() for line in shown(block)]
    return [line for line in lines if masked(line) not in printed]


@functools.cache
def is_whole(text):
    """Returns whether a shell would run it, rather than wait for more lines."""
    if text.endswith("\\"):
        return False
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
    return done.returncode == 0 and not done.stderr


def commands(block):
    """Each command of the block with its lines, such as those of a here-document or of a loop."""
    pending = []
    for line in for_shell(block):
        if pending or (line.strip() and not line.lstrip().startswith("#")):
            pending.append(line)
        if pending and is_whole("\n".join(pending)):
            yield "\n".join(pending)
            pending = []
    if pending:
        yield "\n".join(pending)


def name_of(command):
    """Returns what the tables call a command: its first line, without a comment and without "./"."""
    return COMMENT.sub("", command.splitlines()[0]).strip().removeprefix("./")


def commands_of(path):
    return [command for block in blocks(path.read_text()) if block.is_shell() for command in commands(block)]


def problems_of(path):
    """Blocks that say nothing or something unknown of what they are, so that commands could hide in them."""
    for block in blocks(path.read_text()):
        if block.language not in ("", "indented", *SHELLS, *OTHERS):
            yield f"line {block.line}: no rule for blocks of '{block.language}': pages.py lists those of a shell"
        if block.language in ("", "text") and block.looks_like_shell():
            yield f"line {block.line}: commands in a block that does not say so: begin it with ```bash"
        if block.is_shell():
            for command in commands(block):
                if not is_whole(command):
                    yield f"line {block.line}: no whole command: {name_of(command)}"
