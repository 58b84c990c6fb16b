"""The operators of operators.csv, each alone and twenty times in a row; prints microseconds of one by CUDA events.
Shapes, strides and types are those of the published traces."""
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

bf16, fp32, fp64 = torch.bfloat16, torch.float32, torch.float64


def full(*shape, dtype=bf16):
    return torch.empty(shape, device="cuda", dtype=dtype)


def strided(shape, strides, dtype=bf16):
    return torch.empty_strided(shape, strides, device="cuda", dtype=dtype)


def flash(queries, keys):
    def run():
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return F.scaled_dot_product_attention(queries, keys, keys)
    return run


def addmm(m, n, k):
    bias, a, b = full(n), full(m, k), full(n, k).t()
    return lambda: torch.addmm(bias, a, b)


def bmm(batch, m, n, k, second_transposed):
    a = full(batch, m, k)
    b = full(batch, n, k).transpose(1, 2) if second_transposed else full(batch, k, n)
    return lambda: torch.bmm(a, b)


def conv3d(channels, depth, side, out=None):
    picture, weight = full(1, channels, depth, side, side), full(out or channels, channels, 3, 3, 3)
    bias = full(out or channels)
    return lambda: F.conv3d(picture, weight, bias)


def conv2d(batch, channels, side, out, window, **how):
    picture, weight, bias = full(batch, channels, side, side), full(out, channels, window, window), full(out)
    return lambda: F.conv2d(picture, weight, bias, **how)


def cat(dim, *parts):
    return lambda: torch.cat(parts, dim)


def binary(function, a, b):
    return lambda: function(a, b)


def copied(target, source):
    return lambda: target.copy_(source)


PLACES, WIDTH = 32256, 1536
matrix = (1, PLACES, WIDTH)
transposed = (PLACES * WIDTH, 1, PLACES)


def columns(dtype):
    return strided(matrix, transposed, dtype)


def layer_norm(weights):
    given = [full(WIDTH, dtype=fp32), full(WIDTH, dtype=fp32)] if weights else []
    x = columns(fp32)
    return lambda: F.layer_norm(x, (WIDTH,), *given, eps=1e-6)


def rows_of(length, *batch):
    x = full(*batch, length, length)
    return lambda: torch.softmax(x, -1)


def part_of_a_picture():
    target = strided((1, 96, 6, 256, 256), (38340864, 399384, 66564, 258, 1))
    return copied(target, full(1, 96, 6, 256, 256))


def plain_norm():
    x, weight, bias = full(1, 5185, 1024), full(1024), full(1024)
    return lambda: F.layer_norm(x, (1024,), weight, bias)


