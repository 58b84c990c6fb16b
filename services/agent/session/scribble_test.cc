// A rank whose shared memory is written over at random while its records flow: either the damage is
// found and named, or the result is the one of a run that nobody disturbed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eidolon/common/v1/common.pb.h"
#include "eidolon/network/v1/network.pb.h"
#include "services/agent/ring/fake_writer.h"
#include "services/agent/session/fake_host.h"
#include "services/agent/session/session.h"
#include "services/base/check.h"
#include "services/base/random.h"
#include "services/base/text.h"
#include "services/contract/ring/check.h"

namespace eidolon::agent::session {
namespace {

namespace wire = ::eidolon::ring;
using base::StrCat;
using wire::RecordKind;

constexpr int kSteps = 12;
constexpr int kLaunches = 20;
constexpr std::uint32_t kSlot = 2;
constexpr std::uint64_t kMicrosecond = 1'000'000;

// A server whose services answer at once, and that writes down what it hears.
class ScribeHost final : public FakeHost {
 public:
  void SendToNetwork(network::v1::SessionRequest request) override {
    heard += request.ShortDebugString() + "\n";
    requests_.push_back(std::move(request));
  }
  void IterationEnded(Session&, const iteration::Report& report) override {
    heard += StrCat("iteration ", report.index, " ", report.start.ps, " ", report.end.ps, "\n");
  }
  void CallRefused(Session&, const std::string& name) override { heard += name + "\n"; }

  void AnswerAll(Session* session) {
    common::v1::Estimate estimate;
    estimate.set_duration_picoseconds(7 * kMicrosecond);
    for (const auto& question : costs().TakeQuestions(1000)) {
      costs().Learn(question.entry, estimate);
    }
    for (const auto& request : std::exchange(requests_, {})) {
      if (request.has_join()) {
        network::v1::Joined joined;
        joined.set_request(1);
        joined.set_communicator(77);
        joined.set_size(1);
        session->OnJoined(joined);
      }
      if (request.has_post()) {
        const base::SimTime ready{static_cast<std::int64_t>(request.post().ready_picoseconds())};
        session->OnCommitted({.communicator = 77,
                              .sequence = request.post().sequence(),
                              .start = ready,
                              .finish = ready + base::Duration::Microseconds(90)});
      }
    }
  }

  std::string heard;

 private:
  std::vector<network::v1::SessionRequest> requests_;
};

// Bytes that a scribbler writes, and when.
struct Scribble {
  int at_step = -1;  // Before the agent looks; or else before the rank looks.
  bool before_agent = true;
  std::size_t offset = 0;
  std::uint64_t word = 0;
};

// One run of a small program. The rank's side does what the shim does (shim/core), with its own
// clock.
class RankRun {
 public:
  explicit RankRun(const Scribble& scribble) : scribble_(scribble) {
    host_.costs().InternBasis(estimate::Source::kMeasured, 0, "none", 0);
    ring::Segment segment = *ring::Segment::Create({.devices = {{}}}, 1, 0);
    base_ = segment.base();
    writer_.emplace(base_);
    SessionOptions options;
    options.devices = {{.launch_latency = base::Duration::Microseconds(3),
                        .launch_gap = base::Duration::Microseconds(1),
                        .graph_gap = base::Duration::Microseconds(1),
                        .callback_cost = base::Duration::Microseconds(20),
                        .multiprocessors = 132}};
    session_.emplace(options, std::move(segment), &host_);
  }

  // Returns what came out; nothing when `damage` is set.
  std::string Play() {
    Begin();
    for (int step = 0; step < kSteps && damage.empty(); ++step) Step(step);
    if (damage.empty()) Drain();
    if (!damage.empty()) return {};
    session_->Finish(iteration::ProgramEnd::kWell);
    const auto& memory = session_->memory().devices().at(0);
    return StrCat(host_.heard, "peak ", memory.peak, " allocated ", memory.at_peak.allocations,
                  " launches ", session_->launches(), " end ", session_->program().end.ps,
                  " clock ", session_->clock().ps, "\n");
  }

  std::string damage;

