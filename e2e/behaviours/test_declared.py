"""Tests reads of values that are not computed: the source that is named for them, and the values that the job
declares instead."""

import json

import pytest

NO_VALUES = "values: {compute: false}\n"

# Values that are too large to be computed are read in three ways; each read has a writer and a line.
NAMED_READS = """
    import torch
    x = torch.zeros(4096, 4096, device="cuda")
    weight = torch.zeros(4096, 4096, device="cuda")
    unknown = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    for step in range(6):
        torch.cuda.nvtx.range_push("step")
        norm = x.norm()
        gemm = x @ weight
        value = norm.item()  # the norm
        row = gemm[7, :3].tolist()  # the GEMM
        assert value == NORM and row == [GIVEN] * 3, (value, row)
        x.uniform_()
        never = torch.empty(1 << 20, device="cuda").cpu()  # never written
        torch.cuda.nvtx.range_pop()
"""


def line_of(script, comment):
    numbered = enumerate(script.split("\n"), 1)
    return next(f"script.py:{number}" for number, line in numbered if line.endswith("# " + comment))


def test_unknown_reads_are_named_with_their_writer_and_python_line(world):
    zero = "values: {unknownReads: zero}\n"
    for extra, norm, writers in (
        (NO_VALUES, "zero", ("", "cublas.gemm")),
        (zero, "zero", ("reduce_kernel", "cublas.gemm")),
        ("", "plausible float32", ("reduce_kernel", "cublas.gemm")),
    ):
        script = NAMED_READS.replace("GIVEN", "0").replace("NORM", "0" if norm == "zero" else "1")
        final = world.completed(script, boundary="{nvtx: step}", extra=extra)
        prediction = final["status"]["prediction"]
        sources = prediction["unknownReadSources"]
        for writer, comment, given in zip(writers, ("the norm", "the GEMM"), (norm, "zero")):
            found = [s for s in sources if s.get("line", "").endswith("/" + line_of(script, comment))]
            assert found and all(writer in s["writer"] and s["given"] == given for s in found), (comment, sources)
            assert sum(s["reads"] for s in found) >= 4 and all(s["bytes"] >= 4 * s["reads"] for s in found), sources
        assert sum(s["reads"] for s in sources) == prediction["unknownReads"], prediction


# A step as people write it: what is printed at its end was computed before the optimizer ran, which may have written
# anywhere in the memory of small tensors.
PLAUSIBLE_LOSS = """
    import math, torch.nn.functional as F
    classes, micro_batches = 32000, 4
    model = torch.nn.Sequential(torch.nn.Embedding(classes, 512), torch.nn.Linear(512, classes)).cuda().bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(4):
        torch.cuda.nvtx.range_push("step")
        tokens = torch.randint(0, classes, (8, 512), device="cuda")
        logits = model(tokens).view(-1, classes)
        mean = F.cross_entropy(logits.float(), tokens.view(-1))
        total = F.cross_entropy(logits.float(), tokens.view(-1), reduction="sum")
        (mean / micro_batches).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        everywhere = mean.detach().clone()
        dist.all_reduce(everywhere, op=dist.ReduceOp.AVG)
        right = math.log(classes)
        for value in (mean, everywhere, total / tokens.numel(), micro_batches * (mean / micro_batches)):
            assert abs(value.item() - right) < 1e-3, (value, right)
        assert 0 < norm.item() < 10, norm
        torch.cuda.nvtx.range_pop()
"""


def test_a_loss_that_nobody_computed_is_that_of_equal_probabilities(world):
    final = world.completed(PLAUSIBLE_LOSS, boundary="{nvtx: step}", ranks=2, nccl=True)
    prediction = final["status"]["prediction"]
    sources = prediction["unknownReadSources"]
    losses = [s for s in sources if "nll_loss_forward" in s["writer"]]
    assert losses and all(s["given"] == "plausible float32" for s in losses), sources
    assert all(s["given"].startswith("plausible") for s in sources), sources
    assert sum(s["reads"] for s in sources) == prediction["unknownReads"] >= 16, prediction


# What the host wrote is not read again once a kernel of unknown effect may have changed it.
CHANGED_READS = """
        host = torch.full((1000,), 7, dtype=torch.uint8).cuda()
        assert host[3].item() == 7
        host.add_(unknown[:1000])
        assert host.tolist() == [POLICY] * 1000  # changed
        torch.cuda.nvtx.range_pop()
"""


@pytest.fixture(scope="module", params=[(False, "zero"), (True, "one")], ids=["not_computed", "computed"])
def declared(request, world):
    """The policy of a job that declares values of some reads and reads others, and the prediction."""
    compute, policy = request.param
    script = NAMED_READS.replace("GIVEN", "2.5").replace("NORM", "2.5")
    script = script.replace("        torch.cuda.nvtx.range_pop()\n", CHANGED_READS[1:])
    script = script.replace("POLICY", {"zero": "0", "one": "1"}[policy])
    values = [
        {"line": line_of(script, "the norm"), "value": 2.5},
        {"kernel": "cublas.gem?", "value": 2.5},
        {"kernel": "a kernel that nobody launches", "value": 1},
    ]
    extra = f"values: {json.dumps({'compute': compute, 'unknownReads': policy, 'declared': values})}\n"
    job = world.completed(script, boundary="{nvtx: step}", extra=extra)
    return policy, line_of(script, "changed"), job["status"]["prediction"]


