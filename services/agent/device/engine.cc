#include "services/agent/device/engine.h"

#include <algorithm>
#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::agent::device {

using base::Duration;
using base::ErrorCode;
using base::Fail;
using base::SimTime;
using base::StrCat;

namespace {

// The legacy default stream of a device has a key that no stream identifier can be.
std::uint64_t StreamKey(std::uint16_t device, std::uint32_t stream) {
  return stream != 0 ? stream : (std::uint64_t{1} << 40 | device);
}

}  // namespace

Engine::Engine(std::vector<Traits> devices, Sink* sink) : sink_(sink) {
  devices_.reserve(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    CHECK(devices[i].multiprocessors > 0);
    Device& device = devices_.emplace_back();
    device.traits = devices[i];
    device.contention = Contention(device.traits.launch_gap);
    const auto index = static_cast<std::uint16_t>(i);
    streams_.Insert(StreamKey(index, 0), {.id = 0,
                                          .device = index,
                                          .legacy = true,
                                          .non_blocking = false,
                                          .lane = device.contention.AddLane()});
  }
}

Engine::~Engine() = default;

base::Result<void> Engine::CreateStream(std::uint16_t device, std::uint32_t stream,
                                        bool non_blocking) {
  if (device >= devices_.size()) {
    return Fail(ErrorCode::kCorrupt, StrCat("device ", device, " does not exist"));
  }
  if (stream == 0 || streams_.Find(stream) != nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("stream ", stream, " exists already"));
  }
  Device& owner = devices_[device];
  streams_.Insert(stream, {.id = stream,
                           .device = device,
                           .non_blocking = non_blocking,
                           .lane = owner.contention.AddLane()});
  owner.streams.push_back(stream);
  if (!non_blocking) owner.blocking.push_back(stream);
  return {};
}

base::Result<void> Engine::DestroyStream(std::uint32_t stream) {
  Stream* found = stream == 0 ? nullptr : streams_.Find(stream);
  if (found == nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("stream ", stream, " does not exist"));
  }
  Device& owner = devices_[found->device];
  owner.orphans = Merge(owner.orphans, found->tail, found->device, 0);
  owner.contention.RemoveLane(found->lane);
  std::erase(owner.streams, stream);
  std::erase(owner.blocking, stream);
  streams_.Erase(stream);
  return {};
}

base::Result<void> Engine::CreateEvent(std::uint32_t event) {
  if (events_.Find(event) != nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("event ", event, " exists already"));
  }
  events_.Insert(event, {});
  return {};
}

base::Result<void> Engine::DestroyEvent(std::uint32_t event) {
  if (events_.Erase(event)) return {};
  return Fail(ErrorCode::kCorrupt, StrCat("event ", event, " does not exist"));
}

base::Result<Engine::Stream*> Engine::FindStream(std::uint16_t device, std::uint32_t stream) {
  if (device >= devices_.size()) {
    return Fail(ErrorCode::kCorrupt, StrCat("device ", device, " does not exist"));
  }
  Stream* found = streams_.Find(StreamKey(device, stream));
  if (found == nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("stream ", stream, " does not exist"));
  }
  if (found->device != device) {
    return Fail(ErrorCode::kCorrupt, StrCat("stream ", stream, " belongs to device ", found->device,
                                            ", not to ", device));
  }
  return found;
}

// Work in the legacy stream follows all work of the device's blocking streams and comes before all
// of their later work.
void Engine::FollowLegacyRules(Stream* stream) {
  if (stream->legacy) {
    for (const std::uint32_t id : devices_[stream->device].blocking) {
      SetTail(stream, Merge(stream->tail, streams_.Find(id)->tail, stream->device, 0));
    }
  } else if (!stream->non_blocking) {
    const Stream& legacy = *streams_.Find(StreamKey(stream->device, 0));
    SetTail(stream, Merge(stream->tail, legacy.tail, stream->device, stream->id));
  }
}

// A stream that waits for another stream's work must hear of its end.
void Engine::SetTail(Stream* stream, const Signal& signal) {
  if (signal.node != 0 && signal.node != stream->tail.node) {
    const Open& open = *FindOpen(signal.node);
    if (open.op.stream != stream->id || open.op.device != stream->device) {
      AddEdge(signal.node,
              {.kind = EdgeKind::kStream, .target = StreamKey(stream->device, stream->id)});
    }
  }
  stream->tail = signal;
}

