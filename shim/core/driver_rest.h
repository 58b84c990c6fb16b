// Tells whether the process rests: no thread that moves the clock has run for a while, and none
// waits for the agent. Then only sleeping helpers and host functions in streams carry the program
// on, and their time is all the time there is: a loop that sleeps until a deadline, while the main
// thread waits for its end, would else never see it pass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sys/types.h>

namespace eidolon::shim::core {

// The rest begins when the object is made. Reads some files of /proc: for waits of milliseconds.
// Not shared.
class DriverRest {
 public:
  DriverRest() noexcept;
  // True when every driver has been blocked outside the shim without a break. A driver that could
  // have run, but got no processor, has not rested.
  bool Lasts() const noexcept;

 private:
  static constexpr std::size_t kMaxDrivers = 64;

  std::array<pid_t, kMaxDrivers> drivers_;
  std::array<std::uint64_t, kMaxDrivers> switches_;  // Of contexts.
  std::size_t count_;
  bool asking_;
};

}  // namespace eidolon::shim::core
