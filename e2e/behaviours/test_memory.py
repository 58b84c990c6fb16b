"""Tests what lies in a program's memory, where it can be computed by hand."""

from recordings import mlp

MIB = 1 << 20
NUMBERS = 2 * 1024 * 4096 + 4096 + 1024
KEPT = ("parameters", "gradients", "optimizerState")
ONE_THREAD = "torch.autograd.set_multithreading_enabled(False)"
# Two parts of a batch, both forward before the first goes backward.
TWICE = "torch.cat([model(x), model(x)])"


def parts_of(world, **how):
    return world.completed(mlp(**how))["status"]["prediction"]["memory"]


def near(measured, wanted):
    """Compares up to the allocator's blocks of 512 bytes."""
    return wanted <= measured < wanted + 16 * 1024


def test_activations_are_what_can_be_computed_by_hand(world):
    memory = parts_of(world)
    parts = memory["allocations"]
    assert near(parts["activations"], (64 + 64 + 16) * MIB), f"{parts}"
    assert near(parts["parameters"], 4 * NUMBERS) and near(parts["gradients"], 4 * NUMBERS), f"{parts}"
    assert near(parts["optimizerState"], 8 * NUMBERS), f"{parts}"
    assert sum(parts.values()) == memory["byCategory"]["allocations"], f"{memory}"
    # Of the second layer's result 2 x 16 MiB are kept in one piece, by `cat`. Where PyTorch runs the backward pass does not
    # matter.
    twice = parts_of(world, before=ONE_THREAD, call=TWICE)["allocations"]
    assert near(twice["activations"], (2 * (64 + 64) + 32) * MIB), f"{twice}"
    assert [twice[key] for key in KEPT] == [parts[key] for key in KEPT], f"{twice} and {parts}"
    # A checkpoint keeps its input, which is the program's, and the result: the rest is computed again.
    again = parts_of(world, call="checkpoint(model, x, use_reentrant=False)")["allocations"]
    assert near(again["activations"], 16 * MIB), f"{again}"
