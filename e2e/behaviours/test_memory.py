"""What lies in a program's memory, where it can be computed by hand."""

MIB = 1 << 20

# 4096 rows of 1024 numbers through a layer of 4096, in 32 bits. For its backward pass are kept: what the first layer
# gives (64 MiB), what GELU gives (64 MiB), and what the second layer gives (16 MiB). BEFORE comes first, CALL calls it.
MLP = """
    import torch
    from torch.utils.checkpoint import checkpoint
    BEFORE
    torch.cuda.set_device(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    x = torch.randn(4096, 1024, device="cuda")
    for step in range(8):
        optimizer.zero_grad()
        loss = (CALL).square().mean()
        loss.backward()
        optimizer.step()
"""
NUMBERS = 2 * 1024 * 4096 + 4096 + 1024
ONE_THREAD = "torch.autograd.set_multithreading_enabled(False)"
# Two parts of a batch, both forward before the first goes backward.
TWICE = "torch.cat([model(x), model(x)])"


def parts_of(world, before="", call="model(x)"):
    job = world.completed(MLP.replace("BEFORE", before).replace("CALL", call))
    return job["status"]["prediction"]["memory"]


def near(measured, wanted):
    """But for the allocator's blocks of 512 bytes."""
    return wanted <= measured < wanted + 16 * 1024


def test_activations_are_what_can_be_computed_by_hand(world):
    memory = parts_of(world)
    parts = memory["allocations"]
    assert near(parts["activations"], (64 + 64 + 16) * MIB), f"{parts}"
    assert near(parts["parameters"], 4 * NUMBERS) and near(parts["gradients"], 4 * NUMBERS), f"{parts}"
    assert near(parts["optimizerState"], 8 * NUMBERS), f"{parts}"
    assert sum(parts.values()) == memory["byCategory"]["allocations"], f"{memory}"
    # Where PyTorch runs the backward pass does not matter.
    assert parts_of(world, ONE_THREAD)["allocations"] == parts, "one thread"
    # Of the second layer's result 2 x 16 MiB are kept in one piece, by `cat`.
    twice = parts_of(world, call=TWICE)["allocations"]
    assert near(twice["activations"], (2 * (64 + 64) + 32) * MIB), f"{twice}"
    # A checkpoint keeps its input, which is the program's, and the result: the rest is computed again.
    again = parts_of(world, call="checkpoint(model, x, use_reentrant=False)")["allocations"]
    assert near(again["activations"], 16 * MIB), f"{again}"
