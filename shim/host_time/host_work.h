// One thread's host work: what each stretch of it between two calls costs on the target.
#pragma once

#include <cstdint>

#include "shim/host_time/call_history.h"
#include "shim/host_time/gap_costs.h"
#include "shim/host_time/shared_costs.h"

namespace eidolon::shim::host_time {

// Not shared. Calls come in pairs: Before, then After.
class HostWork {
 public:
  // `shared`: samples of all processes of the server, or null; outlives this.
  explicit HostWork(SharedCosts* shared = nullptr) : costs_(shared) {}

  // The thread has worked for `work_ps` of processor time since the last call ended, `fault_ps` of
  // them in page faults (0: not known, of short work), and makes the call `call` now. What that
  // costs at the core's full speed, where `speed` is the part of it that the core has now.
  std::uint64_t Before(std::uint64_t call, std::uint64_t work_ps, std::uint64_t fault_ps,
                       double speed) noexcept;
  // The call has ended.
  void After(std::uint64_t call, std::uint64_t detail) noexcept { history_.Push(call, detail); }

 private:
  CallHistory history_;
  GapCosts costs_;
};

}  // namespace eidolon::shim::host_time
