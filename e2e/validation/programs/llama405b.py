"""Llama-3.1 405B in pre-training as its report describes it (arXiv 2407.21783, section 3.3), with Megatron-Core on
Transformer Engine's layers: tensor and sequence parallel 8 inside a server, 16 pipeline stages of 8 model chunks each,
interleaved, data parallel outermost, bf16 with gradients summed in fp32. The first chunk holds the embedding alone and
the last one the head alone, so that the 126 layers are one a chunk. Sequences of 8,192 tokens, 2,048 of them a batch."""

import argparse
import dataclasses
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.extensions.transformer_engine import TEColumnParallelLinear, TENorm
from megatron.core.fusions.fused_bias_swiglu import bias_swiglu_impl
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_with_transformer_engine_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel.random import CheckpointWithoutOutput, model_parallel_cuda_manual_seed
from megatron.core.transformer.mlp import MLP
from megatron.core.transformer.module import Float16Module
from megatron.core.transformer.transformer_config import TransformerConfig

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=126)
parser.add_argument("--hidden", type=int, default=16384)
parser.add_argument("--ffn", type=int, default=53248)
parser.add_argument("--heads", type=int, default=128)
parser.add_argument("--groups", type=int, default=8)
parser.add_argument("--words", type=int, default=128256)
parser.add_argument("--length", type=int, default=8192)
parser.add_argument("--sequences", type=int, default=2048, help="of a global batch")
parser.add_argument("--tensor", type=int, default=8)
parser.add_argument("--pipeline", type=int, default=16)
parser.add_argument("--chunks", type=int, default=8, help="of the model on each stage")
parser.add_argument("--steps", type=int, default=3)
flags = parser.parse_args()

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
parallel_state.initialize_model_parallel(
    tensor_model_parallel_size=flags.tensor,
    pipeline_model_parallel_size=flags.pipeline,
    virtual_pipeline_model_parallel_size=flags.chunks,
    order="tp-cp-ep-pp-dp",
    create_gloo_process_groups=False,
)
model_parallel_cuda_manual_seed(1234)
tensor_group = parallel_state.get_tensor_model_parallel_group()
tensor_source = parallel_state.get_tensor_model_parallel_src_rank()
data_parallel = parallel_state.get_data_parallel_world_size()
microbatches = flags.sequences // data_parallel

config = TransformerConfig(
    num_layers=flags.layers,
    hidden_size=flags.hidden,
    ffn_hidden_size=flags.ffn,
    num_attention_heads=flags.heads,
    num_query_groups=flags.groups,
    normalization="RMSNorm",
    add_bias_linear=False,
    gated_linear_unit=True,
    activation_func=F.silu,
    hidden_dropout=0.0,
    attention_dropout=0.0,
    bf16=True,
    params_dtype=torch.bfloat16,
    pipeline_dtype=torch.bfloat16,
    tensor_model_parallel_size=flags.tensor,
    sequence_parallel=True,
    pipeline_model_parallel_size=flags.pipeline,
    virtual_pipeline_model_parallel_size=flags.chunks,
    account_for_embedding_in_pipeline_split=True,
    account_for_loss_in_pipeline_split=True,
    overlap_p2p_comm=True,
    batch_p2p_comm=False,
    deallocate_pipeline_outputs=True,
    gradient_accumulation_fusion=True,
    bias_activation_fusion=True,
    bias_dropout_fusion=True,
    apply_rope_fusion=True,
    recompute_granularity="selective",
    recompute_modules=["layernorm"],
)


class LeanMLP(MLP):
    """Keeps what the activation was given, and computes what it gave again, instead of keeping both."""

    def forward(self, hidden_states, per_token_scale=None, **kwargs):
        gates, _ = self.linear_fc1(hidden_states)
        activation = CheckpointWithoutOutput()
        gated = activation.checkpoint(lambda given: bias_swiglu_impl(given, None), gates)
        output, bias = self.linear_fc2(gated)
        activation.discard_output_and_register_recompute(output)
        return output, bias


def layer_spec():
    """Transformer Engine's layer with norms of their own, which can be computed again in the backward pass."""
    spec = get_gpt_layer_with_transformer_engine_spec()
    parts = spec.submodules
    parts.input_layernorm = TENorm
    parts.self_attention.submodules.linear_qkv = TEColumnParallelLinear
    parts.pre_mlp_layernorm = TENorm
    parts.mlp.module = LeanMLP
    parts.mlp.submodules.linear_fc1 = TEColumnParallelLinear
    return spec


