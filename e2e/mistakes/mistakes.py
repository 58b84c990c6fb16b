"""The most likely mistakes, of mistakes.yaml, and the files that they are made with."""

import dataclasses
import pathlib
import re

import yaml

STEP = """import torch
w = torch.zeros({size}, {size}, device="cuda", requires_grad=True)
o = torch.optim.SGD([w], lr=0.1)
for i in range({steps}):
    (w @ w).square().mean().backward(); o.step(); o.zero_grad()
"""
JOB = """apiVersion: eidolon.dev/v1alpha1
kind: SimulationJob
metadata: {name: mistake}
spec:
  cluster: {servers: 1, server: {gpu: H100-SXM5-80GB, gpusPerServer: 1}}
  command: [python, fine.py]
  suspend: true
"""
CLUSTER = """apiVersion: eidolon.dev/v1alpha1
kind: SimulatedCluster
metadata: {name: mine}
spec: {servers: 1, server: {gpu: H100-SXM5-80GB, gpusPerServer: 1}}
"""
FILES = {
    "fine.py": STEP.format(size=256, steps=20),
    "large.py": STEP.format(size=150_000, steps=20),
    "cpu.py": "print(sum(range(1000)))\n",
    "broken.py": "import torch\ntorch.zeros(8, device='cuda')\nraise ValueError('the learning rate is negative')\n",
    "second_gpu.py": "import torch\ntorch.zeros(8, device='cuda:1')\n",
    "missing_module.py": "import flash_atention\n",
    "not.yaml": "spec: [1, 2\n",
    "empty.yaml": "",
    "cluster.yaml": CLUSTER,
    "job.yaml": JOB,
    "misspelt_cluster.yaml": CLUSTER.replace("gpusPerServer", "gpuPerServer"),
    "misspelt_preset.yaml": CLUSTER.replace("gpu: H100-SXM5-80GB, gpusPerServer: 1", "preset: dgxh100"),
    "misspelt_fabric.yaml": CLUSTER.replace("spec: {", "spec: {fabric: {preset: fattree}, "),
    "misspelt_job.yaml": JOB.replace("  suspend", "  iteration: {warmup: 1}\n  suspend"),
    "wrong_type.yaml": JOB.replace("  suspend", "  iterations: {measure: many}\n  suspend"),
    "wrong_range.yaml": JOB.replace("  suspend", "  iterations: {measure: 0}\n  suspend"),
    "wrong_kind.yaml": JOB.replace("SimulationJob", "Simulationjob"),
    "wrong_version.yaml": JOB.replace("v1alpha1", "v1"),
    "wrong_name.yaml": JOB.replace("name: mistake", "name: My_Job"),
    "no_command.yaml": JOB.replace("  command: [python, fine.py]\n", ""),
    "no_cluster.yaml": re.sub(r"  cluster: .*\n", "", JOB),
    "unknown_cluster.yaml": re.sub(r"  cluster: .*\n", "  clusterRef: {name: nowhere}\n", JOB),
    "many_servers.yaml": JOB.replace("  suspend", "  servers: 3\n  suspend"),
    "wrong_pattern.yaml": JOB.replace("  suspend", "  iterations: {boundary: {log: '(step'}}\n  suspend"),
    "text.sqlite": "not a database, but long enough to be looked at: " + "x" * 200 + "\n",
}

STEPS = {"short.py": 5, "warm.py": 2}  # Of programs without PyTorch.
ROWS = yaml.safe_load(pathlib.Path(__file__).with_suffix(".yaml").read_text())
# Of a program without repetition the whole is predicted, which the report says.
PREDICTED = {"only warm-up"}


@dataclasses.dataclass(frozen=True)
class Mistake:
    name: str
    words: str  # After `eidolon`.
    wanted: str  # In the message.
    shown: str = ""  # What the table shows in the place of these words.
    asks_server: bool = False


MISTAKES = [
    *(Mistake(name, *row) for name, row in ROWS["words"].items()),
    *(
        Mistake(name, f"run --host-model fixed -- {words}", wanted, f"run -- {words}")
        for name, (words, wanted) in ROWS["programs"].items()
    ),
    *(
        Mistake(f"in a document: {name}", f"submit -f {file}", wanted, asks_server=True)
        for name, (file, wanted) in ROWS["documents"].items()
    ),
    *(Mistake(name, *row, asks_server=True) for name, row in ROWS["named"].items()),
]
REQUESTS = {f"REST: {name}": row for name, row in ROWS["requests"].items()}
NAMES = [*(mistake.name for mistake in MISTAKES), *REQUESTS]
