"""Tests reads from emulated GPUs when small kernels are run for their values, which is the default."""

import json
import textwrap

import pytest
from jobs import expect_complete
from server import verdict

NO_VALUES = "values: {compute: false}\n"

# Control flow that looks at small tensors, compared with the CPU's in the same process.
CONTROL_FLOW = """
    import torch
    torch.manual_seed(0)
    x = torch.randint(-9, 9, (300,)).float()
    y = x.cuda()
    def same(function):
        ours, cpu = function(y), function(x)
        assert torch.equal(ours.cpu(), cpu), (function, ours, cpu)
    for function in (lambda x: x.nonzero(), lambda x: x[x > 0], lambda x: x.argsort(stable=True), lambda x: x.unique(),
                     lambda x: x.topk(5).values, lambda x: x.sort().values, lambda x: x.long().clamp(0).bincount(),
                     lambda x: torch.isfinite(x / 0).all(), lambda x: torch.where(x > 2, x, -x).cumsum(0),
                     lambda x: x.view(3, 100).argmax(1), lambda x: (x == 3).sum()):
        same(function)
    assert str(y[:3]) == str(x[:3]).replace(")", ", device='cuda:0')")

    # Results that nobody knows beside small and large labels: means, whose kernel holds code for blocks that wait for
    # each other, joined tensors, whose pointers each row of blocks looks up, and types that are looked at on the GPU.
    def unknown(*shape, **options):
        return torch.empty(shape, device="cuda", **options)
    bfloat = {"dtype": torch.bfloat16}
    for count in (800, 130000):
        labels = torch.arange(count, device="cuda")
        for function in (lambda: unknown(4096, 512).pow(2).mean(-1, keepdim=True),
                         lambda: unknown(4, 201, 1024).pow(2).mean(-1, keepdim=True),
                         lambda: unknown(804, 4096).mean(-1), lambda: unknown(804, 4096).mean(0),
                         lambda: unknown(804, 4096, **bfloat).mean(-1), lambda: unknown(804, 4096).var(-1),
                         lambda: unknown(804, 4096).max(-1).values, lambda: unknown(804, 4096).mean(),
                         lambda: torch.cat([unknown(1200, 200, **bfloat), unknown(1200, 377, **bfloat)], 1),
                         lambda: torch.cat([unknown(201, 90), unknown(201, 70)], 1),
                         lambda: torch.cat([unknown(900, 800).t(), unknown(1000, 800).t()], 1),
                         lambda: unknown(1201, 900, **bfloat).t() * unknown(900, 1201),
                         lambda: unknown(201, 90, **bfloat).t() * unknown(90, 201),
                         lambda: unknown(1201, 900, **bfloat).t() > unknown(900, 1201)):
            result = function()
            assert int((labels != 7).sum()) == count - 1 and labels[labels >= 0].shape == (count,), result.shape

    # An infinity in a gradient: the step is left out and the scale is halved.
    weight = torch.nn.Parameter(torch.ones(4, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
    for gradient, expected in ((float("inf"), 1.0), (2.0, 0.0)):
        weight.grad = torch.full_like(weight, gradient) * scaler.get_scale()
        scaler.scale(torch.zeros((), device="cuda"))
        scaler.step(optimizer)
        scaler.update()
        assert weight.tolist() == [expected] * 4, weight
    assert scaler.get_scale() == 512.0

    # Training as on the CPU, gradients clipped.
    torch.manual_seed(1)
    losses = []
    data = torch.randn(64, 16)
    wanted = data.square().sum(1, keepdim=True)
    for device in ("cpu", "cuda"):
        torch.manual_seed(2)
        model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32),
                                    torch.nn.Linear(32, 1)).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
        for step in range(10):
            loss = (model(data.to(device)) - wanted.to(device)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    for cpu, ours in zip(losses[:10], losses[10:]):
        assert abs(cpu - ours) < 1e-4 * cpu, losses
    assert losses[9] < losses[0]
    print("all equal")
"""

