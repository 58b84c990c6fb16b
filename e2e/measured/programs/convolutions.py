"""Times convolutions, pooling, the norms of pictures, and attention of shapes that language models do not have.

python convolutions.py FILE [SECONDS [GROUP,...]]

Writes a line of JSON for each operator to FILE: microseconds of one (twenty in a row between CUDA events), and every
kernel of one with grid, block and the median of five durations in nanoseconds, as PyTorch's profiler gives them. Shapes
are drawn with a fixed seed; --list prints them.
"""

import json
import random
import sys

import torch
import torch.nn.functional as F
from scattered import write

fp32, fp16, bf16 = torch.float32, torch.float16, torch.bfloat16
FORMATS = {1: None, 2: torch.channels_last, 3: torch.channels_last_3d}
CONVOLVE = {
    (1, False): F.conv1d,
    (2, False): F.conv2d,
    (3, False): F.conv3d,
    (1, True): F.conv_transpose1d,
    (2, True): F.conv_transpose2d,
    (3, True): F.conv_transpose3d,
}
# What a layer of d dimensions may have: pictures, points a side, channels and kernel sizes of networks in use.
PICTURES = {1: (1, 8, 16, 32), 2: (1, 2, 8, 16, 32, 64, 256), 3: (1, 2, 4)}
SIDES = {1: (512, 1500, 3000, 8192), 2: (7, 14, 28, 32, 56, 64, 90, 112, 128, 160, 224, 256), 3: (4, 8, 16, 21, 32, 48)}
CHANNELS = (3, 4, 16, 32, 48, 64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1024, 1280, 2048)
KERNELS = {1: (1, 3, 5, 7, 10), 2: (1, 1, 3, 3, 3, 5, 7, 14, 16), 3: (1, 3, 3, (1, 3, 3), (3, 1, 1), (2, 16, 16))}


