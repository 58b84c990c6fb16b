"""diffusers: a small conditional UNet learns to take noise away; `xl`: one of the kind of SDXL (two text encoders'
conditions, sizes), on what an autoencoder makes of images."""

import sys

# diffusers takes FlashAttention 4, which has this name too, for version 2.
sys.modules["flash_attn"] = None

import torch
from diffusers import AutoencoderKL, DDPMScheduler, UNet2DConditionModel


def normal(*shape):
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16)


def small():
    """The network, and a function that makes a batch of images and of conditions."""
    network = UNet2DConditionModel(
        sample_size=32,
        block_out_channels=(64, 128),
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        cross_attention_dim=64,
        layers_per_block=1,
    )
    return network, lambda: (normal(4, 4, 32, 32), {"encoder_hidden_states": normal(4, 16, 64)})


def xl():
    autoencoder = AutoencoderKL(
        block_out_channels=(32, 64),
        down_block_types=("DownEncoderBlock2D", "DownEncoderBlock2D"),
        up_block_types=("UpDecoderBlock2D", "UpDecoderBlock2D"),
        latent_channels=4,
    ).to("cuda", torch.bfloat16)
    network = UNet2DConditionModel(
        sample_size=16,
        block_out_channels=(32, 64),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=(2, 4),
        transformer_layers_per_block=(1, 2),
        use_linear_projection=True,
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        projection_class_embeddings_input_dim=80,
        cross_attention_dim=64,
    )

    def batch():
        with torch.no_grad():
            latents = autoencoder.encode(normal(2, 3, 32, 32)).latent_dist.sample() * 0.13
        added = {"text_embeds": normal(2, 32), "time_ids": torch.randint(64, (2, 6), device="cuda")}
        return latents, {"encoder_hidden_states": normal(2, 16, 64), "added_cond_kwargs": added}

    return network, batch


def main():
    model, batch = {"small": small, "xl": xl}[sys.argv[1]]()
    model.to("cuda", torch.bfloat16)
    noise_of = DDPMScheduler(num_train_timesteps=1000)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(8):
        images, conditions = batch()
        noise = torch.randn_like(images)
        when = torch.randint(1000, (len(images),), device="cuda")
        guess = model(noise_of.add_noise(images, noise, when), when, **conditions).sample
        loss = torch.nn.functional.mse_loss(guess.float(), noise.float())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


main()
