// Who watches the program's calls: a profiler's activity records (shim/vendor/cupti). While nobody
// does, a call pays a load for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "services/base/sim_time.h"
#include "services/contract/ring/record_header.h"

namespace eidolon::shim::core {

// The parameters of the call in progress, had only when somebody asks.
struct CallArguments {
  const void* self;
  // Lays them out as C lays out a structure with a member for each.
  void (*write)(const void* self, std::span<std::byte> out);
};

// Told on the thread that calls, from inside the call; may not make calls of its own. All times are
// of the rank clock.
class CallObserver {
 public:
  // An exported function began at `began`. `arguments`: null when they are not told. Calls that the
  // shim makes of its own functions are part of the program's.
  virtual void CallBegan(const char* name, base::SimTime began,
                         const CallArguments* arguments) noexcept = 0;
  // The call that began last on this thread returns `result`, as far as eight bytes hold it; nobody
  // watched yet when it began, perhaps.
  virtual void CallEnded(base::SimTime now, std::uint64_t result) noexcept = 0;
  // A record of work lies in the ring at `position`; `tail` follows it.
  virtual void WorkIssued(const ring::RecordHeader& record,
                          std::span<const std::span<const std::byte>> tail,
                          std::uint64_t position) noexcept = 0;
  // The question was answered: what it waited for ended at `end_ps`.
  virtual void WaitEnded(const ring::RecordHeader& question, std::uint64_t end_ps) noexcept = 0;

 protected:
  ~CallObserver() = default;  // Observers live as long as the process.
};

extern std::atomic<CallObserver*> call_observer;

inline CallObserver* Observer() noexcept { return call_observer.load(std::memory_order_acquire); }
// Null: nobody. The one before may still be told of calls in progress.
void Observe(CallObserver* observer) noexcept;

}  // namespace eidolon::shim::core