def build_chunk(number):
    first = parallel_state.is_pipeline_first_stage(ignore_virtual=False, vp_stage=number)
    last = parallel_state.is_pipeline_last_stage(ignore_virtual=False, vp_stage=number)
    # The head has no kernel that adds to gradients in its GEMM.
    own = dataclasses.replace(config, gradient_accumulation_fusion=False) if last else config
    part = GPTModel(
        config=own,
        transformer_layer_spec=layer_spec(),
        vocab_size=flags.words,
        max_sequence_length=flags.length,
        pre_process=first,
        post_process=last,
        position_embedding_type="rope",
        rotary_base=500000,
        share_embeddings_and_output_weights=False,
        vp_stage=number,
    )
    return Float16Module(config, part.cuda(torch.cuda.current_device()))


model = [
    DistributedDataParallel(
        config=config,
        module=build_chunk(number),
        ddp_config=DistributedDataParallelConfig(
            grad_reduce_in_fp32=True,
            overlap_grad_reduce=True,
            overlap_param_gather=True,
            align_param_gather=True,
            use_distributed_optimizer=True,
        ),
        disable_bucketing=number > 0,
    )
    for number in range(flags.chunks)
]
optimizer = get_megatron_optimizer(
    OptimizerConfig(
        optimizer="adam",
        lr=8e-5,
        min_lr=8e-7,
        weight_decay=0.1,
        adam_beta2=0.95,
        bf16=True,
        params_dtype=torch.bfloat16,
        use_distributed_optimizer=True,
        overlap_param_gather=True,
        clip_grad=1.0,
    ),
    model,
    use_gloo_process_groups=False,
)
config.no_sync_func = [part.no_sync for part in model]
config.grad_sync_func = [part.start_grad_sync for part in model]
config.param_sync_func = [part.start_param_sync for part in model]
config.finalize_model_grads_func = finalize_model_grads
config.grad_scale_func = optimizer.scale_loss


def samples():
    """Sequences of random words, on the first rank of each tensor group."""
    random = torch.Generator().manual_seed(dist.get_rank())
    text = torch.randint(flags.words, (1, flags.length + 1), generator=random).pin_memory()
    while True:
        yield text


def forward_step(iterator, part):
    """The stages that hold the embedding and the head get the batch; others get what the stage before them sent."""
    inner = part.module.module
    text = None
    if inner.pre_process or inner.post_process:
        text = torch.empty((1, flags.length + 1), dtype=torch.int64, device="cuda")
        if dist.get_rank() == tensor_source:
            text.copy_(next(iterator), non_blocking=True)
        dist.broadcast(text, tensor_source, group=tensor_group)
    words = text[:, :-1].contiguous() if inner.pre_process else None
    labels = text[:, 1:].contiguous() if inner.post_process else None
    output = part(words, None, None, labels=labels)

    def loss_of(losses):
        loss = losses.float().mean()
        return loss, {"lm loss": loss.detach()}

    return output, loss_of


iterators = [samples() for _ in model]
run = get_forward_backward_func()
# The report counts six operations for each of 405 billion parameters and each token.
operations = 6 * 405e9 * flags.sequences * flags.length
last = time.perf_counter()
for step in range(flags.steps):
    with torch.cuda.nvtx.range("step"):
        for part in model:
            part.zero_grad_buffer()
        optimizer.zero_grad()
        losses = run(
            forward_step_func=forward_step,
            data_iterator=iterators,
            model=model,
            num_microbatches=microbatches,
            seq_length=flags.length,
            micro_batch_size=1,
            forward_only=False,
        )
        optimizer.step()
        torch.cuda.synchronize()
    now = time.perf_counter()
    if dist.get_rank() == 0:
        speed = operations / (now - last) / dist.get_world_size() / 1e12
        gib = 1024**3
        print(
            f"step {step} {now - last:.3f} s {speed:.1f} TFLOP/s a GPU allocated "
            f"{torch.cuda.max_memory_allocated() / gib:.2f} GiB reserved {torch.cuda.max_memory_reserved() / gib:.2f} GiB",
            flush=True,
        )
    last = now
dist.destroy_process_group()