def test_bytes_that_a_kernel_may_have_changed_read_as_the_policy_says(declared):
    policy, line, prediction = declared
    sources = [s for s in prediction["unknownReadSources"] if s.get("line", "").endswith("/" + line)]
    assert sources and all(s["given"] == policy for s in sources), prediction["unknownReadSources"]


def test_declared_values_are_what_the_host_reads(declared):
    _, _, prediction = declared
    given = {s["declaration"]: s["given"] for s in prediction["unknownReadSources"] if "declaration" in s}
    assert given == {1: "float32 2.5", 2: "float32 2.5"}, prediction["unknownReadSources"]
    unused = prediction["unusedDeclarations"]
    assert len(unused) == 1 and unused[0].startswith("values.declared[2]"), unused


# Experts on two ranks, tokens and router too large to be computed: the split sizes come from the declaration.
ROUTED = """
    import json
    tokens, hidden, experts, top_k = 2048, 2048, 8, 2
    router = torch.empty(hidden, experts, device="cuda")
    weights = torch.empty(experts // 2, hidden, hidden, device="cuda")
    for step in range(4):
        torch.cuda.nvtx.range_push("step")
        x = torch.empty(tokens, hidden, device="cuda")
        gate, chosen = (x @ router).softmax(-1).topk(top_k, dim=-1)
        flat = chosen.flatten()
        order = flat.argsort(stable=True)
        if COMPUTE:
            sent = torch.bincount(flat, minlength=experts)
        else:
            sent = torch.zeros(experts, dtype=torch.int64, device="cuda").scatter_add_(0, flat, torch.ones_like(flat))
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent)
        if COMPUTE:
            assert torch.equal(flat[order].cpu(), flat.cpu().sort().values)
            assert (chosen[:, 0] != chosen[:, 1]).all()
            splits = [counts.view(2, -1).sum(1).tolist() for counts in (sent, received)]
            here_of = received.view(2, -1).sum(0).tolist()
        else:
            lists = sent.tolist(), received.tolist()
            splits = [[sum(counts[:4]), sum(counts[4:])] for counts in lists]
            here_of = [lists[1][e] + lists[1][e + 4] for e in range(4)]
        assert sum(splits[0]) == tokens * top_k, splits
        gathered = [torch.empty_like(sent) for _ in range(2)]
        dist.all_gather(gathered, sent)
        counts = [g.tolist() for g in gathered]
        assert received.tolist() == [c for g in counts for c in g[4 * rank:4 * rank + 4]], (received, counts)
        if step == 3:  # In one piece: the ranks share a pipe.
            os.write(1, f"counts {json.dumps(counts[rank])}\\n".encode())
        here = torch.empty(sum(splits[1]), hidden, device="cuda")
        dist.all_to_all_single(here, x[order // top_k], splits[1], splits[0])
        done = torch.cat([part @ weight for part, weight in zip(here.split(here_of), weights)])
        back = torch.empty(tokens * top_k, hidden, device="cuda")
        dist.all_to_all_single(back, done, splits[0], splits[1])
        torch.cuda.nvtx.range_pop()
"""


def routed(world, values):
    """The counts of both ranks at the last step, in order, and the prediction."""
    script = ROUTED.replace("COMPUTE", str(values.get("compute", True)))
    extra = f"values: {json.dumps(values)}\n"
    job = world.completed(script, ranks=2, measure=3, warmup=1, boundary="{nvtx: step}", extra=extra, nccl=True)
    prediction = job["status"]["prediction"]
    assert "unusedDeclarations" not in prediction, prediction
    lines = [line.split("counts ", 1)[1] for line in world.logs(job).split("\n") if "counts [" in line]
    return sorted(json.loads(line) for line in lines), prediction


def test_declared_routing_gives_token_counts_that_fit_on_all_ranks(world):
    routing = {"experts": 8, "tokens": 2048, "topK": 2, "distribution": "zipf", "exponent": 1.2, "seed": 5}
    counts, first = routed(world, {"expertRouting": routing})
    assert len(counts) == 2 and counts[0] != counts[1], counts
    assert all(sum(c) == 4096 and max(c) > 4 * min(c) > 0 and max(c) <= 2048 for c in counts), counts
    again, second = routed(world, {"expertRouting": routing})
    assert again == counts
    assert first["iterationPicoseconds"] == second["iterationPicoseconds"], (first, second)


def test_declared_token_counts_need_no_computed_values(world):
    table = world.folder / "counts.csv"
    table.write_text("# shares of the eight experts\n40,20,10,10,10,5,4,1\n")
    counts, prediction = routed(
        world,
        {
            "compute": False,
            "expertRouting": {
                "gives": "counts",
                "kernel": "scatter_gather",
                "experts": 8,
                "tokens": 2048,
                "topK": 2,
                "file": str(table),
            },
        },
    )
    assert len(counts) == 2 and all(sum(c) == 4096 for c in counts), counts
    assert all(abs(c[0] - 1638) <= 8 and abs(c[7] - 41) <= 8 for c in counts), counts
    assert any("token counts of 8 experts" in s["given"] for s in prediction["unknownReadSources"]), prediction


def test_a_routing_whose_table_is_missing_fails_with_its_name(world):
    extra = "values: {expertRouting: {experts: 8, tokens: 16, topK: 2, file: absent.csv}}\n"
    job = world.run("print('never')", extra=extra)
    assert "absent.csv" in json.dumps(job["status"]["conditions"]), job["status"]
