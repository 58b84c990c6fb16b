// A compiled kernel<<<...>>> statement through the exported functions: push, pop, launch, record
// written. Beside it a plain call of a function that does nothing: the scale to read it by.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "services/base/clock.h"
#include "shim/core/fake_agent.h"
#include "shim/gpu/module/sample.h"
#include "shim/vendor/cuda_runtime/supplement.h"

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

// Times blocks of calls; the median block gives "median_ns", free of what interrupts a few.
template <typename Function>
void MeasureMedian(benchmark::State& state, Function call) {
  constexpr int kBlock = 64;
  const base::SystemClock clock;
  std::vector<double> nanoseconds;
  for (auto _ : state) {
    const std::int64_t begin = clock.MonotonicNs();
    for (int i = 0; i < kBlock; ++i) call();
    nanoseconds.push_back(static_cast<double>(clock.MonotonicNs() - begin) / kBlock);
  }
  const auto middle = nanoseconds.begin() + static_cast<std::ptrdiff_t>(nanoseconds.size() / 2);
  std::nth_element(nanoseconds.begin(), middle, nanoseconds.end());
  state.counters["median_ns"] = *middle;
  state.SetItemsProcessed(state.iterations() * kBlock);
}

void Nothing(cudaKernel_t, dim3, dim3, void**) {}

void CallThroughPointer(benchmark::State& state) {
  void (*function)(cudaKernel_t, dim3, dim3, void**) = Nothing;
  MeasureMedian(state, [&] {
    benchmark::DoNotOptimize(function);  // Neither inlined nor left out.
    function(nullptr, 4, 128, nullptr);
  });
}
BENCHMARK(CallThroughPointer);

void LaunchOfThreeParameters(benchmark::State& state) {
  const cudaKernel_t kernel = Find(&scale_stub);
  void* out = nullptr;
  cudaMalloc(&out, 4096);
  float factor = 2;
  unsigned count = 1;
  void* arguments[] = {&out, &factor, &count};
  MeasureMedian(state, [&] {
    count = (count + 1) % 64;  // A step has many different launches.
    // So many blocks that its values are nobody's: tiny kernels on known memory are run.
    Launch(kernel, 4096, 128, arguments);
  });
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
