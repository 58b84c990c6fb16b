// One process with emulated GPUs: its ring, its device engine, its iterations, its open questions.
//
// Records are applied strictly in the ring's order. A record that needs a cost or an estimate that
// is not known yet stalls the ring until the answer is there; a scout then looks ahead for further
// definitions, so that questions travel in batches.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "services/agent/clock/horizon.h"
#include "services/agent/cost/cost_book.h"
#include "services/agent/device/engine.h"
#include "services/agent/iteration/detector.h"
#include "services/agent/iteration/ledger.h"
#include "services/agent/ring/reader.h"
#include "services/agent/ring/segment.h"
#include "services/agent/session/communicators.h"
#include "services/agent/session/event_log.h"
#include "services/agent/session/intake.h"
#include "services/agent/session/memory_book.h"
#include "services/agent/session/session_host.h"
#include "services/agent/session/usage.h"

namespace eidolon::network::v1 {
class Joined;
class Values;
}  // namespace eidolon::network::v1

namespace eidolon::agent::session {

// The basis of what keeps no GPU busy; the host interns it first.
inline constexpr std::uint32_t kNoBasis = 0;

// Main loop only.
class Session final : private device::Sink {
 public:
  using Options = SessionOptions;
  Session(Options options, ring::Segment segment, SessionHost* host);
  ~Session() override;

  // Reads and applies records, at most `limit`. True when something was applied. An error is
  // damage.
  base::Result<bool> Drain(int limit);
  // The process is gone: its last records are applied, and nobody waits any more.
  void MarkGone();
  // Its clock bounds the server's: from the start for a rank by its environment, for others
  // (compilers, launchers, ranks that tell nobody) from their first work or communicator on.
  bool is_driving() const { return driving_; }
  // Another process is the rank that it claimed: it bounds the clock again when it works.
  void GiveUpRank();
  // Whether the program did something since the last call; observers' polling does not count.
  bool TakeActivity() { return std::exchange(active_, false); }

  // Messages of the network.
  void OnJoined(const network::v1::Joined& joined);
  void OnJoinFailed(std::uint64_t request, const std::string& reason);
  void OnCommunicatorFailed(std::uint64_t service, const std::string& reason);
  // Resolves a collective. True when it was open here.
  bool OnCommitted(const Commitment& commitment);
  void OnValues(const network::v1::Values& values);
  // The network's safe time has grown: answers questions about moments.
  void AnswerMoments();

  void WakeSleepers();  // Answers the sleeps of a process that drives nothing; call often.
  // A line of the job's output ended an iteration (IterationRule::by_log).
  void EndIterationByLog();
  void Finish();   // No more records: closes the last iteration, reports what is complete.
  void Dismiss();  // Answers everybody who waits: the job is ending.

  void RaiseFloor(base::SimTime floor);
  base::SimTime clock() const { return clock_; }
  base::SimTime known_clock() const;  // The same, as soon as the rank has read its answers.

  const Options& options() const { return options_; }
  const MemoryBook& memory() const { return usage_.memory; }
  // What counts for the report: up to the place where the end of the last wanted iteration showed.
  // When the command is stopped after that is a matter of real time.
  const SessionUsage& reported_usage() const { return frozen_ ? *frozen_ : usage_; }
  bool has_begun() const { return launches_ > 0 || !communicators_.empty(); }
  std::uint64_t launches() const { return launches_; }
  std::string LastDoing() const;  // For people: its last record, and what it waits for.
  const iteration::Program& program() const { return program_; }  // Once it has finished.
  std::uint32_t iterations_ended() const { return ledger_.ended(); }
  std::uint32_t iterations_taken() const { return ledger_.taken(); }  // Resolved, of those.
  std::uint64_t ring_backlog() const { return reader_.backlog(); }
  bool HasNews() const { return !gone_ && reader_.HasMore(position_); }  // Not read yet.
  std::size_t open_operations() const { return engine_.open_operations(); }
  ring::Segment& segment() { return segment_; }
  EventLog* event_log() { return event_log_.get(); }

 private:
  enum class Applied { kYes, kStalled };
  using Outcome = base::Result<Applied>;
  using Template = CommunicationTemplate;
  struct PreparedCall;

