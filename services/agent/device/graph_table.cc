// A graph is defined once and launched thousands of times, so all that follows from its shape
// (lanes, ends, the number of collectives) is found at its definition. A launch merges signals
// along the dependencies and gives each node to the dispatcher as if a stream had issued it.
// Branches need lanes, since work of one lane never slows itself down. A graph cannot overlap
// itself, so its lanes belong to it and not to the launch. A later collective never delays work of
// these lanes (Delay::kNever), since a delay is passed on by way of a stream's tail.
#include "services/agent/device/graph_table.h"

#include <algorithm>
#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::agent::device {

using base::Duration;
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

base::Result<void> GraphTable::Define(std::uint16_t device, std::uint32_t graph,
                                      std::vector<GraphNode> nodes) {
  if (device >= parts_.gpus->size()) {
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
  made.nodes = std::move(nodes);
  AssignLanes(&made);
  made.last = parts_.signals->Add();
  graphs_.Insert(graph, std::move(made));
  return {};
}

void GraphTable::AssignLanes(Graph* graph) {
  Contention& contention = (*parts_.gpus)[graph->device].contention;
  int branches = 0;
  graph->lanes = AssignBranches(graph->nodes, &branches);
  const auto lanes = std::min(static_cast<std::size_t>(branches), kLaneLimit);
  for (std::size_t i = 0; i < lanes; ++i) {
    graph->owned_lanes.push_back(contention.AddLane(Contention::Delay::kNever));
  }
  for (int& lane : graph->lanes) {
    const auto branch = static_cast<std::size_t>(lane);
    lane = branch < lanes ? graph->owned_lanes[branch] : kNoLane;
  }
}

base::Result<void> GraphTable::Destroy(std::uint32_t graph) {
  Graph* found = graphs_.Find(graph);
  if (found == nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("graph ", graph, " does not exist"));
  }
  for (const int lane : found->owned_lanes) {
    (*parts_.gpus)[found->device].contention.RemoveLane(lane);
  }
  parts_.signals->Release(found->last);
  graphs_.Erase(graph);
  return {};
}

base::Result<void> GraphTable::Launch(const Call& call, std::uint32_t graph,
                                      std::span<const Collective> collectives) {
  auto stream = parts_.streams->Find(call.device, call.stream);
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
  parts_.streams->FollowLegacyRules(**stream);
  Dispatcher::Place place = parts_.dispatcher->PlaceOf(**stream, call.host_clock);
  const Signal begin = parts_.work->Merge(parts_.streams->TailOf(**stream),
                                          (*parts_.signals)[found->last], place.tail);
  std::vector<Signal> ends(found->nodes.size());
  for (std::size_t i = 0; i < found->nodes.size(); ++i) {
    const GraphNode& node = found->nodes[i];
    Signal after = node.dependencies.empty() ? begin : ends[node.dependencies.front()];
    for (const std::uint32_t dependency : node.dependencies) {
      after = parts_.work->Merge(after, ends[dependency], place.tail);
    }
    place.lane = found->lanes[i];
    const Traits& traits = (*parts_.gpus)[found->device].traits;
    const bool is_gemm = node.kind == GraphNodeKind::kWork && node.work.is_gemm;
    const Duration between =
        is_gemm ? std::max(traits.graph_gap, traits.gemm_graph_gap) : traits.graph_gap;
    place.gap = node.dependencies.empty() ? traits.launch_gap : between;
    ends[i] = AddNode(place, node, after, &collectives);
  }
  Signal end = begin;
  for (const std::uint32_t last : found->ends) {
    end = parts_.work->Merge(end, ends[last], place.tail);
  }
  parts_.work->Assign(place.tail, end);
  parts_.work->Assign(found->last, end);
  return {};
}

Signal GraphTable::AddNode(const Dispatcher::Place& place, const GraphNode& node,
                           const Signal& after, std::span<const Collective>* collectives) {
  switch (node.kind) {
    case GraphNodeKind::kEmpty:
      return after;
    case GraphNodeKind::kWork:
      return parts_.dispatcher->AddWork(place, after, node.work);
    case GraphNodeKind::kCallback:
      return parts_.dispatcher->AddCallback(place, after);
    case GraphNodeKind::kEventRecord:
      parts_.events->Record(node.event, after);
      return after;
    case GraphNodeKind::kEventWait: {
      const Signal* event = parts_.events->Find(node.event);
      return event == nullptr ? after : parts_.work->Merge(after, *event, place.tail);
    }
    case GraphNodeKind::kCollective: {
      const Collective& collective = collectives->front();
      *collectives = collectives->subspan(1);
      return parts_.dispatcher->AddCollective(place, after, collective);
    }
  }
  return after;
}

}  // namespace eidolon::agent::device
