// The report is written from the JSON document alone, whichever version wrote it: every part checks
// for its fields and is empty without them. Text of a program must not reach a terminal as escape
// sequences: Line makes its text printable, and what bypasses Line has to do so itself. The order
// of the parts follows the questions of a reader: what came out, what limits it, where time goes,
// how sure it is.
#include "services/cli/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/base/text.h"
#include "services/cli/columns.h"
#include "services/cli/report_figures.h"
#include "services/cli/report_path.h"
#include "services/controller/job/status.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/shown/printable.h"
#include "services/controller/shown/report_line.h"

namespace eidolon::cli {
namespace {

using base::StrCat;
using controller::job::FormatBytes;
using controller::shown::At;
using controller::shown::Beginning;
using controller::shown::BytesAt;
using controller::shown::CountAt;
using controller::shown::FormatCount;
using controller::shown::FormatSeconds;
using controller::shown::FormatSpan;
using controller::shown::Headline;
using controller::shown::HeadlineOf;
using controller::shown::Line;
using controller::shown::NumberAt;
using controller::shown::Percent;
using controller::shown::PhaseOf;
using controller::shown::Print;
using controller::shown::ShownPhaseOf;
using controller::shown::StandingCondition;
using controller::shown::TextAt;
using controller::shown::ToPrintableLine;
using controller::shown::ToPrintableMessage;
using nlohmann::json;

constexpr int kBarWidth = 24;
// Parts of a breakdown, and their names in the report.
constexpr std::array<std::array<const char*, 2>, 4> kParts = {
    {{"compute", "compute"},
     {"exposedCommunication", "exposed comm."},
     {"idle", "idle"},
     {"host", "host"}}};

std::string Bar(double share) {
  const int full = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kBarWidth));
  std::string bar;
  for (int i = 0; i < full; ++i) bar += "█";
  return bar;
}

std::string FormatVerdict(const json& job) {
  std::string text = ToPrintableLine(StrCat(TextAt(job, {"metadata", "name"}), "  ", PhaseOf(job)));
  const json& condition = StandingCondition(job);
  const std::string message = ToPrintableMessage(TextAt(condition, {"message"}));
  text += StrCat("  ", ToPrintableLine(TextAt(condition, {"reason"})), message.empty() ? "" : ": ",
                 message, "\n");
  const json& warnings = At(job, {"status", "warnings"});
  for (const json& warning : warnings) {
    if (warning.is_string())
      text += "  warning: " + ToPrintableLine(warning.get<std::string>()) + "\n";
  }
  return text;
}

// Returns what an iteration did more of than the others (less, for a short one): parts that make up
// at least a twentieth of the difference, the largest first.
std::string FormatDifference(const json& more, double difference) {
  constexpr double kLeastShare = 0.05;
  const double sign = difference < 0 ? -1 : 1;
  std::vector<std::pair<double, const char*>> parts;
  for (const auto& [key, label] : kParts) {
    const double part = sign * NumberAt(more, {key});
    if (part > 0 && part >= kLeastShare * std::abs(difference)) parts.emplace_back(part, label);
  }
  std::ranges::stable_sort(parts, std::greater(), [](const auto& part) { return part.first; });
  std::string text =
      StrCat(FormatSeconds(std::abs(difference)), difference < 0 ? " less" : " more");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += StrCat(i == 0 ? ": " : ", ", parts[i].second, " ", FormatSeconds(parts[i].first));
  }
  constexpr std::array<std::array<const char*, 2>, 2> kCopies = {
      {{"copiesToHost", "to the host"}, {"copiesToDevice", "from the host"}}};
  for (const auto& [key, label] : kCopies) {
    const double part = sign * NumberAt(more, {key});
    if (part <= 0 || part < kLeastShare * std::abs(difference)) continue;
    text += StrCat("; copies ", label, " ", FormatSeconds(part));
  }
  return text;
}

