#include "services/cli/html_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "services/cli/html.h"
#include "services/cli/html_drawing.h"
#include "services/cli/report.h"
#include "services/cli/report_figures.h"
#include "services/cli/report_path.h"
#include "services/controller/job/document.h"
#include "services/controller/job/status.h"
#include "services/controller/page/asset.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/shown/kernel_title.h"
#include "services/controller/shown/printable.h"
#include "services/controller/shown/report_line.h"

namespace eidolon::cli {
namespace {

using base::StrCat;
using controller::job::FormatBytes;
using controller::shown::At;
using controller::shown::BytesAt;
using controller::shown::CountAt;
using controller::shown::FormatCount;
using controller::shown::FormatSeconds;
using controller::shown::FormatSpan;
using controller::shown::Headline;
using controller::shown::HeadlineOf;
using controller::shown::KernelTitle;
using controller::shown::kQuotedOutput;
using controller::shown::NumberAt;
using controller::shown::Percent;
using controller::shown::PhaseOf;
using controller::shown::Print;
using controller::shown::StandingCondition;
using controller::shown::TextAt;
using html::Element;
using html::Escape;
using html::Text;
using nlohmann::json;

std::string Note(const std::string& text) {
  return Element("p", {{"class", "note"}}, Escape(text));
}

std::string Part(const std::string& title, const std::string& inner, bool wide = false) {
  if (inner.empty()) return "";
  return Element("section", {{"class", wide ? "part wide" : "part"}}, Text("h2", title) + inner);
}

// Cells are markup. The first column names the row, the last `numbers` are numbers.
std::string Table(const std::vector<std::string>& titles,
                  const std::vector<std::vector<std::string>>& rows, std::size_t numbers) {
  const auto cell = [&](std::size_t at, std::string_view name, const std::string& inner) {
    const bool number = at + numbers >= titles.size();
    return number ? Element(name, {{"class", "number"}}, inner) : Element(name, {}, inner);
  };
  std::string head;
  for (std::size_t i = 0; i < titles.size(); ++i) head += cell(i, "th", Escape(titles[i]));
  std::string body;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += cell(i, "td", row[i]);
    body += Element("tr", {}, line);
  }
  return Element(
      // Who uses the keyboard scrolls what has the focus.
      "div", {{"class", "scroll"}, {"tabindex", "0"}},
      Element("table", {},
              Element("thead", {}, Element("tr", {}, head)) + Element("tbody", {}, body)));
}

// The time that the job predicts, of an iteration or of the whole program.
struct Time {
  std::string what;
  double mean = 0;
  double low = 0;
  double high = 0;
};

Time TimeOf(const json& prediction) {
  const Headline headline = HeadlineOf(prediction);
  return {headline.is_iteration ? "Predicted iteration" : "Predicted program", headline.seconds,
          headline.low, headline.high};
}

std::string TargetText(const json& job) {
  const json& prediction = At(job, {"status", "prediction"});
  const json& target = At(prediction, {"target"});
  const json& server = At(target, {"cluster", "server"});
  if (!server.is_object()) return "";
  const std::int64_t servers = CountAt(target, {"servers"});
  std::string text =
      StrCat(DescribeGpu(server), " · ", servers, servers == 1 ? " server of " : " servers of ",
             CountAt(server, {"gpusPerServer"}), " GPUs · ",
             FormatCount(NumberAt(target, {"ranks"})), " ranks");
  const std::string network = DescribeNetwork(At(target, {"cluster"}), servers > 1);
  if (!network.empty()) text += " · " + network;
  const json& host = At(prediction, {"hostTime"});
  if (host.is_object()) {
    text += StrCat(" · host time ", DescribeHostTime(prediction), ", error ",
                   Percent(NumberAt(host, {"error"})));
  }
  return text;
}

std::string Figure(const std::string& title, const std::string& value, const std::string& note) {
  return Element(
      "div", {{"class", "figure"}},
      Text("dt", title) + Element("dd", {},
                                  Element("span", {{"class", "value"}}, Escape(value)) +
                                      Element("div", {{"class", "note"}}, Escape(note))));
}

// Notes on work that only some iterations do.
std::string ExtraWork(const json& prediction) {
  std::string notes;
  for (const std::string& line : DescribeExtraWork(prediction)) notes += Note(line);
  return notes;
}

// Why a job failed, and the end of its error output.
std::string Failure(const json& job) {
  const std::string message = TextAt(StandingCondition(job), {"message"});
  const std::size_t end = std::min(message.find(kQuotedOutput), message.size());
  const std::string lines = message.substr(std::min(message.size(), end + kQuotedOutput.size()));
  return Element(
      "section", {{"class", "failure"}},
      Text("h2", "Failed: " + TextAt(StandingCondition(job), {"reason"})) +
          Element("p", {{"class", "message"}}, Escape(message.substr(0, end))) +
          (lines.empty() ? ""
                         : Element("pre", {{"class", "log"}, {"tabindex", "0"}}, Escape(lines))));
}

std::string Hero(const json& job) {
  const json& prediction = At(job, {"status", "prediction"});
  const Time time = TimeOf(prediction);
  if (time.mean <= 0) return Element("div", {{"class", "hero waiting"}}, "Nothing was predicted.");
  std::string figures;
  if (const std::string rate = DescribeThroughput(prediction, ""); !rate.empty()) {
    std::string note = DescribeThroughputBand(prediction);
    std::string more = DescribeMissingUnit(prediction);
    if (more.empty()) more = DescribeTokens(prediction);
    if (!more.empty()) note += (note.empty() ? "" : "; ") + more;
    figures += Figure("Throughput", rate, note);
  }
  if (const double share = NumberAt(prediction, {"modelFlopsUtilization"}); share > 0) {
    const bool is_derived = TextAt(prediction, {"modelFlopsSource"}) == "derived";
    figures += Figure("Model FLOPs utilization", Percent(share),
                      is_derived ? "derived from launches" : "");
  }
  const json& rate = At(prediction, {"matrixFlops"});
  if (const double flops = NumberAt(rate, {"perGpuAndSecond"}); flops > 0) {
    const double peak = NumberAt(rate, {"peakPerSecond"});
    figures += Figure("Matrix work of a GPU", Print("%.1f TFLOP/s", flops * 1e-12),
                      peak > 0 ? StrCat(Percent(NumberAt(rate, {"utilization"})), " of ",
                                        Print("%.0f", peak * 1e-12), " (bf16)")
                               : "");
  }
  const json& memory = At(prediction, {"memory"});
  if (memory.is_object()) {
    const json& fits = At(memory, {"fits"});
    const bool refused = fits.is_boolean() && !fits.get<bool>();
    figures += Figure("Peak memory", BytesAt(memory, {"peakReservedBytes"}),
                      StrCat("of ", BytesAt(memory, {"capacityBytes"}), " on rank ",
                             CountAt(memory, {"worstRank"}), refused ? ", does not fit" : ""));
  }
  if (const double wall = NumberAt(job, {"status", "simulation", "wallSeconds"}); wall > 0) {
    const std::string machine = DescribeMachine(At(job, {"status"}));
    figures +=
        Figure("Cost of the simulation", FormatSpan(wall), machine.empty() ? "" : "on " + machine);
  }
  if (PhaseOf(job) == "Failed") {
    figures = Figure("Until it failed", FormatSeconds(time.mean), time.what) + figures;
    return Element("div", {{"class", "hero waiting"}},
                   Element("dl", {{"class", "figures"}}, figures));
  }
  const std::string lead =
      Element("div", {{"class", "what"}}, time.what) +
      Element("div", {{"class", "large"}}, Escape(FormatSeconds(time.mean))) +
      Note(StrCat("90 % between ", FormatSeconds(time.low), " and ", FormatSeconds(time.high),
                  ", by the errors of the estimates and of the host's time")) +
      ExtraWork(prediction);
  return Element("div", {{"class", "hero"}},
                 Element("div", {{"class", "lead-figure"}}, lead) +
                     Element("dl", {{"class", "figures"}}, figures));
}

std::string Iterations(const json& prediction) {
  std::vector<double> times;
  for (const json& time : At(prediction, {"iterationPicoseconds"})) {
    if (time.is_number()) times.push_back(time.get<double>() * 1e-12);
  }
  if (times.empty()) return "";
  const Time time = TimeOf(prediction);
  return html::DrawIterations(times, {time.mean, time.low, time.high}) +
         Note(
             "Each measured iteration as the simulation gave it, and the band. The axis does not "
             "begin at zero.");
}

std::string Breakdown(const json& prediction) {
  const json& shares = At(prediction, {"breakdown"});
  if (!shares.is_object()) return "";
  const double mean = TimeOf(prediction).mean;
  std::vector<html::Share> list;
  for (const auto& [key, title] : std::to_array<std::pair<const char*, const char*>>(
           {{"compute", "Compute"},
            {"exposedCommunication", "Exposed communication"},
            {"host", "Host"},
            {"idle", "Idle"}})) {
    const double share = NumberAt(shares, {key});
    list.push_back({key, title, share, FormatSeconds(share * mean)});
  }
  return html::DrawShares(list);
}

std::string CriticalPath(const json& prediction) {
  static constexpr auto kColours =
      std::to_array<std::array<const char*, 2>>({{"kernels", "compute"},
                                                 {"copies", "workspace"},
                                                 {"communication", "exposedCommunication"},
                                                 {"launches", "idle"},
                                                 {"delays", "optimizerState"},
                                                 {"host", "host"},
                                                 {"sleeps", "free"},
                                                 {"unknown", "assumed"}});
  const json& path = At(prediction, {"criticalPath"});
  if (!path.is_object()) return "";
  const auto seconds = [](const json& entry) {
    return FormatSeconds(NumberAt(entry, {"picoseconds"}) * 1e-12);
  };
  std::vector<html::Share> list;
  for (const json& entry : At(path, {"kinds"})) {
    const std::string kind = TextAt(entry, {"kind"});
    const auto known =
        std::ranges::find_if(kColours, [&](const auto& colour) { return kind == colour[0]; });
    list.push_back({known == kColours.end() ? "other" : (*known)[1], kind,
                    NumberAt(entry, {"share"}), seconds(entry)});
  }
  std::vector<std::vector<std::string>> rows;
  for (const json& entry : At(path, {"operations"})) {
    const std::string name = TextAt(entry, {"name"});
    rows.push_back({Element("code", {{"title", name}}, Escape(KernelTitle(name, 100))),
                    Escape(TextAt(entry, {"kind"})),
                    Escape(FormatCount(NumberAt(entry, {"times"}))), Escape(seconds(entry)),
                    Escape(Percent(NumberAt(entry, {"share"})))});
  }
  std::vector<std::vector<std::string>> ranks;
  for (const json& entry : At(path, {"ranks"})) {
    ranks.push_back({std::to_string(CountAt(entry, {"rank"})), Escape(seconds(entry)),
                     Escape(Percent(NumberAt(entry, {"share"})))});
  }
  std::vector<std::vector<std::string>> links;
  for (const json& entry : At(path, {"links"})) {
    links.push_back({Escape(TextAt(entry, {"link"})), Escape(seconds(entry)),
                     Escape(Percent(NumberAt(entry, {"share"})))});
  }
  std::vector<std::vector<std::string>> named;
  for (const json& entry : At(path, {"namedLinks"})) {
    named.push_back({Escape(TextAt(entry, {"name"})), Escape(seconds(entry)),
                     Escape(Percent(NumberAt(entry, {"share"})))});
  }
  const auto folded = [](const char* title, const std::string& table) {
    return Element("details", {}, Text("summary", title) + table);
  };
  return html::DrawShares(list) +
         Note(StrCat("From the end backward, what each moment waited for. ",
                     DescribeCriticalPath(path), ".")) +
         Table({"Name", "Kind", "Times", "Time", "Share"}, rows, 3) +
         (links.empty()
              ? ""
              : folded("Communication by link",
                       Table({"Link", "Time", "Share of communication"}, links, 2) +
                           (named.empty() ? ""
                                          : Table({"Busiest", "Time", "Share of communication"},
                                                  named, 2)))) +
         (ranks.size() > 1 ? folded("By rank", Table({"Rank", "Time", "Share"}, ranks, 2)) : "");
}

std::string Coverage(const json& prediction) {
  const json& coverage = At(prediction, {"coverage"});
  if (!coverage.is_object()) return "";
  std::vector<html::Share> list;
  for (const auto& [key, title] : std::to_array<std::pair<const char*, const char*>>(
           {{"measured", "Measured: this kernel on this GPU"},
            {"interpolated", "Interpolated: the same kernel, near sizes"},
            {"modelled", "Modelled: a formula for its family"},
            {"assumed", "Assumed: a generic fallback"}})) {
    list.push_back({key, title, NumberAt(coverage, {key}), ""});
  }
  const double assumed = NumberAt(coverage, {"assumed"});
  return html::DrawShares(list) +
         Note(StrCat(Percent(1 - assumed),
                     " of the GPUs' busy time has an estimate with a known "
                     "error, which the band holds; ",
                     Percent(assumed), " is assumed."));
}

// The program's part by what lies in it, as far as it is told. What is told last may be more than
// there is room for: gradients come to lie where activations were.
void AddProgramShares(const json& memory, double capacity, std::vector<html::Share>* list) {
  double room = NumberAt(memory, {"byCategory", "allocations"});
  const json& parts = At(memory, {"allocations"});
  if (!parts.is_object()) {
    list->push_back({"allocations", "Program: allocator segments", room / capacity,
                     BytesAt(memory, {"byCategory", "allocations"})});
    return;
  }
  for (const auto& [key, title] : std::to_array<std::pair<const char*, const char*>>(
           {{"parameters", "Parameters"},
            {"gradients", "Gradients"},
            {"optimizerState", "Optimizer state"},
            {"activations", "Activations, at most"},
            {"other", parts.contains("activations")
                          ? "Gathered parameters, temporary tensors, what the allocator keeps"
                          : "Activations, gathered parameters, temporary tensors, what the "
                            "allocator keeps"}})) {
    if (!parts.contains(key)) continue;
    const double bytes = std::min(NumberAt(parts, {key}), room);
    room -= bytes;
    list->push_back({key, title, bytes / capacity, BytesAt(parts, {key})});
  }
}

std::string TellersOfMemory(const json& memory) {
  const json& parts = At(memory, {"allocations"});
  std::string text;
  if (parts.is_object() && parts.contains("parameters")) {
    text =
        " Parameters, gradients and optimizer state are what the optimizer's kernels update, read "
        "and keep.";
  }
  if (parts.is_object() && parts.contains("activations")) {
    text +=
        " Activations are the most that is kept at once until backward passes give it back; "
        "gradients may come to lie in their place.";
  }
  return text;
}

std::string Memory(const json& prediction) {
  const json& memory = At(prediction, {"memory"});
  const double capacity =
      std::max(NumberAt(memory, {"capacityBytes"}), NumberAt(memory, {"peakReservedBytes"}));
  if (capacity <= 0) return "";
  std::vector<html::Share> list;
  AddProgramShares(memory, capacity, &list);
  for (const auto& [key, title] : std::to_array<std::pair<const char*, const char*>>(
           {{"workspace", "Workspace of math libraries"},
            {"nccl", "NCCL"},
            {"context", "CUDA context"}})) {
    list.push_back({key, title, NumberAt(memory, {"byCategory", key}) / capacity,
                    BytesAt(memory, {"byCategory", key})});
  }
  const double free = capacity - std::min(capacity, NumberAt(memory, {"peakReservedBytes"}));
  list.push_back({"free", "Free", free / capacity, FormatBytes(static_cast<std::uint64_t>(free))});
  std::vector<std::vector<std::string>> rows;
  for (const json& rank : At(memory, {"ranks"})) {
    rows.push_back(
        {std::to_string(CountAt(rank, {"rank"})), Escape(BytesAt(rank, {"peakReservedBytes"}))});
  }
  return html::DrawShares(list) +
         Note(StrCat("At the peak of rank ", CountAt(memory, {"worstRank"}), ", the fullest.",
                     TellersOfMemory(memory))) +
         (rows.size() > 1 ? Element("details", {},
                                    Text("summary", "By rank") + Table({"Rank", "Peak"}, rows, 1))
                          : "");
}

std::string Kernels(const json& prediction) {
  constexpr std::size_t kShown = 40;
  const json& kernels = At(prediction, {"kernels"});
  double total = 0;
  for (const json& kernel : kernels) total += NumberAt(kernel, {"seconds"});
  std::vector<std::vector<std::string>> rows;
  for (const json& kernel : kernels) {
    if (total <= 0 || rows.size() == kShown) break;
    const std::string source = TextAt(kernel, {"source"});
    const double flops = NumberAt(kernel, {"matrixFlops"});
    const double seconds = NumberAt(kernel, {"seconds"});
    rows.push_back({Element("code", {{"title", TextAt(kernel, {"name"})}},
                            Escape(KernelTitle(TextAt(kernel, {"name"}), 100))),
                    Escape(TextAt(kernel, {"family"})), Escape(source),
                    Escape(FormatCount(NumberAt(kernel, {"launches"}))),
                    Escape(flops > 0 && seconds > 0 ? Print("%.1f", flops / seconds * 1e-12) : ""),
                    Escape(FormatSeconds(seconds)),
                    Escape(Percent(NumberAt(kernel, {"seconds"}) / total))});
  }
  if (rows.empty()) return "";
  return Note(StrCat("Busy time of one iteration, or of the program, summed over ranks: ",
                     rows.size(), " of ", CountAt(prediction, {"kernelCount"}), ".")) +
         Table({"Name", "Family", "Source", "Launches", "TFLOP/s", "Busy time", "Share"}, rows, 4);
}

std::string WhatWouldHelp(const json& what_ifs) {
  std::vector<std::vector<std::string>> rows;
  for (const json& answer : At(what_ifs, {"whatIfs"})) {
    const bool is_answered = !answer.contains("message");
    const bool fits = At(answer, {"fits"}) != json(false);
    rows.push_back(
        {Escape(StrCat(TextAt(answer, {"name"}),
                       is_answered ? (fits ? "" : " (its memory is too small)")
                                   : " – not answered: " + TextAt(answer, {"message"}))),
         Escape(is_answered ? FormatSeconds(NumberAt(answer, {"iterationSeconds"})) : ""),
         Escape(is_answered ? Print("%+.1f %%", NumberAt(answer, {"change"}) * 100) : "")});
  }
  if (rows.empty()) return "";
  return Note(StrCat("Each line is a replay of what the ranks asked of their GPUs, with the whole "
                     "model; as it is, an iteration takes ",
                     FormatSeconds(NumberAt(what_ifs, {"iterationSeconds"})), ".")) +
         Table({"If", "Iteration", "Change"}, rows, 2);
}

std::string Doubts(const json& prediction) {
  constexpr std::size_t kShown = 20;
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& what, const std::string& name,
                       const std::string& amount) {
    if (rows.size() < 3 * kShown)
      rows.push_back({Escape(what), Text("code", name), Escape(amount)});
  };
  for (const json& kernel : At(prediction, {"assumedKernels"})) {
    add("assumed kernel", TextAt(kernel, {"name"}), FormatSeconds(NumberAt(kernel, {"seconds"})));
  }
  for (const json& call : At(prediction, {"unsupportedCalls"})) {
    add("refused call", TextAt(call, {"name"}), FormatCount(NumberAt(call, {"count"})) + " times");
  }
  for (const json& read : At(prediction, {"unknownReadSources"})) {
    add("value that nobody computed", TextAt(read, {"writer"}) + " " + TextAt(read, {"line"}),
        FormatCount(NumberAt(read, {"reads"})) + " reads");
  }
  return rows.empty() ? "" : Table({"What", "Where", "How much"}, rows, 1);
}

