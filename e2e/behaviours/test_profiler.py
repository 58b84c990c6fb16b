"""PyTorch's own profilers in an unmodified program: what they show is the virtual timeline."""

import json
import pickle

import pytest

GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def events_of(trace, *categories):
    return [event for event in trace["traceEvents"] if event.get("cat") in categories and event["ph"] == "X"]


def expect_kernels(trace):
    kernels = events_of(trace, "kernel")
    assert len(kernels) > 60, f"{len(kernels)} kernels in three steps"
    for kernel in kernels:
        arguments = kernel["args"]
        for field in ("stream", "correlation", "grid", "block", "est. achieved occupancy %", "registers per thread"):
            assert field in arguments, f"{kernel['name']} has no {field}: {arguments}"
        assert kernel["dur"] > 0, f"{kernel['name']} takes no time"
    calls = {event["args"]["correlation"]: event for event in events_of(trace, "cuda_runtime", "cuda_driver")}
    for event in events_of(trace, *GPU):
        call = calls.get(event["args"]["correlation"])
        assert call is not None, f"{event['name']}: no call launched it"
        assert event["ts"] >= call["ts"], f"{event['name']} runs before {call['name']} is called"
    copies, memsets = events_of(trace, "gpu_memcpy"), events_of(trace, "gpu_memset")
    assert any("HtoD (Pinned -> Device)" in copy["name"] for copy in copies), f"{[c['name'] for c in copies]}"
    assert copies[0]["args"]["bytes"] > 0 and memsets is not None, "a copy has no bytes"
    nccl = [kernel for kernel in kernels if kernel["name"].startswith("ncclDevKernel_AllReduce")]
    assert len(nccl) >= 3, "no kernel of NCCL"
    for field in ("Collective name", "In msg nelems", "dtype", "Group size"):
        assert field in nccl[0]["args"], f"an all-reduce has no {field}: {nccl[0]['args']}"
    return kernels


def expect_host(trace):
    steps = [event for event in events_of(trace, "user_annotation") if event["name"].startswith("ProfilerStep")]
    assert [step["name"] for step in steps] == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"], f"{steps}"
    # Host events have PyTorch's own times, which it reads from the processor's counter.
    for event in events_of(trace, "cuda_runtime"):
        inside = any(step["ts"] - 1 <= event["ts"] <= step["ts"] + step["dur"] + 1 for step in steps)
        if event["name"].startswith("cudaLaunchKernel"):
            assert inside, f"{event['name']} at {event['ts']} is in no step"
    ops = {
        event["args"]["External id"]: event for event in events_of(trace, "cpu_op") if "External id" in event["args"]
    }
    linked = 0
    for launch in events_of(trace, "cuda_runtime"):
        op = ops.get(launch["args"].get("External id"))
        if op is None or not launch["name"].startswith("cudaLaunchKernel"):
            continue
        linked += 1
        inside = op["ts"] - 1 <= launch["ts"] and launch["ts"] + launch["dur"] <= op["ts"] + op["dur"] + 1
        assert inside, f"{launch['name']} of {op['name']} is outside of it"
    assert linked > 30, f"{linked} launches name their operator"
    assert events_of(trace, "gpu_user_annotation"), "no annotation on the device"
    assert trace["distributedInfo"]["world_size"] == 2, f"{trace.get('distributedInfo')}"
    assert trace["deviceProperties"][0]["name"].startswith("NVIDIA H100"), f"{trace['deviceProperties']}"
    memory = [event for event in trace["traceEvents"] if event.get("name") == "[memory]"]
    assert any(event["args"]["Device Type"] == 1 for event in memory), "no memory event of the device"
    return steps


def test_the_programs_own_profiler_shows_the_virtual_timeline(world, profiled):
    job = profiled
    folder = world.folder_of(job)
    traces = [json.loads(path.read_text()) for path in sorted((folder / "traces").glob("rank*.pt.trace.json"))]
    assert len(traces) == 2, f"{len(traces)} traces"
    for trace in traces:
        expect_kernels(trace)
        expect_host(trace)
    prediction = job["status"]["prediction"]
    kernels = expect_kernels(traces[0])
    steps = expect_host(traces[0])
    mean = sum(step["dur"] for step in steps) / len(steps) / 1e6
    predicted = prediction["iterationSeconds"]["p50"]
    assert abs(mean / predicted - 1) < 0.05, f"a step lasts {mean} s, an iteration {predicted} s"
    # Kernels of the report, one iteration, against those of the trace, three.
    for shown in prediction["kernels"]:
        same = [kernel["dur"] for kernel in kernels if kernel["name"] == shown["name"]]
        if same and not shown["family"].startswith("nccl"):
            shortest = shown["shortestPicoseconds"] / 1e6
            assert abs(min(same) - shortest) <= 0.002, f"{shown['name']}: {min(same)} us, the report {shortest} us"
    table = (folder / "table.txt").read_text()
    assert "Self CUDA" in table and "Self CUDA time total" in table, table
    with (folder / "snapshot.pickle").open("rb") as file:
        snapshot = pickle.load(file)
    assert snapshot["segments"] and snapshot["device_traces"][0], "the memory snapshot is empty"
    refused = [name for name in prediction.get("refusedCalls", {}) if "cupti" in str(name)]
    assert not refused, f"refused: {refused}"


