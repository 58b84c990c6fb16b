"""diffusers: a small network of the kind of SDXL (two text encoders' conditions, sizes) and an autoencoder, trained."""

import torch
from diffusers import AutoencoderKL, DDPMScheduler, UNet2DConditionModel


def network():
    return UNet2DConditionModel(
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


def main():
    autoencoder = AutoencoderKL(
        block_out_channels=(32, 64),
        down_block_types=("DownEncoderBlock2D", "DownEncoderBlock2D"),
        up_block_types=("UpDecoderBlock2D", "UpDecoderBlock2D"),
        latent_channels=4,
    ).to("cuda", torch.bfloat16)
    model = network().to("cuda", torch.bfloat16)
    noise_of = DDPMScheduler(num_train_timesteps=1000)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(6):
        with torch.no_grad():
            images = torch.randn(2, 3, 32, 32, device="cuda", dtype=torch.bfloat16)
            latents = autoencoder.encode(images).latent_dist.sample() * 0.13
        noise = torch.randn_like(latents)
        when = torch.randint(1000, (2,), device="cuda")
        added = {
            "text_embeds": torch.randn(2, 32, device="cuda", dtype=torch.bfloat16),
            "time_ids": torch.randint(64, (2, 6), device="cuda"),
        }
        words = torch.randn(2, 16, 64, device="cuda", dtype=torch.bfloat16)
        guess = model(noise_of.add_noise(latents, noise, when), when, words, added_cond_kwargs=added).sample
        loss = torch.nn.functional.mse_loss(guess.float(), noise.float())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


main()
