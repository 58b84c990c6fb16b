// One process with emulated GPUs: its ring, its device engine, its iterations, its open questions.
//
// Records are applied strictly in the ring's order. A record that needs a cost or an estimate that
// is not known yet stalls the ring until the answer is there; a scout then looks ahead for further
// definitions, so that questions travel in batches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "services/agent/device/engine.h"
#include "services/agent/recording/recorder.h"
#include "services/agent/ring/reader.h"
#include "services/agent/ring/segment.h"
#include "services/agent/session/activity_log.h"
#include "services/agent/session/applied.h"
#include "services/agent/session/collective_calls.h"
#include "services/agent/session/communicators.h"
#include "services/agent/session/graph_table.h"
#include "services/agent/session/intake.h"
#include "services/agent/session/iterations.h"
#include "services/agent/session/program_inputs.h"
#include "services/agent/session/replies.h"
#include "services/agent/session/session_host.h"
#include "services/agent/session/session_options.h"
#include "services/agent/session/token_passes.h"
#include "services/agent/session/usage_ledger.h"
#include "services/agent/session/waits.h"
#include "services/agent/session/work_definitions.h"
#include "services/agent/timeline/recorder.h"

namespace eidolon::agent::session {

// Dispatches records and messages to the objects that keep the process's state, and joins those
// that a record or a message concerns together: clock, driving, launches. Main loop only.
class Session final : private device::Sink {
 public:
  using Options = SessionOptions;
  Session(Options options, ring::Segment segment, SessionHost* host);
  ~Session() override;

  // Reads and applies records, at most `limit`. True when something was applied. An error is
  // damage.
  base::Result<bool> Drain(int limit);
  // Its next record cannot be applied before a cost or an estimate is known.
  bool awaits_costs() const { return awaits_costs_; }
  // The process is gone: its last records are applied, and nobody waits any more.
  void MarkGone();
  // Its clock bounds the server's: from the start for a rank by its environment, for others
  // (compilers, launchers, ranks that have no RANK) from their first work or communicator on.
  bool is_driving() const { return driving_; }
  // Another process is the rank that it claimed: it bounds the clock again when it works.
  void GiveUpRank();
  // Whether the program did something since the last call; observers' polling does not count.
  bool TakeActivity() { return std::exchange(active_, false); }

  // Messages of the network.
  void OnJoined(const network::v1::Joined& joined) { communicators_.OnJoined(joined); }
  void OnJoinFailed(std::uint64_t request, const std::string& reason) {
    communicators_.OnJoinFailed(request, reason);
  }
  void OnCommunicatorFailed(std::uint64_t service, const std::string& reason) {
    communicators_.OnFailed(service, reason);
  }
  // Resolves a collective. True when it was open here.
  bool OnCommitted(const Commitment& commitment);
  void OnValues(const network::v1::Values& values);
  // Returns how early an open call can end. True when it was open here.
  bool OnNotBefore(const network::v1::NotBefore& bound) { return calls_.Bound(bound); }
  void OnWorkDiffers(const std::string& where) { usage_.NoteWorkDifference(where); }
  // The network's safe time has grown: answers questions about moments.
  const std::set<std::uint32_t>& communicating_devices() const { return communicators_.devices(); }
  // The horizon hears how long waits last at least.
  void RaiseBounds() { waits_.RaiseBounds(); }
  void AnswerMoments() { waits_.AnswerMoments(driving_); }
  // Queries that nobody can decide yet (ValueImpasse).
  std::optional<base::SimTime> EarliestQuery() const { return waits_.EarliestQuery(); }
  void AnswerUndecided(base::SimTime asked) { waits_.AnswerUndecided(asked); }

  // Answers the sleeps of a process that drives nothing; call often.
  void WakeSleepers() { waits_.WakeSleepers(); }
  // A line of the job's output ended an iteration (IterationRule::by_log).
  void EndIterationByLog();
  void EndIterationAt(const iteration::Mark& mark);  // The same, where it was recorded.
  // No more records: closes the last iteration, reports what is complete.
  void Finish(iteration::ProgramEnd how);
  void Dismiss();  // Answers everybody who waits: the job is ending.

  void RaiseFloor(base::SimTime floor);
  base::SimTime clock() const { return clock_; }
  base::SimTime known_clock() const;  // The same, as soon as the rank has read its answers.

