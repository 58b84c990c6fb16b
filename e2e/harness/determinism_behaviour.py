"""The fixed host model gives the same run again, whatever the machine does meanwhile."""

from determinism import BUILTIN, Determinism
from trial import alone, expect, pending, test


def expect_no_difference(different, runs):
    expect(not different, f"{len(different)} of {runs} runs differ; the first one: {different and different[0]}")


@test
@alone
def fixed_is_bit_identical_under_load_stops_slow_disks_and_late_ranks(world):
    expect_no_difference(Determinism(world, longest_stop=1.0).check(4, seed=1), 4)


@test
@alone
def fixed_is_bit_identical_when_ranks_look_for_each_other(world):
    expect_no_difference(Determinism(world, start="hand", longest_stop=1.0).check(2, seed=11), 2)


@test
@alone
@pending("a call of 0.2 us that PyTorch makes more or less often when another thread shares its cache of pinned memory")
def fixed_is_bit_identical_with_a_thread_that_pins_memory(world):
    program = BUILTIN.replace("num_workers=1", "num_workers=1, pin_memory=True")
    expect_no_difference(Determinism(world, program, longest_stop=1.0).check(4, seed=201), 4)
