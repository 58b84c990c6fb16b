// Files that appear at once.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace eidolon::base {

// Writes a file beside `path` and gives it that name, so that nobody ever reads half of it. False,
// and nothing is left, when it could not be written.
bool ReplaceFile(const std::string& path, std::span<const std::byte> bytes);

}  // namespace eidolon::base
