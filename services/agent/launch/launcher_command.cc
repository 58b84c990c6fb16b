// A folded job needs some ranks of a server and a launcher starts all of them, so the launcher's
// command line is read here and its ranks are started without it. Reading must agree with the
// launcher's own parser to the word: an option that is taken for a script would start something
// else. So an unknown option is an error wherever the table of options is complete. Launchers may
// be nested (srun torchrun train.py): the outer one only adds its variables. A command that is not
// understood fails with a sentence and is never guessed at.
#include "services/agent/launch/launcher_command.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "services/agent/launch/launcher_options.h"
#include "services/agent/launch/option_reader.h"
#include "services/base/text.h"

namespace eidolon::agent::launch {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

std::string NameOf(const std::string& program) { return std::filesystem::path(program).filename(); }

bool IsPython(const std::string& program) { return NameOf(program).starts_with("python"); }

// A launcher, and its arguments.
struct Found {
  const LauncherKind* kind = nullptr;
  std::size_t arguments = 0;  // Where they begin.
  bool is_python = false;     // Called as a module of a Python.
};

std::optional<Found> FindLauncher(std::span<const std::string> words) {
  if (words.empty()) return std::nullopt;
  std::size_t at = 1;
  if (IsPython(words[0])) {
    while (at < words.size() && (words[at] == "-u" || words[at] == "-s" || words[at] == "-E")) ++at;
    if (at + 1 >= words.size() || words[at] != "-m") return std::nullopt;
    const std::string& module = words[at + 1];
    for (const LauncherKind& kind : LauncherKinds()) {
      if (std::ranges::count(kind.modules, module) > 0) return Found{&kind, at + 2, true};
    }
    return std::nullopt;
  }
  const std::string name = NameOf(words[0]);
  for (const LauncherKind& kind : LauncherKinds()) {
    if (std::ranges::count(kind.programs, name) == 0) continue;
    if (kind.subcommand.empty() || name.ends_with(kind.subcommand)) return Found{&kind, 1, false};
    if (words.size() > 1 && words[1] == kind.subcommand) return Found{&kind, 2, false};
  }
  return std::nullopt;
}

std::unexpected<base::Error> NotALauncher(const std::string& program) {
  return Fail(ErrorCode::kUnsupported,
              StrCat("a folded job needs a command that begins with torchrun, python -m "
                     "torch.distributed.run, accelerate launch, deepspeed, srun or mpirun, not '",
                     program, "': only then can its live ranks be started alone"));
}

struct Meeting {
  bool is_standalone = false;
  std::string backend = "static";
  std::string endpoint;
};

Meeting MeetingOf(const LauncherKind& kind, std::span<const std::string> arguments) {
  Meeting meeting;
  // What torchrun will refuse is not read on.
  (void)ReadOptions(kind.syntax, arguments,
                    [&](std::string_view name, const std::string& value) -> Result<void> {
                      if (name == "--standalone") meeting.is_standalone = true;
                      if (name == "--rdzv-backend") meeting.backend = value;
                      if (name == "--rdzv-endpoint") meeting.endpoint = value;
                      return {};
                    });
  return meeting;
}

bool IsLoopback(std::string_view endpoint) {
  const std::string_view host = endpoint.substr(0, endpoint.rfind(':'));
  return host == "localhost" || host.starts_with("127.") || host == "::1" || host == "[::1]";
}

bool IsShell(const std::string& program) {
  const std::string name = NameOf(program);
  return name == "sh" || name == "bash" || name == "dash" || name == "zsh";
}

// The words of a script for `sh -c`, without what a shell would make of them.
std::vector<std::string> ScriptWords(const std::string& script) {
  std::vector<std::string> words(1);
  for (const char c : script) {
    if (std::string_view(" \t\n;&|()\"'").find(c) == std::string_view::npos) {
      words.back().push_back(c);
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// A program that a launcher of processes starts may be a launcher itself: srun torchrun train.py.
Result<LauncherCommand> ReadInner(LauncherCommand outer) {
  const auto inner = FindLauncher(outer.program);
  if (!inner) return outer;
  auto read = ReadLauncher(outer.program);
  if (!read) return read;
  read->environment.insert(read->environment.begin(), outer.environment.begin(),
                           outer.environment.end());
  return read;
}

}  // namespace

Result<LauncherCommand> ReadLauncher(const std::vector<std::string>& command) {
  const std::span<const std::string> words(command);
  const auto found = FindLauncher(words);
  if (!found) return NotALauncher(command.empty() ? "" : command[0]);
  LauncherCommand read{.launcher = command[0],
                       .launcher_is_python = found->is_python,
                       .variables = found->kind->variables,
                       .is_python = !found->kind->starts_programs,
                       .passes_local_rank = found->kind->passes_local_rank};
  const auto arguments = words.subspan(found->arguments);
  const auto begin = ReadOptions(found->kind->syntax, arguments,
                                 [&](std::string_view name, const std::string& value) {
                                   return TakeOption(*found->kind, name, value, &read);
                                 });
  if (!begin) return std::unexpected(begin.error());
  read.program.assign(arguments.begin() + static_cast<std::ptrdiff_t>(*begin), arguments.end());
  if (read.program.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat(found->kind->syntax.program, " is given no script to run"));
  }
  if (found->kind->starts_programs) return ReadInner(std::move(read));
  if (found->kind->keeps_launcher) {
    read.wrapper = WrapperOf(words.first(found->arguments), arguments.first(*begin));
  }
  return read;
}

Result<void> CheckServersMeet(const std::vector<std::string>& command, std::uint32_t servers) {
  if (servers < 2 || command.empty()) return {};
  // "-c", "-ec".
  const auto flag_of_script = std::ranges::find_if(command, [](const std::string& word) {
    return word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
  });
  if (IsShell(command[0]) && command.end() - flag_of_script > 1) {
    std::vector<std::string> words = ScriptWords(flag_of_script[1]);
    while (!words.empty() && !FindLauncher(words)) words.erase(words.begin());
    return CheckServersMeet(words, servers);
  }
  const std::span<const std::string> words(command);
  const auto found = FindLauncher(words);
  if (!found) return {};
  const auto arguments = words.subspan(found->arguments);
  if (found->kind->starts_programs) {
    const auto begin =
        ReadOptions(found->kind->syntax, arguments,
                    [](std::string_view, const std::string&) -> Result<void> { return {}; });
    if (!begin) return {};
    const auto program = arguments.subspan(*begin);
    return CheckServersMeet({program.begin(), program.end()}, servers);
  }
  if (found->kind->syntax.program != "torchrun") return {};
  const Meeting meeting = MeetingOf(*found->kind, arguments);
  std::string flag;
  if (meeting.is_standalone) {
    flag = "--standalone";
  } else if (meeting.backend == "c10d" && IsLoopback(meeting.endpoint)) {
    flag = StrCat("--rdzv-endpoint=", meeting.endpoint);
  }
  if (flag.empty()) return {};
  return Fail(ErrorCode::kInvalidArgument,
              StrCat("torchrun's ", flag, " makes each of the job's ", servers,
                     " servers a rendezvous of its own, where the others never come. Leave out ",
                     meeting.is_standalone ? flag : "--rdzv-backend and --rdzv-endpoint",
                     ": the environment tells torchrun where the servers meet; or run on one "
                     "server (servers: 1)"));
}

Result<std::vector<std::string>> RankCommand(const LauncherCommand& read,
                                             const std::string& launcher_path) {
  std::vector<std::string> command;
  if (read.is_python) {
    std::string python = read.launcher;
    if (!read.launcher_is_python) {
      std::ifstream script(launcher_path);
      std::string line;
      std::getline(script, line);
      if (!line.starts_with("#!") || !IsPython(line)) {
        return Fail(ErrorCode::kUnsupported,
                    StrCat(launcher_path,
                           " does not begin with a line that names its Python; use "
                           "python -m torch.distributed.run"));
      }
      const std::size_t begin = line.find_first_not_of(" \t", 2);
      python = line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    }
    command = {python, "-u"};
    if (read.is_module) command.push_back("-m");
  }
  command.insert(command.end(), read.program.begin(), read.program.end());
  if (read.passes_local_rank) {
    const auto script = command.end() - static_cast<std::ptrdiff_t>(read.program.size());
    command.insert(script + 1, "--local_rank={LOCAL_RANK}");
  }
  return command;
}

}  // namespace eidolon::agent::launch