Engine::Place Engine::PlaceOf(const Call& call, const Stream& stream) const {
  return {.device = call.device,
          .stream = call.stream,
          .lane = stream.lane,
          .host_clock = call.host_clock,
          .host_ready = call.host_clock + devices_[call.device].traits.launch_latency};
}

base::Result<void> Engine::Launch(const Call& call, const Work& work) {
  auto stream = FindStream(call.device, call.stream);
  if (!stream) return std::unexpected(stream.error());
  FollowLegacyRules(*stream);
  (*stream)->tail = AddWork(PlaceOf(call, **stream), (*stream)->tail, work, OpKind::kWork);
  return {};
}

base::Result<void> Engine::Callback(const Call& call) {
  auto stream = FindStream(call.device, call.stream);
  if (!stream) return std::unexpected(stream.error());
  FollowLegacyRules(*stream);
  const Work work{.duration = devices_[call.device].traits.callback_cost,
                  .resource = Resource::kNone};
  (*stream)->tail = AddWork(PlaceOf(call, **stream), (*stream)->tail, work, OpKind::kCallback);
  return {};
}

base::Result<void> Engine::Issue(const Call& call, const Collective& collective) {
  auto stream = FindStream(call.device, call.stream);
  if (!stream) return std::unexpected(stream.error());
  FollowLegacyRules(*stream);
  (*stream)->tail = AddCollective(PlaceOf(call, **stream), (*stream)->tail, collective);
  return {};
}

base::Result<void> Engine::RecordEvent(const Call& call, std::uint32_t event) {
  auto stream = FindStream(call.device, call.stream);
  if (!stream) return std::unexpected(stream.error());
  if (events_.Find(event) == nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("event ", event, " does not exist"));
  }
  FollowLegacyRules(*stream);
  // On an idle stream the event's time is when the GPU gets to see the call.
  Signal& tail = (*stream)->tail;
  const SimTime seen = PlaceOf(call, **stream).host_ready;
  tail.at = std::max(tail.at, seen);
  tail.local = std::max(tail.local, seen);
  SetEvent(event, tail);
  return {};
}

base::Result<void> Engine::WaitEvent(const Call& call, std::uint32_t event) {
  auto stream = FindStream(call.device, call.stream);
  if (!stream) return std::unexpected(stream.error());
  const Signal* signal = events_.Find(event);
  if (signal == nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("event ", event, " does not exist"));
  }
  FollowLegacyRules(*stream);
  SetTail(*stream, Merge((*stream)->tail, *signal, call.device, call.stream));
  return {};
}

void Engine::SetEvent(std::uint32_t event, const Signal& signal) {
  Signal* found = events_.Find(event);
  if (found == nullptr) return;  // A graph may outlive an event that it names.
  *found = signal;
  if (signal.node != 0) AddEdge(signal.node, {.kind = EdgeKind::kEvent, .target = event});
}

Engine::Signal Engine::AddWork(const Place& place, const Signal& after, const Work& work,
                               OpKind kind) {
  Device& device = devices_[place.device];
  const Duration gap = device.traits.launch_gap;
  const SimTime local = std::max(after.local + gap, place.host_ready);
  const Duration duration = device.contention.Place({.lane = place.lane,
                                                     .resource = work.resource,
                                                     .share = work.share,
                                                     .start = local,
                                                     .alone = work.duration,
                                                     .issued = place.host_clock});
  ResolvedOp op{.sequence = next_sequence_++,
                .stream = place.stream,
                .device = place.device,
                .kind = kind,
                .host_bound = false,
                .tag = work.tag,
                .ready = std::max(after.at + gap, place.host_ready)};
  if (after.node == 0) {
    op.start = op.ready;
    op.finish = op.start + duration;
    op.host_bound = op.start == place.host_ready;
    sink_->OpResolved(op);
    return {.node = 0, .at = op.finish, .local = local + duration};
  }
  ++open_;
  const std::uint64_t node = NewOpen(
      {.op = op, .inputs = 1, .host_ready = place.host_ready, .gap = gap, .duration = duration});
  AddEdge(after.node, {.kind = EdgeKind::kInput, .target = node});
  return {.node = node, .at = op.ready, .local = local + duration};
}

