#include "services/network/session_work.h"

#include <utility>

#include "services/network/translate.h"

namespace eidolon::network {

using base::ErrorCode;
using base::Fail;
using base::Result;
using Work = ClusterThread::Work;

namespace {

Result<Work> JoinWork(const v1::Join& join, std::uint64_t job, std::uint32_t server) {
  auto arrival = FromProto(join);
  if (!arrival) return std::unexpected(arrival.error());
  return [=, id = join.unique_id(), size = join.size(),
          arrival = std::move(*arrival)](Simulation& simulation) mutable {
    return simulation.Join(job, server, id, size, std::move(arrival));
  };
}

Result<Work> SplitWork(const v1::Split& split, std::uint64_t job, std::uint32_t server) {
  auto arrival = FromProto(split);
  if (!arrival) return std::unexpected(arrival.error());
  return
      [=, parent = split.parent(), arrival = std::move(*arrival)](Simulation& simulation) mutable {
        return simulation.Split(job, server, parent, std::move(arrival));
      };
}

Result<Work> PostWork(const v1::Post& post, std::uint64_t job, std::uint32_t server) {
  const auto call = FromProto(post);
  if (!call) return std::unexpected(call.error());
  return [=, call = *call](Simulation& simulation) { return simulation.Post(job, server, call); };
}

Result<Work> IssueWork(v1::Issue issue, std::uint64_t job, std::uint32_t server) {
  auto call = FromProto(std::move(issue));
  if (!call) return std::unexpected(call.error());
  return [=, call = std::move(*call)](Simulation& simulation) mutable {
    return simulation.Issue(job, server, std::move(call));
  };
}

}  // namespace

Result<Work> WorkOf(v1::SessionRequest& request, std::uint64_t job, std::uint32_t server) {
  switch (request.message_case()) {
    case v1::SessionRequest::kJoin:
      return JoinWork(request.join(), job, server);
    case v1::SessionRequest::kSplit:
      return SplitWork(request.split(), job, server);
    case v1::SessionRequest::kIssue:
      return IssueWork(std::move(*request.mutable_issue()), job, server);
    case v1::SessionRequest::kPost:
      return PostWork(request.post(), job, server);
    case v1::SessionRequest::kHorizon:
      return [=, promise = FromProto(request.horizon())](Simulation& simulation) {
        return simulation.Keep(job, server, promise);
      };
    case v1::SessionRequest::kLeave:
      return [=, id = request.leave().communicator(), rank = request.leave().rank()](
                 Simulation& simulation) { return simulation.Leave(job, server, id, rank); };
    case v1::SessionRequest::kHello:
      return Fail(ErrorCode::kInvalidArgument, "a session says Hello once");
    case v1::SessionRequest::MESSAGE_NOT_SET:
      break;
  }
  return Fail(ErrorCode::kInvalidArgument, "a session message without content");
}

}  // namespace eidolon::network
