// Every exported call passes here twice, so the common way is a thread-local counter and the
// charge. Only the outermost call of a thread is the program's: calls that a handler makes into
// other exported functions raise the counter and cost nothing. A refusal is reported once per name.
// The table of names is open-addressed and larger than the number of exports, so it never fills,
// and it compares text because one name may lie at several addresses. A strict job ends by a system
// call, without the program's exit handlers.
#include "shim/core/call_scope.h"

#include <sys/syscall.h>

#include <array>
#include <cstring>
#include <mutex>
#include <span>
#include <string_view>

#include "services/base/text.h"
#include "shim/core/call_observer.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/core/spin_lock.h"
#include "shim/core/system.h"

namespace eidolon::shim::core {
namespace {

constexpr std::size_t kNames = 8192;  // More than all exported symbols together.
constexpr int kStrictExitCode = 70;   // EX_SOFTWARE.

[[gnu::tls_model("initial-exec")]] constinit thread_local int depth = 0;

constinit SpinLock refused_lock;  // Guards the table below.
constinit std::array<const char*, kNames> refused{};

// True for the first refusal of a name.
bool IsFirstRefusal(const char* name) noexcept {
  const std::lock_guard guard(refused_lock);
  std::size_t at = 5381;
  for (const char* c = name; *c != '\0'; ++c) at = at * 33 + static_cast<unsigned char>(*c);
  for (std::size_t step = 0; step < kNames; ++step) {
    const char*& entry = refused[(at + step) % kNames];
    if (entry == nullptr) {
      entry = name;
      return true;
    }
    if (std::strcmp(entry, name) == 0) return false;
  }
  return false;
}

void TellAgent(Session& session, std::string_view name) noexcept {
  ring::MarkRecord record{};
  record.header.kind = ring::RecordKind::kRefusedCall;
  record.id = 1;
  record.name_bytes = static_cast<std::uint32_t>(name.size());
  const std::span<const std::byte> tail = std::as_bytes(std::span(name));
  session.Append(&record.header, sizeof(record), {&tail, 1});
}

[[noreturn]] void EndStrictly(const char* name) noexcept {
  WriteToStderr("eidolon: ");
  WriteToStderr(name);
  WriteToStderr(" is not simulated, and this job is strict about it; the process ends here\n");
  RawSyscall(SYS_exit_group, kStrictExitCode);
  __builtin_unreachable();
}

// Runs when the libraries that use the shim were already torn down.
[[gnu::destructor]] void TearDown() { BeginTearDown(); }

}  // namespace

CallScope::CallScope(const char* name, ring::CallClass call_class,
                     const CallArguments* arguments) noexcept
    : name_(name), allowed_(!IsTearingDown()) {
  if (depth++ != 0 || !allowed_) return;
  CallObserver* const observer = Observer();
  if (observer == nullptr) {
    ChargeCall(name, call_class);
    return;
  }
  observer->CallBegan(name, ChargeCall(name, call_class).began, arguments);
}

CallScope::~CallScope() {
  if (--depth != 0 || !allowed_) return;
  if (CallObserver* const observer = Observer()) {
    observer->CallEnded({static_cast<std::int64_t>(RecordClock())}, result_);
  }
  EndCall();
}

void CallScope::ReportEscapedException() const noexcept {
  WriteToStderr("eidolon: internal error: an exception escaped from ");
  WriteToStderr(name_);
  WriteToStderr("; the call fails\n");
}

void CountRefusal(const char* name) noexcept {
  if (!IsFirstRefusal(name)) return;
  Session* session = Session::GetForQueries();
  if (session == nullptr) return;
  TellAgent(*session, name);
  if (session->header().strict != 0) EndStrictly(name);
}

}  // namespace eidolon::shim::core
