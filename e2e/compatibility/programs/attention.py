"""Attention of others in a layer that is trained: FlashAttention 4, whose kernels CuTe DSL compiles when they are called, or
xformers' memory-efficient attention."""

import sys

import torch


def of_cute(q, k, v):
    from flash_attn.cute import flash_attn_func

    out = flash_attn_func(q, k, v, causal=True)
    return out[0] if isinstance(out, tuple) else out


def of_xformers(q, k, v):
    sys.modules["flash_attn"] = None  # xformers takes FlashAttention 4, which has this name too, for version 2.
    import xformers.ops

    return xformers.ops.memory_efficient_attention(q, k, v, attn_bias=xformers.ops.LowerTriangularMask())


def main():
    attention, length, width, size = {"cute": (of_cute, 1024, 512, 128), "xformers": (of_xformers, 128, 256, 64)}[
        sys.argv[1]
    ]
    layer = torch.nn.Linear(width, 3 * width).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-3)
    for step in range(6):
        x = torch.randn(2, length, width, device="cuda", dtype=torch.bfloat16)
        q, k, v = layer(x).view(2, length, 3, 4, size).unbind(2)
        loss = (attention(q, k, v).reshape(2, length, width) - x).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


main()
