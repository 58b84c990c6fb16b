// Finds where the iterations of one process end and what happened in each: by a named range, by
// lines of the job's output, or by what the program launches. Resolved operations come in, reports
// go out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "services/agent/device/operation.h"
#include "services/agent/iteration/detector.h"
#include "services/agent/iteration/ledger.h"
#include "services/agent/ring/reader.h"
#include "services/agent/session/collective_calls.h"
#include "services/agent/session/event_log.h"
#include "services/agent/session/session_host.h"
#include "services/agent/session/session_options.h"
#include "services/agent/session/usage_ledger.h"

namespace eidolon::agent::session {

// The basis of what keeps no GPU busy; the host interns it first.
inline constexpr std::uint32_t kNoBasis = 0;

// The rule decides which of the three ways counts; the others are ignored. With the end of the last
// wanted iteration the reported usage is frozen, and the event log ends. Owned by its session. Main
// loop only.
class Iterations {
 public:
  // `host` and `usage` outlive it. `event_log`: its path; empty: none.
  Iterations(IterationRule rule, const std::string& event_log, SessionHost* host,
             UsageLedger* usage)
      : rule_(std::move(rule)),
        host_(host),
        usage_(usage),
        event_log_(event_log.empty() ? nullptr : std::make_unique<EventLog>(event_log)) {}

  // The program launches something: an entry of the cost table, or else no work. What the entry
  // tells of it is filled in.
  void Feed(iteration::Launch launch);
  // The program's host waits for the GPU.
  void NoteWait() { detector_.NoteWait(); }
  // A range is pushed or popped at `mark`.
  void NoteRange(const ring::RecordView& record, const iteration::Mark& mark);
  // A line of the job's output ended an iteration.
  void EndByLog(const iteration::Mark& mark);

  // The engine has resolved an operation. `collective` tells what it was when it was one.
  void Add(const device::ResolvedOp& op, const CollectiveNumbers& collective);
  // The next report that is complete.
  std::optional<iteration::Report> Take() { return ledger_.Take(host_->costs().bases()); }

  // No more launches come: the last iteration ends at `end`, where the rule has no better place.
  void End(const iteration::Mark& end, iteration::ProgramEnd how);
  // Nothing more comes: the program ended at `mark`.
  void Close(const iteration::Mark& mark);

  const iteration::Ledger& ledger() const { return ledger_; }
  const iteration::Program& program() const { return program_; }  // After Close.
  const EventLog* event_log() const { return event_log_.get(); }

 private:
  void TakeBoundaries();
  void EndIteration(const iteration::Mark& mark);

  IterationRule rule_;
  SessionHost* host_;
  UsageLedger* usage_;
  iteration::Detector detector_;
  iteration::Ledger ledger_;
  iteration::Program program_;
  int range_depth_ = 0;  // Open ranges above the one that is an iteration.
  bool in_range_ = false;
  bool range_seen_ = false;
  iteration::Mark range_end_;
  std::unique_ptr<EventLog> event_log_;
};

}  // namespace eidolon::agent::session
