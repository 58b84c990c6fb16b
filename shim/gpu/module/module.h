// Device code in the process: libraries (a fat binary registered by the runtime, or code given to
// the driver), their kernels and their variables.
//
// One Library stands for CUmodule, CUlibrary and a registered fat binary alike, one Kernel for
// CUfunction, CUkernel, cudaFunction_t and cudaKernel_t: all emulated GPUs of a process are of one
// model, so code is chosen once. Registered binaries are opened when one of their kernels is first
// needed; code given to the driver at once, because the program may free it. Objects are never
// freed, so that stale handles are refused instead of crashing.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/machine_code/cubin/index.h"
#include "shim/api/link/linkage.h"
#include "shim/core/resource_observer.h"
#include "shim/gpu/status.h"
#include "shim/value/author_table.h"
#include "shim/value/compute/machine_code.h"

namespace eidolon::cubin {
class LoadedIndex;
}

namespace eidolon::shim::gpu {

class Library;

class IdleParameters;
class OptimizerKernel;

struct Kernel {
  static constexpr std::uint32_t kMagic = 0x454b524e;

  std::uint32_t magic = 0;  // kMagic while its library is loaded.
  Library* library = nullptr;
  std::string name;  // Mangled.
  const cubin::FunctionRow* row = nullptr;
  std::span<const cubin::Parameter> parameters;
  std::uint32_t registers = 0;
  std::uint32_t block_threads_max = 0;
  std::uint64_t seed = 0;  // Of the hash of its launches: differs from every other kernel's.
  value::Author author = value::kNobody;  // Of what it writes.
  bool writes_first_only = false;         // Of its pointers: surely one of PyTorch's iterators.
  bool joins_tensors = false;             // Each by a row of blocks: PyTorch's concatenation.
  // Settable attributes. dynamic_shared_max is what a launch may ask for.
  std::atomic<std::uint32_t> dynamic_shared_max{0};
  std::atomic<std::int32_t> carveout{-1};
  std::atomic<std::int32_t> cache_preference{0};
  std::atomic<bool> non_portable_cluster{false};
  std::atomic<std::int32_t> required_cluster[3] = {0, 0, 0};
  std::atomic<std::int32_t> cluster_policy{0};
  mutable std::atomic<const IdleParameters*> idle{nullptr};  // IdleParametersOf(); never freed.
  mutable std::atomic<std::uint8_t> grouped_role{0};         // grouped_gemm.h; 0: not asked yet.
  mutable std::atomic<const OptimizerKernel*> optimizer{nullptr};  // optimizer_kernel.h.
};

struct Variable {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

// Thread safe.
class Library {
 public:
  static constexpr std::uint32_t kMagic = 0x454c4942;

  // Does not look at the image, which stays where it is for as long as the process lives; or, with
  // `copy`, is a part of that.
  explicit Library(const void* image, std::vector<std::byte> copy = {});
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  bool alive() const noexcept { return magic_.load(std::memory_order_relaxed) == kMagic; }
  const void* image() const noexcept { return image_; }

  // Finds the code for the emulated GPU; the first answer is kept.
  Status Load() noexcept;
  // kNotFound when there is no such kernel. Loads.
  Status FindKernel(std::string_view name, Kernel** result) noexcept;
  // The variable's memory on a device, allocated on first use. Loads.
  Status FindVariable(std::string_view name, int device, Variable* result) noexcept;
  // All kernels, in the order of their names. Requires: loaded.
  std::vector<Kernel*> Kernels();
  const cubin::Index& index() const noexcept;

  // The variables that somebody asked for the memory of on the device: null when there are none.
  // Stays as it is, also after the library.
  const compute::ShownVariables* ShownOn(int device) noexcept;

  // The code is gone: kernels become invalid handles and variables are freed.
  void Unload() noexcept;
  // The same when the program asks for it, which an observer of resources is told.
  void UnloadForProgram() noexcept;

 private:
  Status LoadLocked();
  void TellObserver(core::ResourceEvent event) noexcept;
  void Show(std::string_view name, int device, const Variable& variable);
  Kernel* MakeKernel(const cubin::FunctionRow& row);

  std::atomic<std::uint32_t> magic_{kMagic};
  std::atomic<bool> loaded_{false};
  std::atomic<bool> has_used_variables_{false};
  std::atomic<std::uint32_t> number_{0};  // Among the modules of the process; 0: not loaded.
  const std::vector<std::byte> copy_;
  const void* image_;
  std::mutex mutex_;  // Guards everything below; loaded_ publishes loaded_index_.
  Status outcome_ = Status::kSuccess;
  std::unique_ptr<cubin::LoadedIndex> loaded_index_;
  std::map<std::string_view, std::unique_ptr<Kernel>> kernels_;
  std::map<std::pair<std::string, int>, Variable> variables_;
  std::map<int, const compute::ShownVariables*> shown_;  // By device.
};

// The object of a handle that the program holds; nullptr when it is none (any more).
Library* LookupLibrary(const void* handle) noexcept;
Kernel* LookupKernel(const void* handle) noexcept;
// The same for an address that may be anything else, such as a function of the program: the memory
// there is not read.
Kernel* LookupKernelAt(const void* address) noexcept;

// Options for compiling PTX, and the compiler's output.
struct Compilation {
  link::Settings settings;
  std::string errors;
  std::string remarks;
};

// Loads code from memory (fat binary, cubin, PTX), which may be freed afterwards. PTX is compiled;
// where the stock compiler is not beside the program's libraries, its kernels have shapes and no
// values.
Status LoadImage(const void* image, Library** result, Compilation* compilation = nullptr) noexcept;
// The same from a file; kFileNotFound when it cannot be read.
Status LoadImageFile(const char* path, Library** result,
                     Compilation* compilation = nullptr) noexcept;

}  // namespace eidolon::shim::gpu
