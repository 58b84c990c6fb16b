"""Times kernels that others wrote in Triton or CUDA: Liger, bitsandbytes, flash-linear-attention, FlexAttention.

python others_kernels.py FILE [SECONDS [GROUP,...]]

Writes a line of JSON for each operator to FILE: microseconds of one (twenty in a row between CUDA events), and every
kernel of one with grid, block and the median of five durations in nanoseconds, as PyTorch's profiler gives them.
"""

import sys

import torch
import torch.nn.functional as F
from convolutions import with_backward
from scattered import write

fp32, bf16 = torch.float32, torch.bfloat16


def tensor(*shape, dtype=bf16):
    return torch.randn(*shape, device="cuda", dtype=dtype).requires_grad_()


def ligers():
    from liger_kernel.transformers import functional as liger

    for rows, width in ((8192, 4096), (16384, 2048), (4096, 8192)):
        shape = dict(rows=rows, width=width)
        x, y, w, b = tensor(rows, width), tensor(rows, width), tensor(width), tensor(width)
        norm = lambda x=x, w=w: liger.liger_rms_norm(x, w, 1e-6, in_place=False)  # noqa: E731
        yield "liger rms_norm", shape, with_backward(norm, x, w)
        norm = lambda x=x, w=w, b=b: liger.liger_layer_norm(x, w, b, 1e-6)  # noqa: E731
        yield "liger layer_norm", shape, with_backward(norm, x, w, b)
        yield "liger swiglu", shape, with_backward(lambda x=x, y=y: liger.liger_swiglu(x, y), x, y)
        yield "liger geglu", shape, with_backward(lambda x=x, y=y: liger.liger_geglu(x, y), x, y)
        yield "liger softmax", shape, with_backward(lambda x=x: liger.liger_softmax(x), x)
        yield "liger relu_squared", shape, with_backward(lambda x=x: liger.liger_relu_squared(x), x)
        alpha = tensor(1)
        dyt = lambda x=x, a=alpha, w=w, b=b: liger.liger_dyt(x, a, w, b)  # noqa: E731
        yield "liger dyt", shape, with_backward(dyt, x, alpha, w, b)
    for batch, length, heads, few in ((4, 2048, 32, 8), (1, 8192, 64, 8)):
        q, k = tensor(batch, heads, length, 128), tensor(batch, few, length, 128)
        cos, sin = (torch.randn(1, length, 128, device="cuda", dtype=bf16) for _ in range(2))
        shape = dict(b=batch, s=length, h=heads, hk=few)

        def turned(q=q, k=k, cos=cos, sin=sin):
            return torch.cat([t.flatten() for t in liger.liger_rope(q, k, cos, sin)])

        yield "liger rope", shape, with_backward(turned, q, k)
    for rows, words in ((8192, 32000), (4096, 128256)):
        shape = dict(rows=rows, words=words)
        x, target = tensor(rows, words), torch.randint(0, words, (rows,), device="cuda")
        truth = torch.randn(rows, words, device="cuda", dtype=bf16).softmax(-1)
        loss = lambda x=x, t=target: liger.liger_cross_entropy(x.clone(), t)  # noqa: E731
        yield "liger cross_entropy", shape, with_backward(loss, x)
        hidden, head = tensor(rows, 2048), tensor(words, 2048)
        loss = lambda h=hidden, w=head, t=target: liger.liger_fused_linear_cross_entropy(h, w, t)  # noqa: E731
        yield "liger fused_linear_cross_entropy", shape, with_backward(loss, hidden, head)
        spread = lambda x=x, t=truth: liger.liger_kl_div(F.log_softmax(x, -1), t)  # noqa: E731
        yield "liger kl_div", shape, with_backward(spread, x)


