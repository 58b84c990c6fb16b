// Calls only mark what changed; the first question brings the rates up to date. So a thousand flows
// that start at one instant cost one solution. A few arrivals are seated one by one and propagate
// to the links that they touch. Many at once, or a propagation that does not end within its budget,
// are solved anew from nothing. The parts hold references to the table, so a copy of the engine
// makes its own parts over its own table. Settle changes levels first and then lets Gather bring
// the order of ends up to date; nothing may ask for an end in between.
#include "services/network/flow/flow_engine.h"

#include "services/base/check.h"
#include "services/network/flow/certificate.h"

namespace eidolon::network::flow {

using base::SimTime;

FlowEngine::FlowEngine(std::span<const std::uint64_t> capacities,
                       std::span<const std::uint8_t> tiers)
    : table_(capacities),
      order_(table_.LinkCount()),
      agenda_(table_),
      pruner_(table_, agenda_),
      holds_(tiers),
      levels_(table_, agenda_, order_, holds_),
      full_(table_, agenda_, order_, holds_) {}

FlowEngine::FlowEngine(const FlowEngine& other)
    : table_(other.table_),
      order_(other.order_),
      agenda_(other.agenda_, table_),
      pruner_(table_, agenda_),
      holds_(other.holds_),
      levels_(other.levels_, table_, agenda_, order_, holds_),
      full_(other.full_, table_, agenda_, order_, holds_),
      arrived_(other.arrived_),
      dirty_(other.dirty_),
      settled_(other.settled_),
      solved_fully_(other.solved_fully_) {}

FlowEngine::Slot FlowEngine::Start(const FlowSpec& spec) {
  const Slot slot = table_.Add(spec);
  holds_.Begin(slot);
  pruner_.Join(slot);
  order_.Enter(slot, (spec.work + spec.weight - 1) / spec.weight);
  arrived_.push_back(slot);
  dirty_ = true;
  return slot;
}

// Requires: the order of ends has forgotten the flow.
void FlowEngine::Release(Slot slot) {
  const FlowTable::Flow& flow = table_.flow(slot);
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
    table_.Prefetch(table_.EntryOf(flow, hop).link);
  }
  if (flow.bound != FlowTable::kNone) levels_.Unseat(slot);
  table_.Leave(slot);
  pruner_.Leave(slot);
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
    agenda_.Mark(table_.EntryOf(flow, hop).link);
  }
  table_.Free(slot);
  dirty_ = true;
}

void FlowEngine::Stop(Slot slot) {
  CHECK(table_.flow(slot).live);
  Settle();
  order_.Drop(slot, levels_.SeatOf(slot));
  Release(slot);
}

void FlowEngine::SetCapacity(std::uint32_t at, std::uint64_t bytes_per_second) {
  CHECK(at < table_.LinkCount());
  const std::uint64_t before = table_.link(at).capacity;
  table_.link(at).capacity = FlowTable::RateOfBytes(bytes_per_second);
  dirty_ = true;
  pruner_.Refeed(at, before);
  agenda_.Mark(at);
}

void FlowEngine::Gather() {
  order_.Gather(
      [&](std::uint32_t at) {
        const FlowTable::Link& link = table_.link(at);
        return link.bound > 0 ? link.level : 0;
      },
      [&](Slot slot) { return levels_.SeatOf(slot); });
}

void FlowEngine::SolveFully() {
  ++solved_fully_;
  full_.Solve();
}

void FlowEngine::Settle() {
  if (!dirty_) return;
  dirty_ = false;
  ++settled_;
  // Solving everything looks at every link: a thousand mirrored ranks of a large cluster are not
  // worth it.
  constexpr std::size_t kLinksPerArrival = 32;
  const bool many = arrived_.size() > 64 && arrived_.size() * 8 > table_.LiveCount() &&
                    arrived_.size() * kLinksPerArrival > table_.LinkCount();
  if (!many) {
    for (Slot slot : arrived_) {
      if (table_.flow(slot).live) levels_.Seat(slot);
    }
  }
  arrived_.clear();
  if (many || !levels_.Propagate()) SolveFully();
  Gather();
}

std::optional<SimTime> FlowEngine::NextFinish() {
  Settle();
  return order_.Next();
}

void FlowEngine::AdvanceTo(SimTime time, std::vector<Slot>& finished) {
  Settle();
  const std::size_t before = finished.size();
  order_.AdvanceTo(time, finished);
  for (std::size_t at = before; at < finished.size(); ++at) Release(finished[at]);
}

std::uint64_t FlowEngine::RateOf(Slot slot) {
  CHECK(table_.flow(slot).live);
  Settle();
  return table_.level(slot) * table_.flow(slot).weight;
}

Work FlowEngine::LeftOf(Slot slot) {
  CHECK(table_.flow(slot).live);
  Settle();
  return order_.LeftOf(slot, levels_.SeatOf(slot)) * table_.flow(slot).weight;
}

std::uint64_t FlowEngine::LoadOf(std::uint32_t at) {
  Settle();
  return table_.LoadOf(at);
}

bool FlowEngine::Certified(double tolerance) {
  Settle();
  return flow::Certified(table_, tolerance);
}

void FlowEngine::SolveAnew() {
  Settle();
  SolveFully();
  Gather();
}

FlowEngine::Counters FlowEngine::counters() const {
  return {.settled = settled_,
          .full = solved_fully_,
          .links = levels_.counters().links,
          .moves = levels_.counters().moves + full_.moves()};
}

std::size_t FlowEngine::BytesUsed() const {
  return table_.BytesUsed() + order_.BytesUsed() + holds_.BytesUsed();
}

}  // namespace eidolon::network::flow
