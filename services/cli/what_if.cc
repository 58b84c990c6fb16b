#include "services/cli/what_if.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/base/text.h"
#include "services/cli/document_fields.h"
#include "services/cli/report.h"

namespace eidolon::cli {

using base::StrCat;
using nlohmann::json;

namespace {

// What one would buy after it.
std::string NextGpu(const std::string& gpu) {
  if (gpu.starts_with("A100")) return "H100-SXM5-80GB";
  if (gpu.starts_with("H100") || gpu.starts_with("H200")) return "B200-SXM-180GB";
  if (gpu.starts_with("B200")) return "B300-SXM-288GB";
  return "";
}

double SecondsOf(const json& job) {
  return NumberAt(job, {"status", "prediction", "iterationSeconds", "mean"});
}

std::string Percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%+.1f %%", share * 100);
  return text;
}

}  // namespace

std::vector<WhatIf> WhatIfsOf(const RecordedJob& recorded, const std::string& gpu) {
  const json& target = At(recorded.status, {"prediction", "target"});
  const json& server = At(target, {"cluster", "server"});
  std::vector<WhatIf> all;
  all.push_back({"no host time", {.host_factor = 0}});
  all.push_back({"a host twice as fast", {.host_factor = 0.5}});
  const std::string other = gpu.empty() ? NextGpu(TextAt(server, {"gpu"})) : gpu;
  if (!other.empty()) all.push_back({"GPU " + other, {.gpu = other}});
  if (CountAt(target, {"servers"}) < 2) return all;
  const double gbps = NumberAt(server, {"nics", "gbps"});
  if (gbps > 0) {
    all.push_back({StrCat("NICs of ", FormatCount(2 * gbps), " Gbit/s"), {.nic_gbps = 2 * gbps}});
  }
  // 72 GPUs are the largest domain there is.
  if (NumberAt(target, {"ranks"}) <= 72 &&
      TextAt(target, {"cluster", "fabric", "preset"}) != "nvl72") {
    all.push_back({"all servers in one NVLink domain", {.fabric = "nvl72"}});
  }
  return all;
}

std::string FormatWhatIfs(const json& base, const std::vector<WhatIfResult>& results) {
  const double before = SecondsOf(base);
  std::vector<std::pair<double, const WhatIfResult*>> ranked;
  for (const WhatIfResult& result : results) ranked.emplace_back(SecondsOf(result.job), &result);
  std::ranges::stable_sort(ranked, [](const auto& a, const auto& b) {
    return std::pair(a.first <= 0, a.first) < std::pair(b.first <= 0, b.first);
  });
  std::string text = StrCat("  as it is         ", FormatSeconds(before), " an iteration\n");
  for (const auto& [seconds, result] : ranked) {
    if (PhaseOf(result->job) != "Complete" || seconds <= 0 || before <= 0) {
      text += StrCat("  not answered     ", result->name, ": ",
                     TextAt(LastTrueCondition(result->job), {"message"}), "\n");
      continue;
    }
    std::string line = StrCat("  ", FormatSeconds(seconds));
    line.resize(std::max<std::size_t>(line.size() + 1, 14), ' ');
    line += Percent(seconds / before - 1);
    line.resize(std::max<std::size_t>(line.size() + 1, 25), ' ');
    const bool fits = At(result->job, {"status", "prediction", "memory", "fits"}) != json(false);
    text += line + result->name + (fits ? "" : "   (its memory is too small)") + "\n";
  }
  return text;
}

}  // namespace eidolon::cli
