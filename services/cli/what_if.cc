// Each question is one change of the recorded job, and the answer is a replay, so interactions that
// a bound per cause would miss are simulated. Communication that is hidden as well as can be has no
// single replay: its time is the larger one of the work without communication and the communication
// without work, which is a lower bound. Questions that make no sense for the job are not asked,
// such as NICs of a single server. An answer counts only if its job has completed; memory that
// would not fit is stated beside it.
#include "services/cli/what_if.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "services/base/text.h"
#include "services/cli/report.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/shown/printable.h"
#include "services/controller/shown/report_line.h"

namespace eidolon::cli {

using base::StrCat;
using controller::shown::At;
using controller::shown::CountAt;
using controller::shown::FormatCount;
using controller::shown::FormatSeconds;
using controller::shown::NumberAt;
using controller::shown::PhaseOf;
using controller::shown::Print;
using controller::shown::StandingCondition;
using controller::shown::TextAt;
using controller::shown::ToPrintableLine;
using nlohmann::json;

namespace {

constexpr char kNoHostTime[] = "no host time";
constexpr char kHidden[] = "communication hidden as well as can be";
// Rules of controller/diagnosis, and the change under which their fault is gone.
constexpr std::pair<std::string_view, std::string_view> kReplayedRules[] = {
    {"host", kNoHostTime}, {"communication", kHidden}, {"pipeline", kHidden}};

// These follow in the order in which one would buy them.
std::string NextGpu(const std::string& gpu) {
  if (gpu.starts_with("A100")) return "H100-SXM5-80GB";
  if (gpu.starts_with("H100") || gpu.starts_with("H200")) return "B200-SXM-180GB";
  if (gpu.starts_with("B200")) return "B300-SXM-288GB";
  return "";
}

double SecondsOf(const json& job) {
  const controller::shown::Headline time =
      controller::shown::HeadlineOf(At(job, {"status", "prediction"}));
  return time.is_iteration ? time.seconds : 0;
}

// Of the replay that is slowest, {"iterationSeconds", "change", "fits"}; a message where one has no
// answer.
json AnswerOf(const WhatIfResult& result, double before) {
  if (!result.refusal.empty()) return {{"name", result.name}, {"message", result.refusal}};
  json answer = {{"name", result.name}, {"iterationSeconds", 0.0}, {"fits", true}};
  for (const json& job : result.jobs) {
    const double seconds = SecondsOf(job);
    if (PhaseOf(job) != "Complete" || seconds <= 0 || before <= 0) {
      return {{"name", result.name}, {"message", TextAt(StandingCondition(job), {"message"})}};
    }
    answer["iterationSeconds"] = std::max(NumberAt(answer, {"iterationSeconds"}), seconds);
    if (At(job, {"status", "prediction", "memory", "fits"}) == json(false)) answer["fits"] = false;
  }
  answer["change"] = NumberAt(answer, {"iterationSeconds"}) / before - 1;
  return answer;
}

}  // namespace

std::vector<WhatIf> WhatIfsOf(const RecordedJob& recorded, const std::string& gpu) {
  const json& target = At(recorded.status, {"prediction", "target"});
  const json& server = At(target, {"cluster", "server"});
  std::vector<WhatIf> all;
  all.push_back({kNoHostTime, {{.host_factor = 0}}});
  all.push_back({"a host twice as fast", {{.host_factor = 0.5}}});
  const std::string other = gpu.empty() ? NextGpu(TextAt(server, {"gpu"})) : gpu;
  if (!other.empty()) all.push_back({"GPU " + other, {{.gpu = other}}});
  if (NumberAt(target, {"ranks"}) > 1) {
    all.push_back({kHidden, {{.communication_factor = 0}, {.host_factor = 0, .kernel_factor = 0}}});
    all.push_back({"all hosts as fast as the fastest", {{.even_hosts = true}}});
  }
  if (CountAt(target, {"servers"}) < 2) return all;
  const double gbps = NumberAt(server, {"nics", "gbps"});
  if (gbps > 0) {
    all.push_back({StrCat("NICs of ", FormatCount(2 * gbps), " Gbit/s"), {{.nic_gbps = 2 * gbps}}});
  }
  // 72 GPUs are the largest domain there is.
  const std::int64_t servers = CountAt(target, {"servers"});
  if (NumberAt(target, {"ranks"}) <= 72 && CountAt(server, {"serversPerDomain"}) < servers) {
    all.push_back({"all servers in one NVLink domain",
                   {{.servers_per_domain = static_cast<std::uint32_t>(servers)}}});
  }
  return all;
}

json WhatIfsToJson(const json& base, const std::vector<WhatIfResult>& results) {
  const double before = SecondsOf(base);
  std::vector<json> answers;
  for (const WhatIfResult& result : results) answers.push_back(AnswerOf(result, before));
  std::ranges::stable_sort(answers, {}, [](const json& answer) {
    return std::pair(answer.contains("message"), NumberAt(answer, {"iterationSeconds"}));
  });
  const auto missing =
      std::ranges::count_if(answers, [](const json& answer) { return answer.contains("message"); });
  return {{"iterationSeconds", before}, {"notAnswered", missing}, {"whatIfs", std::move(answers)}};
}

void AddReplays(const json& answers, json* job) {
  const json::json_pointer place("/status/prediction/diagnosis");
  if (!job->contains(place) || !(*job)[place].is_array()) return;
  for (json& finding : (*job)[place]) {
    const auto rule = std::ranges::find(kReplayedRules, TextAt(finding, {"rule"}),
                                        &std::pair<std::string_view, std::string_view>::first);
    if (rule == std::end(kReplayedRules)) continue;
    for (const json& answer : At(answers, {"whatIfs"})) {
      if (TextAt(answer, {"name"}) != rule->second || answer.contains("message")) continue;
      finding["replayedChange"] = NumberAt(answer, {"change"});
      finding["sentence"] =
          StrCat(TextAt(finding, {"sentence"}), " By replay, ", rule->second, ": ",
                 Print("%+.0f %%", NumberAt(answer, {"change"}) * 100), ".");
    }
  }
}

std::string FormatWhatIfs(const json& answers) {
  std::string text =
      StrCat("  as it is         ", FormatSeconds(NumberAt(answers, {"iterationSeconds"})),
             " an iteration\n");
  for (const json& answer : At(answers, {"whatIfs"})) {
    const std::string name = TextAt(answer, {"name"});
    if (answer.contains("message")) {
      text += StrCat("  not answered     ", name, ": ",
                     ToPrintableLine(TextAt(answer, {"message"})), "\n");
      continue;
    }
    std::string line = StrCat("  ", FormatSeconds(NumberAt(answer, {"iterationSeconds"})));
    line.resize(std::max<std::size_t>(line.size() + 1, 14), ' ');
    line += Print("%+.1f %%", NumberAt(answer, {"change"}) * 100);
    line.resize(std::max<std::size_t>(line.size() + 1, 25), ' ');
    const bool fits = At(answer, {"fits"}) != json(false);
    text += line + name + (fits ? "" : "   (its memory is too small)") + "\n";
  }
  return text;
}

}  // namespace eidolon::cli
