"""Megatron-core GPT: tensor parallelism, a pipeline (1F1B) and data parallelism with an all-reduce of gradients.

megatron_pipeline.py TENSOR PIPELINE
"""

import os
import sys

import torch
from megatron.core import parallel_state
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.transformer_config import TransformerConfig

tensor, pipeline = int(sys.argv[1]), int(sys.argv[2])
LENGTH, BATCH, MICROBATCHES = 256, 2, 4
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.distributed.init_process_group("nccl")
parallel_state.initialize_model_parallel(tensor_model_parallel_size=tensor, pipeline_model_parallel_size=pipeline)
model_parallel_cuda_manual_seed(7)
config = TransformerConfig(
    num_layers=2 * pipeline,
    hidden_size=512,
    num_attention_heads=8,
    use_cpu_initialization=True,
    tensor_model_parallel_size=tensor,
    pipeline_model_parallel_size=pipeline,
    pipeline_dtype=torch.bfloat16,
    params_dtype=torch.bfloat16,
    bf16=True,
)
model = (
    GPTModel(
        config=config,
        transformer_layer_spec=get_gpt_layer_local_spec(),
        vocab_size=4096,
        max_sequence_length=LENGTH,
        pre_process=parallel_state.is_pipeline_first_stage(),
        post_process=parallel_state.is_pipeline_last_stage(),
        share_embeddings_and_output_weights=False,
    )
    .cuda()
    .bfloat16()
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
positions = torch.arange(LENGTH, device="cuda").unsqueeze(0).expand(BATCH, -1)
mask = torch.ones(BATCH, 1, LENGTH, LENGTH, dtype=torch.bool, device="cuda").triu(1)


def forward_step(data, part):
    tokens = next(data)
    output = part(tokens, positions, mask, labels=tokens)
    return output, lambda losses: (losses.float().mean(), {"loss": losses.float().mean().detach()})


def batches():
    while True:
        yield torch.randint(4096, (BATCH, LENGTH)).cuda()


schedule = get_forward_backward_func()
for step in range(10):
    optimizer.zero_grad()
    losses = schedule(
        forward_step_func=forward_step,
        data_iterator=batches(),
        model=model,
        num_microbatches=MICROBATCHES,
        seq_length=LENGTH,
        micro_batch_size=BATCH,
        forward_only=False,
    )
    for parameter in model.parameters():
        if parameter.grad is not None:
            torch.distributed.all_reduce(parameter.grad, group=parallel_state.get_data_parallel_group())
    optimizer.step()
    if losses:
        print(f"step {step} loss {losses[-1]['loss'].item():.4f}", flush=True)
parallel_state.destroy_model_parallel()
torch.distributed.destroy_process_group()
