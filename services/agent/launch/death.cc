// A rank is a child of its launcher, so only the launcher can wait for it, and its exit status
// shows in /proc merely until then. That moment is short, hence two sources: /proc/<pid>/stat of a
// zombie, and on newer kernels a pidfd that remembers the status of a process that was collected.
// The descriptor is opened while the process lives, and it is asked before /proc: a number may
// belong to another process by then. The name in a stat file may hold any character, so fields are
// counted from its last parenthesis.
#include "services/agent/launch/death.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "services/base/text.h"

namespace eidolon::agent::launch {

namespace {

// Field numbers of a stat file, counted from the state, which follows the name in parentheses.
constexpr std::size_t kState = 0;
constexpr std::size_t kExitCode = 49;

// First version of `struct pidfd_info` (include/uapi/linux/pidfd.h of Linux 6.13, with the exit
// code that 6.15 fills in); the C library's headers are older.
struct PidfdInfo {
  std::uint64_t mask;
  std::uint64_t cgroup;
  std::uint32_t identities[11];
  std::int32_t exit_code;  // As waitpid() returns it.
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t kInfoExit = 1 << 3;
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);

Death DeathOf(int code) {
  if (WIFSIGNALED(code)) {
    return {.state = LifeState::kDead,
            .status = {.code = 128 + WTERMSIG(code), .signal = WTERMSIG(code)}};
  }
  return {.state = LifeState::kDead, .status = {.code = WEXITSTATUS(code), .signal = 0}};
}

// Returns the code of a process that was collected; nothing where the kernel does not remember it.
std::optional<int> RememberedExitCode(int descriptor) {
  PidfdInfo info{};
  info.mask = kInfoExit;
  if (ioctl(descriptor, kGetInfo, &info) != 0 || (info.mask & kInfoExit) == 0) return std::nullopt;
  return info.exit_code;
}

}  // namespace

Death LookForDeath(pid_t process, const std::string& proc) {
  std::ifstream file(base::StrCat(proc, "/", process, "/stat"));
  std::stringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) return {.state = LifeState::kVanished, .status = {}};
  std::string_view rest = std::string_view(text).substr(name_end + 2);
  while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
  const auto fields = base::Split(rest, ' ');
  const bool ended = fields[kState] == "Z" || fields[kState] == "X";
  if (!ended || fields.size() <= kExitCode) return {.state = LifeState::kAlive, .status = {}};
  const auto code = static_cast<int>(base::ParseInteger(fields[kExitCode]).value_or(0));
  return DeathOf(code);
}

ObservedProcess::ObservedProcess(pid_t process)
    : process_(process), descriptor_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}

ObservedProcess::ObservedProcess(ObservedProcess&& other) noexcept
    : process_(other.process_), descriptor_(std::exchange(other.descriptor_, -1)) {}

ObservedProcess::~ObservedProcess() {
  if (descriptor_ >= 0) close(descriptor_);
}

Death ObservedProcess::Look() const {
  const auto remembered = [this]() -> std::optional<Death> {
    const auto code = descriptor_ >= 0 ? RememberedExitCode(descriptor_) : std::nullopt;
    return code.has_value() ? std::optional(DeathOf(*code)) : std::nullopt;
  };
  // First, since another process may have taken the number.
  if (const auto death = remembered(); death.has_value()) return *death;
  const Death death = LookForDeath(process_);
  if (death.state != LifeState::kVanished) return death;
  // It was collected between the two looks.
  return remembered().value_or(death);
}

}  // namespace eidolon::agent::launch
