#include "services/network/replay/churn.h"

#include <vector>

#include "services/base/check.h"
#include "services/base/random.h"
#include "services/network/flow/flow_engine.h"
#include "services/network/replay/workload.h"

namespace eidolon::network::replay {

using flow::FlowEngine;
using flow::Hop;

ChurnResult Churn(const ChurnOptions& options) {
  CHECK(options.nics > 1 && options.flows >= 10);
  FlowEngine engine(std::vector<std::uint64_t>(std::size_t{2} * options.nics, kNicRate));
  ChurnResult result{.bytes_empty = engine.BytesUsed()};
  base::Random random(7);
  std::vector<std::uint32_t> nic_of;  // By slot.
  std::uint64_t started = 0;
  const auto start = [&](std::uint32_t nic) {
    const auto other = static_cast<std::uint32_t>(random.Below(options.nics - 1));
    const std::uint32_t target = other + (other >= nic ? 1 : 0);
    const Hop hops[] = {{.link = 2 * nic}, {.link = 2 * target + 1}};
    const std::uint64_t bytes = 4'000'000 + random.Below(4'000'000);
    const FlowEngine::Slot slot = engine.Start({.work = flow::WorkOf(bytes), .hops = hops});
    if (slot >= nic_of.size()) nic_of.resize(slot + 1);
    nic_of[slot] = nic;
    ++started;
    ++result.events;
  };
  for (std::uint32_t nic = 0; nic < options.nics && started < options.flows; ++nic) start(nic);
  std::vector<FlowEngine::Slot> ended;
  std::uint64_t ends = 0;
  const std::uint64_t tenth = options.flows / 10;
  for (auto next = engine.NextFinish(); next; next = engine.NextFinish()) {
    if (result.bytes_full == 0) result.bytes_full = engine.BytesUsed();
    ended.clear();
    engine.AdvanceTo(*next, ended);
    for (FlowEngine::Slot slot : ended) {
      const std::uint32_t nic = nic_of[slot];
      ++result.events;
      if (started < options.flows) start(nic);
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
