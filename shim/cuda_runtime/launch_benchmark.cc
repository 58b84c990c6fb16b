// A compiled kernel<<<...>>> statement through the exported functions: push, pop, launch, record
// written.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <cstring>

#include "shim/core/fake_agent.h"
#include "shim/cuda_runtime/supplement.h"
#include "shim/gpu/sample.h"

namespace eidolon::shim {
namespace {

char scale_stub;
char tile_stub;
char bulk_stub;

cudaKernel_t Find(const char* stub) {
  static const bool registered = [] {
    core::FakeAgent::Start({.keep_records = false});
    static gpu::SampleWrapper wrapper;
    void** handle = __cudaRegisterFatBinary(&wrapper);
    const auto add = [&](const char* host, const char* name) {
      __cudaRegisterFunction(handle, host, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr,
                             nullptr);
    };
    add(&scale_stub, "scale");
    add(&tile_stub, "tile");
    add(&bulk_stub, "_Z4bulkPN3foo3BarE");
    __cudaRegisterFatBinaryEnd(handle);
    return true;
  }();
  benchmark::DoNotOptimize(registered);
  cudaKernel_t kernel = nullptr;
  __cudaGetKernel(&kernel, stub);
  return kernel;
}

void Launch(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments) {
  __cudaPushCallConfiguration(grid, block, 0, nullptr);
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
  __cudaPopCallConfiguration(&grid, &block, &shared, &stream);
  __cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

void LaunchOfThreeParameters(benchmark::State& state) {
  const cudaKernel_t kernel = Find(&scale_stub);
  void* out = nullptr;
  cudaMalloc(&out, 4096);
  float factor = 2;
  unsigned count = 1;
  void* arguments[] = {&out, &factor, &count};
  for (auto _ : state) {
    count = (count + 1) % 64;  // A step has many different launches.
    Launch(kernel, 4, 128, arguments);
  }
}
BENCHMARK(LaunchOfThreeParameters);

void LaunchOfFourKilobytes(benchmark::State& state) {
  const cudaKernel_t kernel = Find(&bulk_stub);
  void* out = nullptr;
  cudaMalloc(&out, 4096);
  static std::byte lists[4200];
  for (std::size_t i = 0; i < 400; ++i) std::memcpy(lists + i * 8, &out, 8);
  void* arguments[] = {lists, &out};
  for (auto _ : state) Launch(kernel, 4, 128, arguments);
}
BENCHMARK(LaunchOfFourKilobytes);

void Register(benchmark::State& state) {
  static gpu::SampleWrapper wrapper;
  void** handle = __cudaRegisterFatBinary(&wrapper);
  static char hosts[1 << 16];
  std::size_t next = 0;
  for (auto _ : state) {
    __cudaRegisterFunction(handle, &hosts[next++ % sizeof(hosts)], nullptr, "scale", -1, nullptr,
                           nullptr, nullptr, nullptr, nullptr);
  }
  __cudaUnregisterFatBinary(handle);
}
BENCHMARK(Register)->Iterations(1 << 20);

}  // namespace
}  // namespace eidolon::shim
