#include "services/controller/job/quantity.h"

#include <array>
#include <cmath>
#include <utility>

#include "services/base/text.h"

namespace eidolon::controller::job {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 8> kSuffixes = {{
    {"Ki", 1024.0},
    {"Mi", 1048576.0},
    {"Gi", 1073741824.0},
    {"Ti", 1099511627776.0},
    {"k", 1e3},
    {"M", 1e6},
    {"G", 1e9},
    {"T", 1e12},
}};

}  // namespace

std::optional<std::uint64_t> ParseBytes(std::string_view text) {
  double unit = 1;
  for (const auto& [suffix, value] : kSuffixes) {
    if (!text.ends_with(suffix)) continue;
    unit = value;
    text.remove_suffix(suffix.size());
    break;
  }
  const auto number = base::ParseNumber(text);
  if (!number || *number < 0) return std::nullopt;
  const double bytes = *number * unit;
  if (bytes > 9.2e18 || bytes != std::floor(bytes)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace eidolon::controller::job
