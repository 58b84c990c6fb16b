#include "shim/core/thread_role.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>

namespace eidolon::shim::core {
namespace {

enum class State : unsigned char { kUnknown, kDriver, kWatchdog, kHelper };

[[gnu::tls_model("initial-exec")]] thread_local State state = State::kUnknown;
[[gnu::tls_model("initial-exec")]] thread_local int backward_depth = 0;

pid_t OwnIdentity() noexcept { return static_cast<pid_t>(syscall(SYS_gettid)); }

// Threads besides the main one that became drivers, in that order. Later ones are not listed.
constexpr std::size_t kMaxListed = 63;
constinit std::array<std::atomic<pid_t>, kMaxListed> listed{};
constinit std::atomic<std::size_t> listed_count{0};

void ListAsDriver() noexcept {
  const pid_t self = OwnIdentity();
  if (self == getpid()) return;
  const std::size_t at = listed_count.fetch_add(1);
  if (at < kMaxListed) listed[at].store(self);
}

State FirstGuess() noexcept {
  const bool is_main = getpid() == OwnIdentity();
  return is_main ? State::kDriver : State::kHelper;
}

}  // namespace

ThreadRole CurrentRole() noexcept {
  if (state == State::kUnknown) state = FirstGuess();
  switch (state) {
    case State::kDriver:
      return ThreadRole::kDriver;
    case State::kWatchdog:
      return ThreadRole::kWatchdog;
    default:
      return ThreadRole::kHelper;
  }
}

void NoteThreadIssuedWork() noexcept {
  if (state == State::kWatchdog || state == State::kDriver) return;
  state = State::kDriver;
  ListAsDriver();
}

std::size_t ListDrivers(std::span<pid_t> drivers) noexcept {
  if (drivers.empty()) return 0;
  drivers[0] = getpid();
  std::size_t count = 1;
  const std::size_t others = std::min(listed_count.load(), kMaxListed);
  for (std::size_t i = 0; i < others && count < drivers.size(); ++i) {
    // A thread that is just being listed is 0: then it is not there yet.
    if (const pid_t thread = listed[i].load(); thread != 0) drivers[count++] = thread;
  }
  return count;
}

BackwardScope::BackwardScope() noexcept { ++backward_depth; }

BackwardScope::~BackwardScope() { --backward_depth; }

bool RunsBackward() noexcept { return backward_depth > 0; }

void NoteThreadName(const char* name) noexcept {
  // PyTorch calls its NCCL watchdog pt_nccl_watchdg and its heartbeat monitor pt_nccl_heartbt.
  if (std::string_view(name).starts_with("pt_nccl")) state = State::kWatchdog;
}

}  // namespace eidolon::shim::core
