"""Dense Llama models with Megatron-Core on Transformer Engine's layers in FP8, as MLPerf's submissions and Megatron-Bridge's
benchmarks train them: weights kept and gathered in FP8, gradients reduced in bf16 while the backward pass runs, a
distributed Adam, Transformer Engine's cross entropy, attention in bf16. --graph captures forward and backward pass of a
whole step as one CUDA graph, --adapters freezes the model and trains adapters of rank 16 on attention's projections, with
attention in FP8 and inputs of activations kept in it."""

import argparse
import dataclasses
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.full_cuda_graph import FullCudaGraphWrapper
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_with_transformer_engine_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.module import Float16Module
from megatron.core.transformer.transformer_config import TransformerConfig
from megatron.core.utils import get_batch_on_this_cp_rank

SIZES = {  # Layers, width, inner width, heads, key groups, words.
    "llama3-8b": (32, 4096, 14336, 32, 8, 128256),
    "llama3-70b": (80, 8192, 28672, 64, 8, 128256),
    "llama2-70b": (80, 8192, 28672, 64, 8, 32000),
    "llama3-405b": (126, 16384, 53248, 128, 8, 128256),
}

parser = argparse.ArgumentParser()
parser.add_argument("--model", choices=sorted(SIZES), required=True)
parser.add_argument("--layers", type=int)
parser.add_argument("--sequences", type=int, required=True, help="of a global batch")
parser.add_argument("--batch", type=int, default=1, help="sequences of a micro-batch")
parser.add_argument("--length", type=int, default=8192)
parser.add_argument("--tensor", type=int, default=1)
parser.add_argument("--pipeline", type=int, default=1)
parser.add_argument("--chunks", type=int, help="of the model on each stage")
parser.add_argument("--context", type=int, default=1)
parser.add_argument(
    "--all-to-all", action="store_true", help="exchange heads for tokens instead of passing keys around"
)
parser.add_argument("--recipe", choices=("tensorwise", "delayed"), default="tensorwise")
parser.add_argument("--adapters", action="store_true")
parser.add_argument("--graph", action="store_true")
parser.add_argument("--fuse-operations", action="store_true", help="Transformer Engine's fused operations for the MLP")
parser.add_argument("--steps", type=int, default=4)
flags = parser.parse_args()
layers, hidden, inner, heads, groups, words = SIZES[flags.model]
layers = flags.layers or layers

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
parallel_state.initialize_model_parallel(
    tensor_model_parallel_size=flags.tensor,
    pipeline_model_parallel_size=flags.pipeline,
    virtual_pipeline_model_parallel_size=flags.chunks,
    context_parallel_size=flags.context,
    create_gloo_process_groups=False,
)
model_parallel_cuda_manual_seed(1234, te_rng_tracker=flags.graph)
microbatches = flags.sequences // flags.batch // parallel_state.get_data_parallel_world_size()

config = TransformerConfig(
    num_layers=layers,
    hidden_size=hidden,
    ffn_hidden_size=inner,
    num_attention_heads=heads,
    num_query_groups=groups,
    normalization="RMSNorm",
    layernorm_epsilon=1e-5,
    add_bias_linear=False,
    gated_linear_unit=True,
    activation_func=F.silu,
    hidden_dropout=0.0,
    attention_dropout=0.0,
    bf16=True,
    params_dtype=torch.bfloat16,
    pipeline_dtype=torch.bfloat16,
    fp8="hybrid",
    fp8_recipe=flags.recipe,
    fp8_param=True,
    fp8_dot_product_attention=flags.adapters,
    activation_func_fp8_input_store=flags.adapters,
    **({"fp8_amax_history_len": 32, "fp8_amax_compute_algo": "max"} if flags.recipe == "delayed" else {}),
    tensor_model_parallel_size=flags.tensor,
    sequence_parallel=flags.tensor > 1,
    pipeline_model_parallel_size=flags.pipeline,
    virtual_pipeline_model_parallel_size=flags.chunks,
    context_parallel_size=flags.context,
    overlap_p2p_comm=flags.chunks is not None,
    batch_p2p_comm=flags.chunks is None,
    deallocate_pipeline_outputs=True,
    gradient_accumulation_fusion=True,
    bias_activation_fusion=True,
    bias_dropout_fusion=True,
    apply_rope_fusion=True,
    cross_entropy_loss_fusion=True,
    cross_entropy_fusion_impl="te",
    **({"cp_comm_type": "a2a"} if flags.all_to_all else {}),
    **({"cuda_graph_impl": "local", "cuda_graph_scope": "full_iteration"} if flags.graph else {}),
)
ddp_config = DistributedDataParallelConfig(
    grad_reduce_in_fp32=False,
    overlap_grad_reduce=True,
    overlap_param_gather=True,
    use_distributed_optimizer=True,
    fp8_param_gather=True,
    check_for_nan_in_grad=False,
    average_in_collective=True,
)


class Adapted(nn.Module):
    """A frozen projection and its adapter; one that has a norm in front says what the norm gave."""

    def __init__(self, base, outputs):
        super().__init__()
        self.base = base
        kind = {"device": base.weight.device, "dtype": torch.bfloat16}
        self.down = nn.Parameter(torch.rand(16, base.in_features, **kind))
        self.up = nn.Parameter(torch.zeros(outputs, 16, **kind))

    def forward(self, x):
        output, bias = self.base(x)
        if isinstance(output, tuple):
            output, x = output
        change = F.linear(F.linear(F.dropout(x, 0.1, self.training), self.down), self.up)
        return output + change * 2, bias


