"""The forms of e2e/kube/run: which steps they have, in which order, and how a step that fails is handled.

The short form has fixed steps and one group of the sampled ones. The groups take about equally long. A block of as many
consecutive commits as there are groups runs each group once, in an order drawn from the hash of the block's first commit,
so that any 2 * GROUPS - 1 consecutive commits run every step of the whole form, and regular pushes of several commits
do not always meet the same group.
"""

import random
import subprocess
import time
import traceback

from cluster_commands import ROOT, Failure

# Nothing runs without these; when one fails, all others are not run.
FIRST = ["programs", "make_images", "start", "install"]
LAST = ["deletes", "uninstalls"]
# Steps of every form, in order.
FIXED = [
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
MORE_STEPS = ["cpu_torch", "torture", "hostile"]
ORDER = [
    *FIRST,
    *FIXED[:8],
    "release",
    "readme",
    "plugin",
    "rest",
    "panels",
    "tenant_metrics",
    "foreign_images",
    "suspends",
    "sweeps",
    "tenants",
    "secrets",
    "key_replaced",
    "deaths",
    "network_loss",
    "two_nodes",
    "drain",
    "queue",
    "quota",
    "killed_for_memory",
    "restricted",
    "confined",
    "upgrades",
    *MORE_STEPS,
    *LAST,
]
STEPS = [name for name in ORDER if name not in MORE_STEPS]
# Steps that need programs and images which the fixed ones do without.
NEED_ALL_PROGRAMS = {"panels", "tenant_metrics", "foreign_images"}


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
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
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
    wanted = {*FIRST, *FIXED, *sampled, *LAST}
    return f"{sentence}: {', '.join(sampled)}", [name for name in ORDER if name in wanted]


def run_step(run, name):
    """Whether a step passed; it prints what it found."""
    step = getattr(run, name)
    about = " ".join(step.__doc__.split())
    started = time.monotonic()
    try:
        run.bring(name)
        step()
    except (Failure, subprocess.SubprocessError) as error:
        print(f"FAIL {name:16} {about}\n{error}", flush=True)
        return False
    except Exception:  # A step that trips over an answer has failed, and hides no other.
        print(f"FAIL {name:16} {about}\n{traceback.format_exc()}", flush=True)
        return False
    print(f"ok   {name:16} {time.monotonic() - started:6.1f} s  {about}", flush=True)
    return True


def run_steps(run, steps):
    """Names of the steps that failed and of those that were not run: a failed step ends nothing but itself, unless it is
    one of FIRST."""
    failed = []
    for number, name in enumerate(steps):
        if run_step(run, name):
            continue
        failed.append(name)
        if name in FIRST:
            return failed, steps[number + 1 :]
        if number + 1 < len(steps):
            run.tidy()
    return failed, []
