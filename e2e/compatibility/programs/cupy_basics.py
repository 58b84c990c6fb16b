"""CuPy as its tutorials use it, each result compared with NumPy's; prints how many were the same."""

import cupy
import numpy

KERNEL = r"""
extern "C" __global__ void triple(const float* from, float* to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = 3 * from[i];
}
"""


def raw_kernel(array):
    result = cupy.zeros_like(array)
    cupy.RawKernel(KERNEL, "triple")((array.size // 64,), (64,), (array, result))
    return result


def elementwise_kernel(array):
    return cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * x + 1", "square_plus_one")(array)


def main():
    host = numpy.random.default_rng(1).random((64, 64), dtype=numpy.float32)
    device = cupy.asarray(host)
    cases = {
        "copy": (device, host),
        "elementwise": (device * 2 + 1, host * 2 + 1),
        "ElementwiseKernel": (elementwise_kernel(device), host * host + 1),
        "RawKernel": (raw_kernel(device.ravel()), 3 * host.ravel()),
        "sum": (device.sum(), host.sum()),
        "sum of an axis": (device.sum(axis=1), host.sum(axis=1)),
        "max": (device.max(), host.max()),
        "mean": (device.mean(axis=0), host.mean(axis=0)),
        "argmax": (device.argmax(axis=1), host.argmax(axis=1)),
        "sort": (cupy.sort(device, axis=1), numpy.sort(host, axis=1)),
        "cumsum": (cupy.cumsum(device.ravel()), numpy.cumsum(host.ravel())),
        "where": (cupy.where(device > 0.5, device, 0), numpy.where(host > 0.5, host, 0)),
        "nonzero": (cupy.nonzero(device > 0.9)[0], numpy.nonzero(host > 0.9)[0]),
        "indexing": (device[::2, 1:9], host[::2, 1:9]),
        "broadcast": (device + device[0], host + host[0]),
        "matmul": (device @ device, host @ host),
        "matmul float64": (device.astype("d") @ device.astype("d"), host.astype("d") @ host.astype("d")),
        "einsum": (cupy.einsum("ij,kj->ik", device, device), numpy.einsum("ij,kj->ik", host, host)),
        "fft": (cupy.fft.fft(device), numpy.fft.fft(host)),
        "rfft2": (cupy.fft.rfft2(device), numpy.fft.rfft2(host)),
        "concatenate": (cupy.concatenate([device, device]), numpy.concatenate([host, host])),
        "bincount": (cupy.bincount(cupy.asarray([1, 2, 2, 5])), numpy.bincount([1, 2, 2, 5])),
    }
    wrong = []
    for name, (got, wanted) in cases.items():
        if not numpy.allclose(cupy.asnumpy(got), wanted, rtol=1e-3, atol=1e-3):
            wrong.append(name)
    samples = cupy.random.default_rng(1).random(1000)
    if not 0.4 < float(samples.mean()) < 0.6:
        wrong.append("random")
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    device @ device
    end.record()
    end.synchronize()
    if cupy.cuda.get_elapsed_time(start, end) <= 0:
        wrong.append("events")
    pool = cupy.get_default_memory_pool()
    if pool.used_bytes() == 0:
        wrong.append("memory pool")
    count = len(cases) + 3
    print(f"passed {count - len(wrong)} of {count}")
    for name in wrong:
        print(f"wrong: {name}")


if __name__ == "__main__":
    main()
