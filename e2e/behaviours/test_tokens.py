"""Tokens that launches tell: as many as the job says, or none and why."""

import json
import pathlib
import re
import textwrap

from jobs import expect_complete, expect_same, prediction_of
from recordings import record, replay
from server import ROOT

PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "folding" / "programs"

# A small GPT-2: tied scores, learned positions. SETUP and STEP are filled in by tests.
GPT = """
    import os, torch, torch.nn as nn, torch.nn.functional as F, torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    local = int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(local)
    torch.manual_seed(1)
    BATCH, LENGTH, WORDS, WIDTH = 4, 128, 1000, 256

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
            layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True)
            self.layers = nn.TransformerEncoder(layer, 2)
            self.scores = nn.Linear(WIDTH, WORDS, bias=False)
            self.scores.weight = self.words.weight

        def forward(self, tokens):
            places = torch.arange(tokens.shape[1], device="cuda")
            return self.scores(self.layers(self.words(tokens) + self.places(places)))

    def draw():
        return torch.randint(WORDS, (BATCH, LENGTH)).cuda()

    model = Gpt().cuda()
    SETUP
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(9):
        STEP
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
    if dist.is_initialized():
        dist.destroy_process_group()
"""
PARALLEL = """
dist.init_process_group("nccl")
model = DistributedDataParallel(model, device_ids=[local])
"""
# Each word from those before it: one of each sequence is not scored.
SHIFTED = """
tokens = draw()
with torch.autocast("cuda", dtype=torch.bfloat16):
    scores = model(tokens)
F.cross_entropy(scores[:, :-1].reshape(-1, WORDS).float(), tokens[:, 1:].reshape(-1)).backward()
"""
# The same, where the last word goes through no layer either; twice in a step.
SHORTER = """
for part in range(2):
    tokens = draw()
    hidden = model.layers(model.words(tokens))[:, :-1]
    F.cross_entropy(model.scores(hidden).flatten(0, 1), tokens[:, 1:].flatten()).backward()
"""
MICRO_BATCHES = """
for part in range(2):
    tokens = draw()
    F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
"""


def gpt(setup="pass", step=SHIFTED):
    script = textwrap.dedent(GPT)
    for name, text, indent in (("SETUP", setup, ""), ("    STEP", step, "    ")):
        script = script.replace(name, textwrap.indent(text.strip(), indent))
    return script


def declared(document, tokens):
    return document.replace("boundary: auto}", f"boundary: auto, tokens: {tokens}}}")


def expect_tokens(job, tokens, source="declared"):
    expect_complete(job)
    prediction = prediction_of(job)
    found = {key: value for key, value in prediction.items() if key.startswith("tokens")}
    print(f"{json.dumps(found)}")
    assert prediction.get("tokensSource") == source, f"source: {found}"
    assert prediction.get("tokensPerIteration") == tokens, f"an iteration has {tokens}: {found}"
    assert prediction.get("tokensDerived") == tokens, f"launches tell {tokens}: {found}"
    assert "tokensNotDerived" not in prediction, f"derived and not: {found}"
    steady = prediction["steadyIteration"]["seconds"]
    assert abs(prediction["tokensPerSecond"] * steady / tokens - 1) < 1e-9, f"tokens/s: {found}"
    return prediction


def expect_model_flops(prediction, more):
    """What the GPUs multiply is as many times what the model takes."""
    source, share = prediction.get("modelFlopsSource"), prediction.get("modelFlopsUtilization", 0)
    print(f"MFU {share:.5f}, HFU {prediction['matrixFlops']['utilization']:.5f}")
    assert source == "derived", f"model FLOPs: {source}"
    found = prediction["matrixFlops"]["utilization"] / share
    assert abs(found - more) < 0.02, f"{found:.3f} times the model's, not {more:.3f}"


def expect_none(job, *words):
    expect_complete(job)
    prediction = prediction_of(job)
    print(f"{prediction.get('tokensNotDerived')}")
    for word in words:
        assert word in prediction.get("tokensNotDerived", ""), f"'{word}' in {prediction.get('tokensNotDerived')}"
    for key in ("tokensSource", "tokensPerIteration", "tokensDerived", "tokensPerSecond"):
        assert key not in prediction, f"{key} without tokens"


def test_data_parallel_ranks_with_micro_batches_tell_their_tokens(world):
    job = world.server.run(declared(world.job(gpt(PARALLEL, MICRO_BATCHES), ranks=2), 2 * 2 * 4 * 128))
    expect_tokens(job, 2048)


def test_tokens_come_without_being_declared_and_from_a_recording(world):
    run, document, file = record(world, gpt())
    prediction = expect_tokens(run, 512, source="derived")
    # A backward pass of attention multiplies 2.5 times as much as the forward pass.
    expect_model_flops(prediction, 1.0)
    expect_same(world, run, replay(world, document, file))


