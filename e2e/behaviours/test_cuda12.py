"""Programs of CUDA 12: a stock wheel of that time, and compiled ones."""

import json
import subprocess

from jobs import expect_complete

# Calls that have another form in each of the two: properties, what a pointer is, capture, graphs, the compilers'
# libraries, launches.
PROGRAM = """
    import json, torch.nn.functional as F
    torch.manual_seed(5)
    weight = torch.nn.Parameter(torch.randn(64, 64, device="cuda") / 8)
    optimizer = torch.optim.AdamW([weight], lr=0.01)
    seen = []
    for step in range(8):
        batch = torch.arange(512, dtype=torch.float32).view(8, 64).add(rank).pin_memory().to("cuda", non_blocking=True)
        loss = F.cross_entropy(batch.div(512) @ weight, torch.arange(8, device="cuda"))
        loss.backward()
        dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
        optimizer.step()
        optimizer.zero_grad()
        seen.append(round(loss.item(), 3))
    still = torch.ones(16, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        doubled = still * 2 + 1
    still.copy_(torch.arange(16, device="cuda", dtype=torch.float32))
    graph.replay()
    fused = torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T x, T y) { return x * y + x; }")
    compiled = torch.compile(lambda x: torch.relu(x - 3) * 2)
    properties = torch.cuda.get_device_properties(0)
    answers = {
        "device": [properties.name, properties.multi_processor_count, properties.total_memory, properties.L2_cache_size],
        "losses": seen, "graph": doubled.tolist(), "fused": fused(still, still).tolist(),
        "compiled": compiled(still).tolist(), "found": (still % 5 == 0).nonzero().flatten().tolist(),
        "drawn": torch.randint(1000, (5,), device="cuda").tolist(),
    }
    if rank == 0:
        json.dump({"answers": answers, "cuda": torch.version.cuda}, open("answers.json", "w"))
"""

# Its first line lets functions keep the names that the library exports, which the header would change.
COMPILED = r"""
    #define __CUDA_API_VERSION_INTERNAL
    #include <cuda_runtime_api.h>
    #include <stdio.h>
    int main(void) {
      FILE* out = fopen("answers.txt", "w");
      int version = 0;
      cudaRuntimeGetVersion(&version);
      struct cudaDeviceProp properties;
      cudaGetDeviceProperties_v2(&properties, 0);
      cudaStream_t stream;
      enum cudaStreamCaptureStatus status;
      unsigned long long id = 0;
      cudaGraph_t graph;
      cudaStreamCreate(&stream);
      cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
      const cudaError_t captured = cudaStreamGetCaptureInfo(stream, &status, &id);
      cudaStreamEndCapture(stream, &graph);
      cudaGraphNode_t first, second, from, to;
      size_t count = 1;
      cudaGraphAddEmptyNode(&first, graph, 0, 0);
      cudaGraphAddEmptyNode(&second, graph, 0, 0);
      cudaGraphAddDependencies(graph, &first, &second, 1);
      cudaGraphGetEdges(graph, &from, &to, &count);
      fprintf(out, "CUDA %d.%d, %d multiprocessors at %d kHz, capture %d %d, %zu edge %d\n", version / 1000,
              version % 1000 / 10, properties.multiProcessorCount, properties.clockRate, captured, (int)status, count,
              from == first && to == second);
      return 0;
    }
"""


def test_a_stock_wheel_of_cuda_12_computes_what_that_of_cuda_13_does(world, cuda12):
    def run(torchrun):
        document = world.job(PROGRAM, ranks=2, measure=100, command=[torchrun, "script.py"], nccl=True)
        job = world.server.run(document, seconds=400)
        expect_complete(job)
        prediction = job["status"]["prediction"]
        assert not prediction.get("refusedCalls"), f"refused: {prediction.get('refusedCalls')}"
        assert prediction["coverage"]["assumed"] == 0, f"coverage: {prediction['coverage']}"
        return json.loads((world.folder / f"job{world.count}" / "answers.json").read_text())

    newer, older = run("torchrun"), run(f"{cuda12}/bin/torchrun")
    assert newer["cuda"].startswith("13.") and older["cuda"].startswith("12."), f"{newer['cuda']} and {older['cuda']}"
    for name, value in newer["answers"].items():
        assert older["answers"][name] == value, f"{name}: {older['answers'][name]} with CUDA 12, {value} with CUDA 13"
    assert newer["answers"]["losses"][-1] < newer["answers"]["losses"][0], f"no training: {newer['answers']['losses']}"


def test_a_program_linked_against_the_runtime_of_cuda_12_finds_its_forms_of_functions(world, cuda12):
    runtime = next(cuda12.glob("lib/python*/site-packages")) / "nvidia" / "cuda_runtime"
    folder = world.folder / "linked"
    folder.mkdir()
    (folder / "program.c").write_text(COMPILED)
    headers = [f"-I{runtime}/include", f"-I{runtime.parent}/cuda_nvcc/include"]
    library = [runtime / "lib" / "libcudart.so.12", f"-Wl,-rpath,{runtime}/lib"]
    subprocess.run(["gcc", "program.c", "-o", "program", *headers, *library], cwd=folder, check=True)
    document = world.job("", command=[str(folder / "program")])
    world.server.run(document, seconds=100)  # It launches nothing, so there is no iteration.
    answer = (world.folder / f"job{world.count}" / "answers.txt").read_text()
    assert answer == "CUDA 12.8, 132 multiprocessors at 1980000 kHz, capture 0 1, 1 edge 1\n"