OBJECTS = """
    import torch, torch.distributed as dist
    rank = dist.get_rank()
    for step in range(3):
        parts = [None] * 2
        dist.all_gather_object(parts, {"rank": rank, "words": ["a"] * rank})
        assert parts == [{"rank": 0, "words": []}, {"rank": 1, "words": ["a"]}], parts
        word = [["from", 0] if rank == 0 else None]
        dist.broadcast_object_list(word, src=0)
        assert word == [["from", 0]], word

        # What describes a checkpoint is larger: half a megabyte from each, more from one.
        def layers(count):
            return {f"layer.{i}.weight": list(range(i, i + 30)) for i in range(count)}
        dist.all_gather_object(parts, layers(4000 + rank))
        assert [len(part) for part in parts] == [4000, 4001] and parts[1] == layers(4001)
        word = [layers(20000) if rank == 0 else None]
        dist.broadcast_object_list(word, src=0)
        assert word == [layers(20000)]

        # Experts get as many tokens as really chose them.
        torch.manual_seed(rank)
        experts = torch.randint(0, 2, (50,))
        sent = torch.bincount(experts.cuda(), minlength=2)
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent)
        assert sent.tolist() == torch.bincount(experts, minlength=2).tolist()
        total = sent.clone()
        dist.all_reduce(total)
        counts = [torch.empty_like(sent) for _ in range(2)]
        dist.all_gather(counts, sent)
        assert received.tolist() == [int(c[rank]) for c in counts], (received, counts)
        assert total.tolist() == sum(counts).tolist()
"""

# Every collective of objects, of one and of many: many are joined on the GPU before they travel, 128 in a launch.
EVERY_OBJECT_COLLECTIVE = """
    import torch, torch.distributed as dist
    rank = dist.get_rank()
    def things(count):
        return [{"number": i, "word": "x" * i} for i in range(count)]
    for step in range(3):
        for count in (1, 2, 5, 40, 130):
            received = things(count) if rank == 0 else [None] * count
            dist.broadcast_object_list(received, src=0)
            assert received == things(count), (count, received)
            if rank == 0:
                dist.send_object_list(things(count), dst=1)
            else:
                received = [None] * count
                dist.recv_object_list(received, src=0)
                assert received == things(count), (count, received)
            parts = [None] * 2
            dist.all_gather_object(parts, things(count + rank))
            assert parts == [things(count), things(count + 1)], (count, parts)
        parts = [None] * 2 if rank == 0 else None
        dist.gather_object(things(3 + rank), parts, dst=0)
        assert rank or parts == [things(3), things(4)], parts
        mine = [None]
        dist.scatter_object_list(mine, [things(2), "a word"] if rank == 0 else None, src=0)
        assert mine == [[things(2), "a word"][rank]], mine
"""

# Philox4x32-10 as Salmon et al. describe it, against what torch.manual_seed gives: element i of a small tensor
# is made from the first numbers of subsequence i.
RANDOM = """
    import numpy
    import torch
    def philox(seed, count):
        mask, half = numpy.uint64(0xffffffff), numpy.uint64(32)
        zero = numpy.zeros(count, numpy.uint64)
        counter = [zero, zero, numpy.arange(count, dtype=numpy.uint64), zero]
        key = [numpy.uint64(seed & 0xffffffff), numpy.uint64(seed >> 32)]
        for _ in range(10):
            one = counter[0] * numpy.uint64(0xD2511F53)
            two = counter[2] * numpy.uint64(0xCD9E8D57)
            counter = [(two >> half) ^ counter[1] ^ key[0], two & mask, (one >> half) ^ counter[3] ^ key[1], one & mask]
            key = [(key[0] + numpy.uint64(0x9E3779B9)) & mask, (key[1] + numpy.uint64(0xBB67AE85)) & mask]
        return counter
    count = 4000
    for seed in (0, 1234, 2**40 + 7):
        first, second = philox(seed, count)[:2]
        def drawn(function, **options):
            torch.manual_seed(seed)
            return function(**options, device="cuda").cpu().numpy()
        step, half_step = numpy.float32(2**-32), numpy.float32(2**-33)
        uniform = first.astype(numpy.float32) * step + half_step
        uniform[uniform == 1] = 0
        assert numpy.array_equal(drawn(torch.rand, size=(count,)), uniform), seed
        whole = (first % numpy.uint64(1000)).astype(numpy.int64)
        assert numpy.array_equal(drawn(torch.randint, low=0, high=1000, size=(count,)), whole), seed
        radius = numpy.sqrt(-2 * numpy.log(first * 2.0**-32 + 2.0**-33))
        normal = radius * numpy.sin((second * 2.0**-32 + 2.0**-33) * 2 * numpy.pi)
        assert abs(drawn(torch.randn, size=(count,)) - normal).max() < 1e-5, seed
"""