# Twice: launches, and a graph.
PROTON = """
    import torch, triton, triton.language as tl, triton.profiler as proton
    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = index < n
        tl.store(out + index, tl.load(x + index, mask=inside) + tl.load(y + index, mask=inside), mask=inside)
    n = 1 << 24
    x, y = torch.rand(n, device="cuda"), torch.rand(n, device="cuda")
    out, square = torch.empty_like(x), torch.rand(2048, 2048, device="cuda")
    torch.relu(square @ square)
    proton.start("launches", hook="triton")
    for step in range(4):
        with proton.scope("triton"):
            add[(n // 1024,)](x, y, out, n, 1024)
        with proton.scope("matrix"):
            torch.relu(square @ square)
    torch.cuda.synchronize()
    proton.finalize()
    proton.start("graph", hook="triton")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.relu(square @ square)
    for step in range(4):
        graph.replay()
    torch.cuda.synchronize()
    proton.finalize()
"""
GEMM = "gemm 2048x2048x2048"  # As CUPTI has it.
REPORTED = {"add": "add", GEMM: "gemm fp32 NN 2048x2048x2048"}


def leaves(node, path=()):
    """The kernels of Proton's tree, by the scopes they lie in."""
    name = node["frame"]["name"]
    if not node["children"]:
        yield (*path, name), node["metrics"]
    for child in node["children"]:
        yield from leaves(child, (*path, name))


@pytest.fixture(scope="module")
def proton(world):
    """A job, and the kernels of the two trees that Proton wrote, by their scopes."""
    job = world.completed(PROTON, measure=100, gpu="A100-SXM4-80GB")  # No power limit slows it down.
    files = [world.folder_of(job) / f"{name}.hatchet" for name in ("launches", "graph")]
    return job, [dict(leaves(json.loads(file.read_text())[0])) for file in files]


def test_tritons_profiler_shows_the_virtual_timeline(proton):
    job, (found, _) = proton
    prediction = job["status"]["prediction"]
    reported = {kernel["name"]: kernel for kernel in prediction["kernels"]}
    for path in (("ROOT", "triton", "add"), ("ROOT", "matrix", GEMM)):
        metrics = found.get(path)
        assert metrics is not None, f"{path} is not among {sorted(found)}"
        shortest = reported[REPORTED[path[-1]]]["shortestPicoseconds"] / 1000
        mean = metrics["time (ns)"] / metrics["count"]
        assert metrics["count"] == 4 and abs(mean / shortest - 1) < 0.02, f"{metrics}, the report: {shortest} ns"
    assert len(found) == 3, f"{sorted(found)}"
    assert not prediction.get("refusedCalls"), f"refused: {prediction.get('refusedCalls')}"


def test_tritons_profiler_learns_the_nodes_of_a_graph_from_callbacks(world, proton):
    job, (_, found) = proton
    counts = {path[-1]: metrics.get("count", 0) for path, metrics in found.items() if "<captured_at>" in path}
    assert counts.get(GEMM) == 4, f"kernels by graph node: {counts}"
    assert len(counts) == 2 and set(counts.values()) == {4}, f"kernels by graph node: {counts}"
    assert "Cannot find graph" not in world.logs(job), "Proton does not know the graph"


