#include "services/network/replay/churn.h"

#include <vector>

#include "services/base/check.h"
#include "services/base/random.h"
#include "services/network/flow/flow_engine.h"

namespace eidolon::network::replay {

using flow::FlowEngine;
using flow::Hop;

ChurnResult Churn(const ChurnOptions& options) {
  CHECK(options.cards > 1 && options.flows >= 10);
  constexpr std::uint64_t kCard = 50'000'000'000;
  FlowEngine engine(std::vector<std::uint64_t>(std::size_t{2} * options.cards, kCard));
  ChurnResult result{.bytes_empty = engine.BytesUsed()};
  base::Random random(7);
  std::vector<std::uint32_t> card_of;  // By slot.
  std::uint64_t started = 0;
  const auto start = [&](std::uint32_t card) {
    const auto other = static_cast<std::uint32_t>(random.Below(options.cards - 1));
    const std::uint32_t target = other + (other >= card ? 1 : 0);
    const Hop hops[] = {{.link = 2 * card}, {.link = 2 * target + 1}};
    const std::uint64_t bytes = 4'000'000 + random.Below(4'000'000);
    const FlowEngine::Slot slot = engine.Start({.work = flow::WorkOf(bytes), .hops = hops});
    if (slot >= card_of.size()) card_of.resize(slot + 1);
    card_of[slot] = card;
    ++started;
    ++result.events;
  };
  for (std::uint32_t card = 0; card < options.cards && started < options.flows; ++card) start(card);
  std::vector<FlowEngine::Slot> ended;
  std::uint64_t ends = 0;
  const std::uint64_t tenth = options.flows / 10;
  for (auto next = engine.NextFinish(); next; next = engine.NextFinish()) {
    if (result.bytes_full == 0) result.bytes_full = engine.BytesUsed();
    ended.clear();
    engine.AdvanceTo(*next, ended);
    for (FlowEngine::Slot slot : ended) {
      const std::uint32_t card = card_of[slot];
      ++result.events;
      if (started < options.flows) start(card);
      if (++ends % tenth != 0) continue;
      if (!engine.Certified(1e-9)) ++result.uncertified;
      if (ends == tenth) result.bytes_begin = engine.BytesUsed();
    }
  }
  CHECK(ends == options.flows && engine.Active() == 0);
  result.bytes_end = engine.BytesUsed();
  return result;
}

}  // namespace eidolon::network::replay