# A random model of two layers writes the tokens that it writes on the CPU: greedily, and by beams.
GENERATE = """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=96, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
                                         bos_token_id=1, eos_token_id=2, pad_token_id=0)).eval()
    prompt = torch.tensor([[1, 17, 33, 5], [0, 1, 64, 9]])
    mask = (prompt != 0).long()
    written = []
    for device in ("cpu", "cuda"):
        model.to(device)
        for options in ({}, {"num_beams": 3}):
            tokens = model.generate(prompt.to(device), attention_mask=mask.to(device), max_new_tokens=8,
                                    do_sample=False, **options)
            written.append(tokens.tolist())
    assert written[:2] == written[2:], written
    assert len(set(written[0][0])) > 4, written
"""

# Pictures of 28 x 28, one hidden layer, dropout by masks that both devices get.
PICTURES = """
    import torch
    torch.manual_seed(0)
    pictures, labels = torch.rand(256, 784), torch.randint(0, 10, (256,))
    masks = (torch.rand(16, 32, 64) > 0.1).float()
    curves = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(784, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 8, 0.5)
        curve = []
        for step in range(16):
            rows = slice(step % 8 * 32, step % 8 * 32 + 32)
            hidden = model[1](model[0](pictures[rows].to(device))) * masks[step].to(device)
            loss = torch.nn.functional.cross_entropy(model[2](hidden), labels[rows].to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            curve.append(loss.item())
        with torch.no_grad():
            curve.append(float((model(pictures.to(device)).argmax(1) == labels.to(device)).sum()))
        curves.append(curve)
    cpu, ours = curves
    for one, other in zip(cpu[:-1], ours[:-1]):
        assert abs(one - other) < 1e-4 * one, curves
    assert abs(cpu[-1] - ours[-1]) <= 1 and ours[15] < ours[0], curves
"""

# cuDNN's batch normalisation: outputs, gradients and running statistics, also of channels that come last.
BATCH_NORM = """
    import copy, torch
    torch.manual_seed(0)
    for step in range(3):
        for shape, layout in (((6, 4), torch.contiguous_format), ((4, 3, 5, 7), torch.contiguous_format),
                              ((4, 3, 5, 7), torch.channels_last), ((2, 3, 2, 4, 3), torch.contiguous_format)):
            kind = {2: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d, 5: torch.nn.BatchNorm3d}[len(shape)]
            reference = kind(shape[1])
            torch.nn.init.normal_(reference.weight), torch.nn.init.normal_(reference.bias)
            norm = copy.deepcopy(reference).cuda()
            x, wanted = torch.randn(shape), torch.randn(shape)
            results = []
            for module, device in ((reference, "cpu"), (norm, "cuda")):
                input = x.clone().to(device).contiguous(memory_format=layout).requires_grad_()
                output = module(input)
                (output * wanted.to(device)).sum().backward()
                module.eval()
                results.append([output, input.grad, module.weight.grad, module.bias.grad, module.running_mean,
                                module.running_var, module(input)])
            for cpu, ours in zip(*results):
                torch.testing.assert_close(ours.detach().cpu(), cpu.detach(), rtol=1e-4, atol=1e-5)
"""