// Says when the mean stands for none of the iterations.
std::string FormatUnevenness(const json& prediction) {
  constexpr std::size_t kShown = 5;
  const json& uneven = At(prediction, {"unevenIterations"});
  if (!uneven.is_object()) return "";
  const double median = NumberAt(prediction, {"iterationSeconds", "p50"});
  const std::int64_t count = CountAt(uneven, {"count"});
  std::string text =
      Line("uneven", StrCat(count, " of ", CountAt(prediction, {"measuredIterations"}),
                            count == 1 ? " iterations is" : " iterations are",
                            " far from the median, ", FormatSeconds(median), "; the others take ",
                            FormatSeconds(NumberAt(uneven, {"otherIterationsSeconds"}))));
  std::int64_t shown = 0;
  for (const json& odd : At(uneven, {"iterations"})) {
    if (++shown > static_cast<std::int64_t>(kShown)) break;
    const double seconds = NumberAt(odd, {"seconds"});
    text += Line("", StrCat("iteration ", CountAt(odd, {"iteration"}), ": ", FormatSeconds(seconds),
                            ", ", FormatDifference(At(odd, {"more"}), seconds - median)));
  }
  const auto listed = static_cast<std::int64_t>(kShown);
  if (count > listed) text += Line("", StrCat("and ", count - listed, " more"));
  return text;
}

// Formats a program without iterations, or what a failed one had done.
std::string FormatProgram(const json& job) {
  const json& program = At(job, {"status", "prediction", "program"});
  if (!program.is_object()) return "";
  // Who names a boundary that never comes has a whole program all the same.
  const bool ended =
      PhaseOf(job) != "Failed" || TextAt(StandingCondition(job), {"reason"}) == "NoIterations";
  const std::string label = ended ? "whole program" : "until it failed";
  return Line(label, StrCat(FormatSeconds(NumberAt(program, {"seconds"})), "   90 % band ",
                            FormatSeconds(NumberAt(program, {"low"})), " to ",
                            FormatSeconds(NumberAt(program, {"high"})), "   ",
                            FormatCount(NumberAt(program, {"launches"})), " launches"));
}

// Formats what limits the iteration and what would help, most expensive first.
std::string FormatDiagnosis(const json& prediction) {
  std::string text;
  for (const json& finding : At(prediction, {"diagnosis"})) {
    text += Line(text.empty() ? "diagnosis" : "", TextAt(finding, {"sentence"}));
  }
  return text;
}

std::string FormatExtraWork(const json& prediction) {
  std::string text;
  for (const std::string& line : DescribeExtraWork(prediction)) text += Line("", line);
  return text;
}

// Says when the first figure stands for too few of the iterations.
std::string FormatUnlikeness(const json& prediction) {
  constexpr std::int64_t kShownBy = 3;  // Iterations that can show which of them repeat.
  const json& alike = At(prediction, {"steadyIteration", "alike"});
  const std::int64_t measured = CountAt(prediction, {"measuredIterations"});
  if (!alike.is_number_integer() || measured < kShownBy) return "";
  const std::int64_t count = CountAt(prediction, {"steadyIteration", "alike"});
  if (2 * count >= measured) return "";
  return Line("", StrCat("no iteration repeats: ", count, " of ", measured,
                         " are within a twentieth of this median"));
}

std::string FormatTimes(const json& prediction) {
  const json& time = At(prediction, {"iterationSeconds"});
  if (!time.is_object()) return "";
  const Headline headline = HeadlineOf(prediction);
  return Line("iteration", StrCat(FormatSeconds(headline.seconds), "   90 % band ",
                                  FormatSeconds(headline.low), " to ", FormatSeconds(headline.high),
                                  "   p50 ", FormatSeconds(NumberAt(time, {"p50"})), "   p90 ",
                                  FormatSeconds(NumberAt(time, {"p90"})))) +
         FormatUnlikeness(prediction) + FormatExtraWork(prediction) + FormatUnevenness(prediction);
}

