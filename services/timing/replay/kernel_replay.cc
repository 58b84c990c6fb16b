// A kernel's code, its launch and its parameters are the program's own; only memory is the
// worker's. Pointers are known by the tag that the shim leaves in the blanked block: every other
// word must stay as it is, even when it looks like an address. A pointer outside of the rank's
// allocations would fault or read what was never there, and is refused. Modules stay loaded, the
// most recent first, up to a number.
#include "services/timing/replay/kernel_replay.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "services/base/text.h"
#include "services/timing/kernel/parameters.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;
using base::StrCat;

namespace {

constexpr std::uint32_t kPortableCluster = 8;
constexpr std::uint32_t kDefaultShared = 48 << 10;

bool Holds(const std::vector<MemoryRange>& ranges, std::uint64_t address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const MemoryRange& range) { return address - range.begin < range.bytes; });
}

}  // namespace

Modules::~Modules() {
  for (const auto& [file, module] : loaded_) driver_.cuModuleUnload(module);
}

Result<CUmodule> Modules::Load(const std::string& file) {
  const auto found = std::find_if(loaded_.begin(), loaded_.end(),
                                  [&](const auto& entry) { return entry.first == file; });
  if (found != loaded_.end()) {
    loaded_.splice(loaded_.begin(), loaded_, found);
    return loaded_.front().second;
  }
  std::ifstream in(file, std::ios::binary);
  // The string's end is the NUL that PTX needs.
  const std::string code(std::istreambuf_iterator<char>(in), {});
  if (!in || code.empty()) {
    return base::Fail(ErrorCode::kNotFound, StrCat("no code in '", file, "'"));
  }
  if (loaded_.size() >= kLoadedMax) {
    driver_.cuModuleUnload(loaded_.back().second);
    loaded_.pop_back();
  }
  CUmodule module = nullptr;
  const CUresult result = driver_.cuModuleLoadData(&module, code.data());
  if (result != CUDA_SUCCESS) {
    return std::unexpected(driver_.Check(result, "loading the module").error());
  }
  loaded_.emplace_front(file, module);
  return module;
}

Result<std::string> PlaceParameters(const kernel::KernelLaunch& launch, const KernelMemory& memory,
                                    const Mirror& mirror) {
  if (memory.parameters.size() != launch.parameters.size()) {
    return base::Fail(ErrorCode::kInvalidArgument,
                      StrCat("parameters of ", memory.parameters.size(), " bytes for a block of ",
                             launch.parameters.size()));
  }
  const kernel::Parameters blanked(launch);
  std::string placed = memory.parameters;
  for (std::size_t at = 0; at + 8 <= placed.size(); at += 8) {
    if (!blanked.IsPointer(at)) continue;
    std::uint64_t address = 0;
    std::memcpy(&address, placed.data() + at, 8);
    if (address == blanked.At<std::uint64_t>(at))
      continue;  // What no call initialised may hold a tag of an older block.
    // Freed memory, or an end: what the kernel does with it is not known.
    if (!Holds(memory.allocations, address)) {
      return base::Fail(ErrorCode::kUnsupported,
                        StrCat("the pointer at byte ", at, " points into no allocation"));
    }
    address = mirror.Translate(address);
    std::memcpy(placed.data() + at, &address, 8);
  }
  return placed;
}

Result<std::unique_ptr<KernelCall>> KernelCall::Prepare(const Driver& driver, CUmodule module,
                                                        const kernel::KernelLaunch& launch,
                                                        std::string parameters) {
  std::unique_ptr<KernelCall> call(new KernelCall(driver));
  call->parameters_ = std::move(parameters);
  CUresult result = driver.cuModuleGetFunction(&call->function_, module, launch.name.c_str());
  if (result != CUDA_SUCCESS) {
    return std::unexpected(driver.Check(result, "finding the function").error());
  }
  if (launch.dynamic_shared_bytes + launch.static_shared_bytes > kDefaultShared) {
    result =
        driver.cuFuncSetAttribute(call->function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  static_cast<int>(launch.dynamic_shared_bytes));
    if (result != CUDA_SUCCESS) {
      return std::unexpected(driver.Check(result, "asking for shared memory").error());
    }
  }
  CUlaunchAttribute attribute{};
  if (launch.cluster.x != 0) {
    if (launch.cluster.Count() > kPortableCluster) {
      driver.cuFuncSetAttribute(call->function_,
                                CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    }
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
    call->attributes_.push_back(attribute);
  }
  if (launch.cooperative) {
    attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
    call->attributes_.push_back(attribute);
  }
  call->config_ = {.gridDimX = launch.grid.x,
                   .gridDimY = launch.grid.y,
                   .gridDimZ = launch.grid.z,
                   .blockDimX = launch.block.x,
                   .blockDimY = launch.block.y,
                   .blockDimZ = launch.block.z,
                   .sharedMemBytes = launch.dynamic_shared_bytes,
                   .hStream = nullptr,
                   .attrs = call->attributes_.data(),
                   .numAttrs = static_cast<unsigned>(call->attributes_.size())};
  return call;
}

Result<void> KernelCall::Enqueue(CUstream stream) {
  config_.hStream = stream;
  std::size_t bytes = parameters_.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, parameters_.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &bytes, CU_LAUNCH_PARAM_END};
  return driver_.Check(driver_.cuLaunchKernelEx(&config_, function_, nullptr, extra),
                       "launching the kernel");
}

}  // namespace eidolon::timing::replay
