#include "services/network/serving/session_work.h"

#include <utility>

#include "services/network/serving/translate.h"

namespace eidolon::network::serving {

using base::ErrorCode;
using base::Fail;
using base::Result;

namespace {

Result<void> DoJoin(const v1::Join& join, std::uint64_t job, std::uint32_t server,
                    simulation::Simulation& simulation) {
  auto arrival = FromProto(join);
  if (!arrival) return std::unexpected(arrival.error());
  return simulation.Join(job, server, join.unique_id(), join.size(), std::move(*arrival));
}

Result<void> DoSplit(const v1::Split& split, std::uint64_t job, std::uint32_t server,
                     simulation::Simulation& simulation) {
  auto arrival = FromProto(split);
  if (!arrival) return std::unexpected(arrival.error());
  return simulation.Split(job, server, split.parent(), std::move(*arrival));
}

Result<void> DoIssue(v1::Issue& issue, std::uint64_t job, std::uint32_t server,
                     simulation::Simulation& simulation) {
  auto call = FromProto(issue);
  if (!call) return std::unexpected(call.error());
  return simulation.Issue(job, server, std::move(*call));
}

Result<void> DoPost(const v1::Post& post, std::uint64_t job, std::uint32_t server,
                    simulation::Simulation& simulation) {
  const auto call = FromProto(post);
  if (!call) return std::unexpected(call.error());
  return simulation.Post(job, server, *call);
}

Result<void> DoNotBefore(const v1::Post& bound, std::uint64_t job, std::uint32_t server,
                         simulation::Simulation& simulation) {
  const auto call = FromProto(bound);
  if (!call) return std::unexpected(call.error());
  return simulation.Bound(job, server, *call);
}

Result<void> DoOne(v1::SessionRequest& request, std::uint64_t job, std::uint32_t server,
                   simulation::Simulation& simulation) {
  switch (request.message_case()) {
    case v1::SessionRequest::kJoin:
      return DoJoin(request.join(), job, server, simulation);
    case v1::SessionRequest::kSplit:
      return DoSplit(request.split(), job, server, simulation);
    case v1::SessionRequest::kIssue:
      return DoIssue(*request.mutable_issue(), job, server, simulation);
    case v1::SessionRequest::kPost:
      return DoPost(request.post(), job, server, simulation);
    case v1::SessionRequest::kNotBefore:
      return DoNotBefore(request.not_before(), job, server, simulation);
    case v1::SessionRequest::kHorizon:
      return simulation.Keep(job, server, FromProto(request.horizon()));
    case v1::SessionRequest::kLeave:
      return simulation.Leave(job, server, request.leave().communicator(), request.leave().rank());
    case v1::SessionRequest::kHello:
      return Fail(ErrorCode::kInvalidArgument, "a session says Hello once");
    case v1::SessionRequest::kBatch:
      return Fail(ErrorCode::kInvalidArgument, "a batch within a batch");
    case v1::SessionRequest::MESSAGE_NOT_SET:
      break;
  }
  return Fail(ErrorCode::kInvalidArgument, "a session message without content");
}

}  // namespace

Result<void> Do(v1::SessionRequest& request, std::uint64_t job, std::uint32_t server,
                simulation::Simulation& simulation) {
  if (!request.has_batch()) return DoOne(request, job, server, simulation);
  for (v1::SessionRequest& part : *request.mutable_batch()->mutable_requests()) {
    if (const auto done = DoOne(part, job, server, simulation); !done) return done;
  }
  return {};
}

}  // namespace eidolon::network::serving