std::string FormatHostTime(const json& prediction) {
  const json& host = At(prediction, {"hostTime"});
  if (!host.is_object()) return "";
  const double work = NumberAt(host, {"workSeconds"});
  return Line("host time",
              StrCat(DescribeHostTime(prediction), "   error ", Percent(NumberAt(host, {"error"})),
                     work > 0 ? StrCat("   ", FormatSeconds(work), " of work an iteration") : ""));
}

// Places in the program, and how often something happened there.
std::string FormatPlaces(const json& places) {
  constexpr std::size_t kShownMax = 5;
  std::string text;
  std::size_t shown = 0;
  for (const json& place : places) {
    if (++shown > kShownMax) break;
    text += Line("", StrCat("  ", place.value("where", ""), " (", place.value("times", 0), "x)"));
  }
  return text;
}

// Returns how many of the job's ranks ran.
std::string FormatFolding(const json& prediction) {
  const json& folding = At(prediction, {"folding"});
  if (!folding.is_object()) return "";
  std::string live;
  std::size_t shown = 0;
  for (const json& rank : folding.value("live", json::array())) {
    if (++shown > 8) break;
    live += StrCat(live.empty() ? "" : ", ", rank.dump());
  }
  const std::size_t count = folding.value("live", json::array()).size();
  const std::uint64_t classes = CountAt(folding, {"classes"});
  const std::uint64_t guessed = CountAt(folding, {"guessedCollectives"});
  std::string warning;
  if (guessed > 0) {
    warning = Line("", StrCat(guessed, " collective(s) with values of mirrored ranks that ",
                              "were taken from a live one"));
    warning += FormatPlaces(At(folding, {"guessedCallSites"}));
  }
  if (const std::uint64_t differences = CountAt(folding, {"workDifferencesTotal"})) {
    warning +=
        Line("", StrCat("between ", differences, " calls of NCCL, live ranks that are taken ",
                        "to be alike launched other work"));
    warning += FormatPlaces(At(folding, {"workDifferences"}));
  }
  return Line("folded",
              StrCat(CountAt(folding, {"ranks"}), " ranks: ", count, " live (", live,
                     shown > 8 ? ", ..." : "", "), ", CountAt(folding, {"mirrored"}), " mirrored",
                     classes > 1 ? StrCat(" in ", classes, " classes") : "")) +
         warning;
}

std::string FormatBreakdown(const json& prediction) {
  const json& shares = At(prediction, {"breakdown"});
  if (!shares.is_object()) return "";
  std::string text;
  for (const auto& [key, label] : kParts) {
    const double share = NumberAt(shares, {key});
    std::string percent = Percent(share);
    percent.insert(0, std::max<std::size_t>(percent.size(), 8) - percent.size(), ' ');
    text += Line(StrCat("  ", label), percent + "  " + Bar(share));
  }
  return text;
}

// Waiting that the parts above hold.
std::string FormatSlowerRanks(const json& prediction) {
  const json& slower = At(prediction, {"slowerRanks"});
  if (!slower.is_object()) return "";
  return Line("slower ranks", StrCat(Percent(NumberAt(slower, {"share"})),
                                     " of an iteration is waiting for the slowest GPU: ",
                                     FormatSeconds(NumberAt(slower, {"seconds"}))));
}

// Lists what the host read although nothing had computed it.
std::string FormatUnknownSources(const json& prediction) {
  constexpr std::size_t kShown = 5;
  constexpr std::size_t kNameMax = 90;
  std::string text;
  std::size_t shown = 0;
  bool undeclared = false;
  for (const json& source : At(prediction, {"unknownReadSources"})) {
    undeclared = undeclared || CountAt(source, {"declaration"}) == 0;
    if (++shown > kShown) continue;
    std::string writer = TextAt(source, {"writer"});
    if (writer.size() > kNameMax) writer = Beginning(writer, kNameMax) + "...";
    const std::string line = TextAt(source, {"line"});
    text +=
        Line("", StrCat(FormatCount(NumberAt(source, {"reads"})), " x ", TextAt(source, {"given"}),
                        line.empty() ? "" : " at " + line, ": ", writer));
  }
  if (shown > kShown) text += Line("", StrCat("and ", shown - kShown, " more"));
  if (undeclared) {
    text += Line("", "say what they read: values: {declared: [{line: FILE.py:N, value: 1}]}");
  }
  return text;
}

