"""A GPT with Megatron-Core's own layers, pipeline schedule and distributed optimizer, on mock tokens.

The layout is the command line's: gpt.py --tensor 2 --pipeline 4 --micro 1. The model is as large as LLaMA 13B; with a
distributed optimizer each rank keeps its share of Adam's state, and weights and gradients whole.
"""

import argparse
import os

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.module import Float16Module
from megatron.core.transformer.transformer_config import TransformerConfig

parser = argparse.ArgumentParser()
parser.add_argument("--tensor", type=int, default=1)
parser.add_argument("--pipeline", type=int, default=1)
parser.add_argument("--micro", type=int, default=1, help="sequences of a micro-batch")
parser.add_argument("--sequences", type=int, default=64, help="of a global batch")
parser.add_argument("--layers", type=int, default=40)
parser.add_argument("--hidden", type=int, default=5120)
parser.add_argument("--heads", type=int, default=40)
parser.add_argument("--length", type=int, default=2048)
parser.add_argument("--words", type=int, default=32768)
parser.add_argument("--steps", type=int, default=4)
flags = parser.parse_args()

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
parallel_state.initialize_model_parallel(
    tensor_model_parallel_size=flags.tensor,
    pipeline_model_parallel_size=flags.pipeline,
    create_gloo_process_groups=False,
)
model_parallel_cuda_manual_seed(1234)
microbatches = flags.sequences // flags.micro // parallel_state.get_data_parallel_world_size()
config = TransformerConfig(
    num_layers=flags.layers,
    hidden_size=flags.hidden,
    num_attention_heads=flags.heads,
    hidden_dropout=0.0,
    attention_dropout=0.0,
    perform_initialization=False,
    bf16=True,
    params_dtype=torch.bfloat16,
    pipeline_dtype=torch.bfloat16,
    tensor_model_parallel_size=flags.tensor,
    pipeline_model_parallel_size=flags.pipeline,
    gradient_accumulation_fusion=False,
    masked_softmax_fusion=False,
    attention_softmax_in_fp32=False,
    recompute_granularity="selective",  # Of attention's scores, which no fused kernel spares here.
    recompute_modules=["core_attn"],
)
gpt = GPTModel(
    config=config,
    transformer_layer_spec=get_gpt_layer_local_spec(),
    vocab_size=flags.words,
    max_sequence_length=flags.length,
    pre_process=parallel_state.is_pipeline_first_stage(),
    post_process=parallel_state.is_pipeline_last_stage(),
    share_embeddings_and_output_weights=False,
).cuda()
model = DistributedDataParallel(
    config=config,
    module=Float16Module(config, gpt),
    ddp_config=DistributedDataParallelConfig(
        grad_reduce_in_fp32=True, overlap_grad_reduce=True, use_distributed_optimizer=True
    ),
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
mask = torch.ones(1, 1, flags.length, flags.length, dtype=torch.bool, device="cuda").triu(1)


def samples():
    while True:
        yield torch.randint(flags.words, shape, device="cuda")


def forward_step(data, part):
    tokens = next(data)
    losses = part(tokens, positions, mask, labels=tokens)
    return losses, lambda output: (output.float().mean(), {})


run = get_forward_backward_func()
for step in range(flags.steps):
    model.zero_grad_buffer()
    optimizer.zero_grad()
    run(
        forward_step_func=forward_step,
        data_iterator=samples(),
        model=[model],
        num_microbatches=microbatches,
        seq_length=flags.length,
        micro_batch_size=flags.micro,
        forward_only=False,
    )
    optimizer.step()
dist.destroy_process_group()
