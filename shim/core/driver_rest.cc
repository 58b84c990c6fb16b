#include "shim/core/driver_rest.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "shim/core/session.h"
#include "shim/core/thread_role.h"

namespace eidolon::shim::core {
namespace {

struct ThreadState {
  bool blocked = false;
  std::uint64_t switches = 0;  // Times the thread gave up a processor or lost it.
};

std::uint64_t NumberAfter(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  return at == std::string_view::npos ? 0 : std::strtoull(&text[at + key.size()], nullptr, 10);
}

// Nothing when the thread has ended or the system does not tell.
std::optional<ThreadState> StateOf(pid_t thread) noexcept {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/status", thread);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  char buffer[4096];
  const ssize_t bytes = read(file, buffer, sizeof(buffer) - 1);
  close(file);
  if (bytes <= 0) return std::nullopt;
  buffer[bytes] = '\0';
  const std::string_view text(buffer, static_cast<std::size_t>(bytes));
  constexpr std::string_view kState = "\nState:\t";
  const std::size_t state = text.find(kState);
  if (state == std::string_view::npos) return std::nullopt;
  return ThreadState{.blocked = text.substr(state + kState.size()).starts_with('S'),
                     .switches = NumberAfter(text, "\nvoluntary_ctxt_switches:") +
                                 NumberAfter(text, "\nnonvoluntary_ctxt_switches:")};
}

}  // namespace

DriverRest::DriverRest() noexcept
    : count_(ListDrivers(drivers_)), asking_(Session::ThreadsAsking() != 0) {
  for (std::size_t i = 0; i < count_; ++i) {
    const auto state = StateOf(drivers_[i]);
    // A thread that has ended rests.
    switches_[i] = state ? state->switches : 0;
    if (!state) drivers_[i] = 0;
  }
}

bool DriverRest::Lasts() const noexcept {
  if (asking_ || Session::ThreadsAsking() != 0) return false;
  std::array<pid_t, kMaxDrivers> now;
  if (ListDrivers(now) != count_) return false;
  for (std::size_t i = 0; i < count_; ++i) {
    if (drivers_[i] == 0) continue;
    const auto state = StateOf(drivers_[i]);
    if (!state) return false;
    if (!state->blocked || state->switches != switches_[i]) return false;
  }
  return count_ < kMaxDrivers;  // With more of them, not all are listed.
}

}  // namespace eidolon::shim::core