Engine::Signal Engine::AddCollective(const Place& place, const Signal& after,
                                     const Collective& collective) {
  Device& device = devices_[place.device];
  Signal* last = communicators_.Find(collective.communicator);
  if (last == nullptr) last = &communicators_.Insert(collective.communicator, {});
  const Signal input = Merge(after, *last, place.device, place.stream);
  const Duration gap = device.traits.launch_gap;
  const SimTime local = std::max(input.local + gap, place.host_ready);
  const auto share =
      std::min<std::uint64_t>(kWholeShare, std::uint64_t{collective.channels} * kWholeShare /
                                               device.traits.multiprocessors);
  const auto delayed = device.contention.Hold({.lane = place.lane,
                                               .share = static_cast<std::uint32_t>(share),
                                               .start = local,
                                               .alone = collective.estimate,
                                               .issued = place.host_clock});
  for (const Contention::Delayed& lane : delayed) Delay(place.device, lane);
  ++open_;
  const ResolvedOp op{.sequence = next_sequence_++,
                      .stream = place.stream,
                      .device = place.device,
                      .kind = OpKind::kCollective,
                      .host_bound = false,
                      .tag = collective.tag,
                      .ready = std::max(input.at + gap, place.host_ready)};
  const std::uint64_t node = NewOpen({.op = op,
                                      .inputs = input.node == 0 ? 0u : 1u,
                                      .communicator = collective.communicator,
                                      .token = collective.token,
                                      .host_ready = place.host_ready,
                                      .gap = gap});
  const Signal end{.node = node, .at = op.ready, .local = local + collective.estimate};
  *communicators_.Find(collective.communicator) = end;
  if (input.node != 0) {
    AddEdge(input.node, {.kind = EdgeKind::kInput, .target = node});
  } else {
    Settle(node, FindOpen(node));
  }
  return end;
}

void Engine::Delay(std::uint16_t device, const Contention::Delayed& delayed) {
  const auto apply = [&](Stream& stream) {
    if (stream.lane != delayed.lane) return;
    Signal& tail = stream.tail;
    // What the stream waits for besides this work may hide the delay.
    const Duration hidden = std::max(Duration{}, tail.local - delayed.end);
    const Duration by = delayed.by - hidden;
    if (by.ps <= 0) return;
    tail.at = tail.at + by;
    tail.local = tail.local + by;
    if (tail.node == 0) return;
    Open late{.inputs = 1, .is_join = true, .gap = by};
    late.op.device = device;
    late.op.stream = stream.id;
    late.op.ready = tail.at;
    const std::uint64_t node = NewOpen(late);
    AddEdge(tail.node, {.kind = EdgeKind::kInput, .target = node});
    tail.node = node;
  };
  apply(*streams_.Find(StreamKey(device, 0)));
  for (const std::uint32_t id : devices_[device].streams) apply(*streams_.Find(id));
}

base::Result<Engine::Completion> Engine::StreamEnd(std::uint16_t device, std::uint32_t stream,
                                                   std::optional<std::uint64_t> ticket) {
  auto found = FindStream(device, stream);
  if (!found) return std::unexpected(found.error());
  FollowLegacyRules(*found);
  return Watch((*found)->tail, ticket);
}

base::Result<Engine::Completion> Engine::DeviceEnd(std::uint16_t device,
                                                   std::optional<std::uint64_t> ticket) {
  auto legacy = FindStream(device, 0);
  if (!legacy) return std::unexpected(legacy.error());
  Signal all = Merge((*legacy)->tail, devices_[device].orphans, device, 0);
  for (const std::uint32_t id : devices_[device].streams) {
    all = Merge(all, streams_.Find(id)->tail, device, 0);
  }
  return Watch(all, ticket);
}

base::Result<Engine::Completion> Engine::EventEnd(std::uint32_t event,
                                                  std::optional<std::uint64_t> ticket) {
  const Signal* signal = events_.Find(event);
  if (signal == nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("event ", event, " does not exist"));
  }
  return Watch(*signal, ticket);
}

Engine::Completion Engine::Watch(const Signal& signal, std::optional<std::uint64_t> ticket) {
  if (signal.node == 0) return {.time = signal.at};
  if (ticket.has_value()) {
    AddEdge(signal.node, {.kind = EdgeKind::kTicket, .target = *ticket, .floor = signal.at});
  }
  return {};
}

}  // namespace eidolon::agent::device
