"""The sample of tests that a run takes of what a change cannot affect. Used by e2e/test and, as a plugin, by pytest.

Every test belongs to one of GROUPS groups by the hash of its name. A commit has the group of its number modulo GROUPS, so
that any GROUPS consecutive commits run every test.

    pytest --sample 1/4                  the tests of group 1
    pytest --sample 1,2/4 --whole PATH   the same of groups 1 and 2, and every test of a file or folder
    pytest --sample 1/4 --whole '[ddp]'  the same, and every test with these parameters

A sample without tests passes.
"""

import argparse
import hashlib
import pathlib

GROUPS = 4
NO_TESTS_COLLECTED = 5  # pytest's exit status.


def group_of(name):
    """The group of a test, which stays the same as long as its name does."""
    return hashlib.sha256(name.encode()).digest()[0] % GROUPS


def parse_sample(text):
    """The groups that `1,2/4` names."""
    numbers, _, count = text.partition("/")
    try:
        groups = {int(number) for number in numbers.split(",")}
        if int(count) == GROUPS and groups <= set(range(GROUPS)):
            return groups
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        f"--sample '{text}': expected GROUP[,GROUP]/{GROUPS}, with groups from 0 to {GROUPS - 1}"
    )


def write_sample(groups):
    return f"{','.join(map(str, sorted(groups)))}/{GROUPS}"


def is_whole(path, name, whole):
    """Returns whether a test is one of those that --whole names."""
    path = pathlib.Path(path)
    files = [pathlib.Path(one).resolve() for one in whole if not one.startswith("[")]
    return any(file == path or file in path.parents for file in files) or name.endswith(
        tuple(one for one in whole if one.startswith("["))
    )


def pytest_addoption(parser):
    group = parser.getgroup("sampling")
    group.addoption("--sample", type=parse_sample, metavar="GROUP,.../4", help="run the tests of these groups")
    group.addoption(
        "--whole",
        action="append",
        default=[],
        metavar="PATH",
        help="with --sample: run every test of this file or folder, or with these parameters: '[ddp]'",
    )


def pytest_collection_modifyitems(config, items):
    groups = config.getoption("--sample")
    if groups is None:
        return
    whole = config.getoption("--whole")
    kept, left_out = [], []
    for item in items:
        chosen = is_whole(str(item.path), item.name, whole) or group_of(item.nodeid) in groups
        (kept if chosen else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_sessionfinish(session, exitstatus):
    if exitstatus == NO_TESTS_COLLECTED and session.config.getoption("--sample") is not None:
        session.exitstatus = 0
