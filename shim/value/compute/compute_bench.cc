// Measures the cost of running kernels for their values: two of torch's own, from the library that
// the environment variable EIDOLON_BENCH_LIBRARY names (libtorch_cuda.so).
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "services/machine_code/cubin/image.h"
#include "services/machine_code/cubin/mapped_library.h"
#include "shim/value/compute/launch.h"
#include "shim/value/compute/machine_code.h"
#include "shim/value/compute/page_memory.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

constexpr cubin::Capability kDevice = {9, 0};
constexpr std::uint64_t kBuffer = 0x6b0100000000;
constexpr std::uint64_t kOther = kBuffer + (1 << 20);
constexpr Arena kArena{.holds = [](std::uint64_t a) { return a - kBuffer < (2 << 20); },
                       .find_buffer = [](std::uint64_t a) -> std::optional<Arena::Range> {
                         const std::uint64_t begin = a & ~std::uint64_t{(1 << 20) - 1};
                         return Arena::Range(begin, begin + (1 << 20));
                       },
                       .version = [] { return std::uint64_t{1}; }};

// x.add_(number) and gelu(x), of contiguous float32.
constexpr std::string_view kAdd =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_21CUDAFunctorOnSelf_"
    "addIfEESt5arrayIPcLm2E"
    "ELb0EEEviT0_T1_";
constexpr std::string_view kGelu =
    "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_18GeluCUDAKernelImplERNS_"
    "18TensorIteratorBaseENS0_8GeluTypeEENKUlvE0_clEvENKUlvE0_clEvEUlfE_St5arrayIPcLm2EELb0EEEviT0_"
    "T1_";

const std::byte* SeekContainer(std::string_view kernel) {
  // Mapped as long as the process lives: what is learned about a kernel names it.
  static const auto* const library = [] {
    const char* path = std::getenv("EIDOLON_BENCH_LIBRARY");
    return new cubin::MappedLibrary(path == nullptr ? "" : path);
  }();
  static const auto containers = library->Containers();
  for (const std::byte* container : containers) {
    const auto image = cubin::FindImage(container);
    if (!image) continue;
    const auto found = cubin::IndexCache({}).Load(*image, kDevice);
    if (found && (*found)->index().FindFunction(kernel) != nullptr) return container;
  }
  return nullptr;
}

// The kernel's container in the library, or null.
const std::byte* FindContainer(std::string_view kernel) {
  static auto* const found = new std::map<std::string_view, const std::byte*>;
  const auto [place, added] = found->try_emplace(kernel);
  if (added) place->second = SeekContainer(kernel);
  return place->second;
}

template <typename Functor>
std::vector<std::byte> Parameters(std::uint32_t count, const Functor& functor, std::uint64_t to,
                                  std::uint64_t from) {
  std::vector<std::byte> block(16);
  std::memcpy(block.data(), &count, 4);
  std::memcpy(block.data() + 4, &functor, sizeof(functor));
  if (sizeof(functor) < 4) block.resize(8);
  const std::array<std::uint64_t, 2> pointers = {to, from};
  const auto* bytes = reinterpret_cast<const std::byte*>(pointers.data());
  block.insert(block.end(), bytes, bytes + sizeof(pointers));
  return block;
}

float ValueAt(std::uint64_t address) {
  float value = 0;
  value::ProcessPending().Read(address, &value, sizeof(value), 0, nullptr);
  return value;
}

// Recorded and then run because somebody looks: all of it, without the launch.
void AddToTenElements(benchmark::State& state) {
  const std::byte* const image = FindContainer(kAdd);
  if (image == nullptr) return state.SkipWithError("EIDOLON_BENCH_LIBRARY has no such kernel");
  constexpr std::array<float, 2> kOne = {1, 1};  // What is added, and times what.
  constexpr int kLaunches = 1000;
  const auto parameters = Parameters(10, kOne, kBuffer, kBuffer);
  const std::array<PointerWord, 2> pointers = {{{16, kBuffer}, {24, kBuffer}}};
  const RecordedKernel kernel{.image = image, .name = kAdd, .device = kDevice};
  const RecordedShape shape{.grid = {1, 1, 1}, .block = {128, 1, 1}};
  for (auto _ : state) {
    value::ProcessPending().Fill(kBuffer, 0, 4, 40);
    for (int i = 0; i < kLaunches; ++i)
      Record(kernel, shape, 1, {.block = parameters, .pointers = pointers, .block_stays = true},
             kArena);
    if (ValueAt(kBuffer + 36) != kLaunches) return state.SkipWithError("the sum is wrong");
  }
  state.SetItemsProcessed(state.iterations() * kLaunches);
}
BENCHMARK(AddToTenElements);

// Thread instructions a second, of 64 Ki elements.
void Interpret(benchmark::State& state) {
  const std::byte* const image = FindContainer(kGelu);
  if (image == nullptr) return state.SkipWithError("EIDOLON_BENCH_LIBRARY has no such kernel");
  constexpr std::uint32_t kElements = 64 << 10;
  constexpr std::uint32_t kBlockElements = 1024;
  value::Store store;
  const std::vector<float> input(kElements, 0.75f);
  store.Write(kOther, input.data(), 4 * kElements);
  const MachineCode& code = FindMachineCode(image, kGelu, kDevice, store);
  if (code.program == nullptr) return state.SkipWithError(code.refusal.c_str());
  const auto parameters = Parameters(kElements, std::byte{}, kBuffer, kOther);
  interpret::Workspace workspace;
  PageStock stock;
  std::uint64_t steps = 0;
  for (auto _ : state) {
    PageMemory memory(store, kArena, stock);
    const interpret::Outcome outcome = interpret::Run(*code.program,
                                                      {.grid = {kElements / kBlockElements, 1, 1},
                                                       .block = {128, 1, 1},
                                                       .parameters = parameters},
                                                      memory, {}, workspace);
    steps += outcome.lane_steps;
    const auto written = memory.Written();
    std::uint64_t bytes = 0;
    for (const auto& [begin, end] : written) bytes += end - begin;
    if (outcome.stop != interpret::Stop::kNone || bytes != 4 * kElements) {
      return state.SkipWithError("the kernel did not write all of its output");
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(steps));
}
BENCHMARK(Interpret);

}  // namespace
}  // namespace eidolon::shim::compute
