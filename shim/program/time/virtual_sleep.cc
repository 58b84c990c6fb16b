// A sleep has a connection of its own because a wait over the ring needs a segment and promises
// that the rank does nothing before its end. A process without a segment has none, and a wait that
// an event may end cannot promise that. The kernel then does the bookkeeping. A process that dies
// or execs hangs up (SOCK_CLOEXEC) and the agent forgets its wait, and a refusal and a lost agent
// look the same. A sequenced-packet socket keeps each message whole. `shutdown` precedes `close` in
// End because a forked child may hold the descriptor too. System calls go past the shim's own
// exports where these would themselves wait in virtual time (ppoll).
#include "shim/program/time/virtual_sleep.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "services/contract/ring/server_page.h"
#include "services/contract/ring/virtual_sleep.h"
#include "shim/core/server_page.h"
#include "shim/core/system.h"
#include "shim/program/time/virtual_clock.h"

namespace eidolon::shim::time {
namespace {

class KeptErrno {
 public:
  KeptErrno() : value_(errno) {}
  ~KeptErrno() { errno = value_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  int value_;
};

int OpenSocket() noexcept {
  const char* directory = core::RunDirectory();
  if (directory == nullptr) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length =
      std::snprintf(address.sun_path, sizeof(address.sun_path), "%s/agent.sock", directory);
  if (length < 0 || length >= static_cast<int>(sizeof(address.sun_path))) return -1;
  const int result = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (result < 0) return -1;
  if (connect(result, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return result;
  close(result);
  return -1;
}

}  // namespace

void VirtualSleep::Begin(base::SimTime moment, std::int64_t patience_ns) noexcept {
  Connect(static_cast<std::uint64_t>(std::max<std::int64_t>(moment.ps, 1)), 0, patience_ns);
}

void VirtualSleep::BeginLength(base::Duration length, std::int64_t patience_ns) noexcept {
  Connect(0, static_cast<std::uint64_t>(std::max<std::int64_t>(length.ps, 0)), patience_ns);
}

void VirtualSleep::Connect(std::uint64_t moment_ps, std::uint64_t length_ps,
                           std::int64_t patience_ns) noexcept {
  End();
  const KeptErrno kept;
  state_ = State::kRefused;
  const int fresh = OpenSocket();
  if (fresh < 0) return;
  const ring::VirtualSleep virtual_sleep{
      .magic = ring::kVirtualSleepMagic,
      .version = ring::kVersion,
      .pid = getpid(),
      .moment_ps = moment_ps,
      .length_ps = length_ps,
      .patience_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(patience_ns, 0))};
  if (send(fresh, &virtual_sleep, sizeof(virtual_sleep), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(sizeof(virtual_sleep))) {
    close(fresh);
    return;
  }
  socket_ = fresh;
  state_ = State::kWaiting;
}

VirtualSleep::State VirtualSleep::Wait(std::int64_t ns, bool* interrupted) noexcept {
  if (interrupted != nullptr) *interrupted = false;
  if (state_ != State::kWaiting) return state_;
  const KeptErrno kept;
  pollfd one{.fd = socket_, .events = POLLIN, .revents = 0};
  const timespec limit{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  const long ready =
      core::RawSyscall(SYS_ppoll, reinterpret_cast<long>(&one), 1, reinterpret_cast<long>(&limit));
  if (ready == -EINTR && interrupted != nullptr) *interrupted = true;
  if (ready <= 0) return state_;
  ring::VirtualSleepEnd end{};
  const ssize_t size = recv(socket_, &end, sizeof(end), MSG_DONTWAIT);
  // A hang-up: the agent is gone, or the program closed what is not its own.
  const bool is_answer =
      size == static_cast<ssize_t>(sizeof(end)) && end.magic == ring::kVirtualSleepMagic;
  state_ = is_answer && end.passed != 0 ? State::kPassed : State::kRefused;
  return state_;
}

void VirtualSleep::End() noexcept {
  const KeptErrno kept;
  if (socket_ >= 0) {
    // A fork may hold the connection too, and would keep it open.
    shutdown(socket_, SHUT_RDWR);
    close(socket_);
  }
  socket_ = -1;
  state_ = State::kNone;
}

void VirtualSleep::Forget() noexcept {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  state_ = State::kNone;
}

bool NothingHappensBefore(base::SimTime time) noexcept {
  constexpr std::int64_t kLookNs = 5'000'000;
  VirtualSleep virtual_sleep;
  virtual_sleep.Begin(RankTimeOfReceived(time), 0);
  return virtual_sleep.Wait(kLookNs) != VirtualSleep::State::kWaiting;
}

}  // namespace eidolon::shim::time
