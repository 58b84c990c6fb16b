#include "shim/core/thread_role.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>

namespace eidolon::shim::core {
namespace {

enum class State : unsigned char { kUnknown, kDriver, kWatchdog, kHelper };

[[gnu::tls_model("initial-exec")]] thread_local State state = State::kUnknown;

State FirstGuess() noexcept {
  const bool is_main = getpid() == static_cast<pid_t>(syscall(SYS_gettid));
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
  if (state != State::kWatchdog) state = State::kDriver;
}

void NoteThreadName(const char* name) noexcept {
  // PyTorch calls its NCCL watchdog pt_nccl_watchdg and its heartbeat monitor pt_nccl_heartbt.
  if (std::string_view(name).starts_with("pt_nccl")) state = State::kWatchdog;
}

}  // namespace eidolon::shim::core
