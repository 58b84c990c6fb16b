// A boundary is a place in program order, never a time: the host may have issued the next iteration
// long before the GPU is done with this one. A collective counts from the moment at which this rank
// was ready, because NCCL's kernel occupies the stream while it waits for peers. A host function
// counts as no time of the GPU. After the last wanted iteration the usage is frozen, so that what a
// program does before it is stopped does not change the report.
#include "services/agent/session/iterations.h"

#include <utility>

#include "services/agent/ring/record_check.h"

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;

void Iterations::Add(const device::ResolvedOp& op, const CollectiveNumbers& collective) {
  iteration::Interval interval{.start = op.start,
                               .end = op.finish,
                               .host_bound = op.host_bound,
                               .milliwatts = op.milliwatts,
                               .microjoules = op.microjoules};
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
      interval.basis = collective.basis;
      interval.activity = iteration::Activity::kCommunication;
      name = collective.name;
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

void Iterations::Feed(iteration::Launch launch) {
  if (rule_.by_log || !rule_.nvtx.empty()) return;
  launch.alike = launch.kind = launch.identity;
  if (launch.identity < host_->costs().size()) {
    const cost::CostEntry& entry = host_->costs().entry(launch.identity);
    launch.alike = entry.alike;
    launch.kind = entry.kind;
    launch.meets_host = entry.work.resource == device::Resource::kCopyIn ||
                        entry.work.resource == device::Resource::kCopyOut;
  }
  detector_.Feed(launch);
  TakeBoundaries();
}

void Iterations::TakeBoundaries() {
  if (!detector_.has_boundaries()) return;
  for (const iteration::Mark& mark : detector_.TakeBoundaries()) EndIteration(mark);
}

void Iterations::EndIteration(const iteration::Mark& mark) {
  ledger_.AddBoundary(mark);
  if (ledger_.ended() != rule_.wanted) return;
  usage_->Freeze();
  if (event_log_ != nullptr) event_log_->EndAt(mark.sequence);
}

// An iteration lasts from one push of the named range to the next; the last one to its pop.
void Iterations::NoteRange(const ring::RecordView& record, const iteration::Mark& mark) {
  if (rule_.nvtx.empty()) return;
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
  if (ring::NameAfter(record.As<wire::MarkRecord>()) != rule_.nvtx) return;
  if (range_seen_) {
    EndIteration(mark);
  } else {
    ledger_.BeginAt(mark);
  }
  range_seen_ = true;
  in_range_ = true;
  range_depth_ = 0;
}

void Iterations::EndByLog(const iteration::Mark& mark) {
  if (rule_.by_log) EndIteration(mark);
}

void Iterations::End(const iteration::Mark& end, iteration::ProgramEnd how) {
  if (!rule_.nvtx.empty()) {
    if (range_seen_) EndIteration(in_range_ ? end : range_end_);
  } else if (!rule_.by_log) {
    detector_.Finish(end, how);
    TakeBoundaries();
  }
}

void Iterations::Close(const iteration::Mark& mark) {
  program_ = ledger_.Close(mark, host_->costs().bases());
  if (event_log_ != nullptr) event_log_->Finish();
}

}  // namespace eidolon::agent::session
