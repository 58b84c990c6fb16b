// Builds the command by which this program starts itself again. It may run under a loader that was
// named with it, as in pods, whose images need not have its libraries: the kernel then takes the
// loader for the program.
#pragma once

#include <string>
#include <vector>

#include "services/base/error.h"

namespace eidolon::agent::launch {

// The words that start this program again, but for its arguments.
base::Result<std::vector<std::string>> OwnCommand();

// The same of a program that was started by `words`, calls itself `name`, and is `executable` to
// the kernel.
std::vector<std::string> OwnCommandOf(const std::vector<std::string>& words,
                                      const std::string& name, const std::string& executable);

}  // namespace eidolon::agent::launch
