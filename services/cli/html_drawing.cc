#include "services/cli/html_drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>

#include "services/base/text.h"
#include "services/cli/html.h"
#include "services/cli/report.h"
#include "services/controller/shown/report_line.h"

namespace eidolon::cli::html {
namespace {

using base::StrCat;
using controller::shown::FormatSeconds;

constexpr int kWidth = 1000;
constexpr double kHeight = 220;
constexpr double kLeft = 70;
constexpr double kTop = 12;
constexpr double kBottom = 200;
constexpr std::size_t kPointsMax = 500;  // Of a drawing that shows each value by a point.

std::string Number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", std::isfinite(value) ? value : 0.0);
  return text.data();
}

// More values than the drawing has room for: of each column the least and the most, so that no peak
// is lost.
std::string DrawPeaks(const std::vector<double>& values, const auto& x, const auto& y) {
  const std::size_t columns = std::min<std::size_t>(values.size(), kWidth);
  std::string path;
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t begin = column * values.size() / columns;
    const std::size_t end = (column + 1) * values.size() / columns;
    const auto [least, most] = std::ranges::minmax(std::span(values).subspan(begin, end - begin));
    path += StrCat(column == 0 ? "M" : "L", Number(x(begin)), " ", Number(y(least)), "V",
                   Number(y(most)));
  }
  return StrCat("<path class=\"line\" d=\"", path, "\"></path>");
}

}  // namespace

std::string DrawIterations(const std::vector<double>& seconds, const Band& band) {
  const auto [least, most] = std::ranges::minmax(seconds);
  const double span = std::max({most, band.high}) - std::min({least, band.low});
  const double low = std::min(least, band.low) - 0.1 * span;
  const double high = std::max(most, band.high) + 0.1 * span;
  const auto y = [&](double value) {
    return high > low ? kBottom - (value - low) / (high - low) * (kBottom - kTop) : kBottom;
  };
  const auto x = [&](std::size_t at) {
    return kLeft +
           (static_cast<double>(at) + 0.5) / static_cast<double>(seconds.size()) * (kWidth - kLeft);
  };
  std::string inner = Element("rect",
                              {{"class", "band"},
                               {"x", Number(kLeft)},
                               {"y", Number(y(band.high))},
                               {"width", Number(kWidth - kLeft)},
                               {"height", Number(std::max(1.0, y(band.low) - y(band.high)))}},
                              "");
  for (const double value : {band.low, band.mean, band.high}) {
    inner += Element(
        "text", {{"x", Number(kLeft - 8)}, {"y", Number(y(value) + 4)}, {"text-anchor", "end"}},
        Escape(FormatSeconds(value)));
  }
  inner += Element("line",
                   {{"class", "mean dashed"},
                    {"x1", Number(kLeft)},
                    {"x2", Number(kWidth)},
                    {"y1", Number(y(band.mean))},
                    {"y2", Number(y(band.mean))}},
                   "");
  if (seconds.size() > kPointsMax) inner += DrawPeaks(seconds, x, y);
  const std::string radius = seconds.size() > 120 ? "1.5" : "4";
  for (std::size_t i = 0; i < seconds.size() && seconds.size() <= kPointsMax; ++i) {
    inner += Element(
        "circle",
        {{"class", "point"}, {"cx", Number(x(i))}, {"cy", Number(y(seconds[i]))}, {"r", radius}},
        Text("title", FormatSeconds(seconds[i])));
  }
  return Element("svg",
                 {{"viewBox", StrCat("0 0 ", Number(kWidth), " ", Number(kHeight))},
                  {"role", "img"},
                  {"aria-label", StrCat(seconds.size(), " measured iterations, from ",
                                        FormatSeconds(least), " to ", FormatSeconds(most))}},
                 inner);
}

std::string DrawShares(const std::vector<Share>& shares) {
  std::string bar;
  std::string list;
  for (const Share& share : shares) {
    std::array<char, 32> percent{};
    std::snprintf(percent.data(), percent.size(), "%.1f %%", share.share * 100);
    if (share.share > 0) {
      bar += Element(
          "span",
          {{"class", "part-" + share.key}, {"style", "flex-grow:" + Number(share.share * 1000)}},
          "");
    }
    list += Element("li", {},
                    Element("span", {{"class", "swatch part-" + share.key}}, "") +
                        Element("span", {{"class", "what"}}, Escape(share.title)) +
                        Element("span", {{"class", "number"}}, percent.data()) +
                        (share.amount.empty()
                             ? ""
                             : Element("span", {{"class", "number note"}}, Escape(share.amount))));
  }
  return Element("div", {{"class", "stack"}}, bar) + Element("ul", {{"class", "legend"}}, list);
}

}  // namespace eidolon::cli::html
