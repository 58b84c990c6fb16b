"""Checks whether a replay predicts what its run did, measures how much faster it is, and prints lines "eidolon-bench
NAME VALUE". Run by `eidolon bench` with the path of eidolon and the number of training steps."""

import json
import os
import subprocess
import sys
import tempfile

TRAIN = """
import sys, torch
width = 1024
layers = [torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU()) for _ in range(24)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
batch = torch.empty(512, width, device="cuda")
for _ in range(int(sys.argv[1])):
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    loss.item()
"""
# Parts that a replay without changes repeats.
PARTS = ("iterationSeconds", "iterationPicoseconds", "breakdown", "memory", "coverage")


def report(name, value):
    print("eidolon-bench", name, value, flush=True)


def job_of(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{command[1]} ended with {done.returncode}: {done.stderr[-500:]}")
    return json.loads(done.stdout[done.stdout.index("{\n") :])["status"]


def main(eidolon, steps):
    with tempfile.TemporaryDirectory() as folder:
        program, recording = os.path.join(folder, "train.py"), os.path.join(folder, "step.eidrec")
        with open(program, "w", encoding="utf-8") as file:
            file.write(TRAIN)
        gpu = ["--gpu", "H100-SXM5-80GB", "--gpus-per-server", "1"]
        flags = ["--host-model", "fixed", "--values", "off", "--measure", str(steps), "--record", recording]
        run = job_of([eidolon, "run", *gpu, *flags, "-o", "json", "--", sys.executable, program, str(steps + 8)])
        replay = job_of([eidolon, "replay", recording, "-o", "json"])
    parts = [(run["prediction"].get(part), replay["prediction"].get(part)) for part in PARTS]
    if any(first is None for first, _ in parts):
        sys.exit(f"the run predicted nothing: {run['conditions']}")
    report("replay_differences", sum(first != again for first, again in parts))
    report("replay_run_seconds", run["simulation"]["wallSeconds"])
    report("replay_seconds", replay["simulation"]["wallSeconds"])
    report("replay_factor", run["simulation"]["wallSeconds"] / replay["simulation"]["wallSeconds"])


main(sys.argv[1], int(sys.argv[2]))
