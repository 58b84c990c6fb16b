// PyTorch's allocator reports each block that it takes or gives back to whoever profiles it, by a
// function of libc10.so. This one stands before it: it keeps the table of what forward passes leave
// for backward passes (kept_memory.h) and passes the report on.
//
// A block counts where a backward pass gives it back, so a program without PyTorch's autograd has
// no activations to tell. Where backward passes run, on threads of PyTorch's own or on that which
// asked, shows the function that all of them are in meanwhile, Engine::thread_main of
// libtorch_cpu.so; this one stands before it, too. Gathered parameters of FSDP and ZeRO come and go
// like activations; the program's Python frames tell them apart.
//
// While a timeline is made, the agent is told of each block.
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "services/contract/ring/layout.h"
#include "services/contract/ring/memory_block.h"
#include "shim/core/python_line.h"
#include "shim/core/session.h"
#include "shim/core/spin_lock.h"
#include "shim/core/system.h"
#include "shim/core/thread_role.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/memory/memory.h"
#include "shim/pytorch/autograd/kept_memory.h"

// These are declared as in PyTorch.
namespace c10 {

struct Device {
  std::int8_t type;
  std::int8_t index;
};

__attribute__((visibility("default"))) void reportMemoryUsageToProfiler(
    void* block, std::int64_t bytes, std::size_t allocated, std::size_t reserved, Device device);

}  // namespace c10

namespace torch::autograd {

class GraphTask;

class Engine {
 public:
  __attribute__((visibility("default"))) void thread_main(const std::shared_ptr<GraphTask>& task);
};

}  // namespace torch::autograd

namespace eidolon::shim::autograd {
namespace {

using Report = decltype(&c10::reportMemoryUsageToProfiler);

constexpr char kReportName[] = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
constexpr std::int8_t kCuda = 1;  // c10::DeviceType.

Report PytorchsOwn() noexcept {
  static const Report own = [] {
    void* const library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
    void* const found = library == nullptr ? nullptr : dlsym(library, kReportName);
    const auto report = reinterpret_cast<Report>(found);
    return report == &c10::reportMemoryUsageToProfiler ? nullptr : report;
  }();
  return own;
}

// Detects whether blocks of one size are released by autograd itself, not by code that shards
// parameters. Looking takes microseconds; what was seen a few times is taken to stay so.
class Looks {
 public:
  bool IsAutogradsOwn(std::uint64_t bytes) {
    switch (core::PythonOfThread()) {
      case core::PythonState::kNotRunning:
        return true;
      case core::PythonState::kUnknown:
        return false;
      case core::PythonState::kRunning:
        break;
    }
    constexpr int kLooks = 4;
    Seen& seen = seen_[bytes];
    if (seen.looks < kLooks) {
      ++seen.looks;
      seen.sharded = seen.sharded || core::BackwardRunsIn({"fsdp", "deepspeed"});
    }
    return !seen.sharded;
  }

 private:
  struct Seen {
    int looks = 0;
    bool sharded = false;
  };
  std::unordered_map<std::uint64_t, Seen> seen_;
};

using ThreadMain = void (*)(torch::autograd::Engine*,
                            const std::shared_ptr<torch::autograd::GraphTask>&);

constexpr char kThreadMainName[] =
    "_ZN5torch8autograd6Engine11thread_mainERKSt10shared_ptrINS0_9GraphTaskEE";

// Finds the engine's function in the library that `caller` lies in, or in those that it needs.
ThreadMain EnginesOwn(const void* caller) {
  static const ThreadMain own = [caller] {
    Dl_info info{};
    void* library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr && dladdr(caller, &info) != 0) {
      library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    }
    return library == nullptr ? nullptr
                              : reinterpret_cast<ThreadMain>(dlsym(library, kThreadMainName));
  }();
  return own;
}

struct Tables {
  core::SpinLock lock;  // Guards everything below.
  std::array<KeptMemory, ring::kMaxDevices> devices;
  Looks looks;
};

Tables& TheTables() {
  static Tables* const tables = new Tables;  // Threads may outlive main.
  return *tables;
}

// Reports a block for a timeline. The allocator holds its lock, so that blocks are told in its
// order.
void TellBlock(core::Session& session, std::uint64_t block, std::int64_t bytes, int device,
               bool is_activation) {
  ring::MemoryBlockRecord record{};
  record.header.kind = ring::RecordKind::kMemoryBlock;
  record.header.device = gpu::RingDevice(device);
  record.address = block;
  record.bytes = bytes;
  record.is_activation = is_activation ? 1 : 0;
  core::Append(session, record);
}

void Note(core::Session& session, std::uint64_t block, std::int64_t bytes, int device) {
  const bool in_backward = core::RunsBackward();
  bool kept = false;
  std::optional<std::uint64_t> news;
  {
    Tables& tables = TheTables();
    const std::lock_guard guard(tables.lock);
    KeptMemory& memory = tables.devices[static_cast<std::size_t>(device)];
    if (in_backward) memory.NoteBackward();
    if (bytes < 0) {
      const auto taken = memory.BytesOf(block);
      kept = taken && in_backward && tables.looks.IsAutogradsOwn(*taken);
      memory.GiveBack(block, kept);
    } else if (!in_backward) {
      memory.Take(block, static_cast<std::uint64_t>(bytes));
      news = memory.News();
    }
  }
  if (news) gpu::TellActivations(device, *news);
  if (session.wants_timeline()) TellBlock(session, block, bytes, device, kept);
}

}  // namespace
}  // namespace eidolon::shim::autograd

void torch::autograd::Engine::thread_main(const std::shared_ptr<GraphTask>& task) {
  namespace shim = eidolon::shim;
  const auto own = shim::autograd::EnginesOwn(__builtin_return_address(0));
  if (own == nullptr) {
    shim::core::WriteToStderr("eidolon: PyTorch's own Engine::thread_main is not to be found\n");
    std::abort();
  }
  const shim::core::BackwardScope scope;
  own(this, task);
}

void c10::reportMemoryUsageToProfiler(void* block, std::int64_t bytes, std::size_t allocated,
                                      std::size_t reserved, Device device) {
  using namespace eidolon;  // NOLINT: this is the one function of another namespace.
  auto* const session = shim::core::Session::Existing();
  if (device.type == shim::autograd::kCuda && device.index >= 0 &&
      device.index < static_cast<int>(ring::kMaxDevices) && !shim::core::IsTearingDown() &&
      session != nullptr) {
    try {
      shim::autograd::Note(*session, reinterpret_cast<std::uintptr_t>(block), bytes, device.index);
    } catch (...) {  // No memory for the table: it tells less.
    }
  }
  if (const auto own = shim::autograd::PytorchsOwn()) {
    own(block, bytes, allocated, reserved, device);
  }
}
