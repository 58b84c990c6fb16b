// Kernels are not compiled or copied to a device: a module is an index of its functions and
// variables, made from the code for the emulated GPU and kept on disk by the code's hash, so that
// other processes need not read the code. Images that are given to the driver are copied, because
// the program may free them while launches still wait to be run for their values. Libraries and
// kernels are never freed; unloading clears their magic numbers, and a stale handle is refused.
//
// PTX is compiled where the stock compiler is found. Otherwise it has no register counts, and
// kAssumedRegisters stands for them.
#include "shim/gpu/module/module.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "services/base/hash.h"
#include "services/machine_code/cubin/image.h"
#include "shim/core/build_identity.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/memory/memory.h"
#include "shim/gpu/module/occupancy.h"
#include "shim/value/compute/launch.h"
#include "shim/value/pending.h"

namespace eidolon::shim::gpu {
namespace {

// PTX does not say how many registers the driver's compiler would use. Most kernels that a compiler
// emits as PTX use between 32 and 128; bounds that the source states are kept.
constexpr std::uint32_t kAssumedRegisters = 64;
constexpr std::uint32_t kRegisterFile = 65536;

const cubin::IndexCache& Cache() {
  static const cubin::IndexCache* const cache = [] {
    const char* folder = std::getenv("EIDOLON_INDEX_DIR");
    const base::Digest build = core::BuildIdentity();
    const bool is_kept = folder != nullptr && build != base::Digest{};
    return new cubin::IndexCache(is_kept ? folder : "", build);
  }();
  return *cache;
}

constinit std::atomic<std::uint32_t> next_module{1};

std::uint32_t Volume(const std::uint32_t (&dims)[3]) { return dims[0] * dims[1] * dims[2]; }

std::uint32_t RegistersOf(const cubin::FunctionRow& row, bool is_ptx) {
  if (!is_ptx || row.registers != 0) return row.registers;
  const std::uint32_t threads = std::max(Volume(row.block_max), Volume(row.block_required));
  return threads == 0 ? kAssumedRegisters : std::min(kAssumedRegisters, kRegisterFile / threads);
}

Status ToStatus(const base::Error& error, cubin::ImageKind kind) {
  switch (error.code) {
    case base::ErrorCode::kNotFound:
      return Status::kNoBinaryForGpu;
    case base::ErrorCode::kCorrupt:
      return kind == cubin::ImageKind::kPtx ? Status::kInvalidPtx : Status::kInvalidImage;
    default:
      return Status::kInvalidImage;
  }
}

// Libraries are never freed, so that a stale handle is seen. Those that were given out stay listed:
// a checker of leaks then finds them.
void Keep(Library* library) {
  static std::mutex mutex;
  static auto* const all = new std::vector<Library*>;
  const std::lock_guard guard(mutex);
  all->push_back(library);
}

// The kernels that were given out.
class KernelHandles {
 public:
  void Add(Kernel* kernel) {
    const std::lock_guard guard(mutex_);
    all_.insert(kernel);
  }
  Kernel* Find(const void* handle) {
    const std::lock_guard guard(mutex_);
    const auto found = all_.find(static_cast<Kernel*>(const_cast<void*>(handle)));
    return found == all_.end() ? nullptr : *found;
  }

