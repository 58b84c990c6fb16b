// What the engine resolves becomes iterations, event log and posts.
#include <algorithm>

#include "eidolon/network/v1/network.pb.h"
#include "services/agent/ring/record_check.h"
#include "services/agent/session/session.h"

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;
using base::SimTime;

void Session::OpResolved(const device::ResolvedOp& op) {
  intake_.NoteEnd(op.finish);
  iteration::Interval interval{.start = op.start, .end = op.finish, .host_bound = op.host_bound};
  std::uint32_t name = 0;
  switch (op.kind) {
    case device::OpKind::kWork: {
      const cost::CostEntry& entry = host_->costs().entry(op.tag);
      interval.basis = entry.basis;
      name = entry.name;
      break;
    }
    case device::OpKind::kCollective:
      // NCCL's kernel occupies the stream from the moment this rank is ready.
      interval.start = op.ready;
      interval.basis = resolving_basis_;
      interval.activity = iteration::Activity::kCommunication;
      name = resolving_name_;
      break;
    case device::OpKind::kCallback:
      // The host works here, the GPU does not.
      interval.start = op.finish;
      interval.basis = kNoBasis;
      break;
  }
  ledger_.Add(op.sequence, interval);
  if (event_log_ != nullptr) {
    const bool is_callback = op.kind == device::OpKind::kCallback;
    event_log_->Add(op, is_callback ? "host_callback" : host_->costs().name(name));
  }
}

void Session::CollectiveReady(std::uint64_t token, SimTime ready) {
  const OpenCall& call = calls_.at(token);
  const Communicator& communicator = communicators_.at(call.communicator);
  network::v1::SessionRequest message;
  network::v1::Post* post = message.mutable_post();
  post->set_communicator(communicator.service);
  post->set_sequence(call.name.sequence);
  post->set_point_to_point(call.name.point_to_point);
  post->set_rank(communicator.rank);
  post->set_ready_picoseconds(static_cast<std::uint64_t>(host_->ClampReady(ready).ps));
  host_->SendToNetwork(std::move(message));
}

void Session::WaitEnded(std::uint64_t ticket, SimTime time) {
  ended_waits_.emplace_back(ticket, time);
}

void Session::FeedDetector(std::uint32_t identity, iteration::Update update, std::uint64_t sequence,
                           SimTime clock) {
  if (options_.rule.by_log || !options_.rule.nvtx.empty()) return;
  iteration::Launch launch{.identity = identity, .kind = identity, .update = update};
  if (identity < host_->costs().size()) {
    const cost::CostEntry& entry = host_->costs().entry(identity);
    launch.kind = entry.kind;
    launch.meets_host = entry.work.resource == device::Resource::kCopyIn ||
                        entry.work.resource == device::Resource::kCopyOut;
  }
  launch.mark = {.sequence = sequence, .host_clock = clock};
  detector_.Feed(launch);
  TakeBoundaries();
}

void Session::TakeBoundaries() {
  if (!detector_.has_boundaries()) return;
  for (const iteration::Mark& mark : detector_.TakeBoundaries()) EndIteration(mark);
}

void Session::EndIteration(const iteration::Mark& mark) {
  ledger_.AddBoundary(mark);
  if (ledger_.ended() != options_.rule.wanted) return;
  frozen_ = usage_;
  if (event_log_ != nullptr) event_log_->EndAt(mark.sequence);
}

// An iteration lasts from one push of the named range to the next; the last one to its pop.
void Session::NoteRange(const ring::RecordView& record) {
  if (options_.rule.nvtx.empty()) return;
  const iteration::Mark mark{.sequence = engine_.issued(), .host_clock = ClockOf(record.header())};
  if (record.header().kind == wire::RecordKind::kRangePop) {
    if (!in_range_) return;
    if (range_depth_ > 0) {
      --range_depth_;
      return;
    }
    in_range_ = false;
    range_end_ = mark;
    return;
  }
  if (in_range_) {
    ++range_depth_;
    return;
  }
  if (ring::NameAfter(record.As<wire::MarkRecord>()) != options_.rule.nvtx) return;
  if (range_seen_) {
    EndIteration(mark);
  } else {
    ledger_.BeginAt(mark);
  }
  range_seen_ = true;
  in_range_ = true;
  range_depth_ = 0;
}

// The line was written between the last answered wait and now. That wait is the same in every run
// of the program, while the moment at which the line was read is not.
void Session::EndIterationByLog() {
  if (!options_.rule.by_log || finished_) return;
  EndIteration({.sequence = last_reply_sequence_, .host_clock = last_reply_});
  ReportIterations();
}

void Session::ReportIterations() {
  while (const auto report = ledger_.Take(host_->costs().bases())) {
    host_->IterationEnded(*this, *report);
  }
}

void Session::Finish() {
  if (finished_) return;
  finished_ = true;
  const iteration::Mark end{.sequence = engine_.issued(),
                            .host_clock = std::max(clock_, last_reply_)};
  if (!options_.rule.nvtx.empty()) {
    if (range_seen_) EndIteration(in_range_ ? end : range_end_);
  } else if (!options_.rule.by_log) {
    detector_.Finish(end);
    TakeBoundaries();
  }
  ReportIterations();
  // Leaving is no part of a program: it lasts until its last work, or the last answer that it
  // waited for.
  program_ = ledger_.Close({.sequence = engine_.issued(), .host_clock = last_reply_},
                           host_->costs().bases());
  if (event_log_ != nullptr) event_log_->Finish();
}

}  // namespace eidolon::agent::session
