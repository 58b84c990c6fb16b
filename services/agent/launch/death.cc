#include "services/agent/launch/death.h"

#include <sys/wait.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "services/base/text.h"

namespace eidolon::agent::launch {

namespace {

// Field numbers of a stat file, counted from the state, which follows the name in parentheses.
constexpr std::size_t kState = 0;
constexpr std::size_t kExitCode = 49;

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
  if (WIFSIGNALED(code)) {
    return {.state = LifeState::kDead,
            .status = {.code = 128 + WTERMSIG(code), .signal = WTERMSIG(code)}};
  }
  return {.state = LifeState::kDead, .status = {.code = WEXITSTATUS(code), .signal = 0}};
}

}  // namespace eidolon::agent::launch
