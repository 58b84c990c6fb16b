#include "services/runtime/signal_waiter.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "services/base/check.h"

namespace eidolon::runtime {
namespace {

sigset_t EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

SignalWaiter::SignalWaiter() {
  const sigset_t signals = EndSignals();
  CHECK(pthread_sigmask(SIG_BLOCK, &signals, nullptr) == 0);
  signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  stop_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CHECK(signal_fd_ >= 0 && stop_fd_ >= 0);
}

SignalWaiter::~SignalWaiter() {
  close(signal_fd_);
  close(stop_fd_);
  const sigset_t signals = EndSignals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

std::optional<int> SignalWaiter::Wait() { return WaitFor(-1); }

std::optional<int> SignalWaiter::WaitFor(int timeout_ms) {
  pollfd fds[2] = {{signal_fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
  while (!stopped_.load()) {
    const int ready = poll(fds, 2, timeout_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    signalfd_siginfo arrived{};
    if (read(signal_fd_, &arrived, sizeof(arrived)) == sizeof(arrived)) {
      return static_cast<int>(arrived.ssi_signo);
    }
  }
  return std::nullopt;
}

void SignalWaiter::Stop() {
  stopped_.store(true);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(stop_fd_, &one, sizeof(one));
}

}  // namespace eidolon::runtime
