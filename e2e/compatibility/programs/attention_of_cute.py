"""FlashAttention 4: its attention, whose kernels CuTe DSL compiles when they are called, in a layer that is trained."""

import torch
from flash_attn.cute import flash_attn_func


def main():
    layer = torch.nn.Linear(512, 3 * 512).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-3)
    for step in range(6):
        x = torch.randn(2, 1024, 512, device="cuda", dtype=torch.bfloat16)
        q, k, v = layer(x).view(2, 1024, 3, 4, 128).unbind(2)
        out = flash_attn_func(q, k, v, causal=True)
        out = (out[0] if isinstance(out, tuple) else out).reshape(2, 1024, 512)
        loss = (out - x).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


main()
