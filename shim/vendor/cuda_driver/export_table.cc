// A statically linked runtime asks for these tables before anything else, and calls their entries
// by index without names or checks. Every entry is therefore a function from the start: the known
// ones are set, and each of the others is an instance of Refuse with its table and number in its
// name, so that a report shows what a program would need. Names are built at compile time and live
// for ever, as refusals keep pointers to them. Tables are made once and never moved, because the
// digest covers their addresses. Entries with a cost go through core::Enter as the exported call
// that they stand for.
#include "shim/vendor/cuda_driver/export_table.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "shim/core/enter.h"
#include "shim/core/spin_lock.h"
#include "shim/vendor/cuda_driver/context.h"
#include "shim/vendor/cuda_driver/context_storage.h"
#include "shim/vendor/cuda_driver/device.h"
#include "shim/vendor/cuda_driver/driver_digest.h"
#include "shim/vendor/cuda_driver/module.h"
#include "shim/vendor/cuda_driver/start.h"

namespace eidolon::shim::cuda_driver::export_table {
namespace {

using TableId = std::array<std::uint8_t, 16>;

constexpr TableId kRuntimeInterface = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                       0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
constexpr TableId kRuntimeInterface13 = {0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48,
                                         0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2};
constexpr TableId kToolsHooks = {0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74,
                                 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66};
constexpr TableId kToolsThreads = {0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47,
                                   0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc};
constexpr TableId kContextStorage = {0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11,
                                     0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93};
constexpr TableId kContextChecks = {0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43,
                                    0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa, 0x7e};
constexpr TableId kDriverDigest = {0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b,
                                   0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2};

// NVRTC asks for the first before it compiles anything, a statically linked runtime for the second
// before anything else. Both go on without.
constexpr std::array<TableId, 2> kDoneWithout = {
    {{0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41, 0xa5, 0xc0, 0x4f, 0x26, 0xd5, 0x33, 0xe3,
      0x28},
     {0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d,
      0xd9}}};

// "cuGetExportTable <UUID> entry <number>"; refusals keep their names for ever.
struct EntryName {
  char text[72] = {};

  constexpr EntryName(const TableId& id, int entry) {
    int at = 0;
    for (const char* c = "cuGetExportTable "; *c != '\0'; ++c) text[at++] = *c;
    for (std::size_t i = 0; i < id.size(); ++i) {
      if (i == 4 || i == 6 || i == 8 || i == 10) text[at++] = '-';
      text[at++] = "0123456789abcdef"[id[i] >> 4];
      text[at++] = "0123456789abcdef"[id[i] & 15];
    }
    if (entry < 0) return;
    for (const char* c = " entry "; *c != '\0'; ++c) text[at++] = *c;
    if (entry >= 10) text[at++] = static_cast<char>('0' + entry / 10);
    text[at++] = static_cast<char>('0' + entry % 10);
  }
};

template <TableId kId, int kEntry>
CUresult Refuse() noexcept {
  static constexpr EntryName kName(kId, kEntry);
  return core::Rejected(kName.text, CUDA_ERROR_NOT_SUPPORTED);
}

// A table of kCount words. The first word is the table's size in bytes, in those that have one;
// entries that nobody set are refusals.
template <TableId kId, int kCount>
class Table {
 public:
  explicit Table(bool has_size) noexcept {
    [this]<int... kEntries>(std::integer_sequence<int, kEntries...>) {
      ((words_[kEntries] = reinterpret_cast<std::uintptr_t>(&Refuse<kId, kEntries>)), ...);
    }
    (std::make_integer_sequence<int, kCount>());
    if (has_size) words_[0] = sizeof(words_);
  }
  template <typename Function>
  void Set(int entry, Function* function) noexcept {
    words_[static_cast<std::size_t>(entry)] = reinterpret_cast<std::uintptr_t>(function);
  }
  const void* words() const noexcept { return words_.data(); }
  const void* entry(int number) const noexcept {
    return reinterpret_cast<const void*>(words_[static_cast<std::size_t>(number)]);
  }

