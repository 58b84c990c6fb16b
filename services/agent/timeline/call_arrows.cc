#include "services/agent/timeline/call_arrows.h"

#include <algorithm>
#include <utility>

#include "services/agent/timeline/trace_writer.h"

namespace eidolon::agent::timeline {

namespace {

// A call that issues more, such as a graph's launch, is joined with its first operation only.
constexpr std::uint32_t kArrowsMax = 16;

}  // namespace

base::SimTime StartOf(const Operation& operation) {
  return operation.kind == device::OpKind::kCollective ? operation.ready : operation.start;
}

std::uint32_t ArrowsOf(const HostEvent& event) {
  return event.operations <= kArrowsMax ? event.operations : 1;
}

CallArrows::CallArrows(const Recorder& recorder) : first_(recorder.windows().front().first) {
  arrows_.resize(recorder.windows().back().end - first_);
  std::vector<std::pair<Arrow, std::uint64_t>> led;  // With the operation's sequence.
  for (const HostEvent& event : recorder.host_events()) {
    for (std::uint64_t i = 0; i < ArrowsOf(event); ++i) {
      const std::uint64_t sequence = event.sequence + i;
      if (sequence < first_ || sequence - first_ >= arrows_.size()) continue;
      const Operation* operation = recorder.Find(sequence);
      if (operation == nullptr) continue;
      const std::uint64_t what =
          std::uint64_t{operation->tag} << 8 | static_cast<std::uint64_t>(operation->kind);
      led.push_back({{.from = TraceWriter::Nanoseconds(event.begin),
                      .to = TraceWriter::Nanoseconds(StartOf(*operation)),
                      .what = what},
                     sequence});
    }
  }
  std::ranges::stable_sort(led, {}, [](const auto& arrow) { return arrow.first.from; });
  ArrowNumbers numbers;
  for (const auto& [arrow, sequence] : led) arrows_[sequence - first_] = numbers.Next(arrow);
}

}  // namespace eidolon::agent::timeline
