"""A run that would take too long shortens or leaves out parts."""

import pytest

from runner.limit import Limit
from runner.schedule import Schedule, Task


def limit_of(seconds, *ended):
    found = Limit(seconds, cores=2, now=0)
    for expected, took in ended:
        found.learn(expected, took)
    return found


def schedule_of(*tasks):
    return Schedule(list(tasks), cores=2)


def test_the_share_is_that_of_all_that_waits_and_runs():
    schedule = schedule_of(Task("runs", 30, 2), Task("waits", 50, 2))
    schedule.due(0)

    assert limit_of(100).share(schedule, 10) == pytest.approx(0.8)


def test_a_machine_that_is_slower_than_expected_makes_the_rest_longer():
    schedule = schedule_of(Task("waits", 50))

    assert limit_of(100, (40, 80)).share(schedule, 0) == pytest.approx(1.0)
    assert limit_of(100, (80, 40)).share(schedule, 0) == pytest.approx(0.5)


def test_short_parts_say_nothing_about_the_pace():
    assert limit_of(100, (5, 60)).pace == 1


def test_a_part_that_takes_longer_than_expected_delays_what_waits_for_it():
    schedule = schedule_of(Task("build", 20, 2), Task("test", 50, needs=("build",)))
    schedule.due(0)

    assert limit_of(100).share(schedule, 60) == pytest.approx(1.11)


def test_without_a_limit_nothing_is_too_long():
    assert not limit_of(None).is_exceeded(schedule_of(Task("waits", 1e9)), 0)
