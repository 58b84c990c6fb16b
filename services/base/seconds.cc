#include "services/base/seconds.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace eidolon::base {

std::string FormatSeconds(double seconds) {
  if (!(seconds > 0)) return "0 s";
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  const auto unit = std::find_if(kUnits.begin(), kUnits.end() - 1,
                                 [&](const auto& u) { return seconds >= u.first; });
  const double value = seconds / unit->first;
  const int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", digits, value, unit->second);
  return text.data();
}

}  // namespace eidolon::base
