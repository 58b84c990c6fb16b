"""Fixtures that only behaviours use."""

import pathlib
import subprocess

import pytest

E2E = pathlib.Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def cuda12():
    """The folder of the environment with PyTorch for CUDA 12."""
    return pathlib.Path(subprocess.run([E2E / "cuda12"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


# Three steps under PyTorch's profiler: a copy and NVTX on a side stream, a collective beside the forward pass, DDP, AdamW.
PROFILED = """
    import pickle
    from torch._C._profiler import _ExperimentalConfig
    from torch.nn.parallel import DistributedDataParallel
    from torch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler
    torch.cuda.memory._record_memory_history()
    layers = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for layer in range(4)]).cuda()
    model = DistributedDataParallel(layers, device_ids=[rank], bucket_cap_mb=20)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    side = torch.cuda.Stream()
    host = torch.randn(1024, 2048).pin_memory()
    statistics = torch.zeros(1 << 20, device="cuda")
    shown = []
    show_trace = tensorboard_trace_handler("traces", f"rank{rank}")
    def on_trace_ready(profiler):
        shown.append(profiler.key_averages().table(sort_by="self_cuda_time_total", row_limit=8))
        show_trace(profiler)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, profile_memory=True,
                 with_modules=True, experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True),
                 schedule=schedule(wait=2, warmup=1, active=3, repeat=1), on_trace_ready=on_trace_ready) as profiler:
        for step in range(8):
            with torch.cuda.stream(side):
                x = host.to("cuda", non_blocking=True)
                y = torch.zeros(1024, 2048, device="cuda")
                torch.cuda.nvtx.range_push("batch")
                torch.cuda.nvtx.range_pop()
            torch.cuda.current_stream().wait_stream(side)
            gathering = dist.all_reduce(statistics, async_op=True)
            with record_function("forward_and_loss"):
                loss = (model(x) + y).square().mean()
            gathering.wait()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            torch.cuda.synchronize()
            profiler.step()
    snapshot = torch.cuda.memory._snapshot()
    if rank == 0:
        open("table.txt", "w").write(shown[0])
        pickle.dump(snapshot, open("snapshot.pickle", "wb"))
"""


@pytest.fixture(scope="session")
def profiled(world):
    """A job whose ranks have written what PyTorch's profiler saw."""
    return world.completed(PROFILED, ranks=2, measure=100, outputs="{timeline: {}}", nccl=True, extra="variation: none")
