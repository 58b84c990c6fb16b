#include "services/agent/server/cost_questions.h"

#include <utility>
#include <vector>

#include "eidolon/network/v1/network.pb.h"
#include "services/agent/server/network_time.h"

namespace eidolon::agent::server {

namespace {

constexpr std::size_t kBatch = 4096;
constexpr int kOpenBatches = 2;

}  // namespace

CostQuestions::CostQuestions(cost::CostCache* costs, client::TimingClient* timing,
                             client::NetworkClient* network, Metrics* metrics,
                             std::function<void(const base::Error&)> on_lost)
    : costs_(costs),
      timing_(timing),
      network_(network),
      metrics_(metrics),
      on_lost_(std::move(on_lost)) {}

void CostQuestions::AskCosts() {
  while (costs_->HasQuestions() && open_ < kOpenBatches) {
    auto questions = costs_->TakeQuestions(kBatch);
    std::vector<std::uint32_t> entries;
    for (const auto& question : questions) entries.push_back(question.entry);
    metrics_->estimates_asked.Increment(static_cast<double>(entries.size()));
    ++open_;
    timing_->Ask(std::move(questions), [this, entries](const auto& answer) {
      --open_;
      if (!answer.has_value()) return on_lost_(answer.error());
      for (std::size_t i = 0; i < entries.size(); ++i) costs_->Learn(entries[i], (*answer)[i]);
    });
  }
}

std::optional<CostQuestions::Estimate> CostQuestions::FindEstimate(
    std::uint64_t communicator, const network::v1::Operation& op) {
  std::string key = op.SerializeAsString();
  key.append(reinterpret_cast<const char*>(&communicator), sizeof(communicator));
  const auto [found, is_new] = estimates_.emplace(key, std::nullopt);
  if (!is_new) return found->second;
  ++open_;
  network_->Estimate(communicator, op, [this, key](const auto& answer) {
    --open_;
    if (!answer.has_value()) return on_lost_(answer.error());
    estimates_[key] = {.duration = TimeOf(answer->duration_picoseconds()) - base::SimTime{},
                       .channels = answer->channels(),
                       .at_least = TimeOf(answer->at_least_picoseconds()) - base::SimTime{},
                       .memory_bytes = answer->memory_bytes()};
  });
  return std::nullopt;
}

}  // namespace eidolon::agent::server
