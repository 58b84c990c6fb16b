"""The most likely mistakes: what is meant, what is done, and what the message must contain, which is the way out."""

import dataclasses
import re

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
    "short.py": STEP.format(size=256, steps=5),
    "warm.py": STEP.format(size=256, steps=2),
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

# Each row holds the intention, the words after `eidolon`, and the text that the message must contain.
WORDS = [
    ("no subcommand", "", "subcommand"),
    ("a misspelt subcommand", "rnu -- python fine.py", "'run'"),
    ("an abbreviated subcommand", "compl", "'completion'"),
    ("a misspelt flag", "run --gpu-per-server 8 -- python fine.py", "'--gpus-per-server'"),
    ("no program", "run", "command"),
    ("no GPU at all", "run --gpus-per-server 0 -- python fine.py", "1"),
    ("a word for a number", "run --gpus-per-server eight -- python fine.py", "eight"),
    ("a negative number", "run --servers -1 -- python fine.py", "1"),
    ("nothing to measure", "run --measure 0 -- python fine.py", "1"),
    ("the family of a GPU", "run --gpu A100 -- python fine.py", "A100-SXM4-80GB"),
    ("a GPU in lower case", "run --gpu h100 -- python fine.py", "H100-SXM5-80GB"),
    ("a misspelt GPU", "run --gpu H100-SMX5-80GB -- python fine.py", "'H100-SXM5-80GB'"),
    ("a GPU without a model", "run --gpu RTX-9090 -- python fine.py", "Known: "),
    ("a misspelt preset", "run --preset dgx-h10 -- python fine.py", "dgx-h100"),
    ("an unknown host model", "run --host-model exact -- python fine.py", "measured"),
    ("an unknown output", "run -o xml -- python fine.py", "json"),
    ("an unknown kind of folding", "run --fold yes -- python fine.py", "required"),
    ("a cluster file that is not there", "run --cluster no.yaml -- python fine.py", "no.yaml"),
    ("a cluster file that is a job", "run --cluster job.yaml -- python fine.py", "SimulatedCluster"),
    ("a cluster file that is not YAML", "run --cluster not.yaml -- python fine.py", "not.yaml"),
    ("a misspelt field of a cluster", "run --cluster misspelt_cluster.yaml -- python fine.py", "gpusPerServer"),
    ("a misspelt preset of a cluster", "run --cluster misspelt_preset.yaml -- python fine.py", "dgx-h100"),
    ("a misspelt fabric", "run --cluster misspelt_fabric.yaml -- python fine.py", "fat-tree"),
    ("a cluster and a GPU", "run --cluster cluster.yaml --gpu H100-SXM5-80GB -- python fine.py", "excludes"),
    ("a timeline in a folder that is not there", "run --timeline no/trace -- python fine.py", "no/trace"),
    ("the length of no timeline", "run --timeline-iterations 2 -- python fine.py", "--timeline"),
    ("a misspelt field to explain", "explain job.spec.iteration", "'iterations'"),
    ("a shell without completion", "completion tcsh", "bash"),
    ("a report of no file", "report --file no.json", "no.json"),
    ("a comparison with one job", "compare llama", "second"),
    ("a comparison with no file", "compare no.json llama", "no.json"),
    ("a comparison with a job that has not run", "compare job.yaml llama", "has run"),
    ("a token file that is not there", "--token-file no.token get", "no.token"),
    ("a document that is not there", "submit -f no.yaml", "no.yaml"),
    ("no document", "submit", "--file"),
]
PROGRAMS = [
    ("a misspelt program", "pyhton fine.py", "pyhton"),
    ("a script that is not there", "python fien.py", "fien.py"),
    ("a script that fails", "python broken.py", "the learning rate is negative"),
    ("a package that is not there", "python missing_module.py", "flash_atention"),
    ("a script for the CPU", "python cpu.py", "no GPU work was seen"),
    ("a GPU more than there are", "python second_gpu.py", "invalid device ordinal"),
    ("only warm-up", "python warm.py", "lower the warm-up"),
    ("fewer steps than are measured", "python short.py", "2 of 5 iterations"),
    ("a model that does not fit", "python large.py", "at least"),
]
# Of a program without repetition the whole is predicted, which the report says.
PREDICTED = {"only warm-up"}
DOCUMENTS = [
    ("a misspelt field", "misspelt_job.yaml", "iterations"),
    ("a word for a number", "wrong_type.yaml", "measure"),
    ("a number out of range", "wrong_range.yaml", "1"),
    ("a misspelt kind", "wrong_kind.yaml", "SimulationJob"),
    ("another version", "wrong_version.yaml", "eidolon.dev/v1alpha1"),
    ("a name that Kubernetes refuses", "wrong_name.yaml", "lower"),
    ("no command", "no_command.yaml", "command"),
    ("no cluster", "no_cluster.yaml", "clusterRef"),
    ("a cluster that nobody made", "unknown_cluster.yaml", "nowhere"),
    ("more servers than the cluster has", "many_servers.yaml", "1 server"),
    ("a pattern that is not an expression", "wrong_pattern.yaml", "boundary"),
    ("an empty document", "empty.yaml", "empty"),
]
NAMED = [
    ("a report of an unknown job", "get lama", "lama"),
    ("logs of an unknown job", "logs lama", "lama"),
    ("waiting for an unknown job", "wait lama", "lama"),
    ("deleting an unknown job", "delete lama", "lama"),
]


@dataclasses.dataclass(frozen=True)
class Mistake:
    name: str
    words: str  # After `eidolon`.
    wanted: str  # In the message.
    shown: str = ""  # What the table shows in the place of these words.
    asks_server: bool = False


MISTAKES = [
    *(Mistake(*row) for row in WORDS),
    Mistake("no server", "--data-dir none --server 127.0.0.1:1 get", "eidolon up"),
    *(
        Mistake(name, f"run --host-model fixed -- {words}", wanted, f"run -- {words}")
        for name, words, wanted in PROGRAMS
    ),
    *(
        Mistake(f"in a document: {name}", f"submit -f {file}", wanted, asks_server=True)
        for name, file, wanted in DOCUMENTS
    ),
    *(Mistake(*row, asks_server=True) for row in NAMED),
]
JOBS_PATH = "/api/v1/namespaces/default/simulationjobs"
# Of programs that speak REST: the method, the path, and whether there is a token.
REQUESTS = {
    "REST: no token": ("GET", JOBS_PATH, False, "token"),
    "REST: a misspelt parameter": ("GET", JOBS_PATH + "?limt=2", True, "'limit'"),
    "REST: a path that is not there": ("GET", "/api/v1/jobs", True, "nothing is served"),
    "REST: a method that is not there": ("PUT", JOBS_PATH + "/lama", True, "PUT"),
    "REST: no document": ("POST", JOBS_PATH, True, "body"),
}
NAMES = [*(mistake.name for mistake in MISTAKES), *REQUESTS]
