// One signal has two owners: the shim must see each SIGSEGV first, because a trapped reading of the
// counter is one, and the program must be able to believe that its own handler is installed. Both
// actions are kept: the kernel's is the shim's, and `behind` is what the program set. Hold blocks
// all signals before it takes its spin lock, since a handler that interrupted its owner would wait
// for it for ever. PassOn imitates the kernel (mask, SA_NODEFER, SA_RESETHAND, both forms of
// handlers). A default action cannot be imitated: it is restored, and returning to the instruction
// faults again.
#include "shim/program/time/fault_handler.h"

#include <atomic>

#include "shim/core/system.h"
#include "shim/program/time/real.h"

namespace eidolon::shim::time {
namespace {

constinit std::atomic<bool> taken{false};
constinit std::atomic<bool> held{false};
constinit struct sigaction behind {};  // Guarded by Hold.

// Keeps other threads, and this thread's signal handlers, from `behind`.
class Hold {
 public:
  Hold() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask_);
    while (held.exchange(true, std::memory_order_acquire)) core::SpinPause();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    held.store(false, std::memory_order_release);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  sigset_t mask_;
};

bool HasFunction(const struct sigaction& action) {
  // Both kinds of handlers share their place.
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

}  // namespace

bool TakeFaults(FaultHandler handler) noexcept {
  const Hold hold;
  struct sigaction now {};
  if (real::Sigaction(SIGSEGV, nullptr, &now) != 0) return false;
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handler) return true;
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (real::Sigaction(SIGSEGV, &action, nullptr) != 0) return false;
  behind = now;
  taken.store(true, std::memory_order_release);
  return true;
}

bool AreFaultsTaken() noexcept { return taken.load(std::memory_order_acquire); }

void SetBehind(const struct sigaction* wanted, struct sigaction* before) noexcept {
  struct sigaction given {};
  if (wanted != nullptr) given = *wanted;
  struct sigaction found {};
  {
    const Hold hold;
    found = behind;
    if (wanted != nullptr) behind = given;
  }
  if (before != nullptr) *before = found;
}

void PassOn(int number, siginfo_t* info, void* context) noexcept {
  struct sigaction action {};
  {
    const Hold hold;
    action = behind;
    if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) behind.sa_handler = SIG_DFL;
  }
  if (!HasFunction(action)) {
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;
    taken.store(false, std::memory_order_release);
    real::Sigaction(number, &by_default, nullptr);
    if (info->si_code <= 0) raise(number);  // Somebody sent it: nothing faults again.
    return;
  }
  sigset_t mask = action.sa_mask;
  if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&mask, number);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &mask, &before);
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(number, info, context);
  } else {
    action.sa_handler(number);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace eidolon::shim::time
