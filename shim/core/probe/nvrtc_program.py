"""Compiles a kernel with NVRTC as torch does: by the library's name, after torch brought it in. Prints the
size of the cubin. Run by test_torch.py with and without the shim."""

import ctypes

import torch  # noqa: F401

SOURCE = b'extern "C" __global__ void scale(float *x, float a) { x[threadIdx.x] *= a; }\n'


def check(code):
    if code:
        raise SystemExit(f"NVRTC error {code}")


nvrtc = ctypes.CDLL("libnvrtc.so.13")
major, minor = ctypes.c_int(), ctypes.c_int()
check(nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
program = ctypes.c_void_p()
check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), SOURCE, b"scale.cu", 0, None, None))
options = (ctypes.c_char_p * 1)(b"--gpu-architecture=sm_90")
check(nvrtc.nvrtcCompileProgram(program, 1, options))
size = ctypes.c_size_t()
check(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)))
nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
print(f"NVRTC {major.value}.{minor.value}: {size.value} bytes, {nvrtc.nvrtcGetErrorString(0).decode()}")
