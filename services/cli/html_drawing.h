// The drawings of a report: SVG and stacked bars, with classes of the page's style sheets.
#pragma once

#include <string>
#include <vector>

namespace eidolon::cli::html {

struct Band {
  double mean = 0;  // Seconds.
  double low = 0;
  double high = 0;
};

// A point for each time, in seconds, over the band. Requires: there are some.
std::string DrawIterations(const std::vector<double>& seconds, const Band& band);

struct Share {
  std::string key;     // Names the colour: class part-KEY.
  std::string title;   // Text.
  double share = 0;    // Of the whole.
  std::string amount;  // Text beside the share; may be empty.
};

// A bar of all shares and a list that says the same.
std::string DrawShares(const std::vector<Share>& shares);

}  // namespace eidolon::cli::html