# Two ranks, an expert each: tokens travel to the experts that a router chose, and back.
EXPERTS = """
    import torch, torch.distributed as dist
    rank = dist.get_rank()
    def tokens_of(rank):
        return torch.randn(24, 8, generator=torch.Generator().manual_seed(rank))
    router = torch.randn(8, 2, generator=torch.Generator().manual_seed(7))
    weights = torch.randn(2, 8, 8, generator=torch.Generator().manual_seed(8))
    for step in range(3):
        tokens = tokens_of(rank).cuda()
        gate, expert = (tokens @ router.cuda()).softmax(1).max(1)
        order = expert.argsort(stable=True)
        sent = torch.bincount(expert, minlength=2)
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent)
        counts = sent.tolist(), received.tolist()
        here = torch.empty(sum(counts[1]), 8, device="cuda")
        dist.all_to_all_single(here, tokens[order], counts[1], counts[0])
        here = here @ weights[rank].cuda()
        back = torch.empty(24, 8, device="cuda")
        dist.all_to_all_single(back, here, counts[0], counts[1])
        result = torch.zeros_like(back).index_copy_(0, order, back) * gate[:, None]

        chosen = [(tokens_of(r) @ router).argmax(1) for r in range(2)]
        assert counts[0] == chosen[rank].bincount(minlength=2).tolist(), counts
        assert counts[1] == [int((c == rank).sum()) for c in chosen], counts
        assert 0 < counts[0][0] < 24, counts
        gate = (tokens_of(rank) @ router).softmax(1).max(1).values
        wanted = torch.stack([t @ weights[e] for t, e in zip(tokens_of(rank), chosen[rank])]) * gate[:, None]
        torch.testing.assert_close(result.cpu(), wanted, rtol=1e-4, atol=1e-5)
"""

# Triton's kernels are compiled for the emulated GPU and run like others, those that only the autotuner tries too.
COMPILED = """
    import os, tempfile
    caches = tempfile.TemporaryDirectory()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ["TRITON_CACHE_DIR"] = caches.name
    import torch
    @torch.compile
    def compiled(x, y):
        return torch.nn.functional.gelu(x * y + 1).softmax(-1), x.mean(0), x.amax(1), (x > 0).sum()
    x, y = torch.randn(24, 40), torch.randn(40)
    wanted = torch.nn.functional.gelu(x * y + 1).softmax(-1), x.mean(0), x.amax(1), (x > 0).sum()
    for step in range(3):
        for ours, cpu in zip(compiled(x.cuda(), y.cuda()), wanted):
            torch.testing.assert_close(ours.cpu(), cpu, rtol=1e-4, atol=1e-6)
"""

# The code that is compiled for the emulated GPU: PyTorch's own kernels (whose shapes CUB chooses by GPU), NVRTC's,
# Triton's.
COMPILED_FOR_GPU = """
    import os, tempfile
    caches = tempfile.TemporaryDirectory()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ["TRITON_CACHE_DIR"] = caches.name
    import torch
    assert torch.cuda.get_device_capability() == CAPABILITY, torch.cuda.get_device_capability()
    mine = torch.cuda.jiterator._create_jit_fn(
        "template <typename T> T mine(T a, T b, T alpha) { return alpha * a + sqrt(b * b + 1); }", alpha=2.0)
    def compiled(x, y):
        return torch.nn.functional.gelu(x * y + 1).softmax(-1), x.mean(0), x.amax(1), (x > 0).sum()
    x, y, a, b = torch.randn(24, 40), torch.randn(40), torch.randn(5000), torch.randn(5000)
    c = torch.randint(-9, 9, (6000,)).float()
    for step in range(3):
        torch.cuda.nvtx.range_push("step")
        for function in (lambda c: c.nonzero(), lambda c: c[c > 0], lambda c: c.unique(), lambda c: c.argsort(stable=True),
                         lambda c: c.sort().values, lambda c: c.topk(5).values, lambda c: c.cumsum(0),
                         lambda c: c.view(60, 100).argmax(1), lambda c: (c.half() * 2).amax(),
                         lambda c: torch.zeros(20, device=c.device).index_add(0, c.long().abs(), c)):
            assert torch.equal(function(c.cuda()).cpu(), function(c))
        if CAPABILITY[0] < 10:  # Of what 10.x brought, packed arithmetic and a few others are refused.
            assert torch.equal(c.cuda().long().clamp(0).bincount().cpu(), c.long().clamp(0).bincount())
        torch.testing.assert_close(mine(a.cuda(), b.cuda()).cpu(), 2 * a + (b * b + 1).sqrt(), rtol=1e-4, atol=1e-5)
        if CAPABILITY[0] >= 10:
            torch.cuda.nvtx.range_pop()
            continue
        for ours, cpu in zip(torch.compile(compiled)(x.cuda(), y.cuda()), compiled(x, y)):
            torch.testing.assert_close(ours.cpu(), cpu, rtol=1e-4, atol=1e-6)
        torch.cuda.nvtx.range_pop()
"""

