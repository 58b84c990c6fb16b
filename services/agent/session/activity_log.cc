#include "services/agent/session/activity_log.h"

#include <algorithm>
#include <span>
#include <utility>

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;

void ActivityLog::BeginRecord(std::uint64_t position, std::uint64_t sequence,
                              std::vector<std::uint32_t> nodes) {
  if (!watched_) return;
  applying_ = true;
  records_.push_back({.position = position, .first = sequence, .nodes = std::move(nodes)});
}

void ActivityLog::EndRecord(std::uint64_t sequence) {
  if (!std::exchange(applying_, false)) return;
  records_.back().pending += static_cast<std::int64_t>(sequence - records_.back().first);
  if (records_.back().pending == 0) records_.pop_back();
}

void ActivityLog::Add(const device::ResolvedOp& op) {
  const auto after = std::upper_bound(
      records_.begin(), records_.end(), op.sequence,
      [](std::uint64_t sequence, const Record& record) { return sequence < record.first; });
  if (after == records_.begin()) return;
  Record& record = *std::prev(after);
  const auto index = static_cast<std::uint32_t>(op.sequence - record.first);
  --record.pending;
  if (op.kind == device::OpKind::kCallback) {
    // A host function: the device does nothing.
  } else if (resolved_.size() >= wire::kKeptOperationsMax) {
    ++dropped_;
  } else {
    const bool is_collective = op.kind == device::OpKind::kCollective;
    resolved_.push_back(
        {.record = record.position,
         .index = index,
         .node = index < record.nodes.size() ? record.nodes[index] : 0,
         .start_ps = static_cast<std::uint64_t>((is_collective ? op.ready : op.start).ps),
         .end_ps = static_cast<std::uint64_t>(op.finish.ps)});
  }
  const std::size_t being_applied = applying_ ? 1 : 0;
  while (records_.size() > being_applied && records_.front().pending == 0) records_.pop_front();
}

void ActivityLog::Take(base::SimTime until, std::vector<Operation>* taken) {
  std::deque<Operation> later;
  for (const Operation& operation : resolved_) {
    const bool ended = operation.end_ps <= static_cast<std::uint64_t>(until.ps);
    if (ended && taken->size() < wire::kOperationsInAnswer) {
      taken->push_back(operation);
    } else {
      later.push_back(operation);
    }
  }
  resolved_ = std::move(later);
}

void ActivityLog::Answer(const wire::WaitRecord& question, Replies* replies) {
  std::vector<Operation> taken;
  switch (static_cast<wire::ActivityRequest>(question.id)) {
    case wire::ActivityRequest::kStart:
      watched_ = true;
      break;
    case wire::ActivityRequest::kStop:
      watched_ = false;
      break;
    case wire::ActivityRequest::kTake:
      Take({static_cast<std::int64_t>(question.header.host_clock_ps)}, &taken);
      break;
    default:
      replies->Send(question.slot, {.status = wire::ReplyStatus::kInvalid});
      return;
  }
  replies->Send(question.slot,
                {.status = wire::ReplyStatus::kOk,
                 .value_ps = taken.size() == wire::kOperationsInAnswer ? std::uint64_t{1} : 0,
                 .extra = std::exchange(dropped_, 0),
                 .payload = std::as_bytes(std::span(taken))});
}

}  // namespace eidolon::agent::session