 private:
  std::mutex mutex_;
  std::unordered_set<Kernel*> all_;
};

KernelHandles& Handles() {
  static auto* const handles = new KernelHandles;
  return *handles;
}

// PyTorch's element-wise kernels that write one tensor, whose pointer comes first.
bool IsIterator(std::string_view mangled) {
  for (const char* name : {"29vectorized_elementwise_kernel", "27unrolled_elementwise_kernel",
                           "18elementwise_kernel"}) {
    if (mangled.find(name) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

Library::Library(const void* image, std::vector<std::byte> copy)
    : copy_(std::move(copy)), image_(copy_.empty() ? image : copy_.data()) {}

Library::~Library() = default;

Status Library::Load() noexcept {
  if (loaded_.load(std::memory_order_acquire)) return outcome_;
  try {
    {
      const std::lock_guard guard(mutex_);
      if (loaded_.load(std::memory_order_relaxed)) return outcome_;
      outcome_ = LoadLocked();
      if (outcome_ == Status::kSuccess) number_ = next_module.fetch_add(1);
      // Without a session the answer may still change.
      if (outcome_ != Status::kNoDevice) loaded_.store(true, std::memory_order_release);
      if (outcome_ != Status::kSuccess) return outcome_;
    }
    TellObserver(core::ResourceEvent::kModuleLoaded);
    return Status::kSuccess;
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

Status Library::LoadLocked() {
  if (DeviceCount() == 0) return Status::kNoDevice;
  const auto image = cubin::FindImage(image_);
  if (!image) return Status::kInvalidImage;
  const ring::DeviceProperties& device = PropertiesOf(0);
  auto loaded = Cache().Load(*image, {device.compute_major, device.compute_minor});
  if (!loaded) return ToStatus(loaded.error(), image->kind);
  loaded_index_ = std::move(*loaded);
  return Status::kSuccess;
}

void Library::TellObserver(core::ResourceEvent event) noexcept {
  if (core::WhoSeesResources() == nullptr) return;
  try {
    std::vector<std::byte> code;
    const auto image = cubin::FindImage(image_);
    if (image && index().header().is_ptx == 0) {
      const ring::DeviceProperties& device = PropertiesOf(0);
      auto found = cubin::CodeFor(*image, {device.compute_major, device.compute_minor});
      if (found) code = std::move(*found);
    }
    core::TellOfResource({.event = event, .module = number_, .cubin = code});
  } catch (...) {
    // Without memory for the code nobody is told.
  }
}

void Library::UnloadForProgram() noexcept {
  if (alive() && number_ != 0) TellObserver(core::ResourceEvent::kModuleUnloadStarting);
  Unload();
}

const cubin::Index& Library::index() const noexcept { return loaded_index_->index(); }

Kernel* Library::MakeKernel(const cubin::FunctionRow& row) {
  const cubin::Index& index = loaded_index_->index();
  const ring::DeviceProperties& device = PropertiesOf(0);
  auto kernel = std::make_unique<Kernel>();
  kernel->library = this;
  kernel->name = index.NameOf(row);
  kernel->row = &row;
  kernel->parameters = index.ParametersOf(row);
  kernel->registers = RegistersOf(row, index.header().is_ptx != 0);
  kernel->block_threads_max = ThreadsPerBlockMax(device, kernel->registers);
  for (const auto* bound : {&row.block_max, &row.block_required}) {
    if (Volume(*bound) != 0) {
      kernel->block_threads_max = std::min(kernel->block_threads_max, Volume(*bound));
    }
  }
  kernel->seed = base::Hash64(kernel->name.data(), kernel->name.size(), index.header().content.low);
  kernel->author = value::InternAuthor(kernel->name);
  kernel->writes_first_only = IsIterator(kernel->name);
  kernel->joins_tensors = kernel->name.find("CatArrayBatchedCopy") != std::string_view::npos;
  kernel->dynamic_shared_max = device.shared_bytes_per_block -
                               std::min(device.shared_bytes_per_block, row.static_shared_bytes);
  kernel->magic = Kernel::kMagic;
  Handles().Add(kernel.get());
  return kernels_.emplace(index.NameOf(row), std::move(kernel)).first->second.get();
}

Status Library::FindKernel(std::string_view name, Kernel** result) noexcept {
  if (const Status status = Load(); status != Status::kSuccess) return status;
  try {
    const std::lock_guard guard(mutex_);
    if (!alive()) return Status::kInvalidHandle;
    const auto found = kernels_.find(name);
    if (found != kernels_.end()) {
      *result = found->second.get();
      return Status::kSuccess;
    }
    const cubin::FunctionRow* row = index().FindFunction(name);
    if (row == nullptr) return Status::kNotFound;
    *result = MakeKernel(*row);
    return Status::kSuccess;
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

std::vector<Kernel*> Library::Kernels() {
  std::vector<Kernel*> kernels;
  for (const cubin::FunctionRow& row : index().functions()) {
    Kernel* kernel = nullptr;
    if (FindKernel(index().NameOf(row), &kernel) == Status::kSuccess) kernels.push_back(kernel);
  }
  return kernels;
}

Status Library::FindVariable(std::string_view name, int device, Variable* result) noexcept {
  if (const Status status = Load(); status != Status::kSuccess) return status;
  try {
    const std::lock_guard guard(mutex_);
    if (!alive()) return Status::kInvalidHandle;
    const cubin::VariableRow* row = index().FindVariable(name);
    if (row == nullptr) return Status::kNotFound;
    Variable& variable = variables_[{std::string(name), device}];
    if (variable.address == 0) {
      // Part of the module's memory on a real GPU, so it is booked with the context.
      const Status status =
          Allocate(device, row->bytes, &variable.address, ring::MemoryCategory::kContext);
      if (status != Status::kSuccess) return status;
      variable.bytes = row->bytes;
      Show(name, device, variable);
    }
    *result = variable;
    return Status::kSuccess;
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

// Requires: mutex_ is held.
void Library::Show(std::string_view name, int device, const Variable& variable) {
  // Launches that nobody has looked at yet name the lists of their time.
  static constinit std::mutex keeping;
  static auto* const kept = new std::deque<compute::ShownVariables>;
  const compute::ShownVariable shown{std::string(name), variable.address, variable.bytes};
  const compute::ShownVariables*& latest = shown_[device];
  {
    const std::lock_guard guard(keeping);
    kept->push_back(latest == nullptr ? compute::ShownVariables{} : *latest);
    kept->back().push_back(shown);
    latest = &kept->back();
  }
  has_used_variables_.store(true, std::memory_order_release);
  const ring::DeviceProperties& properties = PropertiesOf(device);
  compute::ShowVariable(image_, {properties.compute_major, properties.compute_minor}, shown);
  if (!compute::IsOn()) value::ProcessPending().PerformReady();
}

const compute::ShownVariables* Library::ShownOn(int device) noexcept {
  if (!has_used_variables_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard guard(mutex_);
  const auto found = shown_.find(device);
  return found == shown_.end() ? nullptr : found->second;
}

void Library::Unload() noexcept {
  const std::lock_guard guard(mutex_);
  if (!alive()) return;
  magic_.store(0, std::memory_order_relaxed);
  for (auto& [name, kernel] : kernels_) kernel->magic = 0;
  for (auto& [key, variable] : variables_) Free(variable.address);
  variables_.clear();
}

Library* LookupLibrary(const void* handle) noexcept {
  auto* library = static_cast<Library*>(const_cast<void*>(handle));
  return library != nullptr && library->alive() ? library : nullptr;
}

Kernel* LookupKernel(const void* handle) noexcept {
  auto* kernel = static_cast<Kernel*>(const_cast<void*>(handle));
  return kernel != nullptr && kernel->magic == Kernel::kMagic ? kernel : nullptr;
}

Kernel* LookupKernelAt(const void* address) noexcept {
  return LookupKernel(Handles().Find(address));
}

namespace {

// Machine code of PTX; nothing where there is no compiler.
Status Compile(const cubin::FoundImage& image, Compilation& compilation,
               std::vector<std::byte>& code) {
  if (DeviceCount() == 0) return Status::kNoDevice;
  const ring::DeviceProperties& device = PropertiesOf(0);
  const cubin::Capability capability = {device.compute_major, device.compute_minor};
  if (const auto index = Cache().Load(image, capability); !index) {
    return ToStatus(index.error(), image.kind);
  }
  link::Linkage linkage(capability, compilation.settings);
  link::Outcome outcome = linkage.Add(link::Input::kPtx, image.bytes, "ptx input");
  if (outcome == link::Outcome::kDone) outcome = linkage.Complete();
  compilation.errors = linkage.errors();
  compilation.remarks = linkage.remarks();
  if (outcome == link::Outcome::kInvalid) return Status::kInvalidPtx;
  if (outcome == link::Outcome::kDone) code = std::move(linkage.code());
  return Status::kSuccess;
}

}  // namespace

Status LoadImage(const void* image, Library** result, Compilation* compilation) noexcept {
  if (image == nullptr) return Status::kInvalidValue;
  try {
    // The program may free its image, but kernels are run for their values later.
    std::vector<std::byte> copy;
    const auto found = cubin::FindImage(image);
    if (found && found->kind == cubin::ImageKind::kPtx) {
      Compilation by_default;
      const Status status = Compile(*found, compilation ? *compilation : by_default, copy);
      if (status != Status::kSuccess) return status;
    } else if (found) {
      copy.assign(found->bytes.begin(), found->bytes.end());
    }
    auto library = std::make_unique<Library>(image, std::move(copy));
    const Status status = library->Load();
    if (status != Status::kSuccess) return status;
    Keep(library.get());
    *result = library.release();
    return Status::kSuccess;
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

Status LoadImageFile(const char* path, Library** result, Compilation* compilation) noexcept {
  try {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Status::kFileNotFound;
    // The string's end is the NUL that PTX needs.
    const std::string image(std::istreambuf_iterator<char>(file), {});
    constexpr std::size_t kSmallest = 64;  // FindImage reads that far.
    if (image.size() < kSmallest) return Status::kInvalidImage;
    return LoadImage(image.data(), result, compilation);
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

}  // namespace eidolon::shim::gpu
