// Files that a user names for a command's result.
#pragma once

#include <string>
#include <string_view>

#include "services/base/error.h"

namespace eidolon::base {

// Writes the whole text to the file, device or pipe. The error names it and the reason; no file
// that is cut short stays behind.
Result<void> WriteFile(const std::string& path, std::string_view text);

// How the commands say that: "cannot write 'report.html': No space left on device".
Error CannotWrite(const std::string& path, int system_error);

}  // namespace eidolon::base
