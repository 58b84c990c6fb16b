#include "services/agent/launch/torchrun_command.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>

#include "services/base/text.h"

namespace eidolon::agent::launch {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

struct Option {
  std::string_view name;  // With dashes between its words; underscores are read as dashes.
  bool has_value = true;
};

// torch.distributed.run, PyTorch 2.0 to 2.15.
constexpr std::array kOptions = std::to_array<Option>({
    {"--nnodes"},
    {"--nproc-per-node"},
    {"--rdzv-backend"},
    {"--rdzv-endpoint"},
    {"--rdzv-id"},
    {"--rdzv-conf"},
    {"--standalone", false},
    {"--max-restarts"},
    {"--monitor-interval"},
    {"--start-method"},
    {"--event-log-handler"},
    {"--role"},
    {"--module", false},
    {"--no-python", false},
    {"--run-path", false},
    {"--log-dir"},
    {"--redirects"},
    {"--tee"},
    {"--log-line-prefix-template"},
    {"--local-ranks-filter"},
    {"--duplicate-stdout-filters"},
    {"--duplicate-stderr-filters"},
    {"--node-rank"},
    {"--master-addr"},
    {"--master-port"},
    {"--local-addr"},
    {"--logs-specs"},
    {"--numa-binding"},
    {"--signals-to-handle"},
    {"--shutdown-timeout"},
    {"--virtual-local-rank", false},
    {"--use-env", false},
});

std::string Dashed(std::string_view name) {
  std::string dashed(name);
  std::ranges::replace(dashed, '_', '-');
  return dashed;
}

// By its name, its short form, or a beginning that only one option has.
const Option* FindOption(std::string_view name) {
  if (name == "-m") name = "--module";
  if (name == "-r") name = "--redirects";
  if (name == "-t") name = "--tee";
  const std::string dashed = Dashed(name);
  const Option* found = nullptr;
  for (const Option& option : kOptions) {
    if (option.name == dashed) return &option;
    if (!dashed.starts_with("--") || !option.name.starts_with(dashed)) continue;
    if (found != nullptr) return nullptr;
    found = &option;
  }
  return found;
}

bool IsPython(std::string_view program) {
  const std::size_t slash = program.rfind('/');
  if (slash != std::string_view::npos) program.remove_prefix(slash + 1);
  return program.starts_with("python");
}

// The launcher's own arguments; nothing when the command is not a torchrun.
std::optional<std::span<const std::string>> LauncherArguments(
    const std::vector<std::string>& command, TorchrunCommand* read) {
  const std::span<const std::string> words(command);
  if (words.empty()) return std::nullopt;
  read->launcher = words[0];
  const std::string name = std::filesystem::path(words[0]).filename();
  if (name == "torchrun") return words.subspan(1);
  if (!IsPython(words[0])) return std::nullopt;
  std::size_t at = 1;
  while (at < words.size() && (words[at] == "-u" || words[at] == "-s" || words[at] == "-E")) ++at;
  const bool is_module =
      at + 1 < words.size() && words[at] == "-m" &&
      (words[at + 1] == "torch.distributed.run" || words[at + 1] == "torch.distributed.launch");
  if (!is_module) return std::nullopt;
  read->launcher_is_python = true;
  return words.subspan(at + 2);
}

void TakeOption(std::string_view name, const std::string& value, TorchrunCommand* read) {
  if (name == "--nproc-per-node") read->ranks_per_server = value;
  if (name == "--module") read->is_module = true;
  if (name == "--no-python") read->is_python = false;
}

}  // namespace

base::Result<TorchrunCommand> ReadTorchrun(const std::vector<std::string>& command) {
  TorchrunCommand read;
  const auto words = LauncherArguments(command, &read);
  if (!words) {
    return Fail(ErrorCode::kUnsupported,
                StrCat("a folded job needs a command that begins with torchrun or with python -m "
                       "torch.distributed.run, not '",
                       command.empty() ? "" : command[0],
                       "': only then can its live ranks be started alone"));
  }
  std::size_t at = 0;
  for (; at < words->size() && (*words)[at].starts_with('-'); ++at) {
    const std::string& word = (*words)[at];
    if (word == "--") {
      ++at;
      break;
    }
    const std::size_t equals = word.find('=');
    const std::string_view name = std::string_view(word).substr(0, equals);
    const Option* option = FindOption(name);
    if (option == nullptr) {
      return Fail(ErrorCode::kInvalidArgument, StrCat("torchrun has no option '", name, "'"));
    }
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (option->has_value) {
      if (++at == words->size()) {
        return Fail(ErrorCode::kInvalidArgument,
                    StrCat("torchrun's option ", name, " has no value"));
      }
      value = (*words)[at];
    }
    TakeOption(option->name, value, &read);
  }
  read.program.assign(words->begin() + static_cast<std::ptrdiff_t>(at), words->end());
  if (read.program.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "torchrun is given no script to run");
  }
  return read;
}

base::Result<std::vector<std::string>> RankCommand(const TorchrunCommand& torchrun,
                                                   const std::string& torchrun_path) {
  std::vector<std::string> command;
  if (torchrun.is_python) {
    std::string python = torchrun.launcher;
    if (!torchrun.launcher_is_python) {
      std::ifstream script(torchrun_path);
      std::string line;
      std::getline(script, line);
      if (!line.starts_with("#!") || !IsPython(line)) {
        return Fail(ErrorCode::kUnsupported,
                    StrCat(torchrun_path,
                           " does not begin with a line that names its Python; use "
                           "python -m torch.distributed.run"));
      }
      const std::size_t begin = line.find_first_not_of(" \t", 2);
      python = line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    }
    command = {python, "-u"};
    if (torchrun.is_module) command.push_back("-m");
  }
  command.insert(command.end(), torchrun.program.begin(), torchrun.program.end());
  return command;
}

}  // namespace eidolon::agent::launch
