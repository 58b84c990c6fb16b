"""Llama-3 and DeepSeek models of a few layers with Megatron-Core on Transformer Engine's layers, as SimuMax measured them
on eight B200 (its run_pretrain_llama3.sh and run_pretrain_deepseekv2.sh): one sequence a micro-batch, gradients summed in
fp32 and reduced after the last micro-batch, nothing overlapped, nothing computed again, Transformer Engine's cross
entropy. The trainer's step is that of Megatron-LM in short, with mock tokens."""

import argparse
import dataclasses
import math
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_decoder_block_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.module import Float16Module
from megatron.core.transformer.transformer_config import MLATransformerConfig, TransformerConfig
from megatron.core.utils import get_batch_on_this_cp_rank

DENSE = {
    "llama3-70b": {"hidden_size": 8192, "ffn_hidden_size": 28672, "num_attention_heads": 64, "num_query_groups": 8},
    "llama3-405b": {"hidden_size": 16384, "ffn_hidden_size": 53248, "num_attention_heads": 128, "num_query_groups": 16},
}
EXPERTS = {
    "deepseek-v2": {
        "hidden_size": 5120,
        "ffn_hidden_size": 12288,
        "num_moe_experts": 160,
        "moe_router_topk": 6,
        "moe_ffn_hidden_size": 1536,
        "moe_shared_expert_intermediate_size": 3072,
    },
    "deepseek-v3": {
        "hidden_size": 7168,
        "ffn_hidden_size": 18432,
        "num_moe_experts": 256,
        "moe_router_topk": 8,
        "moe_ffn_hidden_size": 2048,
        "moe_shared_expert_intermediate_size": 2048,
    },
}
WORDS = {"llama3-70b": 128256, "llama3-405b": 128256, "deepseek-v2": 102400, "deepseek-v3": 129280}

parser = argparse.ArgumentParser()
parser.add_argument("--model", choices=sorted(WORDS), required=True)
parser.add_argument("--layers", type=int, required=True)
parser.add_argument("--tensor", type=int, default=1)
parser.add_argument("--pipeline", type=int, default=1)
parser.add_argument("--context", type=int, default=1)
parser.add_argument("--expert", type=int, default=1)
parser.add_argument("--microbatches", type=int, default=4)
parser.add_argument("--length", type=int, default=4096)
parser.add_argument("--steps", type=int, default=3)
flags = parser.parse_args()

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
parallel_state.initialize_model_parallel(
    tensor_model_parallel_size=flags.tensor,
    pipeline_model_parallel_size=flags.pipeline,
    context_parallel_size=flags.context,
    expert_model_parallel_size=flags.expert,
)
model_parallel_cuda_manual_seed(42)
tensor_group = parallel_state.get_tensor_model_parallel_group()
tensor_source = parallel_state.get_tensor_model_parallel_src_rank()
data_group = parallel_state.get_data_parallel_group(with_context_parallel=True)

COMMON = {
    "num_layers": flags.layers,
    "normalization": "RMSNorm",
    "add_bias_linear": False,
    "gated_linear_unit": True,
    "activation_func": F.silu,
    "hidden_dropout": 0.0,
    "attention_dropout": 0.0,
    "attention_softmax_in_fp32": True,
    "masked_softmax_fusion": False,
    "bf16": True,
    "params_dtype": torch.bfloat16,
    "pipeline_dtype": torch.bfloat16,
    "tensor_model_parallel_size": flags.tensor,
    "sequence_parallel": flags.tensor > 1,
    "pipeline_model_parallel_size": flags.pipeline,
    "context_parallel_size": flags.context,
    "expert_model_parallel_size": flags.expert,
    "gradient_accumulation_fusion": True,
    "bias_activation_fusion": True,
    "bias_dropout_fusion": False,
    "cross_entropy_loss_fusion": True,
    "cross_entropy_fusion_impl": "te",
    "deallocate_pipeline_outputs": True,
}
if flags.context > 1:
    COMMON["cp_comm_type"] = "a2a"
if flags.model in DENSE:
    config = TransformerConfig(
        **COMMON, **DENSE[flags.model], layernorm_epsilon=1e-5, apply_rope_fusion=True, init_method_std=0.008
    )
else:
    config = MLATransformerConfig(
        **COMMON,
        **EXPERTS[flags.model],
        num_attention_heads=128,
        layernorm_epsilon=1e-6,
        qk_layernorm=True,
        q_lora_rank=1536,
        kv_lora_rank=512,
        qk_head_dim=128,
        qk_pos_emb_head_dim=64,
        v_head_dim=128,
        rope_type="yarn",  # As Megatron-LM takes it where its flags name none.
        rotary_scaling_factor=1,
        apply_rope_fusion=True,
        init_method_std=0.006,
        # The first layer is dense.
        moe_layer_freq=[0] + [1] * (flags.layers - 1),
        moe_token_dispatcher_type="alltoall",
        moe_router_score_function="softmax",
        moe_router_num_groups=flags.expert,
        moe_router_group_topk=3,
        moe_router_load_balancing_type="seq_aux_loss",
        moe_router_pre_softmax=True,
        moe_router_topk_scaling_factor=16,
        moe_aux_loss_coeff=3e-3,
        moe_expert_capacity_factor=1,
        moe_pad_expert_input_to_capacity=True,
        moe_grouped_gemm=True,
        moe_permute_fusion=True,
    )