# Dropout keeps as many as it says, scales them, gives the same for a seed, and goes back through its mask.
DROPOUT = """
    import torch
    for step in range(3):
        kept = []
        for seed in (5, 5, 6):
            torch.manual_seed(seed)
            x = torch.ones(4000, device="cuda", requires_grad=True)
            y = torch.nn.functional.dropout(x, 0.25)
            y.sum().backward()
            assert torch.equal(x.grad, y), "forward and backward differ"
            assert set(y.unique().cpu().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}, y.unique()
            kept.append((y != 0).cpu())
        assert torch.equal(kept[0], kept[1]) and not torch.equal(kept[0], kept[2])
        assert 0.71 < kept[0].float().mean() < 0.79, kept[0].float().mean()
"""

# 512 KiB of weights, broadcast when training begins, and as many gradients, added up in each step.
SMALL_MODEL = """
    import copy, torch, torch.distributed as dist
    rank = dist.get_rank()
    torch.manual_seed(0)
    reference = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Tanh(), torch.nn.Linear(512, 8))
    torch.manual_seed(rank)
    start = copy.deepcopy(reference) if rank == 0 else torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.Tanh(), torch.nn.Linear(512, 8))
    model = torch.nn.parallel.DistributedDataParallel(start.cuda(), device_ids=[rank])
    torch.manual_seed(7)
    data, wanted = torch.randn(2, 16, 256), torch.randn(2, 16, 8)
    ours = torch.optim.SGD(model.parameters(), lr=0.1)
    cpus = torch.optim.SGD(reference.parameters(), lr=0.1)
    for step in range(4):
        loss = (model(data[rank].cuda()) - wanted[rank].cuda()).square().mean()
        ours.zero_grad(); loss.backward(); ours.step()
        losses = [(reference(data[r]) - wanted[r]).square().mean() for r in range(2)]
        cpus.zero_grad(); (sum(losses) / 2).backward(); cpus.step()
        assert abs(loss.item() - losses[rank].item()) < 1e-3 * losses[rank].item(), (step, loss, losses)
"""

# Large tensors, small known ones between them, and no decision that looks at values.
STEPS = """
    import torch
    weight = torch.zeros(2048, 2048, device="cuda", requires_grad=True)
    counter = torch.zeros(10, device="cuda")
    for step in range(8):
        loss = (torch.ones(512, 2048, device="cuda") @ weight).square().mean()
        loss.backward()
        with torch.no_grad():
            weight.sub_(weight.grad)
        weight.grad = None
        counter.add_(torch.arange(10, device="cuda"))
        loss.item()
        counter.sum().item()
"""

