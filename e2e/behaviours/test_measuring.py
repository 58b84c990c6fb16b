"""Measuring on a GPU, where the GPU is emulated too: the worker runs in a job of its own, with our own libcuda."""

import json

from jobs import expect_complete

# A training step: GEMMs with and without a bias, convolutions, attention by cuDNN, copies (of pageable memory, by
# rows), element-wise over strided tensors, reductions, concatenation, lists of tensors.
# Much of what such kernels get as parameters is left to chance, and is not the same in another process.
STEPS = """
    import ctypes, torch
    torch.manual_seed(0)
    cudart = ctypes.CDLL("libcudart.so.13")
    rows, image = torch.empty(64, 512, dtype=torch.uint8, device="cuda"), torch.randn(4, 8, 32, 32)
    def at(row): return ctypes.c_void_p(rows[row].data_ptr()), ctypes.c_size_t(512)
    convolutions = torch.nn.Sequential(
        torch.nn.Conv2d(8, 16, 3, bias=False), torch.nn.Conv2d(16, 8, 3, bias=False)).cuda()
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.LayerNorm(1024), torch.nn.Dropout(0.1),
        torch.nn.Linear(1024, 256, bias=False)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x = torch.randn(128, 256, device="cuda")
    heads = torch.randn(2, 4, 128, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    cudnn = torch.nn.attention.SDPBackend.CUDNN_ATTENTION
    for step in range(6):
        torch.cuda.nvtx.range_push("step")
        y = torch.cat([model(x), x.t().contiguous().t() * 2], dim=1)
        loss = (y.transpose(0, 1) * torch.ones(512, 1, device="cuda")).square().mean()
        loss = loss + convolutions(image.cuda()).mean()
        with torch.nn.attention.sdpa_kernel(cudnn):
            attended = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
        loss = loss + attended.mean()
        loss.backward()
        size = ctypes.c_size_t(256), ctypes.c_size_t(16)
        assert cudart.cudaMemset2DAsync(*at(0), 0, *size, None) == 0
        assert cudart.cudaMemcpy2DAsync(*at(0), *at(32), *size, 3, None) == 0
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
"""


def worker_of(world):
    run = f"{world.build}/bin/eidolon run --gpu H100-SXM5-80GB --host-model fixed --"
    return f"{run} {world.build}/bin/eidolon-timing-worker"


def predicted(world, recording, *arguments):
    """The prediction of a server of its own, and the server's log; `recording`: the file for the job's."""
    with world.own_server(*arguments) as server:
        job = server.run(world.job(STEPS, boundary="{nvtx: step}", outputs="{recording: true}"), seconds=300)
        expect_complete(job)
        world.command("--data-dir", server.data, "recording", job["metadata"]["name"], "-o", recording, check=True)
        return job["status"]["prediction"], (server.data / "up.log").read_text()


def test_a_job_measured_on_a_gpu_is_predicted_the_same_from_its_profile(world):
    profile = world.folder / "measured.sqlite"
    recording = world.folder / "measured.eidrec"
    own_gpu = ["--own-gpu", "0", "--own-gpu-worker", worker_of(world)]
    measured, log = predicted(world, recording, "--profile", profile, *own_gpu)
    assert "gpu_owned" in log, log
    assert measured["coverage"]["measured"] > 0.99, f"{measured['coverage']}\n{log}"
    again, log = predicted(world, recording, "--profile", profile)
    assert "gpu_owned" not in log, log
    for key in ("iterationSeconds", "breakdown", "coverage"):
        assert again[key] == measured[key], f"{key}: {json.dumps(measured[key])} or {json.dumps(again[key])}"
    # The GPU is emulated: work lasts what the models say, but for the events' resolution.
    modelled = json.loads(world.eidolon("replay", recording, "-o", "json").stdout)["status"]["prediction"]
    assert modelled["coverage"]["measured"] == 0, f"{modelled['coverage']}"
    one, other = (p["iterationSeconds"]["mean"] for p in (measured, modelled))
    assert abs(one / other - 1) < 0.001, f"measured {one}, modelled {other}"


def test_profile_run_needs_a_gpu_and_says_so(world):
    profile = world.folder / "none.sqlite"
    nowhere = ["--own-gpu-driver", "libnowhere.so.1"]
    done = world.eidolon("profile", "run", "--profile", profile, *nowhere, "--", "true")
    assert done.returncode == 1, f"{done}"
    assert "no CUDA driver: libnowhere.so.1" in done.stderr and "no GPU to measure on" in done.stderr, done.stderr
