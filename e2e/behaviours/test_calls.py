"""Calls that cannot mean anything: a program gets the vendor's code for them, and goes on."""

import json

# Codes of cudaError_t and CUresult alike.
INVALID_VALUE, OUT_OF_MEMORY, INVALID_PITCH = 1, 2, 12

CUDA = """
    import ctypes, json, sys
    from ctypes import byref, c_int, c_size_t, c_uint, c_void_p
    runtime, driver = ctypes.CDLL(sys.argv[1]), ctypes.CDLL("libcuda.so.1")
    most, bytes_ = 2**64 - 1, 1 << 20
    host = ctypes.create_string_buffer(b"kept", 4096)
    memory, freed, none = c_void_p(), c_void_p(), c_void_p()
    assert runtime.cudaMalloc(byref(memory), c_size_t(bytes_)) == 0
    assert runtime.cudaMalloc(byref(freed), c_size_t(8 << 20)) == 0
    assert runtime.cudaFree(freed) == 0
    def at(offset): return c_void_p(memory.value + offset)
    def copy(to, source, count, kind): return runtime.cudaMemcpy(to, source, c_size_t(count), kind)
    codes = {
        "in, to its end": copy(at(bytes_ - 4096), host, 4096, 1),
        "in, beyond its end": copy(at(bytes_ - 4095), host, 4096, 1),
        "in, all addresses": copy(memory, host, most, 1),
        "out, all addresses": copy(host, memory, most, 2),
        "in, freed": copy(freed, host, 1, 1),
        "nothing, nowhere": copy(None, None, 0, 1),
        "memset, whole": runtime.cudaMemset(memory, 1, c_size_t(bytes_)),
        "memset, beyond": runtime.cudaMemset(memory, 1, c_size_t(bytes_ + 1)),
        "memset, all addresses": runtime.cudaMemsetAsync(memory, 1, c_size_t(most), None),
        "rows that overlap": runtime.cudaMemcpy2D(memory, c_size_t(8), host, c_size_t(16), c_size_t(16), c_size_t(2), 1),
        "all memory": runtime.cudaMalloc(byref(none), c_size_t(most)),
        "2^64 bytes in rows": runtime.cudaMallocPitch(byref(none), byref(c_size_t()), c_size_t(1 << 32), c_size_t(1 << 32)),
        "driver, in beyond": driver.cuMemcpyHtoD_v2(at(bytes_ - 8), host, c_size_t(9)),
        "driver, 2^62 words": driver.cuMemsetD32_v2(memory, c_uint(1), c_size_t(1 << 62)),
        "the last error": runtime.cudaGetLastError(),
        "then none": runtime.cudaGetLastError(),
        "read back": copy(host, memory, 4, 2),
    }
    codes["bytes"] = host.raw[:8].hex()
    for step in range(12):
        for part in range(4):
            runtime.cudaMemsetAsync(at(part << 18), step, c_size_t(1 << 18), None)
        runtime.cudaDeviceSynchronize()
    json.dump(codes, open("answers.json", "w"))
"""
EXPECTED = {
    "in, to its end": 0,
    "in, beyond its end": INVALID_VALUE,
    "in, all addresses": INVALID_VALUE,
    "out, all addresses": INVALID_VALUE,
    "in, freed": INVALID_VALUE,
    "nothing, nowhere": 0,
    "memset, whole": 0,
    "memset, beyond": INVALID_VALUE,
    "memset, all addresses": INVALID_VALUE,
    "rows that overlap": INVALID_PITCH,
    "all memory": OUT_OF_MEMORY,
    "2^64 bytes in rows": OUT_OF_MEMORY,
    "driver, in beyond": INVALID_VALUE,
    "driver, 2^62 words": INVALID_VALUE,
    "the last error": OUT_OF_MEMORY,
    "then none": 0,
    "read back": 0,
    "bytes": "01010101" + "00000000",  # Of the memset that was taken; behind it the host's own.
}

# Rank 1 calls none of what comes before the steps.
NCCL = """
    import json
    from ctypes import byref, c_char_p, c_size_t, c_void_p
    rank.step(0)
    if rank.rank == 0:
        rank.nccl.ncclGetLastError.restype = c_char_p
        def reduce(count, type=light.FLOAT, op=light.SUM):
            return rank.nccl.ncclAllReduce(rank.target, rank.target, c_size_t(count), type, op, rank.communicator, None)
        free, total = c_size_t(), c_size_t()
        rank.runtime.cudaMemGetInfo(byref(free), byref(total))
        answers = {
            "empty": [reduce(0) for call in range(5)],
            "all elements": reduce(2**64 - 1),
            "2^62 floats": reduce(2**62),
            "more than the GPU has": reduce(total.value // 4),
            "said": rank.nccl.ncclGetLastError(rank.communicator).decode(),
            "no type": reduce(1, type=99),
            "no reduction": reduce(1, op=77),
        }
        json.dump(answers, open("answers.json", "w"))
    for step in range(12): rank.step(0)
"""


def answers(world):
    return json.loads((world.folder / f"job{world.count}" / "answers.json").read_text())


def test_impossible_calls_get_the_vendors_codes_under_both_cudas(world, cuda12):
    for python, runtime in ((world.python, "libcudart.so.13"), (cuda12, "libcudart.so.12")):
        job = world.completed(CUDA, command=[f"{python}/bin/python", "script.py", runtime], measure=4, warmup=2)
        got = answers(world)
        assert got == EXPECTED, f"{runtime}: {sorted(set(got.items()) ^ set(EXPECTED.items()), key=str)}"
        # The real driver refuses them too: nothing is missing here.
        refused = job["status"]["prediction"].get("refusedCalls")
        assert not refused, f"{runtime}: reported as not simulated: {refused}"


def test_an_empty_all_reduce_meets_nobody_and_an_impossible_one_is_refused(world):
    world.completed(NCCL, ranks=2, light=True)
    got = answers(world)
    said = got.pop("said")
    invalid = 4  # ncclInvalidArgument.
    assert got == {
        "empty": [0] * 5,
        "all elements": invalid,
        "2^62 floats": invalid,
        "more than the GPU has": invalid,
        "no type": invalid,
        "no reduction": invalid,
    }
    assert "to the end of its allocation" in said, said


LATE_READS = """
    import json, os, torch, torch.distributed as dist
    rank = int(os.environ["RANK"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    doubled = []
    for round in range(70):
        group = dist.new_group([0, 1])
        x = torch.full((4,), float(rank + round), device="cuda")
        dist.all_reduce(x, group=group)
        # A kernel behind the sum: nobody asks for the sum's bytes until the end.
        doubled.append(x * 2)
        if round >= 8: doubled[-1].tolist()
        dist.destroy_process_group(group)
    y = torch.ones(4, device="cuda")
    dist.all_reduce(y)
    dist.destroy_process_group()
    seen = [each[0].item() for each in doubled] + [y.sum().item()]
    json.dump(seen, open(f"seen{rank}.json", "w"))
    for step in range(8):
        y.add_(1.0)
        torch.cuda.synchronize()
"""


def test_results_are_read_after_their_process_group_was_destroyed(world):
    world.completed(LATE_READS, ranks=2)
    for rank in range(2):
        seen = json.loads((world.folder / f"job{world.count}" / f"seen{rank}.json").read_text())
        assert seen == [4.0 * round + 2 for round in range(70)] + [8.0], f"rank {rank} saw {seen}"
