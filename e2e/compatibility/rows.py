"""The programs of the matrix that e2e/compat runs: what each is, what it needs, and how it is started (rows.yaml)."""

import dataclasses
import pathlib

import yaml

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Row:
    key: str  # What --only takes.
    group: str
    name: str
    package: str  # Whose version the page shows.
    command: tuple[str, ...]
    gpus: int = 1
    short: bool = False  # Part of the short form.
    suite: bool = False  # Prints a line for each of its tests; otherwise it only runs or does not.
    seconds: int = 300  # How long it may take on this machine.
    chunk: int = 0  # Of suites that run as several jobs (suite.py): tests of each; `seconds` are for one test.
    topic: str = ""  # Which of their tests.
    options: tuple[str, ...] = ()  # Of `eidolon run`.
    amount: str = ""  # What an iteration processes by the program's source; the report may say only this, or nothing.
    older: bool = False  # With the stock wheel of CUDA 12, and the frameworks of e2e/older_frameworks.


def command_of(words, gpus):
    """Returns the command with the path of a program of ours, and its launcher where the words name none."""
    at = next((at for at, word in enumerate(words) if word.endswith(".py")), None)
    if at is None:
        return tuple(words)
    launcher = [] if at and words[at - 1] in ("python", "torchrun") else ["torchrun" if gpus > 1 else "python"]
    return (*words[:at], *launcher, str(HERE / "programs" / words[at]), *words[at + 1 :])


def all_rows():
    rows, older = [], []
    for group, table in yaml.safe_load((HERE / "rows.yaml").read_text()).items():
        for key, fields in table.items():
            has_older = fields.pop("cuda12", False)
            command = command_of(fields.pop("run").split(), fields.get("gpus", 1))
            options = tuple(fields.pop("options", ()))
            rows.append(Row(key, group, command=command, options=options, **fields))
            if has_older:
                changed = {"key": f"{key}-cuda12", "group": "PyTorch for CUDA 12", "short": False, "older": True}
                older.append(dataclasses.replace(rows[-1], **changed))
    return [*rows, *older]


ROWS = all_rows()
