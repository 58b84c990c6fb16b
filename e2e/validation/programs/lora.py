"""LoRA on Llama-3.1 8B as NeMo AutoModel's benchmark trains it on one GPU: the model of transformers in bf16 with Liger's
kernels, adapters of rank 16 on every projection with dropout after them, a loss over fp32 logits, 16 micro-batches of two
full sequences a step, AdamW on the adapters. An adapter's two GEMMs are PyTorch's; the benchmark fuses them in a kernel in
Triton."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from liger_kernel.transformers import apply_liger_kernel_to_llama
from transformers import LlamaConfig, LlamaForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=32)
parser.add_argument("--batch", type=int, default=2)
parser.add_argument("--length", type=int, default=4096)
parser.add_argument("--microbatches", type=int, default=16)
parser.add_argument("--rank", type=int, default=16)
parser.add_argument("--scale", type=float, default=2.0)
parser.add_argument("--dropout", type=float, default=0.1)
parser.add_argument("--cudnn", action="store_true", help="attention by cuDNN instead of FlashAttention 2")
parser.add_argument("--steps", type=int, default=3)
flags = parser.parse_args()

WORDS, MOCK_WORDS = 128256, 100


class Adapted(nn.Module):
    """A frozen projection and its adapter."""

    def __init__(self, base):
        super().__init__()
        self.base = base
        kind = {"device": base.weight.device, "dtype": base.weight.dtype}
        self.down = nn.Parameter(torch.rand(flags.rank, base.in_features, **kind))
        self.up = nn.Parameter(torch.zeros(base.out_features, flags.rank, **kind))

    def forward(self, x):
        change = F.linear(F.linear(x, self.down) * flags.scale, self.up)
        return self.base(x) + F.dropout(change, flags.dropout, self.training)


def adapt(model):
    """Freezes the model and adapts every projection of its layers."""
    model.requires_grad_(False)
    for name, module in list(model.named_modules()):
        if name.endswith("_proj"):
            parent, _, own = name.rpartition(".")
            setattr(model.get_submodule(parent), own, Adapted(module))
    return model


torch.backends.cuda.enable_cudnn_sdp(flags.cudnn)
torch.backends.cuda.enable_flash_sdp(not flags.cudnn)
apply_liger_kernel_to_llama(fused_linear_cross_entropy=False)
torch.set_default_dtype(torch.bfloat16)
with torch.device("cuda"):
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=WORDS,
            hidden_size=4096,
            intermediate_size=14336,
            num_hidden_layers=flags.layers,
            num_attention_heads=32,
            num_key_value_heads=8,
            max_position_embeddings=131072,
            rope_theta=500000.0,
            rms_norm_eps=1e-5,
            attn_implementation="sdpa",
            use_cache=False,
        )
    )
torch.set_default_dtype(torch.float32)
adapt(model).train()
trained = [weight for weight in model.parameters() if weight.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-5, betas=(0.9, 0.999), weight_decay=0.01)
for step in range(flags.steps):
    with torch.cuda.nvtx.range("step"):
        optimizer.zero_grad()
        for _ in range(flags.microbatches):
            text = torch.randint(MOCK_WORDS, (flags.batch, flags.length + 1)).pin_memory().cuda(non_blocking=True)
            logits = model(input_ids=text[:, :-1]).logits
            loss = F.cross_entropy(logits.float().view(-1, WORDS), text[:, 1:].reshape(-1), reduction="sum")
            del logits
            (loss / (flags.microbatches * flags.batch * flags.length)).backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        torch.cuda.synchronize()
    gib = 1024**3
    print(
        f"step {step} allocated {torch.cuda.max_memory_allocated() / gib:.2f} GiB "
        f"reserved {torch.cuda.max_memory_reserved() / gib:.2f} GiB",
        flush=True,
    )