def shapes(count=120):
    """Random layers whose forward pass has 10^7 to 10^12 operations and whose tensors fit."""
    draw = random.Random(20)
    while count:
        d = draw.choices((1, 2, 3), (1, 6, 3))[0]
        n, channels, features = draw.choice(PICTURES[d]), draw.choice(CHANNELS), draw.choice(CHANNELS)
        side, kernel = draw.choice(SIDES[d]), draw.choice(KERNELS[d])
        kernel = (kernel,) * d if isinstance(kernel, int) else kernel
        transposed = draw.random() < 0.08 and kernel[0] in (2, 3, 5)
        groups = channels if draw.random() < 0.08 and channels >= 32 and not transposed else 1
        if groups > 1:
            features = channels
        large = max(kernel) > 7
        stride = max(kernel) if large else draw.choice((1, 1, 1, 2))
        dtype, last = draw.choice((bf16, bf16, fp16, fp32, fp32)), draw.random() < 0.5 and d > 1
        tf32 = dtype is fp32 and draw.random() < 0.75
        size = (side,) * d if d < 3 else (min(side, 21), side * 2, side * 2)
        if any(s < k for s, k in zip(size, kernel)):
            continue
        strides = tuple(min(stride, k) for k in kernel) if large else (stride,) * d
        points = n
        for s, t in zip(size, strides):
            points *= s * (t if transposed else 1) // (1 if transposed else t)
        work = 2 * points * features * channels // groups
        for k in kernel:
            work *= k
        elements = max(n * channels * torch.Size(size).numel(), points * features)
        if not 1e7 <= work <= 1e12 or elements > 1 << 29:
            continue
        count -= 1
        padding = (0,) * d if large else tuple(k // 2 for k in kernel)
        yield dict(
            op="convolution",
            dims=d,
            dtype=str(dtype)[6:],
            tf32=tf32,
            channels_last=last,
            n=n,
            c=channels,
            k=features,
            size=size,
            kernel=kernel,
            stride=strides,
            padding=padding,
            groups=groups,
            transposed=bool(transposed),
        )


def convolutions():
    for shape in shapes():
        d, dtype = shape["dims"], getattr(torch, shape["dtype"])
        kinds = dict(device="cuda", dtype=dtype)
        form = FORMATS[d] if shape["channels_last"] else torch.contiguous_format
        x = torch.randn(shape["n"], shape["c"], *shape["size"], **kinds).contiguous(memory_format=form)
        outer, inner = (shape["c"], shape["k"]) if shape["transposed"] else (shape["k"], shape["c"])
        w = torch.randn(outer, inner // shape["groups"], *shape["kernel"], **kinds)
        w = w.contiguous(memory_format=form)
        options = dict(stride=shape["stride"], padding=shape["padding"], groups=shape["groups"])
        forward = CONVOLVE[d, shape["transposed"]]

        torch.backends.cudnn.allow_tf32 = shape["tf32"]

        def run(x=x, w=w, forward=forward, options=options):
            return forward(x, w, **options)

        yield dict(shape, **{"pass": "forward"}), run
        g = torch.randn_like(run())

        def backward(mask, g=g, x=x, w=w, shape=shape, d=d):
            return torch.ops.aten.convolution_backward(
                g,
                x,
                w,
                None,
                shape["stride"],
                shape["padding"],
                (1,) * d,
                shape["transposed"],
                (0,) * d,
                shape["groups"],
                mask,
            )

        yield dict(shape, **{"pass": "input"}), lambda b=backward: b([True, False, False])
        yield dict(shape, **{"pass": "weight"}), lambda b=backward: b([False, True, False])


def with_backward(forward, *inputs):
    g = torch.randn_like(forward())
    return lambda: torch.autograd.grad(forward(), inputs, g)


def pictures():
    for dtype in (bf16, fp32):
        for n, c, side in ((2, 320, 128), (8, 640, 64), (16, 1280, 32), (64, 64, 112), (256, 256, 56), (32, 512, 7)):
            for last in (False, True):
                form = torch.channels_last if last else torch.contiguous_format
                x = torch.randn(n, c, side, side, device="cuda", dtype=dtype).contiguous(memory_format=form)
                x.requires_grad_()
                w, b = (torch.randn(c, device="cuda", dtype=dtype, requires_grad=True) for _ in range(2))
                scale, shift = (t.detach().float().requires_grad_() for t in (w, b))  # cuDNN's are of single precision.
                mean, variance = torch.zeros(c, device="cuda"), torch.ones(c, device="cuda")
                shape = dict(dtype=str(dtype)[6:], n=n, c=c, side=side, channels_last=last)
                for op, inputs, forward in (
                    ("group_norm", (x, w, b), lambda x=x, w=w, b=b: F.group_norm(x, 32, w, b)),
                    (
                        "batch_norm",
                        (x, scale, shift),
                        lambda x=x, w=scale, b=shift, m=mean, v=variance: F.batch_norm(x, m, v, w, b, training=True),
                    ),
                    ("max_pool2d", (x,), lambda x=x: F.max_pool2d(x, 3, 2, 1)),
                    ("avg_pool2d", (x,), lambda x=x: F.avg_pool2d(x, 2)),
                    ("adaptive_avg_pool2d", (x,), lambda x=x: F.adaptive_avg_pool2d(x, 1)),
                    ("interpolate nearest", (x,), lambda x=x: F.interpolate(x, scale_factor=2)),
                    ("interpolate bilinear", (x,), lambda x=x: F.interpolate(x, scale_factor=2, mode="bilinear")),
                ):
                    if "interpolate" in op and x.numel() > 1 << 26:
                        continue
                    yield dict(shape, op=op), with_backward(forward, *inputs)


def attention():
    for dtype in (bf16, fp32):
        for b, h, s, t, d in (
            (2, 10, 4096, 4096, 64),
            (2, 20, 1024, 1024, 64),
            (2, 10, 4096, 77, 64),
            (2, 8, 4096, 4096, 40),
            (2, 8, 1024, 1024, 80),
            (2, 8, 256, 256, 160),
            (64, 12, 197, 197, 64),
            (8, 20, 1500, 1500, 64),
            (16, 16, 577, 577, 72),
            (4, 32, 2048, 2048, 96),
            (1, 12, 14040, 14040, 128),
            (4, 8, 2048, 2048, 256),
        ):
            q = torch.randn(b, h, s, d, device="cuda", dtype=dtype, requires_grad=True)
            k, v = (torch.randn(b, h, t, d, device="cuda", dtype=dtype, requires_grad=True) for _ in range(2))
            shape = dict(dtype=str(dtype)[6:], b=b, h=h, s=s, t=t, d=d)
            forward = lambda q=q, k=k, v=v: F.scaled_dot_product_attention(q, k, v)  # noqa: E731
            yield dict(shape, op="attention"), with_backward(forward, q, k, v)
            if s == t and s <= 4096:
                mask = torch.zeros(b, 1, s, t, device="cuda", dtype=dtype)
                masked = lambda q=q, k=k, v=v, m=mask: F.scaled_dot_product_attention(q, k, v, m)  # noqa: E731
                yield dict(shape, op="attention with a mask"), with_backward(masked, q, k, v)


def main():
    if sys.argv[1] == "--list":
        for shape in shapes():
            print(json.dumps(shape))
        return
    groups = dict(attention=attention, pictures=pictures, convolutions=convolutions)
    wanted = sys.argv[3].split(",") if len(sys.argv) > 3 else groups
    write(sys.argv[1], [groups[name] for name in wanted], *map(float, sys.argv[2:3]))


if __name__ == "__main__":
    main()