std::string Style() {
  std::string style;
  for (const char* name : {"base.css", "parts.css"}) {
    style += controller::page::FindAsset(name)->content;
  }
  return style;
}

}  // namespace

std::string FormatHtmlReport(const json& job, const std::string& version, const json& what_ifs) {
  const json& prediction = At(job, {"status", "prediction"});
  const json& condition = StandingCondition(job);
  const std::string name = TextAt(job, {"metadata", "name"});
  std::string warnings;
  for (const json& warning : At(job, {"status", "warnings"})) {
    if (warning.is_string()) {
      warnings += Element("p", {{"class", "warning"}}, Escape(warning.get<std::string>()));
    }
  }
  if (const std::string idle = DescribeIdleGpus(job); !idle.empty()) {
    warnings += Element("p", {{"class", "warning"}}, Escape("Unused: " + idle));
  }
  const json& spec = At(job, {"spec"});
  const std::string document = spec.is_object()
                                   ? Element("pre", {{"class", "document"}, {"tabindex", "0"}},
                                             Escape(controller::job::ToYaml(spec), 100'000))
                                   : "";
  const std::string head = Element(
      "div", {{"class", "job-head"}},
      Text("h1", name) + Element("p", {{"class", "target"}}, Escape(TargetText(job))) +
          (PhaseOf(job) == "Failed" ? Failure(job)
                                    : Note(StrCat(PhaseOf(job), ", ", TextAt(condition, {"reason"}),
                                                  ": ", TextAt(condition, {"message"})))) +
          warnings);
  const std::string parts = Element(
      "div", {{"class", "parts"}},
      Part("Iterations", Iterations(prediction), true) +
          Part("Where the time goes", Breakdown(prediction)) +
          Part("How sure", Coverage(prediction)) +
          Part("Critical path", CriticalPath(prediction), true) +
          Part("Memory", Memory(prediction)) + Part("What would help", WhatWouldHelp(what_ifs)) +
          Part("Document", document) + Part("Kernels and collectives", Kernels(prediction), true) +
          Part("To check", Doubts(prediction), true));
  return StrCat(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"><meta name=\"viewport\" content=\"width=device-width\">",
      Text("title", name + " – Eidolon"), "<style>", Style(), "</style></head><body><main>", head,
      Hero(job), parts,
      Note(StrCat("Predicted by Eidolon ", version, ", job created ",
                  TextAt(job, {"metadata", "creationTimestamp"}), ".")),
      "</main></body></html>\n");
}

}  // namespace eidolon::cli
