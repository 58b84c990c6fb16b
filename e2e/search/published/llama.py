"""A LLaMA of Megatron-Core's own layers, pipeline schedule and distributed optimizer, on mock tokens.

It stands in for the trainer of "Efficient Parallelization Layouts for Large-Scale Distributed Model Training" (arXiv
2311.05610). The layout is the command line's: llama.py --tensor 2 --pipeline 2 --micro 1 --recompute every_layer --attention
flash2. Weights, activations and gradients are BF16, and the optimizer's state is FP32 and shared by the data-parallel ranks.
"""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.module import Float16Module
from megatron.core.transformer.transformer_block import TransformerBlockSubmodules, get_num_layers_to_build
from megatron.core.transformer.transformer_config import TransformerConfig
from torch.nn.attention import SDPBackend, sdpa_kernel

parser = argparse.ArgumentParser()
parser.add_argument("--tensor", type=int, default=1)
parser.add_argument("--pipeline", type=int, default=1)
parser.add_argument("--micro", type=int, default=1, help="sequences of a micro-batch")
parser.add_argument("--sequence-parallel", choices=["true", "false"], default="false")
parser.add_argument("--recompute", choices=["every_layer", "disabled"], default="disabled")
parser.add_argument("--attention", choices=["torch", "fused", "flash1", "flash2", "flash2_rms"], default="flash2_rms")
parser.add_argument("--sequences", type=int, default=2048, help="of a global batch")
parser.add_argument("--length", type=int, default=2048)
parser.add_argument("--layers", type=int, default=40)
parser.add_argument("--hidden", type=int, default=5120)
parser.add_argument("--heads", type=int, default=40)
parser.add_argument("--inner", type=int, default=13824, help="width of the MLP")
parser.add_argument("--words", type=int, default=128_000)
parser.add_argument("--steps", type=int, default=1, help="behind a short first one, which makes the optimizer's state")
flags = parser.parse_args()

# FlashAttention 1 has no wheel for this PyTorch. PyTorch's memory-efficient kernel stands in, whose speed may differ.
BACKENDS = {"flash1": SDPBackend.EFFICIENT_ATTENTION, "flash2": SDPBackend.FLASH_ATTENTION}


class Attention(torch.nn.Module):
    """Megatron's core attention by PyTorch's own function."""

    def __init__(self, config, layer_number, attn_mask_type, attention_type, **_):
        super().__init__()
        self.backend = BACKENDS.get(flags.attention.partition("_")[0])

    def fused(self, query, key, value):
        """Scales and masks within the product, and normalizes in one kernel, as Megatron's fused softmax does."""
        query, key, value = (one.flatten(0, 1) for one in (query, key, value))
        scores = torch.baddbmm(above, query, key.transpose(1, 2), alpha=query.shape[-1] ** -0.5)
        return torch.bmm(scores.softmax(-1), value).unflatten(0, (flags.micro, -1))

    def forward(self, query, key, value, attention_mask, attn_mask_type=None, **_):
        query, key, value = (one.permute(1, 2, 0, 3) for one in (query, key, value))
        if self.backend is None:
            return self.fused(query, key, value).permute(2, 0, 1, 3).flatten(2)
        with sdpa_kernel(self.backend):
            found = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return found.permute(2, 0, 1, 3).flatten(2)


class Norm(torch.nn.Module):
    """RMSNorm, as one kernel or written out."""

    def __init__(self, config, hidden_size, eps=1e-5, **_):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(hidden_size, device="cuda", dtype=config.params_dtype))
        self.weight.sequence_parallel = config.sequence_parallel
        self.eps = eps

    def forward(self, x):
        if flags.attention == "flash2_rms":
            return F.rms_norm(x, self.weight.shape, self.weight, self.eps)
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)).type_as(x)


torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
parallel_state.initialize_model_parallel(
    tensor_model_parallel_size=flags.tensor,
    pipeline_model_parallel_size=flags.pipeline,
    create_gloo_process_groups=False,
)
model_parallel_cuda_manual_seed(1234)
replicas = parallel_state.get_data_parallel_world_size()
microbatches = flags.sequences // flags.micro // replicas
every_layer = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}
config = TransformerConfig(
    num_layers=flags.layers,
    hidden_size=flags.hidden,
    ffn_hidden_size=flags.inner,
    num_attention_heads=flags.heads,
    hidden_dropout=0.0,
    attention_dropout=0.0,
    normalization="RMSNorm",
    gated_linear_unit=True,
    activation_func=F.silu,
    add_bias_linear=False,
    perform_initialization=False,
    bf16=True,
    params_dtype=torch.bfloat16,
    pipeline_dtype=torch.bfloat16,
    tensor_model_parallel_size=flags.tensor,
    pipeline_model_parallel_size=flags.pipeline,
    sequence_parallel=flags.sequence_parallel == "true" and flags.tensor > 1,
    gradient_accumulation_fusion=False,
    masked_softmax_fusion=False,
    **(every_layer if flags.recompute == "every_layer" else {}),
)
layer = get_gpt_layer_local_spec(normalization="RMSNorm")
layer.submodules.input_layernorm = layer.submodules.pre_mlp_layernorm = Norm
if flags.attention != "torch":
    layer.submodules.self_attention.submodules.core_attention = Attention
gpt = GPTModel(
    config=config,
    transformer_layer_spec=TransformerBlockSubmodules([layer] * get_num_layers_to_build(config), Norm),
    vocab_size=flags.words,
    max_sequence_length=flags.length,
    pre_process=parallel_state.is_pipeline_first_stage(),
    post_process=parallel_state.is_pipeline_last_stage(),
    share_embeddings_and_output_weights=False,
    position_embedding_type="rope",
).cuda()
model = DistributedDataParallel(
    config=config,
    module=Float16Module(config, gpt),
    ddp_config=DistributedDataParallelConfig(use_distributed_optimizer=True),
)
optimizer = get_megatron_optimizer(
    OptimizerConfig(lr=1.5e-4, bf16=True, params_dtype=torch.bfloat16, use_distributed_optimizer=True, clip_grad=1.0),
    [model],
    use_gloo_process_groups=False,
)
config.no_sync_func = model.no_sync
config.finalize_model_grads_func = finalize_model_grads
config.grad_scale_func = optimizer.scale_loss

shape = (flags.micro, flags.length)
positions = torch.arange(flags.length, device="cuda").unsqueeze(0).expand(shape)
above = torch.full((1, flags.length, flags.length), float("-inf"), device="cuda", dtype=torch.bfloat16).triu(1)
mask = None
if flags.attention == "torch":
    mask = torch.ones(1, 1, flags.length, flags.length, dtype=torch.bool, device="cuda").triu(1)


def samples():
    while True:
        yield torch.randint(flags.words, shape, device="cuda")


def forward_step(data, part):
    tokens = next(data)
    losses = part(tokens, positions, mask, labels=tokens)
    return losses, lambda output: (output.float().mean(), {})


run = get_forward_backward_func()
for step in range(1 + flags.steps):
    torch.cuda.nvtx.range_push("step")
    model.zero_grad_buffer()
    optimizer.zero_grad()
    run(
        forward_step_func=forward_step,
        data_iterator=samples(),
        model=[model],
        num_microbatches=microbatches if step else min(microbatches, flags.pipeline),
        seq_length=flags.length,
        micro_batch_size=flags.micro,
        forward_only=False,
    )
    optimizer.step()
    torch.cuda.nvtx.range_pop()
dist.destroy_process_group()
