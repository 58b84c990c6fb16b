#include "services/cli/columns.h"

#include <algorithm>
#include <cstddef>

namespace eidolon::cli {

std::string FormatColumns(const std::vector<std::vector<std::string>>& rows) {
  constexpr std::size_t kGap = 3;
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] + kGap - row[i].size(), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + "\n";
  }
  return table;
}

}  // namespace eidolon::cli