def test_what_checkpointing_computes_again_is_not_the_models(world):
    setup = """
from torch.utils.checkpoint import checkpoint
layers = model.layers
class Again(nn.Module):
    def forward(self, x):
        return checkpoint(layers, x, use_reentrant=False)
model.layers = Again()
"""
    prediction = expect_tokens(world.server.run(world.job(gpt(setup))), 512, source="derived")
    # Two layers of 12 x 256 x 256 weights beside scores of 1000 x 256; attention comes on top.
    layers, scores = 2 * 12 * 256, 1000
    expect_model_flops(prediction, (4 * layers + 3 * scores) / (3 * (layers + scores)))


def test_frozen_layers_tell_no_utilization_of_the_model(world):
    setup = "for weight in model.layers.parameters():\n    weight.requires_grad_(False)\n"
    prediction = expect_tokens(world.server.run(world.job(gpt(setup))), 512, source="derived")
    assert "modelFlopsUtilization" not in prediction, f"derived: {prediction.get('modelFlopsUtilization')}"
    assert prediction["matrixFlops"]["utilization"] > 0, "of the hardware"


def test_a_last_word_that_is_not_scored_counts_all_the_same(world):
    expect_tokens(world.server.run(world.job(gpt(step=SHORTER))), 1024, source="derived")


def test_gradients_as_large_as_the_words_rows_do_not_make_tokens_shared(world):
    # 512 words of 256 numbers, and a layer of 512 x 256 whose gradient is averaged alone.
    setup = """
model.layers = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256)).cuda()
dist.init_process_group("nccl")
"""
    step = SHIFTED + "for weight in model.parameters():\n    dist.all_reduce(weight.grad)\n"
    expect_tokens(world.server.run(declared(world.job(gpt(setup, step), ranks=2), 1024)), 1024)


def test_ranks_that_share_layers_but_not_the_table_count_their_tokens_once(world):
    setup = """
dist.init_process_group("nccl")
class Half(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        dist.all_reduce(x)
        return x
    @staticmethod
    def backward(context, gradient):
        return gradient
class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(256, 512), nn.Linear(512, 256)
    def forward(self, x):
        return Half.apply(self.down(torch.relu(self.up(x))))
model.layers = nn.Sequential(Halves(), Halves()).cuda()
"""
    expect_tokens(world.server.run(declared(world.job(gpt(setup), ranks=2), 512)), 512)


def test_tensor_parallel_stages_of_a_pipeline_count_their_tokens_once(world):
    # Two replicas of two stages of two ranks each.
    document = world.job((PROGRAMS / "megatron_pipeline.py").read_text(), ranks=8)
    document = document.replace('["torchrun", "script.py"]', '["torchrun", "script.py", "2", "2"]')
    expect_tokens(world.server.run(declared(document, 2 * 4 * 2 * 256), seconds=300), 4096)


def test_mirrored_ranks_have_tokens_too(world):
    document = world.job(gpt(PARALLEL), ranks=8, extra="folding: {mode: required}\n")
    job = world.server.run(declared(document, 8 * 512))
    expect_tokens(job, 4096)
    assert prediction_of(job)["folding"]["mirrored"] > 0, "no rank was mirrored"


def test_classes_of_sentences_and_images_have_no_derived_tokens(world):
    sentences = """
tokens = draw()
hidden = model.layers(model.words(tokens)).mean(1)
F.cross_entropy(hidden @ classes, tokens[:, 0] % 8).backward()
"""
    setup = 'classes = torch.randn(256, 8, device="cuda", requires_grad=True)'
    expect_none(world.server.run(world.job(gpt(setup, sentences))), "512 indices", "1000 rows", "no GEMM scores")
    images = """
patches = torch.randn(BATCH, LENGTH, WIDTH, device="cuda")
F.cross_entropy(model.layers(patches).mean(1) @ classes, draw()[:, 0] % 8).backward()
"""
    expect_none(world.server.run(world.job(gpt(setup, images))), "no launch looks up rows")


OPERATORS = ROOT / "services" / "contract" / "operator_name" / "operators.inc"


def test_a_model_that_is_compiled_whole_tells_its_tokens_and_operators(world):
    # The program ends at a name of our table that PyTorch does not have.
    named = set(re.findall(r'^OPERATOR\(.*, "(.*)"\)$', OPERATORS.read_text(), re.M))
    assert len(named) > 50, named
    setup = f"""
unknown = set({sorted(named)}) - {{schema.name for schema in torch._C._jit_get_all_schemas()}}
assert not unknown, unknown
model = torch.compile(model)
"""
    # The lookup of words is fused with that of places and a normalisation.
    job = world.server.run(world.job(gpt(setup, MICRO_BATCHES)), seconds=400)
    prediction = expect_tokens(job, 1024, source="derived")
    assert prediction["throughput"]["unit"] == "tokens", prediction["throughput"]
    found = {kernel.get("operator", "") for kernel in prediction["kernels"]}
    assert any(name.startswith("compiled ") and "embedding" in name for name in found), found
    assert any(name.startswith("aten::_foreach_") for name in found), found
    assert any(re.match(r"gemm (fp32|tf32) [NT]{2} \d+x\d+x\d+", kernel["name"]) for kernel in prediction["kernels"])
