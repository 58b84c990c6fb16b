// The launchers that are known, and the options of each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/agent/launch/launched_program.h"
#include "services/agent/launch/option_reader.h"
#include "services/base/error.h"

namespace eidolon::agent::launch {

struct LauncherKind {
  std::span<const std::string_view> programs;  // Names of its scripts.
  std::span<const std::string_view> modules;   // For python -m.
  std::string_view subcommand;                 // "launch" of accelerate launch; empty: none.
  OptionSyntax syntax;
  RankVariables variables = RankVariables::kTorchrun;
  bool starts_programs = false;    // Of any kind, and not scripts of a Python.
  bool passes_local_rank = false;  // Unless it is told not to.
  bool keeps_launcher = false;     // It sets variables that only it knows.
};

std::span<const LauncherKind> LauncherKinds();

// Returns what an option says about the ranks. Fails on options with which its ranks cannot be
// started alone.
base::Result<void> TakeOption(const LauncherKind& kind, std::string_view name,
                              const std::string& value, LauncherCommand* read);

// accelerate's own command for one process that is no Python script: `head` is "accelerate launch",
// `options` what the user gave it.
std::vector<std::string> WrapperOf(std::span<const std::string> head,
                                   std::span<const std::string> options);

}  // namespace eidolon::agent::launch
