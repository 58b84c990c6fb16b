// One simulation job as the network sees it: its communicators, and what their members call. Turns
// calls into transfers on the fabric, and ended transfers into news for the job's servers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/base/error.h"
#include "services/base/sim_time.h"
#include "services/contract/folding/fold.h"
#include "services/network/collective/cost.h"
#include "services/network/collective/point_to_point.h"
#include "services/network/collective/shape.h"
#include "services/network/collective/traffic.h"
#include "services/network/communicator/audience.h"
#include "services/network/communicator/calls.h"
#include "services/network/communicator/collective_table.h"
#include "services/network/communicator/communicator.h"
#include "services/network/communicator/folded_members.h"
#include "services/network/communicator/gathering.h"
#include "services/network/communicator/job_plan.h"
#include "services/network/communicator/mirrored_ranks.h"
#include "services/network/communicator/notice.h"
#include "services/network/communicator/operation.h"
#include "services/network/communicator/quarantine.h"
#include "services/network/communicator/route_table.h"
#include "services/network/communicator/row_broadcasts.h"
#include "services/network/communicator/row_calls.h"
#include "services/network/communicator/transfer_table.h"
#include "services/network/communicator/work_table.h"
#include "services/network/flow/transfer.h"
#include "services/network/flow/transfer_set.h"
#include "services/network/topology/topology.h"

namespace eidolon::network::communicator {

// Errors that these methods return are the calling agent's; errors of the user's program (members
// that disagree, a member that is gone) fail the communicator and are told to all its servers. Not
// thread safe. The topology and the audience outlive the job.
class Job {
 public:
  // Requires: the plan's positions exist.
  Job(std::uint64_t number, const topology::Topology& topology, JobPlan plan, Audience& audience);

  base::Result<void> Join(std::uint32_t server, const std::string& unique_id, std::int32_t size,
                          Arrival arrival);
  base::Result<void> Split(std::uint32_t server, std::uint64_t parent, Arrival arrival);
  base::Result<void> Issue(std::uint32_t server, IssueCall call);
  base::Result<void> Post(std::uint32_t server, const PostCall& call);
  // The rank has issued the call and does not reach it before its time: says nothing about when.
  base::Result<void> Bound(std::uint32_t server, const PostCall& call);
  base::Result<void> Leave(std::uint32_t server, std::uint64_t communicator, std::int32_t rank);
  // The server's agent has gone: what still needs its ranks fails.
  void Disconnect(std::uint32_t server);

  // A transfer that this job started has ended.
  void Finished(flow::Finish finish);
  // Ranks of which one is needed for whatever else may load the links of a transfer; none: others
  // may, too.
  std::span<const Decider> DecidersOf(const flow::TransferKey& key) const;
  // Tells how a transfer ends that none of these disturbs any more. False: an open call may.
  bool Foresee(const flow::Finish& finish);

  // The duration of an operation alone on the fabric.
  base::Result<collective::Cost> Estimate(std::uint64_t communicator,
                                          const Operation& operation) const;

  // The links of a transfer that this job started, by the topology as it is now.
  flow::LinkUses UsesOf(const flow::Transfer& transfer) const;
  void ForgetRoutes();  // The topology has others now.

  // Nothing happens any more: what waits for a member that left has failed. False: there is none.
  bool FailWaitsInVain();
  // One line for each thing that somebody waits in and somebody is missing from.
  std::vector<std::string> Waits() const;

  std::uint64_t number() const { return number_; }
  std::size_t servers() const { return placement_.size(); }
  // Returns the position in the cluster. Requires: server < servers().
  std::uint32_t PositionOf(std::uint32_t server) const { return placement_[server]; }
  // Those that have processes, ascending.
  std::vector<std::uint32_t> LiveServers() const;
  std::size_t communicators() const { return communicators_.size(); }