 private:
  void Begin() {
    writer_->DefineKernel(1, "elementwise");
    writer_->DefineKernel(2, "FusedAdam");
    writer_->Append(RecordKind::kStreamCreate, wire::StreamRecord{{}, 5, 1, 0, 0});
    writer_->Append(RecordKind::kEventCreate, wire::EventRecord{{}, 0, 6});
    wire::CommunicatorInit init{};
    init.slot = kSlot;
    init.communicator = 9;
    init.size = 1;
    writer_->Pend(kSlot);
    writer_->Append(RecordKind::kCommunicatorInit, init);
    Hear();
  }
  void Step(int step) {
    for (int i = 0; i < kLaunches; ++i) {
      Charge(5 * kMicrosecond);
      writer_->Launch(0, i + 1 == kLaunches ? 2 : 1);
    }
    writer_->Append(RecordKind::kEventRecord, wire::EventRecord{{}, 0, 6});
    writer_->Append(RecordKind::kStreamWaitEvent, wire::EventRecord{{}, 5, 6});
    AllReduce(static_cast<std::uint64_t>(step));
    wire::MemoryRecord memory{};
    memory.delta = 1 << 20;
    memory.used = static_cast<std::uint64_t>(step + 1) << 20;
    writer_->Append(RecordKind::kMemory, memory);
    writer_->SlotOf(kSlot).check = 0;
    writer_->Ask(RecordKind::kSynchronizeStream, kSlot, 5);
    if (step == scribble_.at_step && scribble_.before_agent) Write();
    Drain();
    if (step == scribble_.at_step && !scribble_.before_agent) Write();
    if (damage.empty()) Charge(Hear());
  }
  void AllReduce(std::uint64_t sequence) {
    wire::CommunicationRecord record{};
    record.stream = 5;
    record.communicator = 9;
    record.op_count = 1;
    const wire::CommunicationOp op{.kind = wire::CommunicationKind::kAllReduce,
                                   .data_type = 7,
                                   .peer = -1,
                                   .count = 1024,
                                   .bytes = 4096,
                                   .sequence = sequence};
    writer_->Append(RecordKind::kCommunication, record, std::as_bytes(std::span(&op, 1)));
  }
  void Write() {
    std::memcpy(static_cast<char*>(base_) + scribble_.offset, &scribble_.word,
                sizeof(scribble_.word));
  }
  // The clock goes on by host work or to an answer; its copy must not be ahead of it.
  void Charge(std::uint64_t ps) {
    auto& published = wire::CursorsOf(base_)->clock_ps.value;
    if (published.load() > clock_ps_) return Tell("the rank clock was overwritten");
    clock_ps_ += ps;
    writer_->SetClock(clock_ps_);
  }
  // The answer's time, as far as it lies ahead.
  std::uint64_t Hear() {
    for (int rounds = 0; !writer_->IsAnswered(kSlot) && rounds < 10 && damage.empty(); ++rounds) {
      Drain();
    }
    if (!damage.empty()) return 0;
    const wire::ReplySlot& slot = writer_->SlotOf(kSlot);
    const bool is_whole =
        writer_->IsAnswered(kSlot) && slot.payload_bytes <= wire::kPayloadBytes &&
        slot.check == wire::ReplyCheck(kSlot, slot, wire::PayloadOf(base_, kSlot));
    if (!is_whole) {
      Tell("an answer of the agent was overwritten");
      return 0;
    }
    EXPECT_GE(static_cast<std::int64_t>(slot.value_ps), 0);
    return std::max(slot.value_ps, clock_ps_) - clock_ps_;
  }
  void Tell(std::string_view what) {
    wire::MarkRecord record{};
    record.name_bytes = static_cast<std::uint32_t>(what.size());
    writer_->Append(RecordKind::kDamage, record, std::as_bytes(std::span(what)));
    Drain();
    EXPECT_FALSE(damage.empty());
  }
  void Drain() {
    while (damage.empty()) {
      const auto moved = session_->Drain(7);
      EXPECT_GE(session_->clock().ps, 0);
      if (!moved.has_value()) {
        damage = moved.error().message;
        return;
      }
      host_.AnswerAll(&*session_);
      if (!*moved) return;
    }
  }

  Scribble scribble_;
  ScribeHost host_;
  void* base_ = nullptr;
  std::optional<ring::FakeWriter> writer_;
  std::optional<Session> session_;
  std::uint64_t clock_ps_ = 0;
};

// Draws an offset at which something important may stand: header, cursors, a slot and its payload,
// what the step writes into the ring. And any place at all.
std::size_t DrawOffset(base::Random* random, int step) {
  constexpr std::size_t kStepBytes = 896;
  struct Area {
    std::size_t begin;
    std::size_t places;
    std::size_t stride = 8;
  };
  const Area areas[] = {
      {wire::kRingOffset + static_cast<std::size_t>(step) * kStepBytes, 2 * kStepBytes / 8},
      {wire::kCursorsOffset, sizeof(wire::Cursors) / 64, 64},
      {wire::kRepliesOffset + kSlot * sizeof(wire::ReplySlot), 5},
      {wire::kPayloadsOffset + kSlot * wire::kPayloadBytes, 8},
      {0, sizeof(wire::SegmentHeader) / 8},
      {0, wire::kSegmentBytes / 8}};
  const Area& area = areas[random->Below(std::size(areas))];
  return area.begin + random->Below(area.places) * area.stride;
}

// Any number, or one that could pass for something.
std::uint64_t DrawWord(base::Random* random) {
  switch (random->Below(4)) {
    case 0:
      return 0;
    case 1:
      return random->Below(1 << 12);
    case 2:
      return random->Next() >> random->Below(64);
    default:
      return random->Next();
  }
}

TEST(ScribbleTest, DamageIsFoundAndNamedOrChangesNothing) {
  const std::string undisturbed = RankRun({}).Play();
  ASSERT_NE(undisturbed.find("iteration 8"), std::string::npos) << undisturbed;
  int found = 0;
  constexpr int kRounds = 1000;
  for (std::uint64_t seed = 0; seed < kRounds; ++seed) {
    base::Random random(seed);
    const int step = static_cast<int>(random.Below(kSteps));
    const Scribble scribble{.at_step = step,
                            .before_agent = random.Below(2) == 0,
                            .offset = DrawOffset(&random, step),
                            .word = DrawWord(&random)};
    SCOPED_TRACE(StrCat("seed ", seed, ": word ", scribble.word, " at ", scribble.offset,
                        " in step ", scribble.at_step, scribble.before_agent ? "" : ", late"));
    RankRun run(scribble);
    const std::string result = run.Play();
    if (run.damage.empty()) {
      ASSERT_EQ(result, undisturbed);
    } else {
      ASSERT_TRUE(run.damage.starts_with("ring damaged")) << run.damage;
      ++found;
    }
  }
  // Most places do not matter, but many do.
  EXPECT_GT(found, kRounds / 10);
}

}  // namespace
}  // namespace eidolon::agent::session
