"""diffusers: training a small conditional UNet to take noise away."""

import torch
from diffusers import DDPMScheduler, UNet2DConditionModel


def main():
    model = UNet2DConditionModel(
        sample_size=32,
        block_out_channels=(64, 128),
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        cross_attention_dim=64,
        layers_per_block=1,
    ).to("cuda", torch.bfloat16)
    noise_of = DDPMScheduler(num_train_timesteps=1000)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(8):
        images = torch.randn(4, 4, 32, 32, device="cuda", dtype=torch.bfloat16)
        words = torch.randn(4, 16, 64, device="cuda", dtype=torch.bfloat16)
        noise = torch.randn_like(images)
        when = torch.randint(1000, (4,), device="cuda")
        guess = model(noise_of.add_noise(images, noise, when), when, words).sample
        loss = torch.nn.functional.mse_loss(guess.float(), noise.float())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


main()