  // session.cc
  Outcome Apply(const ring::RecordView& record, std::uint64_t position);
  Outcome ApplyDefinition(const ring::RecordView& record);
  Outcome ApplyWork(const ring::RecordView& record);
  void CountLaunch(std::uint32_t device);
  void NoteUnknownRead(const ::eidolon::ring::MarkRecord& mark);
  Outcome ApplyNote(const ring::RecordView& record);
  Outcome Launch(const ring::RecordView& record);
  void StartDriving();
  void Scout();
  base::Result<void> DefineWork(const ring::RecordView& record, std::uint64_t position);
  device::Engine::Call CallOf(const ::eidolon::ring::RecordHeader& header, std::uint32_t stream);
  base::SimTime ClockOf(const ::eidolon::ring::RecordHeader& header) const;
  // session_graphs.cc
  Outcome DefineGraph(const ring::RecordView& record);
  Outcome AddGraphNode(std::uint32_t index, const ::eidolon::ring::GraphNode& node,
                       device::GraphNode first, std::vector<device::GraphNode>* made,
                       GraphShape* shape);
  // session_questions.cc
  Outcome Ask(const ring::RecordView& record);
  Outcome AskCompletion(const ::eidolon::ring::WaitRecord& record);
  Outcome AskQuery(const ::eidolon::ring::WaitRecord& record);
  Outcome AskElapsed(const ::eidolon::ring::WaitRecord& record);
  void AskMoment(const ::eidolon::ring::WaitRecord& record);
  base::Result<device::Engine::Completion> EndOf(const ::eidolon::ring::WaitRecord& record,
                                                 std::optional<std::uint64_t> ticket);
  void Reply(std::uint32_t slot, const ring::Reply& reply);
  void ReplyTime(std::uint32_t slot, base::SimTime time);
  void SettleWaits();
  // session_communication.cc
  Outcome JoinCommunicator(const ring::RecordView& record);
  Outcome SplitCommunicator(const ring::RecordView& record);
  Outcome LeaveCommunicator(const ring::RecordView& record);
  Outcome Communicate(const ring::RecordView& record);
  Outcome LaunchGraph(const ring::RecordView& record);
  base::Result<Communicator*> FindCommunicator(std::uint32_t id);
  base::Result<std::optional<std::vector<PreparedCall>>> Prepare(
      Communicator* communicator, std::span<const ::eidolon::ring::CommunicationOp> ops,
      std::span<const std::byte> payload);
  device::Collective Issue(std::uint32_t id, Communicator* communicator, PreparedCall* call);
  Outcome AskValues(const ::eidolon::ring::WaitRecord& record);
  bool AnswerValue(const Communicator& communicator, const Communicator::Asked& asked);
  // session_iterations.cc
  void OpResolved(const device::ResolvedOp& op) override;
  void CollectiveReady(std::uint64_t token, base::SimTime ready) override;
  void WaitEnded(std::uint64_t ticket, base::SimTime time) override;
  void FeedDetector(std::uint32_t identity, iteration::Update update, std::uint64_t sequence,
                    base::SimTime clock);
  void NoteRange(const ring::RecordView& record);
  void TakeBoundaries();
  void EndIteration(const iteration::Mark& mark);
  void ReportIterations();

  Options options_;
  SessionHost* host_;
  ring::Segment segment_;
  ring::Reader reader_;
  device::Engine engine_;
  std::uint64_t position_ = 0;
  std::uint64_t scouted_ = 0, launches_ = 0;
  base::SimTime clock_;  // Largest seen.
  base::SimTime floor_;
  Intake intake_;
  bool gone_ = false, driving_ = false, active_ = false;
  ::eidolon::ring::RecordKind last_kind_ = ::eidolon::ring::RecordKind::kPad;

  device::IdMap<std::uint32_t> works_;  // The cost book's entries.
  std::map<std::uint32_t, Communicator> communicators_;
  std::map<std::uint32_t, Template> templates_;
  std::map<std::uint32_t, GraphShape> graphs_;
  std::unordered_map<std::uint64_t, OpenCall> calls_;  // Open collectives, by token.
  std::uint64_t next_token_ = 1;
  std::map<std::uint64_t, OpenJoin> joins_;  // By request.
  std::map<std::uint64_t, OpenWait> waits_;  // By ticket.
  std::uint64_t next_ticket_ = 1;
  std::vector<std::pair<std::uint64_t, base::SimTime>> ended_waits_;
  std::map<std::uint32_t, OpenWait> moments_;  // Queries and WaitUntil, by slot.
  std::vector<Sleeper> sleepers_;
  std::uint32_t resolving_basis_ = 0;  // Of the collective being resolved.
  std::uint32_t resolving_name_ = 0;

  iteration::Detector detector_;
  iteration::Ledger ledger_;
  iteration::Program program_;
  base::SimTime last_reply_;               // Largest time a wait was answered with.
  std::uint64_t last_reply_sequence_ = 0;  // The operation that is issued next after it.
  int range_depth_ = 0;                    // Open ranges above the one that is an iteration.
  bool in_range_ = false;
  bool range_seen_ = false;
  iteration::Mark range_end_;
  bool finished_ = false;
  std::unique_ptr<EventLog> event_log_;
  SessionUsage usage_;
  std::optional<SessionUsage> frozen_;
};

}  // namespace eidolon::agent::session
