// Messages come from other processes. Buffers, numbers of ranks and start times beyond any real one
// are refused here, which keeps later sums of times in range. Proto3 cannot tell zero from absent,
// hence zero stands for the usual value where zero itself makes no sense. A time that SimTime
// cannot hold means never.
#include "services/network/serving/translate.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "services/base/text.h"
#include "services/contract/folding/wire/fold_message.h"
#include "services/network/topology/topology.h"

namespace eidolon::network::serving {

using base::SimTime;
using base::StrCat;
using collective::Kind;

SimTime Time(std::uint64_t picoseconds) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return {static_cast<std::int64_t>(std::min(picoseconds, kMost))};
}

namespace {

std::uint64_t Picoseconds(SimTime time) { return static_cast<std::uint64_t>(time.ps); }

base::Result<Kind> KindOf(v1::CollectiveKind kind) {
  switch (kind) {
    case v1::COLLECTIVE_KIND_ALL_REDUCE:
      return Kind::kAllReduce;
    case v1::COLLECTIVE_KIND_ALL_GATHER:
      return Kind::kAllGather;
    case v1::COLLECTIVE_KIND_REDUCE_SCATTER:
      return Kind::kReduceScatter;
    case v1::COLLECTIVE_KIND_BROADCAST:
      return Kind::kBroadcast;
    case v1::COLLECTIVE_KIND_REDUCE:
      return Kind::kReduce;
    case v1::COLLECTIVE_KIND_ALL_TO_ALL:
      return Kind::kAllToAll;
    case v1::COLLECTIVE_KIND_GATHER:
      return Kind::kGather;
    case v1::COLLECTIVE_KIND_SCATTER:
      return Kind::kScatter;
    case v1::COLLECTIVE_KIND_POINT_TO_POINT:
      return Kind::kPointToPoint;
    default:
      return base::Fail(base::ErrorCode::kInvalidArgument,
                        StrCat("operation of unknown kind ", static_cast<int>(kind)));
  }
}

// Larger buffers than any GPU's come from damaged messages; refusing them keeps times in range.
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 42;

// A month of virtual time; later starts would leave no room for what follows.
constexpr std::uint64_t kReadyMax = std::uint64_t{1} << 61;

// More ranks than any job has come from damaged messages.
constexpr std::uint32_t kRanksMax = 1 << 20;

base::Result<std::vector<std::uint32_t>> MembersOf(const folding::RunMessages& runs) {
  return folding::RanksOf(folding::RunsFrom(runs), kRanksMax);
}

base::Result<SimTime> ReadyTime(std::uint64_t picoseconds) {
  if (picoseconds <= kReadyMax) return Time(picoseconds);
  return base::Fail(base::ErrorCode::kInvalidArgument,
                    StrCat("ready time ", picoseconds, " ps is beyond virtual time"));
}

void Fill(const communicator::JoinedNotice& notice, v1::Joined& joined) {
  joined.set_request(notice.request);
  joined.set_communicator(notice.communicator);
  joined.set_rank(notice.rank);
  joined.set_size(notice.size);
  joined.set_finish_picoseconds(Picoseconds(notice.finish));
  for (std::int32_t rank : notice.parent_ranks) joined.add_parent_ranks(rank);
  joined.set_channels(notice.channels);
  joined.set_buffer_bytes(notice.buffer_bytes);
  joined.set_split_picoseconds(static_cast<std::uint64_t>(notice.split.ps));
}

v1::LinkTier ToProto(topology::LinkTier tier) {
  switch (tier) {
    case topology::LinkTier::kOther:
      return v1::LINK_TIER_UNSPECIFIED;
    case topology::LinkTier::kNvlink:
      return v1::LINK_TIER_NVLINK;
    case topology::LinkTier::kPcie:
      return v1::LINK_TIER_PCIE;
    case topology::LinkTier::kBridge:
      return v1::LINK_TIER_BRIDGE;
    case topology::LinkTier::kNic:
      return v1::LINK_TIER_NIC;
    case topology::LinkTier::kLeaf:
      return v1::LINK_TIER_LEAF;
    case topology::LinkTier::kPod:
      return v1::LINK_TIER_POD;
    case topology::LinkTier::kLocal:
      return v1::LINK_TIER_LOCAL;
    case topology::LinkTier::kGlobal:
      return v1::LINK_TIER_GLOBAL;
    case topology::LinkTier::kTorus:
      return v1::LINK_TIER_TORUS;
    case topology::LinkTier::kCable:
      return v1::LINK_TIER_CABLE;
  }
  return v1::LINK_TIER_UNSPECIFIED;
}

void Fill(const flow::Spent& spent, v1::Committed& committed) {
  const auto add = [&](v1::LinkTier tier, base::Duration time, std::uint32_t link) {
    if (time.ps <= 0) return;
    committed.add_tiers(tier);
    committed.add_tier_picoseconds(static_cast<std::uint64_t>(time.ps));
    committed.add_tier_links(link + 1);  // 0: no single one.
  };
  add(v1::LINK_TIER_LATENCY, spent.latency, flow::kNoSingleLink);
  add(v1::LINK_TIER_PACE, spent.pace, flow::kNoSingleLink);
  for (const flow::LinkTime& link : spent.links) {
    add(ToProto(static_cast<topology::LinkTier>(link.tier)), link.time, link.link);
  }
}

void Fill(const communicator::CommittedNotice& notice, v1::Committed& committed) {
  committed.set_communicator(notice.communicator);
  committed.set_sequence(notice.sequence);
  committed.set_rank(notice.rank);
  committed.set_start_picoseconds(Picoseconds(notice.start));
  committed.set_finish_picoseconds(Picoseconds(notice.finish));
  committed.set_algorithm(std::string(Name(notice.algorithm)));
  committed.set_protocol(std::string(Name(notice.protocol)));
  committed.set_channels(notice.channels);
  committed.set_source(notice.is_assumed ? eidolon::common::v1::ESTIMATE_SOURCE_ASSUMED
                                         : eidolon::common::v1::ESTIMATE_SOURCE_MODELLED);
  committed.set_relative_error(notice.relative_error);
  committed.set_foreseen(notice.foreseen);
}

// One overload for each alternative of a notice.
struct Writer {
  v1::SessionResponse& response;
  Spending spending;