# Runs programs after each other in one process, each with names of its own and as one iteration, and says how each ended.
# Results that depend on memory which nothing has written, beside others of the same launches: as vLLM's engine notes the
# tokens that it sampled, and counts them.
POST_UPDATE = """
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def post_update(sampled, last, scheduled, computed, lengths):
        row = tl.program_id(0)
        tl.store(last + row, tl.load(sampled + row))
        count = tl.load(scheduled + row)
        tl.store(computed + row, tl.load(computed + row) + count)
        tl.atomic_add(lengths, count)

    rows = 4
    computed = torch.arange(rows, device="cuda", dtype=torch.int32)
    lengths = torch.zeros(1, device="cuda", dtype=torch.int32)
    scheduled = torch.full((rows,), 3, device="cuda", dtype=torch.int32)
    for step in range(1, 4):
        sampled = torch.empty(1 << 20, device="cuda", dtype=torch.int64)
        last = torch.full((rows,), 7, device="cuda", dtype=torch.int64)
        post_update[(rows,)](sampled, last, scheduled, computed, lengths)
        assert computed.tolist() == [row + 3 * step for row in range(rows)], (step, computed)
        assert lengths.item() == 3 * rows * step, (step, lengths)
    assert last.tolist() == [0] * rows, last
"""

# A choice whose condition is known takes known numbers where it does not take others.
CHOICES = """
    import torch
    known = torch.arange(64, device="cuda", dtype=torch.float32)
    unknown = torch.empty(1 << 20, device="cuda")[:64]
    chosen = torch.where(known % 2 == 0, unknown, known)
    assert chosen[1::2].tolist() == known[1::2].tolist(), chosen
    stacked = torch.stack([known, unknown])
    assert stacked[0].tolist() == known.tolist(), stacked
"""

# Pinned memory is the host's own: a kernel sees what stands there when it is launched, and the program sees what it left,
# as where vLLM's engine hands requests to its kernels.
PINNED = """
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def take(request, counts, told):
        row = tl.load(request + tl.program_id(0))
        count = tl.load(counts + row) + tl.load(request + 4 + tl.program_id(0))
        tl.store(counts + row, count)
        tl.store(told + row, count)

    request = torch.zeros(8, dtype=torch.int32).pin_memory()
    told = torch.zeros(4, dtype=torch.int32).pin_memory()
    counts = torch.zeros(4, device="cuda", dtype=torch.int32)
    for step in range(1, 4):
        request[:4] = torch.arange(3, -1, -1)
        request[4:] = step
        take[(4,)](request, counts, told)
        torch.cuda.synchronize()
        request.zero_()
        assert told.tolist() == [step * (step + 1) // 2] * 4, (step, told)
    assert counts.tolist() == [6] * 4, counts
"""

ONE_AFTER_ANOTHER = """
    import json, os, runpy, traceback, torch, torch.distributed as dist
    rank, several = os.environ.get("RANK", "0"), "RANK" in os.environ
    if several:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")
    for name in json.load(open("names.json")):
        try:
            torch.cuda.nvtx.range_push("step")
            runpy.run_path(name + ".py", run_name="__main__")
            torch.cuda.nvtx.range_pop()
            ended = "as it should"
        except BaseException:
            ended = traceback.format_exc()
        os.write(1, f"{name} of rank {rank} ended {ended}\\n".encode())
    if several:
        dist.destroy_process_group()
"""


class Together:
    """Programs of one job."""

    def __init__(self, world, programs, ranks=1, **arguments):
        document = world.job(
            ONE_AFTER_ANOTHER, ranks=ranks, measure=100, warmup=0, boundary="{nvtx: step}", **arguments
        )
        folder = world.folder / f"job{world.count}"
        for name, program in programs.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(program))
        (folder / "names.json").write_text(json.dumps(list(programs)))
        self.job, self.ranks = world.server.run(document, seconds=300), ranks
        self.log = world.logs(self.job)

    def expect_success(self, name):
        for rank in range(self.ranks):
            ended = f"{name} of rank {rank} ended "
            assert ended in self.log, f"{name} did not end: {verdict(self.job)} {self.log[-2000:]}"
            assert ended + "as it should" in self.log, self.log[self.log.index(ended) :][:4000]
        expect_complete(self.job)
        return self.job["status"]["prediction"]


@pytest.fixture(scope="module")
def on_one_gpu(world):
    programs = {"control_flow": CONTROL_FLOW, "random_numbers": RANDOM, "generate": GENERATE, "pictures": PICTURES}
    return Together(world, programs | {"compiled": COMPILED, "batch_norm": BATCH_NORM, "dropout": DROPOUT})


