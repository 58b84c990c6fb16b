// An instruction cannot be exported like a function, so the only way between a program and its tick
// counter is the trap that the kernel offers for each thread (PR_SET_TSC). Each thread has to
// switch itself: the one that asks does so at once, others by a signal that nothing else uses, and
// those that block it at their next call of the shim. A thread inherits the trap from its creator
// but not our thread-local note of it, so a trap while readings are real is answered by switching
// this thread back.
//
// The handler interrupts the program at the instruction itself: it keeps errno, decodes just rdtsc
// and rdtscp (0f 31, 0f 01 f9), and passes every other fault on. Readings inside the vDSO get the
// real counter, as the kernel computes its clocks from it. Virtual ticks are nanoseconds of the
// wall clock.
#include "shim/program/time/tick_clock.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

#include "shim/core/rank_clock.h"
#include "shim/core/system.h"
#include "shim/program/time/fault_handler.h"
#include "shim/program/time/virtual_clock.h"

namespace eidolon::shim::time {

#if defined(__x86_64__)

namespace {

constexpr std::size_t kVdsoBytes = std::size_t{16} << 10;
// A thread that reads so often while the time stands still is polling; then each reading moves the
// clock a little, as other clocks do.
constexpr int kPollingReads = 100'000;

constinit std::atomic<bool> shown{false};  // Readings are virtual.
constinit std::mutex switching;
constinit bool prepared = false;  // Guarded by switching: handlers stand.
constinit std::uintptr_t vdso = 0;
constinit int follow_signal = 0;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool trapping = false;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool looking = false;
[[gnu::tls_model("initial-exec")]] constinit thread_local std::int64_t last_reading = 0;
[[gnu::tls_model("initial-exec")]] constinit thread_local int equal_readings = 0;

// Bytes of the instruction when it reads the counter (rdtsc, rdtscp), else 0.
int ReadingBytes(const std::uint8_t* code) {
  if (code[0] != 0x0f) return 0;
  if (code[1] == 0x31) return 2;
  return code[1] == 0x01 && code[2] == 0xf9 ? 3 : 0;
}

std::uint64_t RealReading() {
  core::TrapTicks(false);
  const std::uint64_t ticks = __rdtsc();
  core::TrapTicks(true);
  return ticks;
}

std::uint64_t VirtualReading() {
  core::NoteTrap();
  const bool is_polling = equal_readings > kPollingReads;
  const std::int64_t ns = ReadingNs(CLOCK_REALTIME, is_polling ? ReadByProgram() : OwnNow());
  equal_readings = ns == last_reading ? equal_readings + 1 : 0;
  last_reading = ns;
  return static_cast<std::uint64_t>(ns);
}

void OnFault(int number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  auto* state = static_cast<ucontext_t*>(context);
  greg_t* registers = state->uc_mcontext.gregs;
  const auto at = static_cast<std::uintptr_t>(registers[REG_RIP]);
  int bytes = 0;
  if (info->si_code == SI_KERNEL && !looking) {
    looking = true;  // Where the program jumped to is perhaps unmapped: then this faults too.
    bytes = ReadingBytes(reinterpret_cast<const std::uint8_t*>(at));
    looking = false;
  }
  if (bytes == 0) {
    looking = false;
    PassOn(number, info, context);
    errno = saved_errno;
    return;
  }
  if (!shown.load(std::memory_order_acquire)) {
    FollowTicks();
    core::TrapTicks(false);  // A thread begun by one that trapped does not know that it does.
  } else {
    const bool is_kernels = at >= vdso && at < vdso + kVdsoBytes;
    const std::uint64_t ticks = is_kernels ? RealReading() : VirtualReading();
    registers[REG_RAX] = static_cast<greg_t>(ticks & 0xffffffffu);
    registers[REG_RDX] = static_cast<greg_t>(ticks >> 32);
    if (bytes == 3) registers[REG_RCX] = 0;
    registers[REG_RIP] += bytes;
  }
  errno = saved_errno;
}

void OnFollow(int) {
  const int saved_errno = errno;
  FollowTicks();
  errno = saved_errno;
}

void ForgetInFork() {
  shown.store(false, std::memory_order_relaxed);
  core::HideTicks(false);
  FollowTicks();
}

// A signal that nobody uses, for waking the other threads; 0: there is none.
int FindFreeSignal() {
  for (int number = SIGRTMAX - 2; number > SIGRTMIN; --number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) return number;
  }
  return 0;
}

bool Prepare() {
  if (prepared) return true;
  int mode = 0;
  if (prctl(PR_GET_TSC, &mode) != 0) return false;
  vdso = getauxval(AT_SYSINFO_EHDR);
  follow_signal = FindFreeSignal();
  if (follow_signal == 0) return false;
  struct sigaction action {};
  action.sa_handler = OnFollow;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (sigaction(follow_signal, &action, nullptr) != 0) return false;
  pthread_atfork(nullptr, nullptr, ForgetInFork);
  prepared = true;
  return true;
}

void TellOtherThreads() {
  DIR* threads = opendir("/proc/self/task");
  if (threads == nullptr) return;
  const pid_t process = getpid();
  const long self = core::RawSyscall(SYS_gettid);
  while (const dirent* entry = readdir(threads)) {
    const long thread = atol(entry->d_name);
    if (thread > 0 && thread != self) {
      core::RawSyscall(SYS_tgkill, process, thread, follow_signal);
    }
  }
  closedir(threads);
}

}  // namespace

bool ShowVirtualTicks() noexcept {
  if (!InJob()) return false;
  const std::lock_guard guard(switching);
  if (!Prepare() || !TakeFaults(OnFault)) return false;
  core::HideTicks(true);
  shown.store(true, std::memory_order_release);
  FollowTicks();
  TellOtherThreads();
  return true;
}

void ShowRealTicks() noexcept {
  const std::lock_guard guard(switching);
  if (!shown.exchange(false)) return;
  FollowTicks();
  core::HideTicks(false);
}

void FollowTicks() noexcept {
  const bool wanted = shown.load(std::memory_order_acquire);
  if (trapping == wanted) return;
  if (wanted) {
    // A fault whose signal is blocked ends the process.
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
  }
  core::TrapTicks(wanted);
  trapping = wanted;
}

#else

bool ShowVirtualTicks() noexcept { return false; }
void ShowRealTicks() noexcept {}
void FollowTicks() noexcept {}

#endif

}  // namespace eidolon::shim::time