  void operator()(const communicator::JoinedNotice& notice) const {
    Fill(notice, *response.mutable_joined());
  }
  void operator()(const communicator::CommittedNotice& notice) const {
    v1::Committed& committed = *response.mutable_committed();
    Fill(notice, committed);
    if (spending == Spending::kTold && notice.spent != nullptr) Fill(*notice.spent, committed);
  }
  void operator()(const communicator::ValuesNotice& notice) const {
    auto& values = *response.mutable_values();
    values.set_communicator(notice.communicator);
    values.set_sequence(notice.sequence);
    values.set_rank(notice.rank);
    values.set_point_to_point(notice.point_to_point);
    values.set_known(notice.known);
    values.set_payload(notice.payload);
    values.set_guessed(notice.guessed);
    values.set_call_site(notice.site);
  }
  void operator()(const communicator::NotBeforeNotice& notice) const {
    auto& not_before = *response.mutable_not_before();
    not_before.set_communicator(notice.communicator);
    not_before.set_sequence(notice.sequence);
    not_before.set_rank(notice.rank);
    not_before.set_end_picoseconds(Picoseconds(notice.end));
  }
  void operator()(const communicator::WorkDiffersNotice& notice) const {
    auto& differs = *response.mutable_work_differs();
    differs.set_rank(notice.rank);
    differs.set_where(notice.where);
  }
  void operator()(const communicator::SafeThroughNotice& notice) const {
    auto& safe = *response.mutable_safe_through();
    safe.set_time_picoseconds(Picoseconds(notice.time));
    safe.set_released(notice.released);
  }
  void operator()(const communicator::DeadlockNotice& notice) const {
    response.mutable_deadlock()->set_report(notice.report);
  }
  void operator()(const communicator::FailedNotice& notice) const {
    auto& failed = *response.mutable_failed();
    failed.set_communicator(notice.communicator);
    failed.set_request(notice.request);
    failed.set_reason(notice.reason);
    failed.set_server_gone(notice.server_gone);
    failed.set_job_goes_on(notice.job_goes_on);
    folding::AddDimensions(notice.ranks_differ_by, failed.mutable_ranks_differ_by());
  }
};

}  // namespace