@pytest.fixture(scope="module")
def partly_known(world):
    return Together(world, {"post_update": POST_UPDATE, "choices": CHOICES, "pinned": PINNED})


@pytest.fixture(scope="module")
def on_two_ranks(world):
    return Together(world, {"objects": OBJECTS, "experts": EXPERTS, "small_model": SMALL_MODEL}, ranks=2)


@pytest.fixture(scope="module")
def with_values_and_without(world):
    programs = {"every_collective": EVERY_OBJECT_COLLECTIVE, "steps": STEPS}
    return [Together(world, programs, ranks=2, extra=extra) for extra in ("", NO_VALUES)]


def test_control_flow_sees_what_kernels_computed(on_one_gpu):
    on_one_gpu.expect_success("control_flow")


def test_random_numbers_are_those_of_the_generator(on_one_gpu):
    on_one_gpu.expect_success("random_numbers")


def test_objects_and_token_counts_travel_between_ranks(on_two_ranks):
    on_two_ranks.expect_success("objects")


def test_every_collective_of_objects_works_with_values_and_without(with_values_and_without):
    for together in with_values_and_without:
        together.expect_success("every_collective")


def test_computed_values_leave_predicted_time_alone(world, with_values_and_without):
    predictions = [dict(together.expect_success("steps")) for together in with_values_and_without]
    for prediction in predictions:
        for name in ("unknownReads", "unknownReadSources"):
            prediction.pop(name, None)
    for key in predictions[0]:
        one, other = (prediction.get(key) for prediction in predictions)
        assert one == other, f"{key} is {json.dumps(one)[:300]} or {json.dumps(other)[:300]}"
    one, other = (world.event_logs(together.job) for together in with_values_and_without)
    assert one and one == other, "event logs differ"


def test_a_tiny_model_writes_the_tokens_of_the_cpu(on_one_gpu):
    on_one_gpu.expect_success("generate")


def test_training_on_small_pictures_follows_the_loss_of_the_cpu(on_one_gpu):
    on_one_gpu.expect_success("pictures")


def test_tokens_travel_to_the_experts_that_a_router_chose(on_two_ranks):
    on_two_ranks.expect_success("experts")


def test_compiled_functions_compute_what_they_say(on_one_gpu):
    on_one_gpu.expect_success("compiled")


def test_batch_normalisation_follows_that_of_the_cpu(on_one_gpu):
    assert not on_one_gpu.expect_success("batch_norm").get("unknownReads"), "a result was not known"


def test_what_does_not_depend_on_an_unknown_value_is_right(partly_known):
    partly_known.expect_success("choices")
    prediction = partly_known.expect_success("post_update")
    names = [source["writer"] for source in prediction["unknownReadSources"]]
    assert any("post_update" in name for name in names), names


def test_kernels_reach_pinned_memory_as_the_program_does(partly_known):
    partly_known.expect_success("pinned")


def test_dropout_keeps_what_its_seed_says(on_one_gpu):
    on_one_gpu.expect_success("dropout")


@pytest.mark.parametrize(
    "gpu, capability", [("A100-SXM4-80GB", (8, 0)), ("B200-SXM-180GB", (10, 0))], ids=["a100", "b200"]
)
def test_kernels_for_another_gpu_compute_what_the_cpu_does(world, gpu, capability):
    script = COMPILED_FOR_GPU.replace("CAPABILITY", str(capability))
    job = world.completed(script, gpu=gpu, measure=2, warmup=0, boundary="{nvtx: step}")
    assert not job["status"]["prediction"].get("unknownReads"), "values were not known"


def test_losses_of_a_small_model_on_two_ranks_are_those_of_the_cpu(on_two_ranks):
    prediction = on_two_ranks.expect_success("small_model")
    lines = [source.get("line", "small_model.py") for source in prediction.get("unknownReadSources", [])]
    assert not any("small_model.py" in line for line in lines), f"a loss was not known: {lines}"
