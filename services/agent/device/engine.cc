// Each call has one pattern: find the stream, apply the rules of the legacy default stream, add the
// operation, and make its end the stream's tail. The rules come before anything else, because they
// may change the tail that the operation waits for. A call that fails has changed nothing.
#include "services/agent/device/engine.h"

#include <utility>

namespace eidolon::agent::device {

Engine::Engine(std::vector<Traits> devices, Sink* sink)
    : gpus_(devices.begin(), devices.end()),
      work_(&signals_, sink),
      events_(&signals_, &work_),
      streams_(&gpus_, &signals_, &work_),
      dispatcher_({.gpus = &gpus_,
                   .signals = &signals_,
                   .work = &work_,
                   .streams = &streams_,
                   .sink = sink}),
      graphs_({.gpus = &gpus_,
               .signals = &signals_,
               .work = &work_,
               .streams = &streams_,
               .events = &events_,
               .dispatcher = &dispatcher_}) {}

base::Result<void> Engine::CreateStream(std::uint16_t device, std::uint32_t stream,
                                        bool non_blocking, int priority) {
  return streams_.Create(device, stream, non_blocking, priority);
}

base::Result<void> Engine::DestroyStream(std::uint32_t stream) { return streams_.Destroy(stream); }

base::Result<void> Engine::CreateEvent(std::uint32_t event) { return events_.Create(event); }

base::Result<void> Engine::DestroyEvent(std::uint32_t event) { return events_.Destroy(event); }

base::Result<void> Engine::Launch(const Call& call, const Work& work) {
  auto stream = streams_.Find(call.device, call.stream);
  if (!stream) return std::unexpected(stream.error());
  streams_.FollowLegacyRules(**stream);
  work_.AssignOwned((*stream)->tail,
                    dispatcher_.AddWork(dispatcher_.PlaceOf(**stream, call.host_clock),
                                        streams_.TailOf(**stream), work));
  return {};
}

base::Result<void> Engine::Callback(const Call& call) {
  auto stream = streams_.Find(call.device, call.stream);
  if (!stream) return std::unexpected(stream.error());
  streams_.FollowLegacyRules(**stream);
  work_.AssignOwned((*stream)->tail,
                    dispatcher_.AddCallback(dispatcher_.PlaceOf(**stream, call.host_clock),
                                            streams_.TailOf(**stream)));
  return {};
}

base::Result<void> Engine::Issue(const Call& call, const Collective& collective) {
  auto stream = streams_.Find(call.device, call.stream);
  if (!stream) return std::unexpected(stream.error());
  streams_.FollowLegacyRules(**stream);
  work_.AssignOwned((*stream)->tail,
                    dispatcher_.AddCollective(dispatcher_.PlaceOf(**stream, call.host_clock),
                                              streams_.TailOf(**stream), collective));
  return {};
}

base::Result<void> Engine::RecordEvent(const Call& call, std::uint32_t event) {
  auto stream = streams_.Find(call.device, call.stream);
  if (!stream) return std::unexpected(stream.error());
  if (auto known = events_.Get(event); !known) return std::unexpected(known.error());
  streams_.FollowLegacyRules(**stream);
  // On an idle stream the event's time is when the GPU gets to see the call.
  signals_.NotBefore((*stream)->tail, dispatcher_.PlaceOf(**stream, call.host_clock).host_ready);
  events_.Record(event, streams_.TailOf(**stream));
  return {};
}

base::Result<void> Engine::WaitEvent(const Call& call, std::uint32_t event) {
  auto stream = streams_.Find(call.device, call.stream);
  if (!stream) return std::unexpected(stream.error());
  const auto recorded = events_.Get(event);
  if (!recorded) return std::unexpected(recorded.error());
  streams_.FollowLegacyRules(**stream);
  const SignalTable::Slot tail = (*stream)->tail;
  work_.Assign(tail, work_.Merge(signals_[tail], *recorded, tail));
  return {};
}

bool Engine::ResolveCollective(std::uint64_t token, SimTime start, SimTime finish) {
  return work_.ResolveCollective(token, start, finish);
}

base::Result<void> Engine::DefineGraph(std::uint16_t device, std::uint32_t graph,
                                       std::vector<GraphNode> nodes) {
  return graphs_.Define(device, graph, std::move(nodes));
}

base::Result<void> Engine::DestroyGraph(std::uint32_t graph) { return graphs_.Destroy(graph); }

base::Result<void> Engine::LaunchGraph(const Call& call, std::uint32_t graph,
                                       std::span<const Collective> collectives) {
  return graphs_.Launch(call, graph, collectives);
}

base::Result<Engine::Completion> Engine::StreamEnd(std::uint16_t device, std::uint32_t stream,
                                                   std::optional<std::uint64_t> ticket) {
  auto found = streams_.Find(device, stream);
  if (!found) return std::unexpected(found.error());
  // CUDA's rule: blocking streams wait for an action in the legacy stream from then on, and not
  // only once they have more work (CUDA Runtime API, stream synchronization behavior).
  streams_.FollowLegacyRules(**found);
  const Signal tail = streams_.TailOf(**found);
  return Completion{.time = work_.Watch(tail, ticket), .not_before = tail.at, .node = tail.node};
}

base::Result<Engine::Completion> Engine::DeviceEnd(std::uint16_t device,
                                                   std::optional<std::uint64_t> ticket) {
  auto end = streams_.EndOf(device);
  if (!end) return std::unexpected(end.error());
  return Completion{.time = work_.Watch(*end, ticket), .not_before = end->at, .node = end->node};
}

base::Result<Engine::Completion> Engine::EventEnd(std::uint32_t event,
                                                  std::optional<std::uint64_t> ticket) {
  auto recorded = events_.Get(event);
  if (!recorded) return std::unexpected(recorded.error());
  return Completion{
      .time = work_.Watch(*recorded, ticket), .not_before = recorded->at, .node = recorded->node};
}

}  // namespace eidolon::agent::device
