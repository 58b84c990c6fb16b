"""The forms of e2e/kube/run: the steps that each one has.

A step is a test `test_<step>` of this folder, or several whose names begin so. The short form has fixed steps and one group
of the sampled ones. The groups take about equally long. A block of as many consecutive commits as there are groups runs each
group once, in an order drawn from the hash of the block's first commit, so that any 2 * GROUPS - 1 consecutive commits run
every step of the whole form, and regular pushes of several commits do not always meet the same group.
"""

import pathlib
import random
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
# Steps of every form.
FIXED = [
    "install",
    "refusals",
    "submit",
    "changes",
    "equals_embedded",
    "shows",
    "timelines",
    "recordings",
    "folded",
    "readme",
    "rest",
    "suspends",
    "sweeps",
    "tenants",
]
# Steps of the whole form that the short one samples, with the seconds that they take on two idle cores.
SAMPLED = {
    "release": 30,
    "plugin": 40,
    "panels": 200,  # Prometheus included.
    "tenant_metrics": 90,
    "foreign_images": 90,
    "secrets": 50,
    "key_replaced": 60,
    "deaths": 200,
    "network_loss": 90,
    "two_nodes": 60,
    "drain": 90,
    "queue": 120,
    "quota": 60,
    "killed_for_memory": 20,
    "restricted": 5,
    "confined": 100,
    "upgrades": 200,
}
GROUPS = 4
# Only when named.
NAMED = ["cpu_torch", "torture", "hostile"]
# Of every form, after all others.
LAST = ["deletes", "uninstalls"]
STEPS = [*FIXED, *SAMPLED, *LAST]


def step_of(test):
    """The step that a test belongs to: both test_rest and test_rest_roles belong to rest."""
    name = test.removeprefix("test_")
    return max((step for step in [*STEPS, *NAMED] if f"{name}_".startswith(f"{step}_")), key=len, default=None)


def groups():
    """The sampled steps in GROUPS parts of about equal length."""
    parts = [[] for _ in range(GROUPS)]
    for name in sorted(SAMPLED, key=lambda name: (-SAMPLED[name], name)):
        min(parts, key=seconds_of).append(name)
    return parts


def seconds_of(names):
    return sum(SAMPLED[name] for name in names)


def group_of(number, block_hash):
    """The group that the commit runs: `number` counts commits from the first one, `block_hash` is that of the first
    commit of its block."""
    order = random.Random(block_hash).sample(range(GROUPS), GROUPS)
    return order[number % GROUPS]


def git(*words):
    done = subprocess.run(["git", "-C", str(HERE), *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def sample():
    """(a sentence for people, the sampled steps that this commit runs)."""
    head = git("rev-parse", "HEAD")
    count = git("rev-list", "--count", "--first-parent", "HEAD")
    if not head or not count:
        return "no commit is known: the first group of sampled steps", groups()[0]
    if git("rev-parse", "--is-shallow-repository") == "true":
        chosen = group_of(0, head)
        return f"commit {head[:12]} of a shallow clone: group {chosen + 1} of {GROUPS}", groups()[chosen]
    number = int(count) - 1
    block = git("rev-parse", f"HEAD~{number % GROUPS}")
    chosen = group_of(number, block)
    return f"commit {head[:12]}, number {number}: group {chosen + 1} of {GROUPS}", groups()[chosen]


def short_form():
    """(a sentence for people, steps of the short form in order)."""
    sentence, sampled = sample()
    return f"{sentence}: {', '.join(sampled)}", [name for name in STEPS if name not in SAMPLED or name in sampled]
