"""Training Stable Diffusion 2's U-Net from latents and text encodings that were computed before, with diffusers' model.
As MosaicML's yamls train it: fp16 by autocast, norms in fp16 too, FSDP around the whole U-Net, which gathers weights in
fp16, keeps them from the forward to the backward pass and reduces gradients after each micro-batch, AdamW. Attention is
PyTorch's FlashAttention 2, which xformers calls on such a GPU."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from diffusers import DDPMScheduler, UNet2DConditionModel
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, ShardingStrategy
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

parser = argparse.ArgumentParser()
parser.add_argument("--side", type=int, default=32, help="of a latent: an eighth of the picture's")
parser.add_argument("--images", type=int, default=2048, help="of a global batch")
parser.add_argument("--batch", type=int, default=16, help="images of a micro-batch")
parser.add_argument("--steps", type=int, default=3)
flags = parser.parse_args()


def in_half(function, module, x, *arguments):
    """A norm in fp16, where autocast would compute it in fp32."""
    with torch.autocast("cuda", enabled=False):
        return function(x.half(), *arguments, module.weight.half(), module.bias.half(), module.eps)


class HalfGroupNorm(nn.GroupNorm):
    def forward(self, x):
        return in_half(F.group_norm, self, x, self.num_groups)


class HalfLayerNorm(nn.LayerNorm):
    def forward(self, x):
        return in_half(F.layer_norm, self, x, self.normalized_shape)


device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl")
with device:
    unet = UNet2DConditionModel(
        sample_size=64,
        block_out_channels=(320, 640, 1280, 1280),
        down_block_types=("CrossAttnDownBlock2D",) * 3 + ("DownBlock2D",),
        up_block_types=("UpBlock2D",) + ("CrossAttnUpBlock2D",) * 3,
        attention_head_dim=(5, 10, 20, 20),
        cross_attention_dim=1024,
        use_linear_projection=True,
    )
for module in unet.modules():
    for kind in (HalfGroupNorm, HalfLayerNorm):
        if type(module) is kind.__base__:
            module.__class__ = kind
unet.train()
half = MixedPrecision(param_dtype=torch.float16, buffer_dtype=torch.float16)
model = FullyShardedDataParallel(
    unet, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP, mixed_precision=half, use_orig_params=True, device_id=device
)
noise_of = DDPMScheduler(num_train_timesteps=1000, beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
scaler = ShardedGradScaler()
microbatches = flags.images // flags.batch // dist.get_world_size()


def loss_of():
    """One micro-batch: latents and text encodings arrive in fp16 from pinned memory."""
    latents = torch.empty(flags.batch, 4, flags.side, flags.side, dtype=torch.float16).pin_memory()
    words = torch.empty(flags.batch, 77, 1024, dtype=torch.float16).pin_memory()
    latents, words = latents.to(device, non_blocking=True), words.to(device, non_blocking=True)
    when = torch.randint(1000, (flags.batch,), device=device)
    noise = torch.randn(latents.shape, device=device)
    with torch.autocast("cuda", dtype=torch.float16):
        guess = model(noise_of.add_noise(latents * 0.18215, noise, when), when, words, return_dict=False)[0]
        return F.mse_loss(guess, noise)


for step in range(flags.steps):
    with torch.cuda.nvtx.range("step"):
        optimizer.zero_grad()
        for _ in range(microbatches):
            scaler.scale(loss_of() / microbatches).backward()
        scaler.step(optimizer)
        scaler.update()
        torch.cuda.synchronize()
    if dist.get_rank() == 0:
        gib = 1024**3
        print(
            f"step {step} allocated {torch.cuda.max_memory_allocated() / gib:.2f} GiB "
            f"reserved {torch.cuda.max_memory_reserved() / gib:.2f} GiB",
            flush=True,
        )
dist.destroy_process_group()