topology::Cluster FromProto(const eidolon::common::v1::Cluster& cluster) {
  return {.name = cluster.name(),
          .servers = cluster.servers(),
          .gpus_per_server = cluster.gpus_per_server(),
          .gpu = cluster.gpu(),
          .nvlink_generation = cluster.nvlink().generation(),
          .nvlink_switched = cluster.nvlink().switched(),
          .nics = cluster.nics().count(),
          .nic_gigabits_per_second = cluster.nics().gigabits_per_second(),
          .nic_latency_microseconds = cluster.nics().latency_microseconds(),
          .fabric = cluster.fabric().preset(),
          // Proto3 cannot tell an absent number from 0.
          .oversubscription =
              cluster.fabric().oversubscription() == 0 ? 1 : cluster.fabric().oversubscription()};
}

namespace {

// A number that is not said leaves the usual one.
void Take(std::uint32_t said, std::uint32_t& value) {
  if (said > 0) value = said;
}

void TakePlan(const v1::FabricPlan& plan, topology::Cluster& cluster) {
  topology::FabricSpec& spec = cluster.plan;
  Take(plan.servers_per_domain(), cluster.servers_per_domain);
  Take(plan.host_bridges(), cluster.host_bridges);
  cluster.in_network_reduction = plan.in_network_reduction();
  cluster.slingshot = plan.slingshot();
  Take(plan.cards_per_leaf(), spec.cards_per_leaf);
  Take(plan.leaves_per_pod(), spec.leaves_per_pod);
  Take(plan.merged_spines(), spec.spines);
  Take(plan.servers_per_router(), spec.servers_per_router);
  Take(plan.routers_per_group(), spec.routers_per_group);
  spec.dimensions.assign(plan.dimensions().begin(), plan.dimensions().end());
  spec.link_gigabits_per_second = plan.link_gigabits_per_second();
  spec.switches.assign(plan.switches().begin(), plan.switches().end());
  for (const v1::Cable& cable : plan.cables()) {
    spec.cables.push_back(
        {.a = cable.from(), .b = cable.to(), .gigabits_per_second = cable.gigabits_per_second()});
  }
  for (const v1::Plug& plug : plan.plugs()) {
    spec.plugs.push_back({.server = plug.server(), .rail = plug.rail(), .at = plug.at()});
  }
}

}  // namespace

topology::Cluster FromProto(const v1::RegisterJobRequest& request) {
  topology::Cluster cluster = FromProto(request.cluster());
  cluster.gpu_compute_major = request.gpu_compute_major();
  TakePlan(request.plan(), cluster);
  if (request.spines() > 0) {
    cluster.plan.routing = topology::Routing::kEcmp;
    cluster.plan.spines = request.spines();
  }
  for (const v1::LinkFault& fault : request.faults()) {
    cluster.faults.push_back({.at_seconds = fault.at_seconds(),
                              .link = fault.link(),
                              .capacity_factor = fault.capacity_factor()});
  }
  for (const v1::BackgroundTraffic& traffic : request.background()) {
    topology::Background& added = cluster.background.emplace_back();
    added.from = traffic.from_server();
    added.to = traffic.to_server();
    added.rail = traffic.rail();
    added.gigabits_per_second = traffic.gigabits_per_second();
    if (traffic.weight() > 0) added.weight = traffic.weight();
  }
  return cluster;
}

base::Result<communicator::Operation> FromProto(const v1::Operation& operation) {
  const auto kind = KindOf(operation.kind());
  if (!kind) return std::unexpected(kind.error());
  const auto too_large = [](std::uint64_t bytes) {
    return base::Fail(base::ErrorCode::kInvalidArgument,
                      StrCat("an operation of ", bytes, " bytes"));
  };
  if (operation.size_bytes() > kBytesMax) return too_large(operation.size_bytes());
  communicator::Operation result{.kind = *kind,
                                 .data_type = operation.data_type(),
                                 .reduction = operation.reduction(),
                                 .root = operation.root(),
                                 .count = operation.count(),
                                 .bytes = operation.size_bytes()};
  for (const v1::Transfer& transfer : operation.transfers()) {
    if (transfer.size_bytes() > kBytesMax) return too_large(transfer.size_bytes());
    result.transfers.push_back({.send = transfer.send(),
                                .peer = transfer.peer(),
                                .bytes = transfer.size_bytes(),
                                .sequence = transfer.sequence()});
  }
  return result;
}