// What is not known of a guess: the band allows for it.
std::string FormatAssumedBound(const json& prediction) {
  const json& bound = At(prediction, {"assumedWork"});
  if (NumberAt(bound, {"bytesMax"}) <= 0) return "";
  return Line("", StrCat("each may move ", BytesAt(bound, {"bytesMax"}),
                         ", all that its rank has allocated; together up to ",
                         FormatSeconds(NumberAt(bound, {"secondsMax"})), " an iteration"));
}

// A guess may be far too short, so that its share of the time says little.
std::string FormatAssumed(const json& prediction) {
  constexpr std::size_t kShown = 5;
  std::string text;
  double launches = 0;
  std::size_t kernels = 0;
  for (const json& kernel : At(prediction, {"kernels"})) {
    if (TextAt(kernel, {"source"}) != "assumed") continue;
    const double count = NumberAt(kernel, {"launches"});
    launches += count;
    if (++kernels > kShown) continue;
    text += Line("", StrCat(FormatCount(count), " x ", TextAt(kernel, {"name"}), ", ",
                            FormatSeconds(NumberAt(kernel, {"seconds"})), " in all"));
  }
  if (kernels == 0) return text;
  if (kernels > kShown) text += Line("", StrCat("and ", kernels - kShown, " more"));
  return Line("assumed",
              StrCat(FormatCount(launches), launches == 1 ? " launch of " : " launches of ",
                     kernels, kernels == 1 ? " kernel" : " kernels", " whose length is a guess")) +
         FormatAssumedBound(prediction) + text;
}

std::string FormatSureness(const json& prediction) {
  std::string text;
  const json& coverage = At(prediction, {"coverage"});
  if (coverage.is_object()) {
    std::string shares;
    for (const char* source : {"measured", "interpolated", "modelled", "assumed"}) {
      if (!shares.empty()) shares += "   ";
      shares += StrCat(source, " ", Percent(NumberAt(coverage, {source})));
    }
    text += Line("coverage", shares);
    // On a GPU with fixed durations nothing else is.
    if (NumberAt(coverage, {"assumed"}) < 1) text += FormatAssumed(prediction);
  }
  const bool measured =
      NumberAt(prediction, {"measuredIterations"}) > 0 || At(prediction, {"program"}).is_object();
  const json& calls = At(prediction, {"unsupportedCalls"});
  std::string refused;
  for (const json& call : calls) {
    if (!refused.empty()) refused += ", ";
    refused += StrCat(TextAt(call, {"name"}), " x", FormatCount(NumberAt(call, {"count"})));
  }
  if (calls.is_array() && (measured || !refused.empty())) {
    text += Line("refused calls", refused.empty() ? "none" : refused);
  }
  const double reads = NumberAt(prediction, {"unknownReads"});
  if (measured || reads > 0) {
    text += Line("unknown reads", FormatCount(reads));
    text += FormatUnknownSources(prediction);
    for (const json& unused : At(prediction, {"unusedDeclarations"})) {
      if (unused.is_string()) text += Line("", "never read: " + unused.get<std::string>());
    }
  }
  return text;
}

