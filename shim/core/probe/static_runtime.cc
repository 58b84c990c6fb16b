// A program that links the CUDA runtime statically, as nvcc does unless it is told otherwise, and
// checks what it gets back: devices, memory, copies, events, a kernel that NVRTC compiled, a reset.
// Ends with 1 and a line on standard error at the first thing that is not right.
#include <cuda_runtime.h>
#include <nvrtc.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int kElements = 1024;
constexpr std::size_t kBytes = kElements * sizeof(float);
constexpr const char* kSource =
    "extern \"C\" __global__ void add(float* to, float what) {\n"
    "  to[blockIdx.x * blockDim.x + threadIdx.x] += what;\n"
    "}\n";

bool Right(cudaError_t answer, const char* call) {
  if (answer == cudaSuccess) return true;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(answer));
  return false;
}

bool Right(bool holds, const char* what) {
  if (!holds) std::fprintf(stderr, "not so: %s\n", what);
  return holds;
}

#define NEED(call)                       \
  do {                                   \
    if (!Right((call), #call)) return 1; \
  } while (false)

std::string Compile() {
  nvrtcProgram program = nullptr;
  const char* options[] = {"-arch=sm_90"};
  std::size_t bytes = 0;
  if (nvrtcCreateProgram(&program, kSource, "add.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS ||
      nvrtcCompileProgram(program, 1, options) != NVRTC_SUCCESS ||
      nvrtcGetCUBINSize(program, &bytes) != NVRTC_SUCCESS) {
    return {};
  }
  std::string cubin(bytes, '\0');
  return nvrtcGetCUBIN(program, cubin.data()) == NVRTC_SUCCESS ? cubin : std::string();
}

// Adds 2 to ones on a stream, between two events.
int LaunchAndRead(cudaKernel_t kernel) {
  float* numbers = nullptr;
  std::vector<float> host(kElements, 1.0f);
  cudaStream_t stream = nullptr;
  cudaEvent_t before = nullptr;
  cudaEvent_t after = nullptr;
  float what = 2;
  float milliseconds = 0;
  void* arguments[] = {&numbers, &what};
  NEED(cudaMalloc(&numbers, kBytes));
  NEED(cudaMemcpy(numbers, host.data(), kBytes, cudaMemcpyHostToDevice));
  NEED(cudaStreamCreate(&stream));
  NEED(cudaEventCreate(&before));
  NEED(cudaEventCreate(&after));
  NEED(cudaEventRecord(before, stream));
  NEED(cudaLaunchKernel(kernel, dim3(4), dim3(kElements / 4), arguments, 0, stream));
  NEED(cudaEventRecord(after, stream));
  NEED(cudaEventSynchronize(after));
  NEED(cudaEventElapsedTime(&milliseconds, before, after));
  NEED(milliseconds > 0);
  NEED(cudaMemcpyAsync(host.data(), numbers, kBytes, cudaMemcpyDeviceToHost, stream));
  NEED(cudaStreamSynchronize(stream));
  NEED(host.front() == 3.0f && host.back() == 3.0f);
  NEED(cudaFree(numbers));
  return 0;
}

int Run() {
  int devices = 0;
  cudaDeviceProp properties;
  NEED(cudaGetDeviceCount(&devices));
  NEED(devices == 2);
  NEED(cudaGetDeviceProperties(&properties, 1));
  NEED(std::string(properties.name).find("H100") != std::string::npos);
  const std::string cubin = Compile();
  NEED(!cubin.empty());
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  NEED(cudaLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  NEED(cudaLibraryGetKernel(&kernel, library, "add"));
  for (int device = 0; device < devices; ++device) {
    NEED(cudaSetDevice(device));
    if (LaunchAndRead(kernel) != 0) return 1;
  }
  NEED(cudaMalloc(nullptr, 1) == cudaErrorInvalidValue);
  NEED(cudaGetLastError() == cudaErrorInvalidValue);
  NEED(cudaDeviceReset());
  return LaunchAndRead(kernel);
}

}  // namespace

int main() { return Run(); }