first = parallel_state.is_pipeline_first_stage()
last = parallel_state.is_pipeline_last_stage()
# The tokenizer adds a word, and words are padded to a multiple of 128 on each rank.
padded = math.ceil((WORDS[flags.model] + 1) / (128 * flags.tensor)) * 128 * flags.tensor
gpt = GPTModel(
    # Megatron-Core's own head has no kernel that adds to gradients in its GEMM; Transformer Engine's layers have.
    config=dataclasses.replace(config, gradient_accumulation_fusion=False) if last else config,
    transformer_layer_spec=get_gpt_decoder_block_spec(config, use_transformer_engine=True),
    vocab_size=padded,
    max_sequence_length=flags.length,
    pre_process=first,
    post_process=last,
    position_embedding_type="rope",
    share_embeddings_and_output_weights=False,
).cuda()
for part in gpt.modules():
    if hasattr(part, "fuse_wgrad_accumulation"):
        part.fuse_wgrad_accumulation = True
model = DistributedDataParallel(
    config=config,
    module=Float16Module(config, gpt),
    ddp_config=DistributedDataParallelConfig(
        grad_reduce_in_fp32=True,
        overlap_grad_reduce=False,
        use_distributed_optimizer=True,
        check_for_nan_in_grad=True,
    ),
)
optimizer = get_megatron_optimizer(
    OptimizerConfig(
        optimizer="adam",
        lr=2.4e-4,
        min_lr=1e-6,
        weight_decay=0.1,
        adam_beta2=0.95,
        bf16=True,
        params_dtype=torch.bfloat16,
        use_distributed_optimizer=True,
        clip_grad=1.0,
    ),
    [model],
)
config.no_sync_func = model.no_sync
config.finalize_model_grads_func = finalize_model_grads
config.grad_scale_func = optimizer.scale_loss

shape = (1, flags.length)
SHAPES = {
    "tokens": (shape, torch.int64),
    "labels": (shape, torch.int64),
    "loss_mask": (shape, torch.float32),
    "position_ids": (shape, torch.int64),
}


def samples():
    """Yields the data loader's batches in pinned memory, on the first rank of each tensor group."""
    text = torch.randint(
        WORDS[flags.model], (1, flags.length + 1), generator=torch.Generator().manual_seed(dist.get_rank())
    )
    sample = {
        "tokens": text[:, :-1],
        "labels": text[:, 1:],
        "loss_mask": torch.ones(shape),
        "position_ids": torch.arange(flags.length).expand(shape),
    }
    sample = {name: tensor.contiguous().pin_memory() for name, tensor in sample.items()}
    while True:
        yield sample


def forward_step(iterator, module):
    batch = {name: None for name in SHAPES}
    if first or last:
        sample = next(iterator) if iterator is not None else None
        for name, (size, dtype) in SHAPES.items():
            batch[name] = (
                sample[name].cuda(non_blocking=True)
                if sample is not None
                else torch.empty(size, dtype=dtype, device="cuda")
            )
            if flags.tensor > 1:
                dist.broadcast(batch[name], tensor_source, group=tensor_group)
        batch = get_batch_on_this_cp_rank(batch)
    losses = module(batch["tokens"], batch["position_ids"], None, labels=batch["labels"])

    def loss_of(output):
        weights = batch["loss_mask"].view(-1).float()
        loss = torch.sum(output.view(-1).float() * weights)
        if (loss.isnan() | loss.isinf()).item():
            raise RuntimeError("the loss is not a number")
        words = weights.sum().clone().detach().to(torch.int)
        return loss, words, {"lm loss": torch.cat([loss.clone().detach().view(1), words.view(1)])}

    return losses, loss_of


data = samples() if dist.get_rank() == tensor_source else None
run = get_forward_backward_func()
for step in range(flags.steps):
    with torch.cuda.nvtx.range("step"):  # Where every rank's step begins; free on the GPU.
        model.zero_grad_buffer()
        optimizer.zero_grad()
        losses = run(
            forward_step_func=forward_step,
            data_iterator=data,
            model=[model],
            num_microbatches=flags.microbatches,
            seq_length=flags.length,
            micro_batch_size=1,
            forward_only=False,
        )
        updated, norm, _ = optimizer.step()
        flag = torch.tensor([updated], dtype=torch.int, device="cuda")
        dist.all_reduce(flag, op=dist.ReduceOp.MIN, group=parallel_state.get_model_parallel_group())
        flag.item()
        if last:
            mean = torch.stack([loss["lm loss"] for loss in losses]).sum(dim=0)
            dist.all_reduce(mean, group=data_group)
            loss, words = mean.tolist()
    # The rank with the largest peak counts; the last stage holds the head.
    gib = 1024**3
    peaks = torch.tensor(
        [torch.cuda.max_memory_allocated() / gib, torch.cuda.max_memory_reserved() / gib], device="cuda"
    )
    dist.all_reduce(peaks, op=dist.ReduceOp.MAX)
    if dist.get_rank() in (0, dist.get_world_size() - 1):
        allocated, reserved = peaks.tolist()
        told = f"loss {loss / max(words, 1):.3f} " if last else ""
        print(
            f"step {step} {told}norm {norm} allocated {allocated:.2f} GiB reserved {reserved:.2f} GiB",
            flush=True,
        )
dist.destroy_process_group()
