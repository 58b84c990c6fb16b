"""Measures the cost of stock torch on this machine, and prints it as lines "eidolon-bench NAME VALUE". Run by
`eidolon bench`: with "stock" without the shim (only the import), else inside `eidolon run` with a number of
training steps."""

import os
import resource
import statistics
import sys


def report(name, value):
    print("eidolon-bench", name, value, flush=True)


def resident_bytes():
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("VmRSS")).split()[1]) * 1024


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


import torch  # noqa: E402: what comes before must not count as torch's.

if sys.argv[1] == "stock":
    report("stock_resident_bytes", resident_bytes())
    report("library", os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cuda.so"))
    report("torch", f"{torch.__version__} cuda={torch.version.cuda}")
    sys.exit()

steps = int(sys.argv[1])
torch.zeros(1024, device="cuda")
torch.cuda.synchronize()
torch.cuda.nvtx.range_push("bench")  # All that follows is one iteration of the job.
report("resident_bytes", resident_bytes())


def layer(width):
    return torch.nn.Sequential(
        torch.nn.LayerNorm(width), torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
    )


model = torch.nn.Sequential(*[layer(256) for _ in range(8)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batch = torch.zeros(64, 256, device="cuda")


def step():
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def operations_of_a_step():
    """Launches, copies and memsets of one step, counted as the nodes of its CUDA graph."""
    import ctypes

    graph = torch.cuda.CUDAGraph(keep_graph=True)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        step()
    count = ctypes.c_size_t()
    runtime = ctypes.CDLL(f"libcudart.so.{torch.version.cuda.split('.')[0]}")
    failure = runtime.cudaGraphGetNodes(ctypes.c_void_p(graph.raw_cuda_graph()), None, ctypes.byref(count))
    assert failure == 0 and count.value > 0, failure
    return count.value


def launches_per_second(call, times, launches):
    call()
    rates = []
    for _ in range(5):
        begin = cpu_seconds()
        for _ in range(times):
            call()
        torch.cuda.synchronize()
        rates.append(times * launches / (cpu_seconds() - begin))
    return statistics.median(rates)


operations = operations_of_a_step()
report("step_operations", operations)
report("step_launches_per_second", launches_per_second(step, steps, operations))
small = torch.zeros(16, 16, device="cuda")
report("add_launches_per_second", launches_per_second(lambda: small.add_(1), steps * operations, 1))

before = resident_bytes()
blocks = [torch.empty(8 << 30, dtype=torch.uint8, device="cuda") for _ in range(8)]
for block in blocks:
    block.zero_()
torch.cuda.synchronize()
report("growth_of_64_gib_bytes", resident_bytes() - before)
torch.cuda.nvtx.range_pop()
