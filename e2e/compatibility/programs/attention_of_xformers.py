"""xformers: its memory-efficient attention in a layer that is trained."""

import torch
import xformers.ops


def main():
    layer = torch.nn.Linear(256, 3 * 256).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-3)
    for step in range(6):
        x = torch.randn(2, 128, 256, device="cuda", dtype=torch.bfloat16)
        q, k, v = layer(x).view(2, 128, 3, 4, 64).unbind(2)
        mask = xformers.ops.LowerTriangularMask()
        out = xformers.ops.memory_efficient_attention(q, k, v, attn_bias=mask).reshape(2, 128, 256)
        loss = (out - x).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


main()