// Returns what is known of a program that has not ended an iteration yet.
std::string FormatUnanswered(const json& job) {
  const json& status = At(job, {"status"});
  const double launches = NumberAt(status, {"progress", "launches"});
  std::string text = StrCat("; ", FormatCount(launches), launches == 1 ? " launch" : " launches");
  const json& prediction = At(status, {"prediction"});
  if (const double reads = NumberAt(prediction, {"unknownReads"}); reads > 0) {
    text += StrCat("; ", FormatCount(reads), reads == 1 ? " unknown read" : " unknown reads");
    const json& sources = At(prediction, {"unknownReadSources"});
    const std::string line =
        sources.is_array() && !sources.empty() ? TextAt(sources.front(), {"line"}) : "";
    if (!line.empty()) text += ", most at " + line;
  }
  const json& calls = At(prediction, {"unsupportedCalls"});
  if (calls.is_array() && !calls.empty()) {
    text += StrCat("; '", TextAt(calls.front(), {"name"}), "' is not supported");
  }
  return text;
}

}  // namespace

std::string FormatReport(const json& job) {
  const json& status = At(job, {"status"});
  const json& prediction = At(status, {"prediction"});
  return FormatVerdict(job) + FormatThroughput(prediction) + FormatDiagnosis(prediction) +
         FormatTarget(job) + FormatTimes(prediction) + FormatProgram(job) +
         FormatMatrixRate(prediction) + FormatEnergy(prediction) + FormatBreakdown(prediction) +
         FormatSlowerRanks(prediction) + FormatCriticalPath(prediction) +
         FormatKernels(prediction) + FormatFolding(prediction) + FormatHostTime(prediction) +
         FormatMemory(prediction) + FormatSureness(prediction) + FormatCost(status);
}

std::string FormatTable(const std::vector<json>& jobs) {
  std::vector<std::vector<std::string>> rows = {
      {"NAMESPACE", "NAME", "STATE", "PROGRESS", "ITERATION", "THROUGHPUT", "CREATED"}};
  for (const json& job : jobs) {
    const json& progress = At(job, {"status", "progress"});
    const json& prediction = At(job, {"status", "prediction"});
    const Headline headline = HeadlineOf(prediction);
    rows.push_back({TextAt(job, {"metadata", "namespace"}), TextAt(job, {"metadata", "name"}),
                    ShownPhaseOf(job),
                    progress.is_object()
                        ? StrCat(NumberAt(progress, {"iteration"}), "/", NumberAt(progress, {"of"}))
                        : "-",
                    headline.is_iteration ? FormatSeconds(headline.seconds) : "-",
                    DescribeThroughput(prediction, "-"),
                    TextAt(job, {"metadata", "creationTimestamp"})});
  }
  return FormatColumns(rows);
}

std::string FormatProgress(const json& job) {
  std::string text = StrCat(TextAt(job, {"metadata", "name"}), "  ");
  const json& progress = At(job, {"status", "progress"});
  if (!progress.is_object()) {
    const std::string message = TextAt(StandingCondition(job), {"message"});
    return text + PhaseOf(job) + (message.empty() ? "" : ": " + message);
  }
  const double percent = NumberAt(progress, {"percent"});
  std::string bar(20, '.');
  const auto done = static_cast<std::size_t>(std::clamp(percent, 0.0, 100.0) / 5);
  bar.replace(0, done, done, '=');
  text += StrCat("iteration ", NumberAt(progress, {"iteration"}), " of ",
                 NumberAt(progress, {"of"}), "  [", bar, "]  ", Print("%.0f %%", percent));
  if (At(progress, {"remainingSeconds"}).is_number()) {
    text += "  " + FormatSpan(NumberAt(progress, {"remainingSeconds"})) + " left";
  }
  text += "  virtual " + FormatSeconds(NumberAt(progress, {"virtualSeconds"}));
  if (NumberAt(progress, {"iteration"}) == 0) text += FormatUnanswered(job);
  const std::string waiting = TextAt(progress, {"waiting"});
  return text + (waiting.empty() ? "" : "; nothing moves: " + waiting);
}

}  // namespace eidolon::cli