def quantised():
    import bitsandbytes as bnb
    import bitsandbytes.functional as bf

    for rows, width in ((4096, 4096), (14336, 4096), (8192, 8192)):
        shape = dict(rows=rows, width=width)
        w = torch.randn(rows, width, device="cuda", dtype=bf16)
        for kind in ("nf4", "fp4"):
            packed, state = bf.quantize_4bit(w, quant_type=kind)
            yield f"bitsandbytes quantize {kind}", shape, lambda w=w, k=kind: bf.quantize_4bit(w, quant_type=k)
            yield f"bitsandbytes dequantize {kind}", shape, lambda p=packed, s=state: bf.dequantize_4bit(p, s)
            if kind == "nf4":
                x = torch.randn(1, width, device="cuda", dtype=bf16)
                yield "bitsandbytes gemv nf4", shape, lambda x=x, p=packed, s=state: bf.gemv_4bit(x, p.t(), state=s)
        packed, state = bf.quantize_blockwise(w)
        yield "bitsandbytes quantize 8 bit", shape, lambda w=w: bf.quantize_blockwise(w)
        yield "bitsandbytes dequantize 8 bit", shape, lambda p=packed, s=state: bf.dequantize_blockwise(p, s)
        half = w.half()
        yield "bitsandbytes int8 rows", shape, lambda w=half: bf.int8_vectorwise_quant(w)
        for name in ("AdamW8bit", "Lion8bit", "AdamW", "SGD8bit"):
            p = torch.nn.Parameter(w.clone())
            p.grad = torch.randn_like(p)
            extra = dict(momentum=0.9) if name == "SGD8bit" else {}
            optimizer = getattr(bnb.optim, name)([p], lr=1e-4, **extra)
            yield f"bitsandbytes {name}", shape, optimizer.step


def flexible():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    flex = torch.compile(flex_attention, dynamic=False)
    masks = {
        "causal": lambda b, h, q, k: q >= k,
        "window 512": lambda b, h, q, k: (q >= k) & (q - k < 512),
        "documents": lambda b, h, q, k: (q >= k) & (q // 1024 == k // 1024),
    }
    for b, h, hk, s, d in ((2, 32, 8, 4096, 128), (4, 12, 12, 2048, 64)):
        q, k, v = tensor(b, h, s, d), tensor(b, hk, s, d), tensor(b, hk, s, d)
        for name, mask in masks.items():
            blocks = create_block_mask(mask, None, None, s, s, device="cuda")

            def forward(q=q, k=k, v=v, m=blocks, gqa=h != hk):
                return flex(q, k, v, block_mask=m, enable_gqa=gqa)

            yield f"flex_attention {name}", dict(b=b, h=h, hk=hk, s=s, d=d), with_backward(forward, q, k, v)


def linear_attention():
    from fla.modules import FusedCrossEntropyLoss, RMSNorm, ShortConvolution
    from fla.ops.attn import parallel_attn
    from fla.ops.retention import chunk_retention

    b, s, h, d = 4, 4096, 16, 128
    shape = dict(b=b, s=s, h=h, d=d)
    q, k, v = (tensor(b, s, h, d) for _ in range(3))
    yield "fla retention", shape, with_backward(lambda: chunk_retention(q, k, v)[0], q, k, v)
    yield "fla parallel_attn", shape, with_backward(lambda: parallel_attn(q, k, v), q, k, v)
    x = tensor(b, s, 2048)
    convolution = ShortConvolution(2048, 4, activation="silu").to("cuda", bf16)
    yield "fla short convolution", shape, with_backward(lambda: convolution(x)[0], x, convolution.weight)
    norm = RMSNorm(2048).to("cuda", bf16)
    yield "fla rms_norm", shape, with_backward(lambda: norm(x), x, norm.weight)
    scores, words = tensor(8192, 32000), torch.randint(0, 32000, (8192,), device="cuda")
    loss = FusedCrossEntropyLoss()
    yield "fla cross_entropy", dict(rows=8192, words=32000), with_backward(lambda: loss(scores, words), scores)


def described(group):
    for name, shape, run in group():
        yield dict(op=name, **shape), run


def main():
    groups = dict(ligers=ligers, quantised=quantised, flexible=flexible, linear_attention=linear_attention)
    wanted = sys.argv[3].split(",") if len(sys.argv) > 3 else groups
    write(sys.argv[1], [lambda g=groups[name]: described(g) for name in wanted], *map(float, sys.argv[2:3]))


if __name__ == "__main__":
    main()