def adapt(part):
    """Freezes a part of the model and adapts attention's projections."""
    part.requires_grad_(False)
    for layer in part.decoder.layers:
        attention = layer.self_attention
        attention.linear_qkv.return_layernorm_output = True
        attention.linear_qkv = Adapted(attention.linear_qkv, attention.linear_qkv.out_features)
        attention.linear_proj = Adapted(attention.linear_proj, attention.linear_proj.out_features)


def build_chunk(number):
    """A part of the model on this stage; the distributed optimizer's buckets are those of the first one."""
    stage = {"ignore_virtual": False, "vp_stage": number} if flags.chunks else {}
    # Without gradients Transformer Engine keeps no copy of FP8 weights' first values in host memory, which only an
    # optimizer of these weights needs.
    torch.set_grad_enabled(not flags.adapters)
    part = GPTModel(
        # Megatron-Core's own head has no kernel that adds to gradients in its GEMM; Transformer Engine's layers have.
        config=dataclasses.replace(config, gradient_accumulation_fusion=False),
        transformer_layer_spec=get_gpt_layer_with_transformer_engine_spec(use_te_op_fuser=flags.fuse_operations),
        vocab_size=words,
        max_sequence_length=flags.length,
        pre_process=parallel_state.is_pipeline_first_stage(**stage),
        post_process=parallel_state.is_pipeline_last_stage(**stage),
        position_embedding_type="rope",
        rotary_base=500000,
        share_embeddings_and_output_weights=False,
        vp_stage=number if flags.chunks else None,
    )
    torch.set_grad_enabled(True)
    for layer in part.modules():
        if hasattr(layer, "fuse_wgrad_accumulation"):
            layer.fuse_wgrad_accumulation = config.gradient_accumulation_fusion
    if flags.adapters:
        adapt(part)
    module = Float16Module(config, part.cuda(torch.cuda.current_device()))
    return DistributedDataParallel(config=config, ddp_config=ddp_config, module=module, disable_bucketing=number > 0)


model = [build_chunk(number) for number in range(flags.chunks or 1)]
optimizer = get_megatron_optimizer(
    OptimizerConfig(
        optimizer="adam",
        lr=4e-4,
        min_lr=4e-5,
        weight_decay=0.1,
        adam_beta2=0.95,
        bf16=True,
        params_dtype=torch.bfloat16,
        use_distributed_optimizer=True,
        overlap_param_gather=True,
        fp8_recipe=flags.recipe,
        clip_grad=1.0,
    ),
    model,
    use_gloo_process_groups=False,
)
one = len(model) == 1
config.no_sync_func = model[0].no_sync if one else [part.no_sync for part in model]
if not one:
    config.grad_sync_func = [part.start_grad_sync for part in model]
    config.param_sync_func = [part.start_param_sync for part in model]
config.finalize_model_grads_func = finalize_model_grads
config.grad_scale_func = optimizer.scale_loss


def samples():
    """What the data loader has ready in pinned memory; ranks of one tensor group have the same."""
    random = torch.Generator().manual_seed(parallel_state.get_data_parallel_rank())
    text = torch.randint(words, (flags.batch, flags.length + 1), generator=random)
    sample = {
        "tokens": text[:, :-1],
        "labels": text[:, 1:],
        "loss_mask": torch.ones(flags.batch, flags.length),
        "position_ids": torch.arange(flags.length).expand(flags.batch, flags.length),
    }
    sample = {name: tensor.contiguous().pin_memory() for name, tensor in sample.items()}
    while True:
        yield sample


def forward_step(iterator, part):
    """The stages that hold the embedding and the head get the batch; others get what the stage before them sent."""
    module = part.module
    while not hasattr(module, "pre_process"):
        module = module.module
    batch = {"tokens": None, "labels": None, "loss_mask": None, "position_ids": None}
    if module.pre_process or module.post_process:
        batch = {name: tensor.cuda(non_blocking=True) for name, tensor in next(iterator).items()}
        batch = get_batch_on_this_cp_rank(batch)
    output = part(batch["tokens"], batch["position_ids"], None, labels=batch["labels"])

    def loss_of(losses):
        weights = batch["loss_mask"].view(-1)
        loss = torch.sum(losses.view(-1).float() * weights)
        tokens = weights.sum().to(torch.int)
        return loss, tokens, {"lm loss": torch.stack([loss.detach(), tokens.float()])}

    return output, loss_of


iterators = [samples() for _ in model]
run = get_forward_backward_func()
if flags.graph:
    run = FullCudaGraphWrapper(run, cuda_graph_warmup_steps=1)
for step in range(flags.steps):
    with torch.cuda.nvtx.range("step"):  # Where every rank's step begins; free on the GPU.
        for part in model:
            part.zero_grad_buffer()
        optimizer.zero_grad()
        losses = run(
            forward_step_func=forward_step,
            data_iterator=iterators[0] if one else iterators,
            model=model,
            num_microbatches=microbatches,
            seq_length=flags.length,
            micro_batch_size=flags.batch,
            forward_only=False,
        )
        optimizer.step()
        torch.cuda.synchronize()
    if dist.get_rank() == 0:
        gib = 1024**3
        print(
            f"step {step} allocated {torch.cuda.max_memory_allocated() / gib:.2f} GiB "
            f"reserved {torch.cuda.max_memory_reserved() / gib:.2f} GiB",
            flush=True,
        )
dist.destroy_process_group()
