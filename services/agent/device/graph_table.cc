// Graphs: expanded at launch by their dependencies. Branches get lanes of their own, so that they
// contend with each other and with streams.
#include <algorithm>

#include "services/agent/device/engine.h"
#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::agent::device {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

namespace {

// Wider graphs than this put their further branches into no lane: these do not slow others down.
constexpr std::size_t kLaneLimit = 32;
constexpr int kNoLane = -1;

// A node continues the lane of its first dependency that no other node continues.
std::vector<int> AssignBranches(const std::vector<GraphNode>& nodes, int* branches) {
  std::vector<int> branch(nodes.size());
  std::vector<bool> continued(nodes.size(), false);
  *branches = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& dependencies = nodes[i].dependencies;
    const auto free = std::find_if(dependencies.begin(), dependencies.end(),
                                   [&](std::uint32_t d) { return !continued[d]; });
    if (free == dependencies.end()) {
      branch[i] = (*branches)++;
    } else {
      branch[i] = branch[*free];
      continued[*free] = true;
    }
  }
  return branch;
}

}  // namespace

base::Result<void> Engine::DefineGraph(std::uint16_t device, std::uint32_t graph,
                                       std::vector<GraphNode> nodes) {
  if (device >= devices_.size()) {
    return Fail(ErrorCode::kCorrupt, StrCat("device ", device, " does not exist"));
  }
  if (graphs_.Find(graph) != nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("graph ", graph, " exists already"));
  }
  Graph made{.device = device};
  std::vector<bool> has_follower(nodes.size(), false);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::uint32_t dependency : nodes[i].dependencies) {
      CHECK(dependency < i);
      has_follower[dependency] = true;
    }
    if (nodes[i].kind == GraphNodeKind::kCollective) ++made.collectives;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!has_follower[i]) made.ends.push_back(static_cast<std::uint32_t>(i));
  }
  int branches = 0;
  made.lanes = AssignBranches(nodes, &branches);
  const auto lanes = std::min(static_cast<std::size_t>(branches), kLaneLimit);
  for (std::size_t i = 0; i < lanes; ++i) {
    made.owned_lanes.push_back(devices_[device].contention.AddLane(Contention::Delay::kNever));
  }
  for (int& lane : made.lanes) {
    const auto branch = static_cast<std::size_t>(lane);
    lane = branch < lanes ? made.owned_lanes[branch] : kNoLane;
  }
  made.nodes = std::move(nodes);
  graphs_.Insert(graph, std::move(made));
  return {};
}

base::Result<void> Engine::DestroyGraph(std::uint32_t graph) {
  Graph* found = graphs_.Find(graph);
  if (found == nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("graph ", graph, " does not exist"));
  }
  for (const int lane : found->owned_lanes) {
    devices_[found->device].contention.RemoveLane(lane);
  }
  graphs_.Erase(graph);
  return {};
}

base::Result<void> Engine::LaunchGraph(const Call& call, std::uint32_t graph,
                                       std::span<const Collective> collectives) {
  auto stream = FindStream(call.device, call.stream);
  if (!stream) return std::unexpected(stream.error());
  Graph* found = graphs_.Find(graph);
  if (found == nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("graph ", graph, " does not exist"));
  }
  if (found->device != call.device) {
    return Fail(ErrorCode::kCorrupt, StrCat("graph ", graph, " belongs to device ", found->device,
                                            ", not to ", call.device));
  }
  CHECK(collectives.size() == found->collectives);
  FollowLegacyRules(*stream);
  Place place = PlaceOf(call, **stream);
  const Signal begin = Merge((*stream)->tail, found->last, call.device, call.stream);
  std::vector<Signal> ends(found->nodes.size());
  for (std::size_t i = 0; i < found->nodes.size(); ++i) {
    const GraphNode& node = found->nodes[i];
    Signal after = node.dependencies.empty() ? begin : ends[node.dependencies.front()];
    for (const std::uint32_t dependency : node.dependencies) {
      after = Merge(after, ends[dependency], call.device, call.stream);
    }
    place.lane = found->lanes[i];
    ends[i] = AddGraphNode(place, node, after, &collectives);
  }
  Signal end = begin;
  for (const std::uint32_t last : found->ends) {
    end = Merge(end, ends[last], call.device, call.stream);
  }
  SetTail(*stream, end);
  found->last = end;
  if (end.node != 0) AddEdge(end.node, {.kind = EdgeKind::kGraph, .target = graph});
  return {};
}

Engine::Signal Engine::AddGraphNode(const Place& place, const GraphNode& node, const Signal& after,
                                    std::span<const Collective>* collectives) {
  switch (node.kind) {
    case GraphNodeKind::kEmpty:
      return after;
    case GraphNodeKind::kWork:
      return AddWork(place, after, node.work, OpKind::kWork);
    case GraphNodeKind::kCallback: {
      const Work work{.duration = devices_[place.device].traits.callback_cost,
                      .resource = Resource::kNone};
      return AddWork(place, after, work, OpKind::kCallback);
    }
    case GraphNodeKind::kEventRecord:
      SetEvent(node.event, after);
      return after;
    case GraphNodeKind::kEventWait: {
      const Signal* event = events_.Find(node.event);
      return event == nullptr ? after : Merge(after, *event, place.device, place.stream);
    }
    case GraphNodeKind::kCollective: {
      const Collective& collective = collectives->front();
      *collectives = collectives->subspan(1);
      return AddCollective(place, after, collective);
    }
  }
  return after;
}

}  // namespace eidolon::agent::device
