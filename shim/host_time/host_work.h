// One thread's host work: what each stretch of it between two calls costs on the target.
#pragma once

#include <cstdint>

#include "shim/host_time/call_history.h"
#include "shim/host_time/gap_costs.h"

namespace eidolon::shim::host_time {

// Not shared. Calls come in pairs: Before, then After.
class HostWork {
 public:
  // The thread has worked for `work_ps` of processor time since the last call ended and makes the
  // call `call` now; `switched`: it lost its core in between. What that costs at the core's full
  // speed, where `speed` is the part of it that the core has now.
  std::uint64_t Before(std::uint64_t call, std::uint64_t work_ps, bool switched,
                       double speed) noexcept;
  // The call has ended. `switched`: the thread lost its core during it.
  void After(std::uint64_t call, std::uint64_t detail, bool switched) noexcept;

  // The caches of a core that others have used are filled again after so much work.
  static constexpr std::uint64_t kSettledPs = 200'000'000;

 private:
  CallHistory history_;
  GapCosts costs_;
  std::uint64_t since_switch_ps_ = 0;
};

}  // namespace eidolon::shim::host_time
