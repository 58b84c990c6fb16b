// What calls of the CUDA runtime cost the host, and what the GPU adds to a kernel: nanoseconds of each, the least and the
// median of a few runs, as lines of JSON.
//
//   nvcc -O2 -arch=sm_90 -o api_calls api_calls.cu && ./api_calls
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

#define OK(call)                                                          \
  do {                                                                    \
    const cudaError_t result = (call);                                    \
    if (result != cudaSuccess) {                                          \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result)); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (false)

__global__ void Empty() {}
__global__ void Clock(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}
__global__ void Touch(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

double Now() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// `times` calls in a row, nine times, with nothing queued before.
void Row(const char* name, int times, const std::function<void()>& call) {
  std::vector<double> runs;
  for (int run = 0; run < 9; ++run) {
    OK(cudaDeviceSynchronize());
    const double begin = Now();
    for (int i = 0; i < times; ++i) call();
    runs.push_back((Now() - begin) / times);
    OK(cudaDeviceSynchronize());
  }
  std::sort(runs.begin(), runs.end());
  std::printf("{\"call\": \"%s\", \"least_ns\": %.0f, \"median_ns\": %.0f}\n", name, runs[0], runs[4]);
  std::fflush(stdout);
}

// Time on the GPU between two events around `times` launches, the host ahead.
void OnGpu(const char* name, int times, const std::function<void()>& launch) {
  cudaEvent_t begin, end;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  std::vector<double> runs;
  for (int run = 0; run < 9; ++run) {
    Clock<<<1, 1>>>(20'000'000);
    OK(cudaEventRecord(begin));
    for (int i = 0; i < times; ++i) launch();
    OK(cudaEventRecord(end));
    OK(cudaEventSynchronize(end));
    float milliseconds = 0;
    OK(cudaEventElapsedTime(&milliseconds, begin, end));
    runs.push_back(milliseconds * 1e6 / times);
  }
  std::sort(runs.begin(), runs.end());
  std::printf("{\"gpu\": \"%s\", \"least_ns\": %.0f, \"median_ns\": %.0f}\n", name, runs[0], runs[4]);
  std::fflush(stdout);
}

void Memory() {
  for (const std::size_t bytes : {std::size_t{1} << 12, std::size_t{1} << 21, std::size_t{20} << 20, std::size_t{1} << 30}) {
    char name[64];
    std::vector<void*> taken;
    std::snprintf(name, sizeof name, "cudaMalloc %zu", bytes);
    Row(name, 4, [&] {
      void* p = nullptr;
      OK(cudaMalloc(&p, bytes));
      taken.push_back(p);
    });
    std::snprintf(name, sizeof name, "cudaFree %zu", bytes);
    Row(name, 4, [&] {
      OK(cudaFree(taken.back()));
      taken.pop_back();
    });
    for (void* p : taken) OK(cudaFree(p));
    if (bytes > (std::size_t{64} << 20)) continue;
    std::snprintf(name, sizeof name, "cudaHostAlloc and cudaFreeHost %zu", bytes);
    Row(name, 4, [&] {
      void* p = nullptr;
      OK(cudaHostAlloc(&p, bytes, 0));
      OK(cudaFreeHost(p));
    });
  }
}

void Copies() {
  constexpr std::size_t kMost = std::size_t{256} << 20;
  char *device = nullptr, *other = nullptr, *pinned = nullptr;
  OK(cudaMalloc(&device, kMost));
  OK(cudaMalloc(&other, kMost));
  OK(cudaHostAlloc(&pinned, kMost, 0));
  std::vector<char> pageable(kMost, 1);
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{4} << 10, std::size_t{64} << 10, std::size_t{1} << 20,
                                  std::size_t{16} << 20, kMost}) {
    char name[64];
    const int times = bytes > (1 << 20) ? 8 : 200;
    const auto both = [&](const char* what, const std::function<void()>& call) {
      std::snprintf(name, sizeof name, "%s %zu", what, bytes);
      Row(name, times, call);
      OnGpu(name, times, call);
    };
    both("to the device, pinned", [&] { OK(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice)); });
    both("to the host, pinned", [&] { OK(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost)); });
    both("on the device", [&] { OK(cudaMemcpyAsync(other, device, bytes, cudaMemcpyDeviceToDevice)); });
    both("memset", [&] { OK(cudaMemsetAsync(device, 0, bytes)); });
    std::snprintf(name, sizeof name, "to the device, pageable %zu", bytes);
    Row(name, times, [&] { OK(cudaMemcpyAsync(device, pageable.data(), bytes, cudaMemcpyHostToDevice)); });
    std::snprintf(name, sizeof name, "to the host, pageable %zu", bytes);
    Row(name, times, [&] { OK(cudaMemcpyAsync(pageable.data(), device, bytes, cudaMemcpyDeviceToHost)); });
  }
}

