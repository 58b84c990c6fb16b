"""Tests when each part starts."""

import itertools
import random

import pytest

from runner.parts import all_parts, provisions
from runner.schedule import Schedule, Task, simulate


def starts(tasks, cores=2):
    line, end = simulate(tasks, cores)
    return {task.name: begin for begin, _, task in line}, end


def used_at(line, moment):
    return sum(task.processors for begin, end, task in line if begin <= moment < end)


def test_parts_that_compute_do_not_overlap_and_those_that_wait_do():
    tasks = [Task("build", 100, 2), Task("other build", 50, 2), Task("kube", 120, 0.5)]

    at, end = starts(tasks)

    assert at["kube"] == 0
    assert end == 150


def test_the_longest_chain_begins():
    tasks = [Task("short", 10, 2), Task("test", 100, 2, ("build",)), Task("build", 20, 2), Task("long", 60, 2)]

    at, _ = starts(tasks)

    assert sorted(at, key=at.get) == ["build", "test", "long", "short"]


def test_quick_parts_come_before_all_others():
    at, _ = starts([Task("build", 100, 2), Task("style", 5, 1, first=True)])

    assert at == {"style": 0, "build": 5}


def test_a_part_that_measures_time_runs_last_with_nothing_beside_it():
    tasks = [Task("measure", 50, 1, alone=True), Task("a", 30, 1), Task("b", 40, 0.5), Task("c", 10, 1, ("b",))]
    line, _ = simulate([*tasks, Task("measure too", 20, 1, alone=True)], 2)

    alone = [(begin, end) for begin, end, task in line if task.alone]
    assert min(alone)[0] == 50
    for begin, end in alone:
        assert [task.name for b, e, task in line if b < end and e > begin and (b, e) != (begin, end)] == []


def test_a_part_that_measures_time_does_not_wait_for_what_cannot_run():
    schedule = Schedule([Task("broken", 1, 1), Task("after", 1, 1, ("broken",)), Task("measure", 1, 1, alone=True)], 2)
    assert [task.name for task in schedule.due(0)] == ["broken"]

    dropped = schedule.ended("broken", False)

    assert dropped == {"after": ["broken"]}
    assert [task.name for task in schedule.due(1)] == ["measure"]


def test_what_stands_on_a_failed_part_is_not_run_and_the_others_are():
    tasks = [Task("build", 1, 2), Task("test", 1, 1, ("build",)), Task("more", 1, 1, ("test",)), Task("style", 1, 0.5)]
    schedule = Schedule(tasks, 2)
    schedule.due(0)

    assert schedule.ended("build", False) == {"test": ["build"], "more": ["test"]}
    schedule.ended("style", True)
    assert schedule.is_over()


def test_a_large_part_is_not_put_off_by_small_ones_for_ever():
    small = [Task(f"small {number}", 10, 1) for number in range(20)]

    at, _ = starts([Task("large", 300, 2), Task("kube", 500, 1), *small], cores=2)

    assert at["kube"] == 0
    assert at["large"] <= 500


def test_small_parts_fill_the_time_until_a_large_one_can_start():
    tasks = [Task("kube", 100, 1), Task("large", 90, 2), Task("fits", 80, 1), Task("too long", 120, 1)]

    at, _ = starts(tasks)

    assert at["too long"] == 0  # The longest chain.
    assert at["fits"] >= 100
    assert at["large"] == 120 or at["large"] == 100


def test_a_part_that_wants_more_than_there_is_runs_by_itself():
    at, end = starts([Task("wide", 10, 16), Task("narrow", 10, 1)], cores=2)

    assert end == 20
    assert sorted(at.values()) == [0, 10]


def test_late_parts_do_not_stop_others():
    schedule = Schedule([Task("late", 10, 2), Task("next", 10, 2)], 2)
    schedule.due(0)
    assert schedule.due(1000) == []

    schedule.ended("late", True)
    assert [task.name for task in schedule.due(1001)] == ["next"]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("cores", [1, 2, 16])
def test_every_part_runs_once_after_its_needs_and_within_the_processors(seed, cores):
    draw = random.Random(seed)
    tasks = []
    for number in range(draw.randrange(1, 30)):
        needs = tuple({f"t{draw.randrange(number)}" for _ in range(draw.randrange(3))}) if number else ()
        alone, first = draw.random() < 0.1, draw.random() < 0.2
        tasks.append(Task(f"t{number}", draw.randrange(1, 100), draw.choice([0.5, 1, 1.5, cores]), needs, alone, first))

    line, _ = simulate(tasks, cores)

    assert sorted(task.name for _, _, task in line) == sorted(task.name for task in tasks)
    ends = {task.name: end for _, end, task in line}
    for begin, _, task in line:
        assert all(ends[need] <= begin for need in task.needs)
        beside = [other for b, e, other in line if b <= begin < e and other is not task]
        assert not beside or used_at(line, begin) <= cores + 0.5
        assert not (beside and (task.alone or any(other.alone for other in beside)))


def test_the_parts_of_the_project_keep_two_processors_busy():
    parts = provisions(all_parts())
    tasks = [Task(p.name, p.seconds, min(p.processors, 2), p.needs, p.alone, p.first) for p in parts]

    line, end = simulate(tasks, 2)

    moments = sorted({begin for begin, _, _ in line} | {finish for _, finish, _ in line})
    busy = sum((b - a) * min(2, used_at(line, a)) for a, b in itertools.pairwise(moments))
    assert busy / (2 * end) >= 0.9
