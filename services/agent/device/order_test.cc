// The engine's promise: its results are a function of the program and of each collective's answer,
// never of the moment at which an answer arrives.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/agent/device/engine.h"
#include "services/base/hash.h"
#include "services/base/random.h"
#include "services/base/text.h"

namespace eidolon::agent::device {
namespace {

using base::Duration;
using base::Random;
using base::SimTime;

constexpr std::uint32_t kStreams = 5;  // 0 legacy, 1 blocking, 2.. non-blocking.
constexpr std::uint32_t kEvents = 4;

// Runs one random program; answers arrive whenever `timing` says so.
class Trial : public Sink {
 public:
  Trial(std::uint64_t program_seed, std::uint64_t timing_seed, std::uint64_t answer_odds)
      : program_(program_seed), timing_(timing_seed), answer_odds_(answer_odds) {
    for (std::uint32_t s = 1; s < kStreams; ++s) Expect(engine_.CreateStream(0, s, s > 1));
    for (std::uint32_t e = 0; e < kEvents; ++e) Expect(engine_.CreateEvent(e));
    std::vector<GraphNode> nodes(4);
    nodes[0] = {.kind = GraphNodeKind::kWork, .work = {.duration = Duration::Microseconds(4)}};
    nodes[1] = {.kind = GraphNodeKind::kCollective, .dependencies = {0}};
    nodes[2] = {.kind = GraphNodeKind::kWork,
                .work = {.duration = Duration::Microseconds(9)},
                .dependencies = {0}};
    nodes[3] = {.kind = GraphNodeKind::kEventRecord, .event = 1, .dependencies = {1, 2}};
    Expect(engine_.DefineGraph(0, 1, nodes));
    for (int step = 0; step < 400; ++step) {
      Step();
      if (timing_.Below(answer_odds_) == 0) AnswerOne();
    }
    while (!ready_.empty()) AnswerOne();
  }

  std::string Log() const {
    std::string log;
    for (const auto& [sequence, line] : ops_) log += base::StrCat(sequence, " ", line, "\n");
    for (const auto& [ticket, time] : waits_) log += base::StrCat("w", ticket, " ", time, "\n");
    return log;
  }
  std::size_t open() const { return engine_.open_operations(); }

  void OpResolved(const ResolvedOp& op) override {
    ops_[op.sequence] = base::StrCat(op.stream, " ", op.ready.ps, " ", op.start.ps, " ",
                                     op.finish.ps, " ", op.host_bound, " ", op.released_by);
  }
  void CollectiveReady(std::uint64_t token, SimTime ready) override { ready_[token] = ready; }
  void WaitEnded(std::uint64_t ticket, SimTime time) override { waits_[ticket] = time.ps; }

 private:
  static void Expect(const base::Result<void>& result) {
    ASSERT_TRUE(result.has_value()) << result.error().message;
  }
  Collective NewCollective(std::uint32_t communicator) {
    return {.communicator = communicator,
            .token = ++token_,
            .estimate = Duration::Microseconds(static_cast<std::int64_t>(program_.Below(50))),
            .channels = 20};
  }
  void Step() {
    clock_ += Duration::Microseconds(static_cast<std::int64_t>(program_.Below(8)));
    const Engine::Call call{.stream = static_cast<std::uint32_t>(program_.Below(kStreams)),
                            .host_clock = clock_};
    const auto event = static_cast<std::uint32_t>(program_.Below(kEvents));
    switch (program_.Below(8)) {
      case 0:
        Expect(engine_.RecordEvent(call, event));
        break;
      case 1:
        Expect(engine_.WaitEvent(call, event));
        break;
      case 2:
        Expect(engine_.Issue(call, NewCollective(1 + event % 2)));
        break;
      case 3: {
        const std::vector<Collective> calls{NewCollective(3)};
        Expect(engine_.LaunchGraph(call, 1, calls));
        break;
      }
      case 4: {
        const auto ticket = ++ticket_;
        const auto end = engine_.StreamEnd(0, call.stream, ticket);
        if (end->time.has_value()) waits_[ticket] = end->time->ps;
        break;
      }
      case 5: {
        const auto ticket = ++ticket_;
        const auto end = engine_.DeviceEnd(0, ticket);
        if (end->time.has_value()) waits_[ticket] = end->time->ps;
        break;
      }
      default: {
        const auto us = static_cast<std::int64_t>(1 + program_.Below(20));
        Expect(engine_.Launch(call, {.duration = Duration::Microseconds(us),
                                     .resource = static_cast<Resource>(program_.Below(3)),
                                     .share = program_.Below(2) == 0 ? 300u : 1000u}));
      }
    }
  }
  void AnswerOne() {
    if (ready_.empty()) return;
    auto chosen = ready_.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(timing_.Below(ready_.size())));
    const auto [token, ready] = *chosen;
    ready_.erase(chosen);
    const auto late = static_cast<std::int64_t>(base::Hash64(&token, sizeof(token)) % 40);
    const SimTime start = ready + Duration::Microseconds(late);
    ASSERT_TRUE(engine_.ResolveCollective(token, start, start + Duration::Microseconds(late)));
  }

  Random program_;
  Random timing_;
  std::uint64_t answer_odds_;
  Engine engine_{{{.launch_latency = Duration::Microseconds(3),
                   .launch_gap = Duration::Microseconds(1),
                   .graph_gap = Duration::Microseconds(1),
                   .callback_cost = Duration::Microseconds(10),
                   .multiprocessors = 100}},
                 this};
  SimTime clock_;
  std::uint64_t token_ = 0;
  std::uint64_t ticket_ = 0;
  std::map<std::uint64_t, SimTime> ready_;
  std::map<std::uint64_t, std::string> ops_;
  std::map<std::uint64_t, std::int64_t> waits_;
};

TEST(OrderTest, AnswersMayArriveAtAnyMoment) {
  for (std::uint64_t program = 1; program <= 40; ++program) {
    const Trial reference(program, 1, 1);
    ASSERT_EQ(reference.open(), 0u);
    for (std::uint64_t timing = 2; timing <= 6; ++timing) {
      const Trial other(program, timing, timing * timing * 20);
      ASSERT_EQ(reference.Log(), other.Log()) << "program " << program << " timing " << timing;
    }
  }
}

}  // namespace
}  // namespace eidolon::agent::device
