"""Programs that determinism.py runs again and again, beside its own. Lines that begin with "clock" are compared."""

# FSDP2 as PyTorch documents it: sharded blocks, mixed precision, activation checkpointing, clipped gradients, values that
# the host reads, and clocks after what moves them.
FSDP2 = """
    import os, time, torch, torch.distributed as dist, torch.nn as nn
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    from torch.utils.checkpoint import checkpoint

    rank = int(os.environ["RANK"])

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            return x + self.down(nn.functional.gelu(self.up(self.norm(x))))

    class Net(nn.Module):
        def __init__(self, width, layers):
            super().__init__()
            self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
            self.head = nn.Linear(width, 100)

        def forward(self, x):
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False)
            return self.head(x)

    def show(what):
        # One write: two ranks share the pipe.
        os.write(1, f"clock {rank} {what} {time.time_ns()} {time.perf_counter_ns()}\\n".encode())

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    model = Net(512, 4).cuda()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    show("made")
    for step in range(12):
        sum(range(rank * 200_000 + step * 20_000))  # Ranks come late by themselves, each by another time.
        x = torch.randn(8, 64, 512, device="cuda")
        target = torch.randint(100, (8 * 64,), device="cuda")
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1).float(), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        show(f"step {step}")
        if step % 3 == 2:
            loss.item()
            dist.barrier()
            show(f"met {step}")
    dist.destroy_process_group()
    show("left")
"""
