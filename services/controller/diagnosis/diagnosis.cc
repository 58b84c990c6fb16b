#include "services/controller/diagnosis/diagnosis.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "services/controller/diagnosis/facts.h"
#include "services/controller/diagnosis/rules.h"

namespace eidolon::controller::diagnosis {
namespace {

// Faults whose cost hardly depends on how large a batch is.
constexpr std::string_view kFixedCosts[] = {"host", "small-gemms", "communication"};

bool HasFixedCosts(const std::vector<job::Finding>& findings) {
  return std::ranges::any_of(findings, [](const job::Finding& finding) {
    return std::ranges::find(kFixedCosts, std::string_view(finding.rule)) != std::end(kFixedCosts);
  });
}

}  // namespace

std::vector<job::Finding> Diagnose(const job::Prediction& prediction,
                                   const std::vector<std::string>& command) {
  std::vector<job::Finding> findings;
  const std::optional<Facts> facts = FactsOf(prediction, command);
  if (!facts) return findings;
  const auto add = [&](std::optional<job::Finding> finding) {
    if (finding) findings.push_back(std::move(*finding));
  };
  add(HostBound(*facts));
  add(InputBound(*facts));
  add(CommunicationBound(*facts, prediction));
  add(PipelineBubbles(*facts, prediction));
  add(Stragglers(*facts, prediction));
  add(MemoryBoundKernels(*facts, prediction));
  add(SmallGemms(*facts, prediction));
  if (findings.empty()) findings.push_back(ComputeBound(*facts, prediction));
  add(FullMemory(prediction));
  if (HasFixedCosts(findings)) add(RoomForABatch(prediction));
  std::ranges::stable_sort(findings, std::greater(), &job::Finding::cost_seconds);
  return findings;
}

}  // namespace eidolon::controller::diagnosis
