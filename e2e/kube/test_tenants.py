"""Two tenants attack each other, the cluster's own namespaces and the operator: every attack is held off."""

import pytest

from attacks import ATTACKS, check_rights_are_kept

pytestmark = pytest.mark.fixed


def name_of(attack):
    return attack.__name__.removeprefix("attack_")


@pytest.mark.parametrize("attack", ATTACKS, ids=name_of)
def test_tenants(attack, tenants):
    """An attack of one tenant is held off."""
    try:
        achieved = list(attack(tenants))
        assert not achieved, "\n".join(achieved)
    except BaseException:
        tenants.remove_traces()
        raise


def test_tenants_keep_their_rights(tenants):
    """Users who may create pods set the fields of their pods as before, and a sweep of theirs has its jobs."""
    check_rights_are_kept(tenants)
