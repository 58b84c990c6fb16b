// The document of CompareJobs has all rows, and this file decides what fits a screen. Two times
// that would be printed alike are called the same, because a factor of 1.000 would only confuse.
// Overlapping bands do not decide which job is faster: both predictions use the same models, and
// errors that both share cancel in the ratio. Names of kernels and fields may contain anything, so
// they are made printable before they reach a terminal.
#include "services/controller/shown/comparison_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "services/base/text.h"
#include "services/controller/job/status.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/shown/kernel_title.h"
#include "services/controller/shown/printable.h"
#include "services/controller/shown/report_line.h"

namespace eidolon::controller::shown {
namespace {

using base::StrCat;
using nlohmann::json;

constexpr std::size_t kKernelsShown = 8;
constexpr std::size_t kFieldsShown = 40;
constexpr std::size_t kNameMax = 56;
constexpr std::size_t kValueMax = 40;
// Two times are called the same when they would look it.
constexpr double kSame = 5e-4;

struct Row {
  std::string label;
  std::string first;
  std::string second;
  std::string change;
};

using Formatter = std::string (*)(const json&);

std::string Seconds(const json& value) { return FormatSeconds(value.get<double>()); }
std::string Count(const json& value) { return FormatCount(value.get<double>()); }
std::string Share(const json& value) { return Percent(value.get<double>()); }
std::string Bytes(const json& value) {
  constexpr double kBytesMax = 9e18;
  return job::FormatBytes(
      static_cast<std::uint64_t>(std::clamp(value.get<double>(), 0.0, kBytesMax)));
}
std::string Plain(const json& value) {
  const std::string text = value.is_string()
                               ? value.get<std::string>()
                               : value.dump(-1, ' ', false, json::error_handler_t::replace);
  return ToPrintableLine(text.size() <= kValueMax ? text : Beginning(text, kValueMax) + "...");
}

std::string Side(const json& row, const char* side, Formatter format) {
  const json& value = At(row, {side});
  if (value.is_null()) return "-";
  return value.is_number() ? format(value) : Plain(value);
}

// "+12.3 %", or which of the two alone has it.
std::string ChangeOf(const json& row) {
  const bool first = !At(row, {"first"}).is_null();
  const bool second = !At(row, {"second"}).is_null();
  if (first != second) return first ? "only A" : "only B";
  if (!At(row, {"change"}).is_number()) return "";
  const double change = NumberAt(row, {"change"});
  return std::abs(change) < kSame / 10 ? "same" : Print("%+.1f %%", 100 * change);
}

Row Figure(const std::string& label, const json& row, Formatter format) {
  return {label, Side(row, "first", format), Side(row, "second", format), ChangeOf(row)};
}

std::string DescribeJob(const char* mark, const json& job) {
  const auto text_at = [&](const char* key) { return ToPrintableLine(TextAt(job, {key})); };
  std::string text = StrCat(mark, "  ", text_at("name"), "  ", text_at("phase"));
  const std::string reason = text_at("reason");
  if (!reason.empty()) text += ": " + reason;
  const std::string gpu = text_at("gpu");
  if (!gpu.empty()) {
    const std::int64_t servers = CountAt(job, {"servers"});
    const std::int64_t ranks = CountAt(job, {"ranks"});
    text += StrCat("   ", gpu, ", ", servers, servers == 1 ? " server, " : " servers, ",
                   FormatCount(static_cast<double>(ranks)), ranks == 1 ? " rank" : " ranks");
  }
  return text + "\n";
}

std::string Verdict(const json& time) {
  const json& first = At(time, {"first"});
  const json& second = At(time, {"second"});
  if (first.is_null() && second.is_null()) return "neither predicts a time";
  if (first.is_null() || second.is_null()) {
    return StrCat(first.is_null() ? "A" : "B", " predicts no time");
  }
  const double speedup = NumberAt(time, {"speedup"});
  if (speedup <= 0) {
    return "one predicts an iteration, the other a whole program: their times do not compare";
  }
  if (std::abs(speedup - 1) < kSame) return "both predict the same time";
  const std::string faster = speedup > 1 ? Print("B is %.3g times as fast as A", speedup)
                                         : Print("A is %.3g times as fast as B", 1 / speedup);
  return At(time, {"bandsOverlap"}) != json(true)
             ? faster + "; the bands do not overlap"
             : faster +
                   "; the bands overlap: errors that both estimates share cancel, so the "
                   "order may still hold, but how large the difference is stays uncertain";
}

void AddTime(const json& time, std::vector<Row>* rows) {
  const std::array<const json*, 2> sides = {&At(time, {"first"}), &At(time, {"second"})};
  if (sides[0]->is_null() && sides[1]->is_null()) return;
  std::array<std::string, 2> means;
  std::array<std::string, 2> bands;
  for (std::size_t i = 0; i < 2; ++i) {
    const json& side = *sides[i];
    means[i] = side.is_null() ? "-" : FormatSeconds(NumberAt(side, {"mean"}));
    bands[i] = side.is_null() ? "-"
                              : StrCat(FormatSeconds(NumberAt(side, {"low"})), " to ",
                                       FormatSeconds(NumberAt(side, {"high"})));
  }
  const bool program = TextAt(sides[0]->is_null() ? *sides[1] : *sides[0], {"what"}) == "program";
  const double speedup = NumberAt(time, {"speedup"});
  std::string change = speedup > 0 ? Print("%+.1f %%", 100 * (1 / speedup - 1)) : "";
  if (std::abs(speedup - 1) < kSame / 10) change = "same";
  rows->push_back({program ? "whole program" : "iteration", means[0], means[1], change});
  rows->push_back({"  90 % band", bands[0], bands[1], ""});
  if (speedup > 0) rows->push_back({"  speed-up", "1", Print("%.3g", speedup), ""});
}

void AddBreakdown(const json& breakdown, std::vector<Row>* rows) {
  constexpr std::array<std::array<const char*, 2>, 4> kParts = {
      {{"compute", "  compute"},
       {"exposedCommunication", "  exposed comm."},
       {"idle", "  idle"},
       {"host", "  host"}}};
  for (const json& part : breakdown) {
    std::string label = TextAt(part, {"name"});
    for (const auto& [name, shown] : kParts) {
      if (label == name) label = shown;
    }
    Row row = Figure(label, part, Seconds);
    if (At(part, {"firstShare"}).is_number()) row.first += "  " + Share(part["firstShare"]);
    if (At(part, {"secondShare"}).is_number()) row.second += "  " + Share(part["secondShare"]);
    rows->push_back(std::move(row));
  }
}

struct Label {
  const char* name;
  const char* shown;
  Formatter format;
};

void AddRows(const json& figures, const std::vector<Label>& labels, std::vector<Row>* rows) {
  for (const json& figure : figures) {
    for (const Label& label : labels) {
      if (TextAt(figure, {"name"}) != label.name) continue;
      rows->push_back(Figure(label.shown, figure, label.format));
    }
  }
}

void AddKernels(const json& kernels, const char* heading, std::vector<Row>* rows) {
  if (kernels.empty()) return;
  rows->push_back({heading, "", "", ""});
  std::size_t shown = 0;
  for (const json& kernel : kernels) {
    if (++shown > kKernelsShown) break;
    std::string name = TextAt(kernel, {"operator"});
    if (name.empty()) name = TextAt(kernel, {"name"});
    rows->push_back(Figure("  " + ToPrintableLine(KernelTitle(name, kNameMax)), kernel, Seconds));
  }
  if (kernels.size() > kKernelsShown) {
    rows->push_back({StrCat("  and ", kernels.size() - kKernelsShown, " more"), "", "", ""});
  }
}

void AddFields(const json& fields, std::vector<Row>* rows) {
  if (fields.empty()) return;
  rows->push_back({"fields that differ", "", "", ""});
  std::size_t shown = 0;
  for (const json& field : fields) {
    if (++shown > kFieldsShown) break;
    rows->push_back({StrCat("  ", ToPrintableLine(TextAt(field, {"path"}))),
                     Side(field, "first", Plain), Side(field, "second", Plain), ""});
  }
  if (fields.size() > kFieldsShown) {
    rows->push_back({StrCat("  and ", fields.size() - kFieldsShown, " more"), "", "", ""});
  }
}

// "  +62.0 %  softmax: B has 2 kernels ...", those that weigh most first.
std::string DescribeCauses(const json& why) {
  if (!why.is_object()) return "";
  constexpr std::size_t kCausesShown = 10;
  constexpr double kShareShown = 5e-4;
  const auto line = [](const json& cause) {
    std::string share =
        At(cause, {"share"}).is_number() ? Print("%+.1f %%", 100 * NumberAt(cause, {"share"})) : "";
    share.insert(0, std::max<std::size_t>(share.size(), 10) - share.size(), ' ');
    return StrCat("  ", share, "  ", TextAt(cause, {"sentence"}), "\n");
  };
  std::string text;
  std::size_t shown = 0;
  std::size_t left_out = 0;
  for (const json& cause : At(why, {"causes"})) {
    const bool is_small =
        At(cause, {"share"}).is_number() && std::abs(NumberAt(cause, {"share"})) < kShareShown;
    if (is_small || shown == kCausesShown) {
      ++left_out;
      continue;
    }
    ++shown;
    text += line(cause);
  }
  if (left_out > 0) {
    text += StrCat("              and ", left_out, left_out == 1 ? " cause" : " causes",
                   " that weigh less\n");
  }
  const json& rest = At(why, {"unexplained"});
  if (shown > 0 || NumberAt(rest, {"seconds"}) != 0) text += line(rest);
  const json& memory = At(why, {"memory"});
  if (memory.is_object()) text += line(memory);
  if (text.empty()) return "";
  return StrCat("  why (shares of what B takes more or less)\n", text);
}

std::string Aligned(const std::vector<Row>& rows) {
  std::array<std::size_t, 3> widths{};
  for (const Row& row : rows) {
    if (row.first.empty()) continue;  // A heading.
    widths[0] = std::max(widths[0], row.label.size());
    widths[1] = std::max(widths[1], row.first.size());
    widths[2] = std::max(widths[2], row.second.size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = "  " + row.label;
    std::size_t at = 2;
    const std::array<const std::string*, 3> cells = {&row.first, &row.second, &row.change};
    for (std::size_t i = 0; i < cells.size() && !row.first.empty(); ++i) {
      at += widths[i] + 3;
      line.resize(std::max(line.size() + 1, at), ' ');
      line += *cells[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string FormatComparison(const json& comparison) {
  std::vector<Row> rows = {{"", "A", "B", "change"}};
  AddTime(At(comparison, {"time"}), &rows);
  AddBreakdown(At(comparison, {"breakdown"}), &rows);
  AddRows(At(comparison, {"figures"}),
          {{"tokensPerSecond", "tokens/s", Count},
           {"modelFlopsUtilization", "model FLOPs util.", Share}},
          &rows);
  AddRows(At(comparison, {"memory"}),
          {{"peakReservedBytes", "peak memory", Bytes},
           {"allocations", "  program", Bytes},
           {"workspace", "  workspace", Bytes},
           {"nccl", "  NCCL", Bytes},
           {"context", "  context", Bytes},
           {"capacityBytes", "  capacity", Bytes},
           {"fits", "  fits", Plain}},
          &rows);
  const json& kernels = At(comparison, {"kernels"});
  const json& collectives = At(comparison, {"collectives"});
  AddKernels(kernels, "kernels that differ, busy time of a rank", &rows);
  AddKernels(collectives, "collectives that differ, busy time of a rank", &rows);
  AddFields(At(comparison, {"fields"}), &rows);
  std::string text;
  std::array<const char*, 2> marks = {"A", "B"};
  const json& jobs = At(comparison, {"jobs"});
  for (std::size_t i = 0; i < std::min<std::size_t>(jobs.size(), 2); ++i) {
    text += DescribeJob(marks[i], jobs[i]);
  }
  return text + "  " + Verdict(At(comparison, {"time"})) + "\n" +
         DescribeCauses(At(comparison, {"why"})) + Aligned(rows);
}

}  // namespace eidolon::controller::shown
