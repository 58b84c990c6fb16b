"""Measures the cost of a whole job on this machine, and prints it as lines "eidolon-bench NAME VALUE". Run by
`eidolon bench --jobs` with the path of eidolon, the job's name, and its program's text."""

import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile

# Arguments of `eidolon run`, those of the program, and the packages that it needs.
JOBS = {
    "quickstart": (["--preset", "dgx-h100", "--servers", "2", "--gpus-per-server", "4"], ["--steps", "20"], ["torch"]),
    "lora": (["--preset", "dgx-h100", "--gpus-per-server", "2"], [], ["torch", "transformers", "peft"]),
}
LONGEST_SECONDS = 600


def report(name, value):
    print("eidolon-bench", name, value, flush=True)


def main(eidolon, name, text):
    cluster, words, needed = JOBS[name]
    missing = [package for package in needed if importlib.util.find_spec(package) is None]
    if missing:
        sys.exit(f"{sys.executable} lacks {' and '.join(missing)}: pip install {' '.join(missing)}")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "train.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(text)
        flags = [*cluster, "--warmup", "3", "--measure", "5", "-o", "json"]
        command = [eidolon, "run", *flags, "--", sys.executable, "-m", "torch.distributed.run", program, *words]
        environment = {**os.environ, "RANKS_GO_ON": "1"}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS, env=environment
        )
    if done.returncode != 0:
        sys.exit(f"its job ended with {done.returncode}: {done.stderr[-300:]}")
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    status = json.loads(done.stdout[done.stdout.index("{\n") :])["status"]
    report("job_seconds", status["simulation"]["wallSeconds"])
    report("job_processor_seconds", spent.ru_utime + spent.ru_stime)


main(*sys.argv[1:4])
