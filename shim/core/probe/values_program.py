"""What the host reads from the emulated GPU is what a real one would have written. Needs a shim that runs
small kernels for their values (eidolon_lone_agent --values)."""

import math

import torch


def philox(key, counter):
    """Philox 4x32, ten rounds."""
    c, k = list(counter), [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def normal(seed, thread):
    """The first number that a CUDA thread of torch.randn draws."""
    x, y, _, _ = philox(seed, (0, 0, thread, 0))
    u = x * 2.0**-32 + 2.0**-33
    v = (y * 2.0**-32 + 2.0**-33) * 2 * math.pi
    return math.sqrt(-2 * math.log(u)) * math.sin(v)


def check(actual, expected):
    assert actual == expected, f"{actual} instead of {expected}"


def main():
    check((torch.arange(8, device="cuda") * 2 + 1).tolist(), [1, 3, 5, 7, 9, 11, 13, 15])
    x = torch.tensor([0.0, 1.0, 0.0, 3.0], device="cuda")
    check(torch.nonzero(x).tolist(), [[1], [3]])
    check(torch.isfinite(x).all().item(), True)
    check(torch.isfinite(x / 0).any().item(), False)
    check(x[x > 0].tolist(), [1.0, 3.0])
    check(x.sort(descending=True).indices.tolist()[:2], [3, 1])
    check(x.cumsum(0).tolist(), [0.0, 1.0, 1.0, 4.0])
    check(x.softmax(0).sum().item(), 1.0)
    check(x.topk(2).values.tolist(), [3.0, 1.0])

    for seed in (0, 1234567890123):
        generator = torch.Generator(device="cuda")
        generator.manual_seed(seed)
        drawn = torch.randn(4, device="cuda", generator=generator).tolist()
        for thread, value in enumerate(drawn):
            assert abs(value - normal(seed, thread)) < 1e-5, (seed, drawn)

    weight = torch.nn.Parameter(torch.ones(4, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
    for gradient, stepped in ((float("inf"), False), (2.0, True)):
        before = weight.tolist()
        weight.grad = torch.full_like(weight, gradient) * scaler.get_scale()
        scaler.scale(torch.zeros((), device="cuda"))
        scaler.step(optimizer)
        scaler.update()
        check(weight.tolist() != before, stepped)
    check(scaler.get_scale(), 512.0)
    check(weight.tolist(), [0.0] * 4)
    print("values are right")


if __name__ == "__main__":
    main()
