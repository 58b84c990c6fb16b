// This is for the message of a job that hangs, so every part is optional: what /proc does not show
// is left out, and nothing fails. A debugger may have stopped a single thread, hence all threads
// are looked at for a stop. The table of system calls has only those in which threads wait; others
// show their number.
#include "services/agent/launch/witness.h"

#include <sys/syscall.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "services/base/text.h"
#include "services/runtime/process/proc_file.h"

namespace eidolon::agent::launch {
namespace {

namespace fs = std::filesystem;
using base::StrCat;
using process::ForEachProcEntry;
using process::ParseProcStat;
using process::ReadProcFile;

struct CallRow {
  long number;
  std::string_view name;
};

// Calls in which threads wait.
constexpr CallRow kCalls[] = {
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_connect, "connect"},
    {SYS_futex, "futex"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect6"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_openat, "openat"},
    {SYS_rt_sigsuspend, "sigsuspend"},
    {SYS_rt_sigtimedwait, "sigtimedwait"},
#ifdef __x86_64__
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
    {SYS_open, "open"},
#endif
};

// The call's number comes first; "running" when there is none, and nothing where we may not look.
std::string CallOf(const fs::path& task) {
  const std::string text = ReadProcFile(task / "syscall");
  const auto number = base::ParseInteger(std::string_view(text).substr(0, text.find(' ')));
  if (!number || *number < 0) return "";
  const auto* found = std::find_if(std::begin(kCalls), std::end(kCalls),
                                   [&](const CallRow& row) { return row.number == *number; });
  return found != std::end(kCalls) ? std::string(found->name) : StrCat("system call ", *number);
}

std::string WaitOf(const fs::path& task) {
  const std::string channel = ReadProcFile(task / "wchan");
  return channel.empty() || channel == "0" ? "" : StrCat(" (", channel, ")");
}

}  // namespace

Witness LookAtProcess(pid_t process, const std::string& proc) {
  const fs::path folder = fs::path(proc) / std::to_string(process);
  const auto stat = ParseProcStat(ReadProcFile(folder / "stat"));
  if (!stat) return {};
  Witness witness{
      .is_there = true, .is_stopped = false, .text = StrCat("(pid ", process, ", ", stat->name)};
  char state = stat->state;
  // A debugger may have stopped one thread only.
  ForEachProcEntry(folder / "task", [&](const fs::path& task) {
    const auto thread = ParseProcStat(ReadProcFile(task / "stat"));
    if (thread && (thread->state == 'T' || thread->state == 't')) state = thread->state;
  });
  witness.is_stopped = state == 'T' || state == 't';
  if (witness.is_stopped) {
    witness.text += StrCat(") is stopped (state ", std::string(1, state), ")");
  } else if (state == 'Z') {
    witness.text += ") has ended, and its parent has not collected it";
  } else {
    const std::string call = CallOf(folder);
    witness.text += StrCat(") waits in ", call.empty() ? "the kernel" : call, WaitOf(folder));
  }
  return witness;
}

}  // namespace eidolon::agent::launch