 private:
  std::array<std::uintptr_t, kCount> words_;
};

// Entries of the runtime's interface.

// Loads a wrapped fat binary, as compilers embed it.
CUresult LoadWrapped(CUmodule* module, const void* wrapper) noexcept {
  return core::Enter("cuModuleLoadData", ring::CallClass::kModule, CUDA_ERROR_UNKNOWN,
                     [&] { return module::LoadData(module, wrapper); });
}

CUresult LoadWrappedWithOptions(CUmodule* module, const void* wrapper, void*, void*,
                                std::size_t) noexcept {
  return LoadWrapped(module, wrapper);
}

// Loads the bare container.
CUresult LoadContainer(const void* container, CUmodule* module, void*, void*, unsigned) noexcept {
  return LoadWrapped(module, container);
}

CUresult PrimaryContext(CUcontext* context, CUdevice device) noexcept {
  return core::Enter("cuDevicePrimaryCtxRetain", ring::CallClass::kQuery, CUDA_ERROR_UNKNOWN,
                     [&] { return context::PrimaryRetain(context, device); });
}

// Asked for after an image was loaded, without a result.
void AfterLoading(std::size_t) noexcept {}

// Compilers for PTX are never loaded: images without machine code are refused when they are loaded.
CUresult LoadCompilers() noexcept { return CUDA_SUCCESS; }

// Entries of the hooks of tools.

// Words that a tool sets so that the runtime calls it. No tool is ever attached: all are zero.
template <std::size_t kCount>
void GiveWords(void** words, std::size_t* count) noexcept {
  static constinit std::array<std::uint32_t, kCount> zeros{};
  *words = zeros.data();
  *count = kCount;
}

// Entries of the checks of contexts and of the driver's digest.

// Returns whether a context is a wrapper around another, which none of ours is.
CUresult Unwrap(CUcontext, std::uint32_t* wrapped, CUcontext*) noexcept {
  if (wrapped == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *wrapped = 0;
  return CUDA_SUCCESS;
}

// Called before contexts are used; zero lets the runtime go on.
std::uint32_t NoObjection() noexcept { return 0; }

CUresult GiveDriverDigest(std::uint32_t runtime_version, std::uint64_t unix_seconds,
                          void* result) noexcept;

struct Tables {
  Table<kRuntimeInterface, 13> runtime_interface{true};
  Table<kRuntimeInterface13, 95> runtime_interface_13{true};
  Table<kToolsHooks, 7> tools_hooks{true};
  Table<kToolsThreads, 4> tools_threads{true};
  Table<kContextStorage, 4> context_storage{false};
  Table<kContextChecks, 4> context_checks{true};
  Table<kDriverDigest, 3> driver_digest{true};

  Tables() noexcept {
    runtime_interface.Set(1, &LoadWrapped);
    runtime_interface.Set(2, &PrimaryContext);
    runtime_interface.Set(6, &LoadWrappedWithOptions);
    runtime_interface.Set(7, &AfterLoading);
    runtime_interface.Set(8, &LoadContainer);
    runtime_interface.Set(12, &LoadCompilers);
    tools_hooks.Set(2, &GiveWords<1024>);
    tools_hooks.Set(6, &GiveWords<14>);
    context_storage.Set(0, &context_storage::Put);
    context_storage.Set(1, &context_storage::Remove);
    context_storage.Set(2, &context_storage::Get);
    context_checks.Set(2, &Unwrap);
    context_checks.Set(3, &NoObjection);
    driver_digest.Set(1, &GiveDriverDigest);
  }

  const void* Find(const TableId& id) const noexcept {
    if (id == kRuntimeInterface) return runtime_interface.words();
    if (id == kRuntimeInterface13) return runtime_interface_13.words();
    if (id == kToolsHooks) return tools_hooks.words();
    if (id == kToolsThreads) return tools_threads.words();
    if (id == kContextStorage) return context_storage.words();
    if (id == kContextChecks) return context_checks.words();
    if (id == kDriverDigest) return driver_digest.words();
    return nullptr;
  }
};

const Tables& AllTables() noexcept {
  static const Tables* const tables = new Tables;  // The runtime keeps their addresses.
  return *tables;
}

CUresult GiveDriverDigest(std::uint32_t runtime_version, std::uint64_t unix_seconds,
                          void* result) noexcept {
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Tables& tables = AllTables();
  int driver_version = 0;
  int device_count = 0;
  start::GetVersion(&driver_version);
  device::GetCount(&device_count);
  std::vector<DigestedDevice> devices(static_cast<std::size_t>(device_count));
  for (int i = 0; i < device_count; ++i) {
    DigestedDevice& digested = devices[static_cast<std::size_t>(i)];
    CUuuid uuid{};
    device::GetUuid(&uuid, i);
    std::memcpy(digested.uuid.data(), uuid.bytes, digested.uuid.size());
    device::GetAttribute(&digested.pci_domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, i);
    device::GetAttribute(&digested.pci_bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i);
    device::GetAttribute(&digested.pci_device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, i);
  }
  const DigestedProcess process{static_cast<std::uint32_t>(driver_version),
                                runtime_version,
                                static_cast<std::uint32_t>(getpid()),
                                static_cast<std::uint32_t>(pthread_self()),
                                tables.runtime_interface.words(),
                                tables.driver_digest.words(),
                                tables.driver_digest.entry(1),
                                unix_seconds};
  const Digest digest = DriverDigest(process, devices);
  std::memcpy(result, digest.data(), digest.size());
  return CUDA_SUCCESS;
}

// The name of a table that is not known; the same for the rest once many were asked for.
const char* UnknownName(const TableId& id) noexcept {
  constexpr std::size_t kMost = 32;
  static constinit core::SpinLock lock;
  static std::vector<std::pair<TableId, const EntryName*>>* const names =
      new std::vector<std::pair<TableId, const EntryName*>>;
  const std::lock_guard guard(lock);
  const auto found =
      std::ranges::find_if(*names, [&](const auto& name) { return name.first == id; });
  if (found != names->end()) return found->second->text;
  if (names->size() == kMost) return "cuGetExportTable";
  names->emplace_back(id, new EntryName(id, -1));
  return names->back().second->text;
}

}  // namespace

CUresult Get(const void** table, const CUuuid* id) noexcept {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  TableId asked;
  std::memcpy(asked.data(), id->bytes, asked.size());
  *table = AllTables().Find(asked);
  if (*table != nullptr) return CUDA_SUCCESS;
  if (std::ranges::find(kDoneWithout, asked) != kDoneWithout.end()) return CUDA_ERROR_NOT_FOUND;
  return core::Rejected(UnknownName(asked), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace eidolon::shim::cuda_driver::export_table
