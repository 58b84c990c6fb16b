// Arbitrary records in the ring of one process, taken in by its session: damage is refused with a
// sentence and never brings the agent down. The input is a sequence of (kind, device, words,
// content); one kind beyond the last lets the services answer what is open, two beyond write over
// the shared memory. No clock turns negative.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "eidolon/common/v1/common.pb.h"
#include "eidolon/network/v1/network.pb.h"
#include "services/agent/ring/fake_writer.h"
#include "services/agent/session/fake_host.h"
#include "services/agent/session/session.h"
#include "services/base/check.h"

namespace eidolon::agent::session {
namespace {

namespace wire = ::eidolon::ring;

constexpr std::size_t kItemHead = 3;

// A server whose services answer when they are told to.
class FuzzHost final : public FakeHost {
 public:
  void SendToNetwork(network::v1::SessionRequest request) override { requests_.push_back(request); }
  std::optional<CollectiveEstimate> FindEstimate(std::uint64_t,
                                                 const network::v1::Operation& operation) override {
    if (operation.count() % 7 == 6) return std::nullopt;
    return CollectiveEstimate{.duration = base::Duration::Microseconds(50), .channels = 8};
  }
  base::SimTime safe_through() const override { return safe_; }
  std::int64_t now_ns() const override { return now_ns_; }
  std::uint64_t NewRequest(std::uint32_t) override { return next_request_++; }

  // Every question gets an answer.
  void AnswerAll(Session* session) {
    common::v1::Estimate estimate;
    estimate.set_duration_picoseconds(7'000'000);
    estimate.set_source(common::v1::ESTIMATE_SOURCE_MODELLED);
    for (const auto& question : costs().TakeQuestions(1'000'000)) {
      costs().Learn(question.entry, estimate);
    }
    now_ns_ += 1'000'000'000;
    safe_.ps += 1'000'000'000;
    const auto requests = std::exchange(requests_, {});
    for (const auto& request : requests) AnswerRequest(request, session);
    session->AnswerMoments();
    session->WakeSleepers();
  }

 private:
  void AnswerRequest(const network::v1::SessionRequest& request, Session* session) {
    if (request.has_join() || request.has_split()) {
      const std::uint64_t number =
          request.has_join() ? request.join().request() : request.split().request();
      if (number % 5 == 4) return session->OnJoinFailed(number, "no such member");
      network::v1::Joined joined;
      joined.set_request(number);
      joined.set_communicator(request.has_split() && request.split().color() < 0 ? 0 : number);
      joined.set_rank(request.join().rank());
      joined.set_size(request.join().size());
      joined.set_channels(8);
      joined.add_parent_ranks(0);
      session->OnJoined(joined);
    } else if (request.has_issue()) {
      const auto& issue = request.issue();
      const bool transfers =
          issue.operation().kind() == network::v1::COLLECTIVE_KIND_POINT_TO_POINT;
      network::v1::Values values;
      values.set_communicator(issue.communicator());
      values.set_sequence(issue.sequence());
      values.set_rank(issue.rank());
      values.set_known(issue.has_payload());
      values.set_payload(issue.payload());
      values.set_point_to_point(transfers);
      session->OnValues(values);
      session->OnCommitted({.communicator = issue.communicator(),
                            .sequence = issue.sequence(),
                            .member = transfers ? issue.rank() : -1,
                            .start = safe_,
                            .finish = safe_ + base::Duration::Microseconds(90),
                            .basis = kNoBasis});
    }
  }

  std::vector<network::v1::SessionRequest> requests_;
  base::SimTime safe_;
  std::int64_t now_ns_ = 0;
  std::uint64_t next_request_ = 1;
};

SessionOptions TwoGpus(bool is_primary) {
  const device::Traits gpu{.launch_latency = base::Duration::Microseconds(3),
                           .launch_gap = base::Duration::Microseconds(1),
                           .graph_gap = base::Duration::Microseconds(1),
                           .callback_cost = base::Duration::Microseconds(20),
                           .multiprocessors = 132};
  SessionOptions options;
  options.is_primary = is_primary;
  options.devices = {gpu, gpu};
  options.rule.nvtx = "step";
  return options;
}

// Writes the record that the item describes. Its device may be wrong, and above 127 its clock too.
void Write(wire::RecordKind kind, std::uint8_t device, std::span<const std::uint8_t> content,
           ring::FakeWriter* writer, std::uint64_t clock) {
  if (device > 127 && content.size() >= sizeof(clock)) {
    std::memcpy(&clock, content.data(), sizeof(clock));
    content = content.subspan(sizeof(clock));
    device -= 128;
  }
  std::vector<std::byte> record(sizeof(wire::RecordHeader) + content.size());
  const wire::RecordHeader header{static_cast<std::uint32_t>(record.size()), kind, device, clock};
  std::memcpy(record.data(), &header, sizeof(header));
  if (!content.empty()) {
    std::memcpy(record.data() + sizeof(header), content.data(), content.size());
  }
  writer->SetClock(clock);
  writer->AppendRaw(record);
}

// Writes 8 bytes anywhere into what is shared: mostly where something stands.
void Scribble(std::span<const std::uint8_t> content, Session* session) {
  std::uint64_t words[2];  // Place and content.
  if (content.size() < sizeof(words)) return;
  std::memcpy(words, content.data(), sizeof(words));
  constexpr std::size_t kAreas[] = {0, wire::kCursorsOffset, wire::kRepliesOffset,
                                    wire::kRingOffset};
  const std::size_t place = kAreas[words[0] % 4] + (words[0] >> 2) % (4096 / 8) * 8;
  std::memcpy(static_cast<char*>(session->segment().base()) + place, &words[1], sizeof(words[1]));
}

void Run(std::span<const std::uint8_t> data) {
  if (data.size() < 2) return;
  FuzzHost host;
  host.costs().InternBasis(estimate::Source::kMeasured, 0, "none", 0);
  ring::Segment segment = *ring::Segment::Create({.devices = {{}, {}}}, 1, 0);
  ring::FakeWriter writer(segment.base());
  Session session(TwoGpus(data[0] % 4 != 0), std::move(segment), &host);
  data = data.subspan(1);
  std::uint64_t clock = 0;
  while (data.size() >= kItemHead) {
    constexpr auto kAnswers = static_cast<std::uint32_t>(wire::RecordKind::kCount);
    const std::uint32_t kind = data[0] % (kAnswers + 2);
    const std::uint8_t device = data[1];
    const std::size_t bytes = std::min<std::size_t>(data[2] * 8, (data.size() - kItemHead) / 8 * 8);
    const auto content = data.subspan(kItemHead, bytes);
    data = data.subspan(kItemHead + bytes);
    clock += 1'000'000;
    if (kind == kAnswers) {
      host.AnswerAll(&session);
    } else if (kind == kAnswers + 1) {
      Scribble(content, &session);
    } else if (kind != 0) {
      Write(static_cast<wire::RecordKind>(kind), device, content, &writer, clock);
    }
    if (!session.Drain(16).has_value()) break;
    CHECK(session.clock().ps >= 0 && session.known_clock().ps >= 0);
  }
  session.EndIterationByLog();
  session.Finish(iteration::ProgramEnd::kWell);
  session.Dismiss();
}

}  // namespace
}  // namespace eidolon::agent::session

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  eidolon::agent::session::Run({data, size});
  return 0;
}