# Asks CUPTI itself, as profilers that are compiled do. Numbers are those of cupti_activity.h.
RECORDS = """
    import ctypes, json, os, torch
    from ctypes import byref, c_char_p, c_size_t, c_uint32, c_uint64, c_void_p
    cupti = ctypes.CDLL("libcupti.so.13")
    NAMES = {8: "device", 9: "context", 11: "name", 12: "marker", 13: "data", 37: "stream", 49: "memory", 50: "pool"}
    FIELDS = {
        "memory": {"operation": (c_uint32, 4), "place": (c_uint32, 8), "correlation": (c_uint32, 12),
                   "address": (c_uint64, 16), "bytes": (c_uint64, 24), "at": (c_uint64, 32)},
        "marker": {"flags": (c_uint32, 4), "at": (c_uint64, 8), "id": (c_uint32, 16), "name": (c_char_p, 40)},
        "stream": {"id": (c_uint32, 8), "flag": (c_uint32, 16), "correlation": (c_uint32, 20)},
    }
    buffers, records = [], []
    @ctypes.CFUNCTYPE(None, ctypes.POINTER(c_void_p), ctypes.POINTER(c_size_t), ctypes.POINTER(c_size_t))
    def give(buffer, size, most):
        buffers.append(ctypes.create_string_buffer(1 << 20))
        buffer[0], size[0], most[0] = ctypes.addressof(buffers[-1]), 1 << 20, 0
    @ctypes.CFUNCTYPE(None, c_void_p, c_uint32, c_void_p, c_size_t, c_size_t)
    def take(context, stream, buffer, size, valid):
        record = c_void_p()
        while cupti.cuptiActivityGetNextRecord(c_void_p(buffer), c_size_t(valid), byref(record)) == 0:
            kind = NAMES[c_uint32.from_address(record.value).value]
            fields = {}
            for name, (type, at) in FIELDS.get(kind, {}).items():
                fields[name] = type.from_address(record.value + at).value
            if isinstance(fields.get("name"), bytes):
                fields["name"] = fields["name"].decode()
            records.append({"kind": kind, **fields})
    assert cupti.cuptiActivityRegisterCallbacks(give, take) == 0
    for kind in NAMES:
        assert cupti.cuptiActivityEnable(kind) == 0, NAMES[kind]
    for kind in (15, 30, 40, 51):  # Accesses, samples, NVLink, whole graphs.
        assert cupti.cuptiActivityEnable(kind) == 27, kind  # CUPTI_ERROR_NOT_SUPPORTED.
    side = torch.cuda.Stream()
    pinned = torch.empty(1 << 20).pin_memory()
    for step in range(4):
        torch.cuda.nvtx.range_push(f"step {step}")
        x = torch.zeros(1 << 26, device="cuda")
        torch.cuda.nvtx.mark("here")
        x.sum().item()
        torch.cuda.nvtx.range_pop()
        del x
        torch.cuda.empty_cache()
    assert cupti.cuptiActivityFlushAll(1) == 0
    json.dump(records, open("records.json", "w"))
"""


def test_cuptis_records_of_memory_objects_and_markers_are_those_of_the_program(world):
    job = world.completed(RECORDS, measure=100)
    records = json.loads((world.folder_of(job) / "records.json").read_text())
    of = lambda kind: [record for record in records if record["kind"] == kind]
    assert [len(of(kind)) for kind in ("device", "context")] == [1, 1], f"{of('device')}, {of('context')}"
    streams = of("stream")
    # The default stream and those of PyTorch's pool, of which the program asked for one.
    assert streams[0]["id"] == 7 and streams[0]["flag"] == 3, f"{streams[:2]}"
    assert len(streams) > 1, streams
    assert all(stream["flag"] == 2 and stream["correlation"] for stream in streams[1:]), streams

    marks = of("marker")
    steps = [mark for mark in marks if (mark["name"] or "").startswith("step")]
    assert [mark["name"] for mark in steps] == [f"step {step}" for step in range(4)], f"{marks}"
    ends = {mark["id"]: mark["at"] for mark in marks if mark["flags"] == 4}
    assert all(mark["at"] < ends[mark["id"]] for mark in steps), f"{marks}"
    assert sum(mark["name"] == "here" and mark["flags"] == 1 for mark in marks) == 4, f"{marks}"

    memory = of("memory")
    assert any(record["place"] == 2 for record in memory), "no pinned memory"
    live, most, times = {}, 0, []
    for record in (record for record in memory if record["place"] == 3):
        times.append(record["at"])
        assert record["correlation"] > 0, f"{record} belongs to no call"
        if record["operation"] == 1:
            live[record["address"]] = record["bytes"]
        else:
            assert live.pop(record["address"]) == record["bytes"], f"{record} was not allocated"
        most = max(most, sum(live.values()))
    reported = job["status"]["prediction"]["memory"]["byCategory"]["allocations"]
    assert times == sorted(times) and len(times) >= 8, f"{times}"
    assert most == reported, f"records reach {most} bytes, the report says {reported}"
    # Each step allocates between its marks, in virtual time.
    large = [record["at"] for record in memory if record["operation"] == 1 and record["bytes"] == 1 << 28]
    for mark, at in zip(steps, large):
        assert mark["at"] <= at <= ends[mark["id"]], f"{large} are not in {steps}"
    print(f"{len(records)} records, {most} bytes at most")
