// Tables of text for a terminal.
#pragma once

#include <string>
#include <vector>

namespace eidolon::cli {

// Columns are as wide as their widest cell, with three spaces between them; the first row is the
// head.
std::string FormatColumns(const std::vector<std::vector<std::string>>& rows);

}  // namespace eidolon::cli
