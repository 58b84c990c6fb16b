"""torch.profiler around a loop of training: its table, its trace, and that kernels stand in both."""

import json
import pathlib
import tempfile

import torch
from torch.profiler import ProfilerActivity, profile, schedule


def main():
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(
        activities=activities, schedule=schedule(wait=1, warmup=1, active=3, repeat=1), profile_memory=True
    ) as seen:
        for step in range(6):
            loss = torch.nn.functional.cross_entropy(model(torch.randn(64, 256).cuda()), torch.arange(64).cuda() % 10)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            print(f"step {step} loss {loss.item():.4f}", flush=True)
            seen.step()
    print(seen.key_averages().table(sort_by="device_time_total", row_limit=5))
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        seen.export_chrome_trace(str(trace))
        kinds = {event.get("cat") for event in json.loads(trace.read_text())["traceEvents"]}
    if not {"kernel", "gpu_memcpy", "cuda_runtime"} <= kinds:
        raise SystemExit(f"the trace holds only {sorted(map(str, kinds))}")


main()