base::Result<communicator::Arrival> FromProto(const v1::Join& join) {
  const auto ready = ReadyTime(join.ready_picoseconds());
  if (!ready) return std::unexpected(ready.error());
  auto members = MembersOf(join.members());
  if (!members) return std::unexpected(members.error());
  return communicator::Arrival{.request = join.request(),
                               .member = {.global_rank = join.member().global_rank(),
                                          .server = join.member().server(),
                                          .device = join.member().device()},
                               .rank = join.rank(),
                               .ready = *ready,
                               .name = join.name(),
                               .members = std::move(*members)};
}

base::Result<communicator::Arrival> FromProto(const v1::Split& split) {
  const auto ready = ReadyTime(split.ready_picoseconds());
  if (!ready) return std::unexpected(ready.error());
  auto members = MembersOf(split.members());
  if (!members) return std::unexpected(members.error());
  return communicator::Arrival{.request = split.request(),
                               .member = {},
                               .rank = split.parent_rank(),
                               .color = split.color(),
                               .key = split.key(),
                               .ready = *ready,
                               .name = split.name(),
                               .members = std::move(*members)};
}

base::Result<communicator::IssueCall> FromProto(v1::Issue& issue) {
  auto operation = FromProto(issue.operation());
  if (!operation) return std::unexpected(operation.error());
  communicator::IssueCall call{.communicator = issue.communicator(),
                               .sequence = issue.sequence(),
                               .rank = issue.rank(),
                               .operation = std::move(*operation),
                               .group = {.first = issue.group_first(), .size = issue.group_size()},
                               .work = {.launches = issue.launches(), .digest = issue.launched()}};
  call.operation.site = issue.call_site();
  if (issue.has_payload()) call.payload = std::move(*issue.mutable_payload());
  return call;
}

base::Result<communicator::PostCall> FromProto(const v1::Post& post) {
  const auto ready = ReadyTime(post.ready_picoseconds());
  if (!ready) return std::unexpected(ready.error());
  return communicator::PostCall{.communicator = post.communicator(),
                                .sequence = post.sequence(),
                                .rank = post.rank(),
                                .point_to_point = post.point_to_point(),
                                .ready = *ready};
}

horizon::Promise FromProto(const v1::Horizon& horizon) {
  horizon::Promise promise{.lower_bound = Time(horizon.lower_bound_picoseconds()),
                           .processed = horizon.processed(),
                           .quiescent = horizon.quiescent(),
                           .wanted = {},
                           .own_bounds = {}};
  for (const v1::OwnBound& bound : horizon.own_bounds()) {
    promise.own_bounds.push_back({bound.device(), Time(bound.picoseconds())});
  }
  if (horizon.wanted_picoseconds() > 0) promise.wanted = Time(horizon.wanted_picoseconds());
  return promise;
}

void ToProto(const communicator::Notice& notice, Spending spending, v1::SessionResponse& response) {
  std::visit(Writer{response, spending}, notice);
}

v1::EstimateCollectiveResponse ToProto(const collective::Cost& cost) {
  v1::EstimateCollectiveResponse response;
  response.set_duration_picoseconds(static_cast<std::uint64_t>(cost.Total().ps));
  response.set_channels(cost.channels);
  response.set_algorithm(std::string(Name(cost.algorithm)));
  response.set_protocol(std::string(Name(cost.protocol)));
  response.set_at_least_picoseconds(static_cast<std::uint64_t>(cost.at_least.ps));
  response.set_memory_bytes(cost.memory_bytes);
  return response;
}

v1::ReadLinkLoadsResponse ToProto(const simulation::LinkLoads& loads) {
  v1::ReadLinkLoadsResponse response;
  for (const simulation::ServerLink& link : loads.links) {
    v1::ServerLink& out = *response.add_links();
    out.set_tier(ToProto(link.tier));
    out.set_number(link.number);
    out.set_inbound(link.is_inbound);
  }
  for (const simulation::LinkLoads::Change& change : loads.changes) {
    response.add_change_links(change.link);
    response.add_change_picoseconds(Picoseconds(change.at));
    response.add_change_bytes_per_second(change.bytes_per_second);
  }
  return response;
}

}  // namespace eidolon::network::serving
