"""The `eidolon` command of an installed wheel: becomes the program that the wheel brings."""

from __future__ import annotations

import os
import pathlib
import sys
import sysconfig
from collections.abc import Mapping


def program() -> pathlib.Path:
    """The command that the wheel brings; `EIDOLON_PROGRAM` names another, such as that of a build."""
    named = os.environ.get("EIDOLON_PROGRAM")
    path = pathlib.Path(named).resolve() if named else pathlib.Path(__file__).resolve().parent / "bin/eidolon"
    if not os.access(path, os.X_OK):
        raise FileNotFoundError(f"{path} is not there; install the wheel, or name a program in EIDOLON_PROGRAM")
    return path


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """`given`, with this Python's programs in PATH: torchrun is beside it, and its environment need not be active."""
    scripts = sysconfig.get_path("scripts")
    folders = given.get("PATH", os.defpath).split(os.pathsep)
    return {**given, "PATH": os.pathsep.join(folders if scripts in folders else [scripts, *folders])}


def main() -> None:
    try:
        path = program()
    except FileNotFoundError as error:
        sys.exit(f"eidolon: {error}")
    os.execve(path, ["eidolon", *sys.argv[1:]], environment(os.environ))


if __name__ == "__main__":
    main()
