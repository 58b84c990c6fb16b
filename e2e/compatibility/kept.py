"""What the jobs of a suite came to, kept as they end, so that a run of it that was stopped can go on.

One line of JSON for each job, in a file of its own for the row, what it runs and the build that runs it: other binaries,
other packages or another program of the suite start anew.
"""

import dataclasses
import hashlib
import json
import os
import pathlib


@dataclasses.dataclass(frozen=True)
class Job:
    found: dict  # Kind and reason by the test's name.
    prediction: dict  # Unknown reads and refused calls, as the job's status has them.
    wall: float


def file_for(row, build, main, packages):
    """Returns where the row's jobs are kept."""
    words = [pathlib.Path(word).name for word in row.command]  # The same in every checkout.
    seen = hashlib.sha256(repr((words, row.gpus, main.name, packages.name)).encode())
    programs = [pathlib.Path(word) for word in row.command if word.endswith(".py")]
    for path in sorted([*build.glob("bin/*"), *build.glob("lib/**/*.so*"), *programs]):
        if path.is_file():
            seen.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    cache = pathlib.Path(os.environ.get("EIDOLON_CACHE_DIR", main.parent))
    return cache / "compatibility-jobs" / f"{row.key}-{seen.hexdigest()[:16]}.jsonl"


class Jobs:
    """The jobs that a file keeps; of one process at a time."""

    def __init__(self, path, anew):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if anew:
            path.unlink(missing_ok=True)

    def ended(self):
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [Job(**json.loads(line)) for line in lines]

    def keep(self, job):
        lines = [json.dumps(dataclasses.asdict(each)) + "\n" for each in (*self.ended(), job)]
        unfinished = self.path.with_suffix(".new")
        unfinished.write_text("".join(lines))
        unfinished.replace(self.path)
