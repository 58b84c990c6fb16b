// The legacy default stream of a device waits for all blocking streams of the device, and they wait
// for it. The tails of blocking streams have a list of their own, so that a launch in the legacy
// stream looks at no other stream. A destroyed stream leaves its end in `orphans`, or a device that
// is synchronised would forget work that still runs. A delay by a collective or by a higher
// priority reaches a stream only as far as other waits of the stream do not hide it.
#include "services/agent/device/stream_table.h"

#include <algorithm>

#include "services/base/text.h"

namespace eidolon::agent::device {

using base::Duration;
using base::ErrorCode;
using base::Fail;
using base::StrCat;

StreamTable::StreamTable(std::vector<EmulatedGpu>* gpus, SignalTable* signals, OpenWork* work)
    : gpus_(gpus), signals_(signals), work_(work), members_(gpus->size()) {
  for (std::size_t i = 0; i < gpus->size(); ++i) {
    const auto device = static_cast<std::uint16_t>(i);
    const Stream legacy{
        .device = device, .lane = (*gpus)[i].contention.AddLane(), .tail = signals->Add()};
    streams_.Insert(KeyOf(device, 0), legacy);
    members_[i].legacy = {.tail = legacy.tail, .lane = legacy.lane};
    members_[i].orphans = signals->Add();
  }
}

base::Result<void> StreamTable::CheckDevice(std::uint16_t device) const {
  if (device < members_.size()) return {};
  return Fail(ErrorCode::kCorrupt, StrCat("device ", device, " does not exist"));
}

base::Result<void> StreamTable::Create(std::uint16_t device, std::uint32_t stream,
                                       bool non_blocking, int priority) {
  if (auto known = CheckDevice(device); !known) return known;
  if (stream == 0 || streams_.Find(stream) != nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("stream ", stream, " exists already"));
  }
  const Stream made{
      .id = stream,
      .device = device,
      .non_blocking = non_blocking,
      .lane = (*gpus_)[device].contention.AddLane(Contention::Delay::kPossible, priority),
      .tail = signals_->Add()};
  streams_.Insert(stream, made);
  members_[device].others.push_back({.tail = made.tail, .lane = made.lane});
  if (!non_blocking) members_[device].blocking.push_back(made.tail);
  return {};
}

base::Result<void> StreamTable::Destroy(std::uint32_t stream) {
  const Stream* found = stream == 0 ? nullptr : streams_.Find(stream);
  if (found == nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("stream ", stream, " does not exist"));
  }
  const SignalTable::Slot tail = found->tail;
  Members& members = members_[found->device];
  work_->Assign(members.orphans,
                work_->Merge((*signals_)[members.orphans], (*signals_)[tail], members.orphans));
  (*gpus_)[found->device].contention.RemoveLane(found->lane);
  std::erase_if(members.others, [&](const Member& member) { return member.tail == tail; });
  std::erase(members.blocking, tail);
  signals_->Release(tail);
  streams_.Erase(stream);
  return {};
}

base::Error StreamTable::DescribeUnknown(std::uint16_t device, std::uint32_t stream) {
  if (auto known = CheckDevice(device); !known) return known.error();
  const Stream* found = streams_.Find(KeyOf(device, stream));
  if (found == nullptr) {
    return {ErrorCode::kCorrupt, StrCat("stream ", stream, " does not exist")};
  }
  return {ErrorCode::kCorrupt,
          StrCat("stream ", stream, " belongs to device ", found->device, ", not to ", device)};
}

void StreamTable::Delay(std::uint16_t device, const Contention::Delayed& delayed) {
  const auto apply = [&](const Member& member) {
    if (member.lane != delayed.lane) return;
    // What the stream waits for besides this work may hide the delay.
    const Duration hidden = std::max(Duration{}, (*signals_)[member.tail].local - delayed.end);
    const Duration by = delayed.by - hidden;
    if (by.ps > 0) work_->Postpone(member.tail, by);
  };
  apply(members_[device].legacy);
  for (const Member& member : members_[device].others) apply(member);
}

base::Result<Signal> StreamTable::EndOf(std::uint16_t device) {
  if (auto known = CheckDevice(device); !known) return std::unexpected(known.error());
  const Members& members = members_[device];
  const SignalTable::Slot legacy = members.legacy.tail;
  Signal all = work_->Merge((*signals_)[legacy], (*signals_)[members.orphans], legacy);
  for (const Member& member : members.others) {
    all = work_->Merge(all, (*signals_)[member.tail], legacy);
  }
  return all;
}

}  // namespace eidolon::agent::device