 private:
  base::Result<void> CheckMember(std::uint32_t server, const Member& member) const;
  // Succeeds if `rank` is one of its members on `server`.
  base::Result<Communicator*> Find(std::uint32_t server, std::uint64_t id, std::int32_t rank);
  bool Refused(Communicator& communicator, std::uint32_t server);
  std::uint32_t NextOrdinal(const Member& member);
  // `parent`: of a split; 0 for a join.
  std::string MeetingOf(const Arrival& arrival, std::uint64_t parent);
  base::Result<void> SplitFolded(Communicator& parent, Arrival arrival);
  void CompleteFoldedSplit(Communicator& parent, const Gathering& gathering);
  Communicator& Found(const std::vector<Arrival>& arrivals,
                      std::shared_ptr<const MirroredRanks> mirrored_ranks);
  void CompleteJoin(const Gathering& gathering);
  void CompleteSplit(const Communicator& parent, const Gathering& gathering);
  void Announce(const Communicator& communicator, const std::vector<Arrival>& arrivals,
                base::SimTime finish, bool split);
  void Fail(Communicator& communicator, const std::string& reason,
            const std::vector<folding::Dimension>& ranks_differ_by = {});
  // Ranks of one class are not alike: `rank` sends to or receives from the mirrored rank `peer`.
  void FailUnlike(Communicator& communicator, std::int32_t rank, std::int32_t peer,
                  const Operation& operation);
  // False, and they fail, when another row of its class has called something else in its place.
  bool RowsAreAlike(Communicator& communicator, const IssueCall& call);
  // Tells where a live rank has launched other work than another one of its class.
  void CompareWork(const Communicator& communicator, const IssueCall& call);
  void FailGathering(const Gathering& gathering, const std::string& reason);
  void Depart(Communicator& communicator, std::int32_t rank, const std::string& how);
  void WaitInVain(Communicator& communicator, std::int32_t rank, const std::string& reason);
  // Fails a communicator whose splits wait for a member that has left.
  void FailSplitsInVain(Communicator& communicator);
  void EraseIfAbandoned(std::uint64_t id);
  base::Result<void> IssueCollective(Communicator& communicator, IssueCall call);
  base::Result<void> IssueTransfers(Communicator& communicator, IssueCall call);
  void TellBroadcast(const Communicator& communicator, std::int32_t root,
                     CollectiveTable::Values values);
  void TellValues(const Communicator& communicator, const CollectiveTable::Values& values);
  void TellTransferred(const Communicator& communicator,
                       const std::vector<TransferTable::Values>& all);
  // Tells receivers how early what they wait for can come, as far as that is news.
  void TellBounds(Communicator& communicator, const GroupId& group);
  using Traffic = std::function<std::vector<flow::LinkUse>(const std::vector<topology::Place>&)>;
  void StartEverywhere(Communicator& communicator, flow::Transfer transfer, RouteTable::Key route,
                       const Traffic& traffic);
  void StartCollective(Communicator& communicator, const CollectiveTable::Ready& ready);
  void StartTransfer(Communicator& communicator, const TransferTable::Ready& ready);
  collective::TransferCost CostBetween(const Communicator& communicator, std::int32_t from,
                                       std::int32_t to, std::uint64_t bytes) const;
  void CommitCollective(Communicator& communicator, flow::Finish finish);
  void TellCommitted(const Communicator& communicator, const collective::Cost& cost,
                     const flow::Finish& finish, bool foreseen);
  static bool AllForeseen(const Communicator& communicator);
  void CommitGroup(const Communicator& communicator, TransferTable::Done done);
  void Tell(std::uint32_t server, Notice notice);

  std::uint64_t number_;
  const topology::Topology& topology_;
  std::vector<std::uint32_t> placement_;
  Audience& audience_;
  collective::Tuning tuning_;
  FoldedMembers folded_;
  RowBroadcasts row_broadcasts_;
  RowCalls row_calls_;
  Quarantine quarantine_;
  WorkTable work_;
  std::map<std::string, Gathering> joins_;  // By unique id; of a folded job by its members.
  // Communicators that a live rank of a folded job has entered, by their members.
  std::map<std::pair<std::int32_t, std::string>, std::uint32_t> entered_;
  std::map<std::uint64_t, Communicator> communicators_;
  std::vector<std::set<std::uint64_t>> communicators_of_;  // By server: with a member there.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> ordinals_;  // By device.
  std::set<std::uint32_t> disconnected_;
};

}  // namespace eidolon::network::communicator