void Graphs() {
  for (const int nodes : {1, 10, 100, 1000}) {
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < nodes; ++i) Empty<<<1, 32, 0, stream>>>();
    cudaGraph_t graph;
    OK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t ready;
    char name[64];
    std::snprintf(name, sizeof name, "cudaGraphInstantiate of %d kernels", nodes);
    Row(name, 1, [&] { OK(cudaGraphInstantiate(&ready, graph, 0)); });
    std::snprintf(name, sizeof name, "cudaGraphLaunch of %d kernels", nodes);
    Row(name, 20, [&] { OK(cudaGraphLaunch(ready, nullptr)); });
    OnGpu(name, 20, [&] { OK(cudaGraphLaunch(ready, nullptr)); });
  }
}

void Launches() {
  float* x = nullptr;
  OK(cudaMalloc(&x, 1 << 20));
  cudaEvent_t event, timed;
  OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  OK(cudaEventCreate(&timed));
  cudaStream_t stream;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int device = 0;
  Row("kernel launch", 500, [] { Empty<<<1, 32>>>(); });
  Row("kernel launch and cudaDeviceSynchronize", 200, [] {
    Empty<<<1, 32>>>();
    OK(cudaDeviceSynchronize());
  });
  Row("kernel launch and cudaStreamSynchronize", 200, [&] {
    Empty<<<1, 32, 0, stream>>>();
    OK(cudaStreamSynchronize(stream));
  });
  Row("cudaGetDevice", 2000, [&] { OK(cudaGetDevice(&device)); });
  Row("cudaSetDevice", 2000, [] { OK(cudaSetDevice(0)); });
  Row("cudaGetLastError", 2000, [] { OK(cudaGetLastError()); });
  Row("cudaPeekAtLastError", 2000, [] { OK(cudaPeekAtLastError()); });
  Row("cudaStreamIsCapturing", 2000, [&] {
    cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(stream, &status));
  });
  Row("cudaEventRecord without timing", 500, [&] { OK(cudaEventRecord(event, stream)); });
  Row("cudaEventRecord with timing", 500, [&] { OK(cudaEventRecord(timed, stream)); });
  Row("cudaStreamWaitEvent", 500, [&] { OK(cudaStreamWaitEvent(nullptr, event)); });
  Row("cudaEventQuery", 2000, [&] { OK(cudaEventQuery(event)); });
  Row("cudaStreamQuery", 2000, [&] { OK(cudaStreamQuery(stream)); });
  Row("cudaStreamSynchronize of an idle stream", 2000, [&] { OK(cudaStreamSynchronize(stream)); });
  Row("cudaDeviceSynchronize of an idle device", 500, [] { OK(cudaDeviceSynchronize()); });
  Row("cudaEventCreate and cudaEventDestroy", 500, [] {
    cudaEvent_t made;
    OK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    OK(cudaEventDestroy(made));
  });
  Row("cudaStreamCreate and cudaStreamDestroy", 4, [] {
    cudaStream_t made;
    OK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    OK(cudaStreamDestroy(made));
  });
  Row("cudaMemGetInfo", 20, [] {
    std::size_t free = 0, total = 0;
    OK(cudaMemGetInfo(&free, &total));
  });
  OnGpu("empty kernel", 500, [] { Empty<<<1, 32>>>(); });
  OnGpu("empty kernel of 1320 blocks", 500, [] { Empty<<<1320, 256>>>(); });
  OnGpu("kernel that touches 1 MiB", 500, [&] { Touch<<<1024, 256>>>(x); });
  for (const long long cycles : {1000LL, 5000LL, 20000LL, 100000LL}) {
    char name[64];
    std::snprintf(name, sizeof name, "kernel of %lld cycles", cycles);
    OnGpu(name, 200, [&] { Clock<<<1, 32>>>(cycles); });
  }
}

}  // namespace

int main() {
  const double begin = Now();
  OK(cudaFree(nullptr));
  std::printf("{\"call\": \"first call: context\", \"least_ns\": %.0f, \"median_ns\": %.0f}\n", Now() - begin, Now() - begin);
  std::size_t free = 0, total = 0;
  OK(cudaMemGetInfo(&free, &total));
  std::printf("{\"memory\": \"after the context\", \"free\": %zu, \"total\": %zu}\n", free, total);
  Launches();
  Graphs();
  Copies();
  Memory();
}