  const Options& options() const { return options_; }
  const MemoryLedger& memory() const { return usage_.now().memory; }
  // Returns what counts for the report: up to the place where the end of the last wanted iteration
  // showed. When the command is stopped after that is a matter of real time.
  const SessionUsage& reported_usage() const { return usage_.reported(); }
  bool has_begun() const { return launches_ > 0 || !communicators_.all().empty(); }
  std::uint64_t launches() const { return launches_; }
  std::string LastDoing() const;  // For people: its last record, and what it waits for.
  const iteration::Program& program() const {
    return iterations_.program();
  }  // Once it has finished.
  std::uint32_t iterations_ended() const { return iterations_.ledger().ended(); }
  std::uint32_t iterations_taken() const {
    return iterations_.ledger().taken();
  }  // Resolved, of those.
  const device::LoadHistory& HistoryOf(std::uint16_t device) const {
    return engine_.HistoryOf(device);
  }
  std::uint64_t ring_backlog() const { return reader_.backlog(); }
  bool HasNews() const { return !gone_ && reader_.HasMore(position_); }  // Not read yet.
  std::size_t open_operations() const { return engine_.open_operations(); }
  ring::Segment& segment() { return segment_; }
  const EventLog* event_log() const { return iterations_.event_log(); }
  const timeline::Recorder* timeline() const { return timeline_.get(); }  // Null: not wanted.
  recording::Recorder* recording() const { return recording_.get(); }     // The same.

 private:
  static ApplyResult Done(const base::Result<void>& done);
  ApplyResult Apply(const ring::RecordView& record, std::uint64_t position);
  ApplyResult ApplyKept(const ring::RecordView& record, std::uint64_t position);
  ApplyResult ApplyDefinition(const ring::RecordView& record);
  ApplyResult ApplyWatched(const ring::RecordView& record);
  ApplyResult ApplyWork(const ring::RecordView& record);
  ApplyResult ApplyNote(const ring::RecordView& record);
  ApplyResult Ask(const ring::RecordView& record);
  ApplyResult Launch(const ring::RecordView& record);
  ApplyResult LaunchGraph(const ring::RecordView& record);
  ApplyResult Communicate(const ring::RecordView& record);
  ApplyResult JoinCommunicator(const ring::RecordView& record);
  void CountLaunch(std::uint32_t device);
  void NoteTokens(std::uint64_t sequence, const cost::CostEntry& entry);
  void NoteTokens(std::uint64_t sequence, const GraphShape::Node& node);
  void NoteCalls(std::uint64_t sequence, std::uint32_t size,
                 std::span<const ::eidolon::ring::CommunicationOp> ops);
  void StartDriving();
  void ReportIterations();
  base::SimTime ClockOf(const ::eidolon::ring::RecordHeader& header) const;
  device::Engine::Call CallOf(const ::eidolon::ring::RecordHeader& header, std::uint32_t stream);
  // The place before the next operation.
  iteration::Mark MarkOf(const ::eidolon::ring::RecordHeader& header) const;
  // Shows in the timeline a call that is about to issue operations; a range, or reserved memory.
  void ShowCall(timeline::HostCall call, const ring::RecordView& record, std::size_t operations);
  void ShowRange(const ring::RecordView& record);
  void ShowMemory(const ring::RecordView& record);
  void ShowQuestion(const ::eidolon::ring::WaitRecord& question);
  ApplyResult ShowDetail(const ring::RecordView& record);
  void ShowLine(const ::eidolon::ring::MarkRecord& line);
  void ShowOperation(const device::ResolvedOp& op);
  void ShowIteration(const iteration::Report& report);

  void OpResolved(const device::ResolvedOp& op) override;
  void CollectiveReady(std::uint64_t token, base::SimTime ready) override;
  void CollectiveBounded(std::uint64_t token, base::SimTime ready) override;
  void WaitEnded(std::uint64_t ticket, base::SimTime time) override;

  Options options_;
  SessionHost* host_;
  ring::Segment segment_;
  ring::Reader reader_;
  device::Engine engine_;
  Intake intake_;
  Replies replies_;
  WorkDefinitions works_;
  Communicators communicators_;
  CollectiveCalls calls_;
  GraphTable graphs_;
  Waits waits_;
  UsageLedger usage_;
  ActivityLog activity_;
  Iterations iterations_;
  TokenPasses passes_;
  ProgramInputs inputs_;
  std::unique_ptr<timeline::Recorder> timeline_;
  std::unique_ptr<recording::Recorder> recording_;

  std::uint64_t position_ = 0;
  std::uint64_t launches_ = 0;
  base::SimTime clock_;  // Largest seen.
  base::SimTime floor_;
  bool gone_ = false, driving_ = false, active_ = false, finished_ = false;
  bool awaits_costs_ = false;
  ::eidolon::ring::RecordKind last_kind_ = ::eidolon::ring::RecordKind::kPad;
};

}  // namespace eidolon::agent::session
