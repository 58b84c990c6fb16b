// Which values of a document the figures of a text come from: each number of the document is
// changed, the text is made again, and what has become another figure comes from that number.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace eidolon::cli {

// A number of a text, with its unit.
struct TracedFigure {
  std::string where;    // The line's label.
  std::string shown;    // The figure between the words beside it, "rank 1", "53 916 tokens/s".
  std::string pattern;  // The same with # for the figure.
  // Paths of the document, [] for every index. "number of X[]": of how many entries X has.
  std::set<std::string> fields;
};

using Renderer = std::function<std::string(const nlohmann::json&)>;

// Every figure of what `render` makes of the document, in the order of the text. A line begins with
// a label of two spaces and 17 columns, as in the text report; else it belongs to what was said
// before.
std::vector<TracedFigure> TraceFigures(const nlohmann::json& document, const Renderer& render);

}  // namespace eidolon::cli
