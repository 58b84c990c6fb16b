// Tables, CSV and SVG are written from the same rows, whose order and front the controller's
// functions decide. Names of points contain values from a user's file: they are made printable for
// a terminal, escaped for SVG, and for CSV kept from being taken for formulas by a spreadsheet (CSV
// injection). Numbers in CSV have 17 significant digits, which a double needs to be read back
// exactly.
#include "services/cli/sweep.h"

#include <algorithm>
#include <string_view>

#include "services/base/markup.h"
#include "services/base/text.h"
#include "services/cli/follow_sweep.h"
#include "services/cli/report.h"
#include "services/controller/job/status.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/shown/printable.h"
#include "services/controller/shown/report_line.h"
#include "services/controller/sweep/plan.h"
#include "services/controller/sweep/rows.h"

namespace eidolon::cli {

using base::StrCat;
using controller::shown::At;
using controller::shown::FormatSeconds;
using controller::shown::NumberAt;
using controller::shown::Print;
using controller::shown::ShownPhaseOf;
using controller::shown::StandingCondition;
using controller::shown::TextAt;
using controller::shown::ToPrintableLine;
using controller::shown::ToPrintableMessage;
using controller::sweep::HasPrediction;
using controller::sweep::ThroughputOf;
using nlohmann::json;

std::string SweepTable(const std::vector<json>& rows) {
  std::string text = "  iteration    per second    head-room      cost  front  point\n";
  for (const json& row : rows) {
    if (!HasPrediction(row)) {
      text += StrCat("  ", TextAt(row, {"phase"}), " (", TextAt(row, {"reason"}), ")  ",
                     ToPrintableLine(TextAt(row, {"name"})), "  ",
                     ToPrintableLine(TextAt(row, {"message"})), "\n");
      continue;
    }
    const auto column = [](std::string value, std::size_t width) {
      return value.size() < width ? std::string(width - value.size(), ' ') + value : value;
    };
    const bool is_front = row.value("front", false);
    const double headroom = NumberAt(row, {"headroomBytes"});
    text +=
        column(FormatSeconds(NumberAt(row, {"iterationSeconds"})), 11) +
        column(Print("%.6g", ThroughputOf(row)), 14) +
        column((headroom < 0 ? "-" : "") + controller::job::FormatBytes(static_cast<std::uint64_t>(
                                               headroom < 0 ? -headroom : headroom)),
               13) +
        column(row.contains("costPerUnit") ? Print("%.4g", NumberAt(row, {"costPerUnit"})) : "-",
               10) +
        column(is_front ? "*" : "", 5) + "    " + ToPrintableLine(TextAt(row, {"name"})) + "\n";
  }
  text +=
      "  per second: tokens where the job names them, else iterations; cost: of a million tokens, "
      "else of a thousand iterations\n";
  return text;
}

std::string FormatSweep(const json& sweep) {
  const json& points = At(sweep, {"status", "points"});
  auto rows = points.is_array() ? points.get<std::vector<json>>() : std::vector<json>();
  controller::sweep::RankRows(&rows);
  const std::string name = TextAt(sweep, {"metadata", "name"});
  const bool is_suspended =
      At(sweep, {"spec", "suspend"}) == json(true) && !controller::sweep::IsSweepOver(sweep);
  const std::string why = is_suspended
                              ? "no point begins until 'eidolon resume --sweeps " + name + "'"
                              : TextAt(StandingCondition(sweep), {"message"});
  return StrCat(name, "  ", ShownPhaseOf(sweep), "  ", FormatSweepProgress(sweep),
                why.empty() ? "" : ": " + ToPrintableMessage(why), "\n", SweepTable(rows));
}

std::string FormatSweeps(const json& sweeps) {
  std::string text = "NAME                      PHASE      POINTS\n";
  for (const json& sweep : sweeps) {
    const auto column = [](std::string value, std::size_t width) {
      value.resize(std::max(value.size() + 1, width), ' ');
      return value;
    };
    text += column(TextAt(sweep, {"metadata", "name"}), 26) + column(ShownPhaseOf(sweep), 11) +
            FormatSweepProgress(sweep) + "\n";
  }
  return text;
}

namespace {

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// A cell of a file of values. A spreadsheet takes a text that begins as a formula for one, quoted
// or not; an apostrophe before it keeps it a text. Numbers stay as they are.
std::string Cell(const json& value) {
  const std::string text = controller::sweep::TextOf(value);
  constexpr std::string_view kFormula = "=+-@\t\r";
  const bool is_formula =
      value.is_string() && !text.empty() && kFormula.find(text.front()) != kFormula.npos;
  return Quoted(is_formula ? "'" + text : text);
}

}  // namespace

std::string RowsCsv(const std::vector<json>& rows, const CsvColumns& columns) {
  std::vector<std::string> paths;
  if (!rows.empty()) {
    for (const auto& [path, value] : At(rows.front(), {"point"}).items()) paths.push_back(path);
  }
  std::vector<std::string> heads;
  for (const std::string& path : paths) heads.push_back(Cell(path));
  heads.insert(heads.end(), columns.texts.begin(), columns.texts.end());
  heads.insert(heads.end(), columns.numbers.begin(), columns.numbers.end());
  std::string text = base::Join(heads, ",") + "\n";
  for (const json& row : rows) {
    const json& point = At(row, {"point"});
    std::vector<std::string> cells;
    for (const std::string& path : paths) {
      cells.push_back(Cell(point.contains(path) ? point[path] : json("")));
    }
    for (const char* name : columns.texts) {
      const json& value = At(row, {name});
      cells.push_back(value.is_boolean() ? StrCat(value.get<bool>() ? 1 : 0)
                                         : Cell(TextAt(row, {name})));
    }
    for (const char* name : columns.numbers) {
      cells.push_back(row.contains(name) ? Print("%.17g", NumberAt(row, {name})) : "");
    }
    text += base::Join(cells, ",") + "\n";
  }
  return text;
}

std::string SweepCsv(const std::vector<json>& rows) {
  std::vector<json> whole = rows;
  for (json& row : whole) {
    for (const char* name : {"replayed", "front"}) row[name] = row.value(name, false);
  }
  return RowsCsv(
      whole, {.texts = {"phase", "reason", "replayed", "front"},
              .numbers = {"iterationSeconds", "iterationsPerSecond", "tokensPerSecond",
                          "headroomBytes", "gpus", "costPerHour", "costPerUnit", "wallSeconds"}});
}

std::string SweepSvg(const std::vector<json>& rows) {
  constexpr double kWidth = 720, kHeight = 420, kMargin = 60;
  const bool priced =
      std::ranges::any_of(rows, [](const json& row) { return row.contains("costPerUnit"); });
  const auto height_of = [priced](const json& row) {
    return NumberAt(row, {priced ? "costPerUnit" : "headroomBytes"});
  };
  double right = 0, top = 0;
  for (const json& row : rows) {
    right = std::max(right, ThroughputOf(row));
    top = std::max(top, height_of(row));
  }
  std::string text = StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 420\" "
      "font-family=\"sans-serif\" "
      "font-size=\"12\"><rect width=\"720\" height=\"420\" fill=\"white\"/>"
      "<path d=\"M60 20V360H700\" fill=\"none\" stroke=\"black\"/>"
      "<text x=\"380\" y=\"400\" text-anchor=\"middle\">per second</text><text x=\"8\" y=\"14\">",
      priced ? "cost" : "memory head-room, bytes", "</text>");
  for (const json& row : rows) {
    if (!HasPrediction(row) || right <= 0 || top <= 0) continue;
    const double x = kMargin + (kWidth - kMargin - 20) * ThroughputOf(row) / right;
    const double y =
        kHeight - kMargin - (kHeight - kMargin - 20) * std::max(0.0, height_of(row)) / top;
    text += StrCat("<circle cx=\"", Print("%.1f", x), "\" cy=\"", Print("%.1f", y),
                   "\" r=\"5\" fill=\"", row.value("front", false) ? "#b33" : "#68a", "\"><title>",
                   base::EscapeMarkup(ToPrintableLine(TextAt(row, {"name"}))), ": ",
                   Print("%.6g", ThroughputOf(row)), ", ", Print("%.6g", height_of(row)),
                   "</title></circle>");
  }
  return text + "</svg>\n";
}

}  // namespace eidolon::cli
