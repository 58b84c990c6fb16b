// Runs a program to its end and keeps what it said.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "services/base/error.h"

namespace eidolon::cli::bench {

struct Program {
  std::vector<std::string> command;  // The first is looked up in PATH unless it has a slash.
  std::vector<std::pair<std::string, std::string>> environment;  // Added to this process's.
};

// Returns what it wrote to stdout. kNotFound when it cannot be started, kInternal with its last
// words on stderr (or stdout) when it does not end with status 0.
base::Result<std::string> RunProgram(const Program& program);

// How programs are run; tests answer by themselves.
using ProgramRunner = std::function<base::Result<std::string>(const Program&)>;

}  // namespace eidolon::cli::bench
