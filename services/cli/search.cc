// The table is in the order that the controller's functions gave the rows. Names and messages hold
// values of a user's file and output of programs, and are made printable for a terminal.
#include "services/cli/search.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "services/base/seconds.h"
#include "services/base/text.h"
#include "services/cli/sweep.h"
#include "services/controller/job/status.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/shown/printable.h"
#include "services/controller/shown/report_line.h"
#include "services/controller/sweep/rows.h"

namespace eidolon::cli {

using base::FormatSeconds;
using base::StrCat;
using controller::search::Cut;
using controller::search::Findings;
using controller::shown::At;
using controller::shown::FormatCount;
using controller::shown::NumberAt;
using controller::shown::Print;
using controller::shown::TextAt;
using controller::shown::ToPrintableLine;
using nlohmann::json;

namespace {

constexpr double kGibibyte = 1u << 30;

std::string Right(std::string value, std::size_t width) {
  return value.size() < width ? std::string(width - value.size(), ' ') + value : value;
}

std::string Left(std::string value, std::size_t width) {
  value.resize(std::max(value.size(), width), ' ');
  return value;
}

std::string ThroughputText(const json& row) {
  if (!controller::sweep::HasPrediction(row)) return "-";
  const double tokens = NumberAt(row, {"tokensPerSecond"});
  if (tokens > 0) return FormatCount(tokens) + " tokens";
  return Print("%.4g", NumberAt(row, {"iterationsPerSecond"})) + " iterations";
}

// "61.2 of 79.2 GiB"; of a point that came no further, what it has asked for.
std::string MemoryText(const json& row) {
  const double capacity = NumberAt(row, {"memoryCapacityBytes"});
  if (!(capacity > 0)) return "-";
  const double needed = NumberAt(row, {"neededMemoryBytes"});
  const double peak = needed > 0 ? needed : NumberAt(row, {"peakMemoryBytes"});
  return StrCat(Print("%.1f", peak / kGibibyte), " of ", Print("%.1f GiB", capacity / kGibibyte));
}

std::string VerdictText(const json& row) {
  const std::string verdict = TextAt(row, {"verdict"});
  const std::string why = TextAt(row, {"why"});
  // Distances from the best one are short; reasons of failures stand behind the point.
  const bool is_short = controller::sweep::HasPrediction(row) && why.size() <= 10;
  return is_short && !why.empty() ? StrCat(verdict, " (", why, ")") : verdict;
}

std::string ReasonText(const json& row) {
  const std::string why = TextAt(row, {"why"});
  const bool is_shown = controller::sweep::HasPrediction(row) && why.size() <= 10;
  const std::string told = row.value("told", false) ? " (told)" : "";
  const std::string front = row.value("front", false) ? " (front)" : "";
  return told + front + (is_shown || why.empty() ? "" : StrCat("  (", ToPrintableLine(why), ")"));
}

std::string CutText(const Findings& findings) {
  std::size_t cut = 0;
  std::string reasons;
  for (const Cut& each : findings.grid.cuts) {
    if (each.points == 0) continue;
    cut += each.points;
    reasons += StrCat(reasons.empty() ? "" : ", ", each.points, " by '",
                      ToPrintableLine(each.constraint), "'");
  }
  const std::size_t all = findings.grid.combinations;
  return StrCat("  ", all, all == 1 ? " combination" : " combinations", ": ", cut, " cut",
                reasons.empty() ? "" : StrCat(" (", reasons, ")"), ", ", findings.rows.size(),
                " tried, ", findings.not_tried.size(), " not tried\n");
}

// The rules of a preset that cut, each with the framework's own check, and what others lack.
std::string PresetText(const Findings& findings) {
  if (findings.spec.preset.empty()) return "";
  std::string text;
  for (const Cut& cut : findings.grid.cuts) {
    if (cut.points == 0 || cut.reason.empty()) continue;
    text += StrCat("  ", findings.spec.preset, " refuses ", cut.points,
                   cut.points == 1 ? " combination: " : " combinations: ",
                   ToPrintableLine(cut.constraint), " (", ToPrintableLine(cut.reason), ")\n");
  }
  if (findings.spec.lacking.empty()) return text;
  return text + StrCat("  Some of its rules need values that 'model' does not have: ",
                       ToPrintableLine(base::Join(findings.spec.lacking, ", ")), "\n");
}

std::string ShellQuoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string CommandLineOf(const json& filled, const json& written) {
  std::vector<std::string> words;
  const json& variables = At(filled, {"env"});
  const json& before = At(written, {"env"});
  for (std::size_t i = 0; variables.is_array() && i < variables.size(); ++i) {
    const bool is_filled_in = i >= before.size() || before[i] != variables[i];
    if (!is_filled_in) continue;
    words.push_back(TextAt(variables[i], {"name"}) + "=" +
                    ShellQuoted(TextAt(variables[i], {"value"})));
  }
  const json& command = At(filled, {"command"});
  for (std::size_t i = 0; command.is_array() && i < command.size(); ++i) {
    words.push_back(
        ShellQuoted(command[i].is_string() ? command[i].get<std::string>() : command[i].dump()));
  }
  return base::Join(words, " ");
}

std::string SearchTable(const Findings& findings) {
  std::string text =
      "  iteration             per second      memory per GPU  verdict                        "
      "point\n";
  for (const json& row : findings.rows) {
    const bool is_predicted = controller::sweep::HasPrediction(row);
    text += Right(is_predicted ? FormatSeconds(NumberAt(row, {"iterationSeconds"})) : "-", 11) +
            Right(ThroughputText(row), 23) + Right(MemoryText(row), 20) + "  " +
            Left(VerdictText(row), 31) + ToPrintableLine(TextAt(row, {"name"})) + ReasonText(row) +
            "\n";
  }
  text += CutText(findings);
  text += PresetText(findings);
  text += ToPrintableLine(controller::search::SummaryOf(findings)) + "\n";
  if (const auto* best = controller::search::BestOf(findings)) {
    text +=
        StrCat("Its command: ", ToPrintableLine(CommandLineOf(best->job, findings.spec.job)), "\n");
  }
  return text;
}

std::string SearchCsv(const std::vector<json>& rows) {
  std::vector<json> whole = rows;
  for (json& row : whole) {
    for (const char* name : {"front", "told"}) row[name] = row.value(name, false);
  }
  return RowsCsv(
      whole,
      {.texts = {"verdict", "why", "lostTo", "front", "told", "phase", "reason"},
       .numbers = {"iterationSeconds", "iterationSecondsLow", "iterationSecondsHigh",
                   "iterationsPerSecond", "tokensPerSecond", "modelFlopsUtilization",
                   "peakMemoryBytes", "neededMemoryBytes", "memoryCapacityBytes", "headroomBytes",
                   "memoryHeadroom", "gpus", "costPerHour", "costPerUnit", "wallSeconds"}});
}

}  // namespace eidolon::cli
