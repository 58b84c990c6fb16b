"""A Llama of Qwen3-8B's dimensions under DeepSpeed ZeRO-3: bf16, full activation checkpointing, SDPA, AdamW of
PyTorch, synthetic tokens."""

import argparse
import os

import deepspeed
import torch
import torch.distributed as dist
from transformers import LlamaConfig, LlamaForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=36)
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--accumulate", type=int, default=16)
parser.add_argument("--length", type=int, default=2048)
parser.add_argument("--steps", type=int, default=4)
flags = parser.parse_args()

WORDS = 151936
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
deepspeed.init_distributed()
settings = {
    "train_micro_batch_size_per_gpu": flags.batch,
    "gradient_accumulation_steps": flags.accumulate,
    "optimizer": {"type": "AdamW", "params": {"torch_adam": True, "lr": 5e-5}},
    "bf16": {"enabled": True},
    "gradient_clipping": 0.0,
    "zero_optimization": {"stage": 3, "overlap_comm": False, "contiguous_gradients": False},
    "steps_per_print": 1000000,
}
config = LlamaConfig(
    vocab_size=WORDS,
    hidden_size=4096,
    intermediate_size=12288,
    num_hidden_layers=flags.layers,
    num_attention_heads=32,
    num_key_value_heads=8,
    max_position_embeddings=flags.length,
    use_cache=False,
    attn_implementation="sdpa",
    dtype=torch.bfloat16,
)
torch.set_default_dtype(torch.bfloat16)
with deepspeed.zero.Init(config_dict_or_path=settings, dtype=torch.bfloat16):
    model = LlamaForCausalLM(config)
torch.set_default_dtype(torch.float32)
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
engine, _, _, _ = deepspeed.initialize(
    model=model, model_parameters=[p for p in model.parameters() if p.requires_grad], config=settings
)
for step in range(flags.steps):
    with torch.cuda.nvtx.range("step"):  # Where every rank's step begins; free on the GPU.
        for _ in range(flags.accumulate):
            tokens = torch.randint(WORDS, (flags.batch, flags.length))
            output = engine(input_ids=tokens.to(engine.device), labels=tokens.to(engine.device))
            engine.backward(output.loss)
            engine.step()
        torch.cuda.synchronize()
    if dist.get_rank() == 0:
        gib = 1024**3
        print(
            f"step {step} allocated {torch.cuda.max_memory_allocated() / gib:.2f} GiB "
            f"reserved {torch.cuda.max_memory_reserved() / gib:.2f} GiB",
            flush=True,
        )
dist.destroy_process_group()
