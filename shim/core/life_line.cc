#include "shim/core/life_line.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "shim/core/system.h"

namespace eidolon::shim::core {
namespace {

constinit std::atomic<int> line{-1};
constinit std::atomic<long> life_owner{0};
constinit std::atomic<std::atomic<std::uint32_t>*> life_word{nullptr};

bool IsOwner() noexcept {
  return RawSyscall(SYS_getpid) == life_owner.load(std::memory_order_relaxed);
}

}  // namespace

void StartLifeLine(int socket, std::atomic<std::uint32_t>* farewell) noexcept {
  life_owner.store(RawSyscall(SYS_getpid), std::memory_order_relaxed);
  life_word.store(farewell, std::memory_order_relaxed);
  line.store(socket, std::memory_order_release);
}

void LeaveLifeLineInFork() noexcept {
  const int copy = line.exchange(-1, std::memory_order_relaxed);
  life_word.store(nullptr, std::memory_order_relaxed);
  if (copy >= 0) RawSyscall(SYS_close, copy);
}

int LifeLine() noexcept { return line.load(std::memory_order_acquire); }

bool IsLifeLine(int descriptor) noexcept {
  return descriptor >= 0 && descriptor == LifeLine() && IsOwner();
}

bool MoveLifeLine() noexcept {
  const int old = LifeLine();
  const long moved = RawSyscall(SYS_fcntl, old, F_DUPFD_CLOEXEC, old + 1);
  if (moved < 0) return false;
  line.store(static_cast<int>(moved), std::memory_order_release);
  return true;
}

void SayFarewell(ring::Farewell farewell) noexcept {
  std::atomic<std::uint32_t>* told = life_word.load(std::memory_order_relaxed);
  if (told == nullptr || !IsOwner()) return;
  told->store(static_cast<std::uint32_t>(farewell), std::memory_order_release);
}

}  // namespace eidolon::shim::core
