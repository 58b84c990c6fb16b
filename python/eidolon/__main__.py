"""The `eidolon` command of an installed wheel: becomes the program that the wheel brings."""

import os
import pathlib
import sys
import sysconfig


def program() -> pathlib.Path:
    """The command that the wheel brings; `EIDOLON_PROGRAM` names another, such as that of a build."""
    named = os.environ.get("EIDOLON_PROGRAM")
    return pathlib.Path(named) if named else pathlib.Path(__file__).resolve().parent / "bin/eidolon"


def main() -> None:
    path = program()
    if not os.access(path, os.X_OK):
        sys.exit(f"eidolon: {path} is not there; install the wheel, or name a program in EIDOLON_PROGRAM")
    # torchrun is beside this command, whose environment need not be active.
    scripts = sysconfig.get_path("scripts")
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if scripts not in folders:
        os.environ["PATH"] = os.pathsep.join([scripts, *folders])
    os.execv(path, ["eidolon", *sys.argv[1:]])


if __name__ == "__main__":
    main()
