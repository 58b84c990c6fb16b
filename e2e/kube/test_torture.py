"""Many jobs over two nodes and random deaths, also while another tenant attacks. Only when named."""

import collections
import random

import pytest

from chart import helm
from cluster_commands import make_namespace, remove_namespace
from simulation_jobs import give_cluster, give_code
from tenants import BLUE
from torture import WHAT, Attacker, Torture, left_over

SPACE = "torture"


@pytest.fixture
def few_at_once(second_node):
    """More jobs would share the two cores of a small machine until everything times out."""
    helm("upgrade", controller_maxRunningJobs="6")
    yield
    helm("upgrade")


@pytest.fixture
def space():
    make_namespace(SPACE)
    give_code(SPACE)
    give_cluster(SPACE)
    return SPACE


@pytest.mark.timeout(0)
@pytest.mark.named
def test_torture(few_at_once, space, pytestconfig):
    """Jobs over two nodes and random deaths: none is lost, doubled or hung, and all that complete say the same."""
    options = pytestconfig.option
    findings = Torture(space, options.jobs, options.deaths, random.Random(options.seed)).torment()
    remove_namespace(space)
    check([*findings, *left_over()], options)


@pytest.mark.timeout(0)
@pytest.mark.named
def test_hostile(few_at_once, tenants, pytestconfig):
    """Jobs over two nodes, random deaths, and a tenant who attacks meanwhile: nothing is lost, no attack succeeds."""
    options = pytestconfig.option
    with Attacker(tenants, random.Random(options.seed + 1)) as attacker:
        findings = Torture(BLUE, options.jobs, options.deaths, random.Random(options.seed)).torment()
    findings += attacker.findings()
    tenants.go()
    check([*findings, *left_over()], options)


def check(findings, options):
    counts = collections.Counter(what for what, _ in findings)
    print(f"seed {options.seed}: " + ", ".join(f"{what} {counts[what]}" for what in WHAT))
    assert not findings, "\n".join(f"{what}: {sentence}" for what, sentence in findings)
