// A figure that could not be measured stays in the table with the reason, because a row that
// vanishes would look like a goal that is met: MeetsAllGoals counts it as missed if it has a goal.
// The table rounds to four significant digits, and the JSON document has the exact values. The
// direction of a goal belongs to it: for some figures less is better.
#include "services/cli/bench/figure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace eidolon::cli::bench {
namespace {

using nlohmann::json;
using Row = std::array<std::string, 5>;

const char* NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMet:
      return "met";
    case Verdict::kMissed:
      return "MISSED";
    case Verdict::kNoGoal:
      return "";
    case Verdict::kNotMeasured:
      return "not measured";
  }
  return "";
}

std::string WithUnit(double value, const std::string& unit) {
  return FormatValue(value) + (unit.starts_with('/') ? "" : " ") + unit;
}

std::string FormatGoal(const Figure& figure) {
  if (!figure.goal) return "";
  const char* sign = figure.goal->better == Better::kLower ? "<= " : ">= ";
  return sign + WithUnit(figure.goal->value, figure.unit);
}

Row RowOf(const Figure& figure) {
  const bool measured = figure.value.has_value();
  return {figure.what, measured ? WithUnit(*figure.value, figure.unit) : "-", FormatGoal(figure),
          NameOf(Judge(figure)), measured ? figure.note : figure.value.error().message};
}

// Two spaces between columns, none at the end of a line.
std::string FormatRow(const Row& row, const std::array<std::size_t, 5>& widths) {
  std::string line;
  for (std::size_t column = 0; column < row.size(); ++column) {
    line += row[column];
    line.append(widths[column] - row[column].size() + 2, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

Verdict Judge(const Figure& figure) {
  if (!figure.value.has_value()) return Verdict::kNotMeasured;
  if (!figure.goal) return Verdict::kNoGoal;
  const bool met = figure.goal->better == Better::kLower ? *figure.value <= figure.goal->value
                                                         : *figure.value >= figure.goal->value;
  return met ? Verdict::kMet : Verdict::kMissed;
}

bool MeetsAllGoals(const std::vector<Figure>& figures) {
  return std::all_of(figures.begin(), figures.end(), [](const Figure& figure) {
    return !figure.goal || Judge(figure) == Verdict::kMet;
  });
}

std::string FormatFigures(const std::vector<Figure>& figures) {
  std::vector<Row> rows = {{"figure", "value", "goal", "verdict", "note"}};
  for (const Figure& figure : figures) rows.push_back(RowOf(figure));
  std::array<std::size_t, 5> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) text += FormatRow(row, widths);
  return text;
}

json FiguresToJson(const std::vector<Figure>& figures) {
  json all = json::array();
  for (const Figure& figure : figures) {
    json one = {{"key", figure.key}, {"what", figure.what}, {"unit", figure.unit}};
    if (figure.value.has_value()) {
      one["value"] = *figure.value;
    } else {
      one["notMeasured"] = figure.value.error().message;
    }
    if (figure.goal) {
      const bool lower = figure.goal->better == Better::kLower;
      one["goal"] = {{lower ? "atMost" : "atLeast", figure.goal->value}};
      one["met"] = Judge(figure) == Verdict::kMet;
    }
    if (!figure.note.empty()) one["note"] = figure.note;
    all.push_back(std::move(one));
  }
  return {{"figures", all}, {"meetsAllGoals", MeetsAllGoals(figures)}};
}

std::string FormatValue(double value) {
  struct Scale {
    double from;
    const char* suffix;
  };
  constexpr std::array<Scale, 3> kScales = {{{1e6, " M"}, {1e4, " k"}, {0, ""}}};
  const double size = std::abs(value);
  const Scale& scale = *std::find_if(kScales.begin(), kScales.end(),
                                     [&](const Scale& one) { return size >= one.from; });
  const double divisor = scale.from >= 1e6 ? 1e6 : scale.from > 0 ? 1e3 : 1;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value / divisor);
  return std::string(text.data()) + scale.suffix;
}

}  // namespace eidolon::cli::bench
