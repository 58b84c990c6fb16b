"""Makes the GPU requests of a training program, in sections that run alone: `torch_program.py SECTION...`. Run by
test_sections.py on emulated devices; prints one line a section. Values come out as the shim knows them, so
sections check shapes, addresses, times and accounting, not arithmetic."""

import sys
import threading

import torch
import torch.nn.functional as functional


def queries():
    properties = torch.cuda.get_device_properties(0)
    assert torch.cuda.is_available() and torch.cuda.device_count() == 2
    assert torch.cuda.get_device_capability() == (9, 0) and properties.multi_processor_count == 132
    assert torch.cuda.get_device_name(1) == properties.name == "NVIDIA H100 80GB HBM3"
    free, total = torch.cuda.mem_get_info()
    assert 0 < free < total == properties.total_memory
    assert torch.cuda.can_device_access_peer(0, 1)
    return f"{properties.name}, {total >> 30} GiB"


def memory():
    torch.cuda.set_device(1)
    block = torch.empty(1 << 28, dtype=torch.uint8, device="cuda:1")
    assert block.data_ptr() % 512 == 0 and torch.cuda.memory_allocated(1) == 1 << 28
    del block
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved(1) == 0 and torch.cuda.max_memory_allocated(1) == 1 << 28
    try:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda:1")
    except torch.OutOfMemoryError as error:
        return str(error).split(".")[0]
    raise AssertionError("a terabyte fitted")


def copies():
    host = torch.arange(1000, dtype=torch.float32).pin_memory()
    device = host.to("cuda", non_blocking=True)
    there = torch.empty_like(device)
    there.copy_(device)
    other = there.to("cuda:1")
    assert torch.equal(other.cpu(), host)
    assert there.is_cuda and host.is_pinned()
    return f"{other.device}, {other[999].item()}"


def streams():
    stream = torch.cuda.Stream(priority=-1)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    x = torch.zeros(256, 256, device="cuda")
    with torch.cuda.stream(stream):
        begin.record()
        for _ in range(4):
            x = x @ x
        end.record()
    torch.cuda.current_stream().wait_stream(stream)
    end.synchronize()
    torch.cuda.synchronize()
    assert begin.query() and stream.query()
    return f"{begin.elapsed_time(end) >= 0}"


def training():
    model = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for _ in range(3):
        x = torch.randn(4, 128, 512, device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(x).float().pow(2).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
    return "3 steps"


def attention():
    q = torch.randn(2, 8, 1024, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    out = functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    out.sum().backward()
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
        functional.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    return str(tuple(q.grad.shape))


def convolution():
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 64, 7, 2, 3),
        torch.nn.BatchNorm2d(64),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(3, 2, 1),
        torch.nn.Conv2d(64, 64, 3, padding=1),
    ).cuda()
    torch.backends.cudnn.benchmark = True
    net(torch.randn(8, 3, 224, 224, device="cuda")).sum().backward()
    return str(tuple(net[0].weight.grad.shape))


def graphs():
    x = torch.zeros(64, 64, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x @ x
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = functional.relu(x @ x + 1)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    return str(tuple(y.shape))


def segments():
    torch.cuda.memory._set_allocator_settings("expandable_segments:True")
    blocks = [torch.empty(1 << 24, device="cuda") for _ in range(4)]
    assert len({block.data_ptr() for block in blocks}) == 4
    torch.cuda.synchronize()
    return f"{torch.cuda.memory_reserved() >> 20} MiB"


def profiler():
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        torch.zeros(64, 64, device="cuda") @ torch.zeros(64, 64, device="cuda")
        torch.cuda.synchronize()
    assert any(event.key == "aten::mm" for event in profile.key_averages())
    return f"{len(profile.key_averages())} kinds of events"


def ranges():
    torch.zeros(1, device="cuda")
    with torch.cuda.nvtx.range("step"):
        pass
    return "pushed and popped"


def printing():
    return f"{torch.arange(5, device='cuda').shape} {torch.ones(2, device='cuda').sum().item() >= 0}"


def compiled_by_nvrtc():
    twice = torch.cuda.jiterator._create_jit_fn("template <typename T> T twice(T x) { return x + x; }")
    return str(tuple(twice(torch.ones(8, device="cuda")).shape))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"{name}: {globals()[name]()}", flush=True)
    # Autograd's thread drops its last Python object after backward() has returned; a program that ends at once
    # ends that thread inside a destructor (C++ then aborts the process), with or without emulation.
    threading.Event().wait(0.1)