OPERATORS = {
    "wan attention 32256": lambda: flash(
        strided((1, 12, PLACES, 128), (WIDTH, 128, WIDTH, 1)), strided((1, 12, PLACES, 128), (WIDTH, 128, WIDTH, 1))),
    "wan attention 32256 x 512": lambda: flash(
        strided((1, 12, PLACES, 128), (PLACES * WIDTH, 128, WIDTH, 1)),
        strided((1, 12, 512, 128), (786432, 128, WIDTH, 1))),
    "wan addmm 32256x1536x1536": lambda: addmm(PLACES, 1536, 1536),
    "wan addmm 32256x8960x1536": lambda: addmm(PLACES, 8960, 1536),
    "wan addmm 32256x1536x8960": lambda: addmm(PLACES, 1536, 8960),
    "wan layer_norm of a transposed matrix": lambda: layer_norm(False),
    "wan layer_norm of a transposed matrix with weights": lambda: layer_norm(True),
    "wan conv3d 96": lambda: conv3d(96, 6, 258),
    "wan conv3d 192": lambda: conv3d(192, 6, 130),
    "wan conv3d 384": lambda: conv3d(384, 4, 66),
    "wan add fp32 of a transposed matrix": lambda: binary(torch.add, columns(fp32), full(*matrix, dtype=fp32)),
    "wan add bf16 of a transposed matrix": lambda: binary(torch.add, columns(bf16), full(*matrix)),
    "wan add fp32 of a row": lambda: binary(torch.add, full(*matrix, dtype=fp32), full(1, 1, WIDTH, dtype=fp32)),
    "wan mul fp32 of a row": lambda: binary(torch.mul, full(*matrix, dtype=fp32), full(1, 1, WIDTH, dtype=fp32)),
    "wan mul bf16 of a row": lambda: binary(torch.mul, full(*matrix), full(WIDTH)),
    "wan mul bf16 of an fp32 column": lambda: binary(torch.mul, full(*matrix), full(1, PLACES, 1, dtype=fp32)),
    "wan mul of complex numbers": lambda: binary(
        torch.mul, strided((1, 12, PLACES, 64), (768, 64, 768, 1), torch.complex128),
        full(1, 1, PLACES, 64, dtype=torch.complex128)),
    "wan copy bf16 to fp32": lambda: copied(full(*matrix, dtype=fp32), full(*matrix)),
    "wan copy fp32 to bf16": lambda: copied(full(*matrix), full(*matrix, dtype=fp32)),
    "wan copy bf16 to fp64": lambda: copied(full(1, PLACES, 12, 128, dtype=fp64), full(1, PLACES, 12, 128)),
    "wan copy fp64 to bf16": lambda: copied(full(1, PLACES, 12, 128), full(1, PLACES, 12, 128, dtype=fp64)),
    "wan copy of part of a picture": part_of_a_picture,
    "wan pow 2 fp32": lambda: binary(torch.pow, full(*matrix, dtype=fp32), 2),
    "wan gelu tanh bf16": lambda: (lambda x: lambda: F.gelu(x, approximate="tanh"))(full(1, PLACES, 8960)),
    "wan mean of rows fp32": lambda: (lambda x: lambda: x.mean(-1, keepdim=True))(full(*matrix, dtype=fp32)),
    "owlv2 softmax 5185 bf16": lambda: rows_of(5185, 16),
    "owlv2 bmm 5185x5185x64": lambda: bmm(16, 5185, 5185, 64, True),
    "owlv2 bmm 5185x64x5185": lambda: bmm(16, 5185, 64, 5185, False),
    "owlv2 addmm 5185x1024x1024": lambda: addmm(5185, 1024, 1024),
    "owlv2 addmm 5185x1024x4096": lambda: addmm(5185, 1024, 4096),
    "owlv2 addmm 5185x4096x1024": lambda: addmm(5185, 4096, 1024),
    "owlv2 mul bf16": lambda: binary(torch.mul, full(1, 5185, 4096), full(1, 5185, 4096)),
    "owlv2 mul bf16 by a number": lambda: binary(torch.mul, full(1, 5185, 4096), 1.702),
    "owlv2 sigmoid bf16": lambda: (lambda x: lambda: torch.sigmoid(x))(full(1, 5185, 4096)),
    "owlv2 add bf16": lambda: binary(torch.add, full(1, 5185, 1024), full(1, 5185, 1024)),
    "owlv2 heads first bf16": lambda: copied(full(1, 16, 5185, 64), full(1, 5185, 16, 64).transpose(1, 2)),
    "owlv2 heads last bf16": lambda: copied(full(1, 5185, 16, 64), full(1, 16, 5185, 64).transpose(1, 2)),
    "owlv2 layer_norm 1024 bf16": plain_norm,
    "timesformer softmax 3137 bf16": lambda: rows_of(3137, 8, 12),
    "timesformer bmm 3137x3137x64": lambda: bmm(96, 3137, 3137, 64, False),
    "timesformer bmm 3137x64x3137": lambda: bmm(96, 3137, 64, 3137, False),
    "timesformer mul bf16 by a number": lambda: binary(torch.mul, full(8, 12, 3137, 3137), 0.125),
    "timesformer addmm 25089x3072x768": lambda: addmm(25089, 3072, 768),
    "timesformer addmm 25089x768x3072": lambda: addmm(25089, 768, 3072),
    "timesformer addmm 25096x2304x768": lambda: addmm(25096, 2304, 768),
    "timesformer gelu bf16": lambda: (lambda x: lambda: F.gelu(x))(full(1, 25089, 3072)),
    "timesformer heads last bf16": lambda: copied(
        full(8, 12, 64, 3137), strided((8, 12, 64, 3137), (7227648, 64, 1, 2304))),
    "wan mul bf16 of an fp32 row": lambda: binary(torch.mul, full(*matrix), full(1, 1, WIDTH, dtype=fp32)),
    "wan div bf16 of a broadcast picture": lambda: binary(
        torch.div, full(1, 96, 4, 256, 256), full(1, 1, 4, 256, 256).expand(1, 96, 4, 256, 256)),
    "wan mul bf16 of channels": lambda: binary(torch.mul, full(1, 96, 4, 256, 256), full(96, 1, 1, 1)),
    "wan copy of part of a smaller picture": lambda: copied(
        strided((1, 192, 6, 128, 128), (19468800, 101400, 16900, 130, 1)), full(1, 192, 6, 128, 128)),
    "wan copy fp32 to bf16 of a transposed matrix": lambda: copied(columns(bf16), columns(fp32)),
    "wan cat of pictures": lambda: cat(
        2, strided((1, 96, 2, 256, 256), (12582912, 131072, 65536, 256, 1)), full(1, 96, 4, 256, 256)),
    "wan conv2d 192 to 96": lambda: conv2d(4, 192, 256, 96, 3, padding=1),
    "wan conv2d 384 to 192": lambda: conv2d(4, 384, 128, 192, 3, padding=1),
    "wan conv3d 384 of a small picture": lambda: conv3d(384, 3, 34),
    "wan conv3d 96 to 3": lambda: conv3d(96, 6, 258, out=3),
    "timesformer heads first bf16": lambda: copied(
        full(8, 12, 3137, 64), strided((8, 12, 3137, 64), (7227648, 64, 2304, 1))),
    "timesformer heads first of frames bf16": lambda: copied(
        full(3136, 12, 8, 64), strided((3136, 12, 8, 64), (18432, 64, 2304, 1))),
    "timesformer bmm 8x64x8": lambda: bmm(37632, 8, 64, 8, False),
    "timesformer addmm 25088x2304x768": lambda: addmm(25088, 2304, 768),
    "timesformer addmm 25088x768x768": lambda: addmm(25088, 768, 768),
    "timesformer conv2d of patches": lambda: conv2d(128, 3, 224, 768, 16, stride=16),
    "timesformer cat of a token": lambda: cat(1, full(8, 1, 768), strided((8, 3136, 768), (768, 6144, 1))),
}

REPEATS = 20
for step in range(3):
    with torch.cuda.nvtx.range("step"):
        for name, make in OPERATORS.items():
            run = make()
            run()
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(REPEATS):
                run()
            end.record()
            end.synchronize()
            if step == 2:
                print(f"operator {name}: {begin.elapsed_time(end) * 1e3 / REPEATS:.2f} us", flush=True)
            del run
            torch.cuda.empty_cache()
