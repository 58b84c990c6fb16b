#include "services/controller/shown/report_line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "services/base/text.h"
#include "services/controller/shown/printable.h"

namespace eidolon::controller::shown {

using base::StrCat;

namespace {

constexpr std::size_t kLabelWidth = 17;

}  // namespace

std::string Print(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string Percent(double share) { return Print("%.1f %%", share * 100); }

std::string Line(const std::string& label, const std::string& text) {
  std::string line = "  " + label;
  line.resize(std::max(line.size() + 1, kLabelWidth + 2), ' ');
  return line + ToPrintableLine(text) + "\n";
}

std::string FormatSpan(double seconds) {
  constexpr double kSpanMax = 1e15;
  const auto whole = static_cast<std::int64_t>(std::llround(std::clamp(seconds, 0.0, kSpanMax)));
  if (whole < 60) return StrCat(whole, " s");
  if (whole < 3600) return StrCat(whole / 60, " min ", whole % 60, " s");
  return StrCat(whole / 3600, " h ", whole % 3600 / 60, " min");
}

std::string FormatCount(double count) {
  std::string digits = Print("%.0f", count);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, " ");
  }
  return digits;
}

}  // namespace eidolon::controller::shown
