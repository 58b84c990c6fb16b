"""The fixed host model gives the same run again, whatever the machine does meanwhile."""

import pytest
from determinism import Determinism
from jobs import prediction_of

# As ranks do that compile the same kernels: the first takes the lock of a cache, others sleep between two looks.
LOCKING = """
    import fcntl
    for step in range(8):
        rank.step(0)
        if rank.rank == DELAYED: sum(range(5_000_000))  # Takes time on this machine alone.
        with open("lock", "w") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(0.05)
            rank.runtime.cudaMemset(rank.target, step, light.ctypes.c_size_t(1 << 16))
            rank.runtime.cudaDeviceSynchronize()
            time.sleep(0.01)
        print(f"step {step} of rank {rank.rank} ends at {time.monotonic():.6f}", flush=True)
"""


def expect_no_difference(different, runs):
    assert not different, f"{len(different)} of {runs} runs differ; the first one: {different and different[0]}"


@pytest.mark.alone
def test_fixed_is_bit_identical_under_load_stops_slow_disks_and_late_ranks(world):
    expect_no_difference(Determinism(world, longest_stop=1.0).check(4, seed=1), 4)


@pytest.mark.alone
def test_fixed_is_bit_identical_when_ranks_look_for_each_other(world):
    expect_no_difference(Determinism(world, is_by_hand=True, longest_stop=1.0).check(2, seed=11), 2)


def test_ranks_lock_a_file_in_the_same_order_whichever_the_machine_delays(world):
    def told(delayed):
        job = world.completed(LOCKING.replace("DELAYED", str(delayed)), ranks=2, measure=100, light=True)
        lines = [line[line.index("step") :] for line in world.logs(job).splitlines() if "ends at" in line]
        return sorted(lines), prediction_of(job)["iterationSeconds"]

    first, second = told(0), told(1)
    print(f"{len(first[0])} ends of steps; a step takes {first[1]['p50'] * 1e3:.6f} ms")
    assert len(first[0]) == 16, first[0]
    assert first == second, f"{first} and {second}"
