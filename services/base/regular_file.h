// Files that users name, or that a job may have replaced. Anything but a regular file is refused
// before it is read: opening a pipe waits for a writer, and a device never ends.
#pragma once

#include <string>

#include "services/base/error.h"

namespace eidolon::base {

// A descriptor to read, which the caller closes. Follows links; never blocks. The error names the
// path and what it is.
Result<int> OpenRegularFile(const std::string& path);

// All of it.
Result<std::string> ReadRegularFile(const std::string& path);

}  // namespace eidolon::base
