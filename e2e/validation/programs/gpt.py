"""A GPT of 7 billion parameters with Megatron-Core on Transformer Engine's layers, tensor parallel 4 and data parallel 2,
as Megatron-LM's functional test gpt3_7b_tp4_pp1_memory_speed trains it (d98e8a64dd): its trainer's step in short, with
mock tokens. What that trainer does around the model is done here too: the batch goes through rank 0 of each tensor
group, attention mask included; losses and buckets of gradients are looked at for NaN; norms and zeros are counted."""

import argparse
import os

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_with_transformer_engine_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.module import Float16Module
from megatron.core.transformer.transformer_config import TransformerConfig

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=32)
parser.add_argument("--hidden", type=int, default=4096)
parser.add_argument("--heads", type=int, default=32)
parser.add_argument("--groups", type=int, default=8)
parser.add_argument("--length", type=int, default=8192)
parser.add_argument("--words", type=int, default=131584, help="131073 words, padded to a multiple of 128 x 4")
parser.add_argument("--tensor", type=int, default=4)
parser.add_argument("--batch", type=int, default=2)
parser.add_argument("--accumulate", type=int, default=2)
parser.add_argument("--steps", type=int, default=5)
flags = parser.parse_args()

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
parallel_state.initialize_model_parallel(tensor_model_parallel_size=flags.tensor)
model_parallel_cuda_manual_seed(1234)
torch.use_deterministic_algorithms(True)
tensor_group = parallel_state.get_tensor_model_parallel_group()
tensor_source = parallel_state.get_tensor_model_parallel_src_rank()
data_group = parallel_state.get_data_parallel_group()

config = TransformerConfig(
    num_layers=flags.layers,
    hidden_size=flags.hidden,
    num_attention_heads=flags.heads,
    num_query_groups=flags.groups,
    bf16=True,
    params_dtype=torch.bfloat16,
    pipeline_dtype=torch.bfloat16,
    tensor_model_parallel_size=flags.tensor,
    deterministic_mode=True,
    gradient_accumulation_fusion=False,
    bias_activation_fusion=True,
    bias_dropout_fusion=True,
    masked_softmax_fusion=True,
    attention_softmax_in_fp32=False,
)
gpt = GPTModel(
    config=config,
    transformer_layer_spec=get_gpt_layer_with_transformer_engine_spec(),
    vocab_size=flags.words,
    max_sequence_length=flags.length,
    position_embedding_type="learned_absolute",
    share_embeddings_and_output_weights=False,
).cuda()
model = DistributedDataParallel(
    config=config,
    module=Float16Module(config, gpt),
    ddp_config=DistributedDataParallelConfig(
        grad_reduce_in_fp32=True,
        overlap_grad_reduce=True,
        overlap_param_gather=True,
        use_distributed_optimizer=True,
        check_for_nan_in_grad=True,
        bucket_size=40_000_000,
    ),
)
optimizer = get_megatron_optimizer(
    OptimizerConfig(
        optimizer="adam",
        lr=1.5e-4,
        min_lr=1e-5,
        weight_decay=0.01,
        bf16=True,
        params_dtype=torch.bfloat16,
        use_distributed_optimizer=True,
        overlap_param_gather=True,
        clip_grad=1.0,
        log_num_zeros_in_grad=True,
    ),
    [model],
)
config.no_sync_func = model.no_sync
config.finalize_model_grads_func = finalize_model_grads
config.grad_scale_func = optimizer.scale_loss

shape = (flags.batch, flags.length)
SHAPES = {
    "tokens": (shape, torch.int64),
    "labels": (shape, torch.int64),
    "loss_mask": (shape, torch.float32),
    "attention_mask": ((flags.batch, 1, flags.length, flags.length), torch.bool),
    "position_ids": (shape, torch.int64),
}


def documents():
    """Mock documents as Megatron-Core's MockGPTLowLevelDataset has them: 1, 2, 3, ... up to a random length, an end."""
    random = torch.Generator().manual_seed(0)
    end = flags.words - 513
    while True:
        length = int(torch.randint(1, 4096, (), generator=random))
        yield torch.cat([torch.arange(1, length), torch.tensor([end])])


def samples():
    """Yields the data loader's batches in pinned memory, on the first rank of each tensor group."""
    parts, missing, source = [], flags.batch * (flags.length + 1), documents()
    while missing > 0:
        parts.append(next(source)[:missing])
        missing -= len(parts[-1])
    text = torch.cat(parts).view(flags.batch, flags.length + 1)
    sample = {
        "tokens": text[:, :-1],
        "labels": text[:, 1:],
        "loss_mask": torch.ones(shape),
        "attention_mask": (torch.ones(flags.length, flags.length).tril() < 0.5).expand(SHAPES["attention_mask"][0]),
        "position_ids": torch.arange(flags.length).expand(shape),
    }
    sample = {name: tensor.contiguous().pin_memory() for name, tensor in sample.items()}
    while True:
        yield sample


def forward_step(iterator, module):
    sample = next(iterator) if iterator is not None else None
    batch = {}
    for name, (size, dtype) in SHAPES.items():
        batch[name] = (
            sample[name].cuda(non_blocking=True)
            if sample is not None
            else torch.empty(size, dtype=dtype, device="cuda")
        )
    for tensor in batch.values():
        dist.broadcast(tensor, tensor_source, group=tensor_group)
    mask = batch["loss_mask"]
    losses = module(batch["tokens"], batch["position_ids"], batch["attention_mask"], labels=batch["labels"])

    def loss_of(output):
        weights = mask.view(-1).float()
        loss = torch.sum(output.view(-1).float() * weights)
        if (loss.isnan() | loss.isinf()).item():
            raise RuntimeError("the loss is not a number")
        words = weights.sum().clone().detach().to(torch.int)
        return loss, words, {"lm loss": torch.cat([loss.clone().detach().view(1), words.view(1)])}

    return losses, loss_of


def norm_of_parameters():
    parts = [
        param.main_param.norm() ** 2 for param in gpt.parameters() if getattr(param, "main_param", None) is not None
    ]
    total = torch.stack(parts).sum() if parts else torch.zeros((), device="cuda")
    dist.all_reduce(total)
    return total.item() ** 0.5


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
            num_microbatches=flags.accumulate,
            seq_length=flags.length,
            micro_batch_size=flags.batch,
            forward_only=False,
        )
        updated, norm, zeros = optimizer.step()
        flag = torch.tensor([updated], dtype=torch.int, device="cuda")
        dist.all_reduce(flag, op=dist.ReduceOp.MIN, group=parallel_state.get_model_parallel_group())
        flag.item()
        mean = torch.stack([loss["lm loss"] for loss in losses]).sum(dim=0)
        dist.all_reduce(mean, group=data_group)
        loss, words = mean.tolist()
        weights = norm_of_parameters()
    if dist.get_rank() == 0:
        gib = 1024**3
        print(
            f"step {step} loss {loss / max(words, 1):.3f} norm {norm} zeros {zeros} weights {weights} "
            f"allocated {torch.cuda.max_memory_allocated() / gib:.2f} GiB "
            f"reserved {torch.cuda.max_memory_reserved() / gib:.2f} GiB",
            flush=True,
        )
dist.destroy_process_group()
