#include "services/network/session_stream.h"

#include <utility>

#include "services/base/text.h"
#include "services/network/translate.h"
#include "services/runtime/grpc_status.h"

namespace eidolon::network {

using base::ErrorCode;
using base::Fail;
using base::Result;

SessionStream* SessionStream::Begin(FindJob find_job) {
  std::shared_ptr<SessionStream> stream(new SessionStream(std::move(find_job)));
  stream->self_ = stream;
  stream->StartRead(&stream->request_);
  return stream.get();
}

void SessionStream::Send(const communicator::Notice& notice) {
  v1::SessionResponse response = ToProto(notice);
  const std::lock_guard lock(writes_mutex_);
  if (finished_ || closing_) return;
  writes_.push_back(std::move(response));
  if (writes_.size() == 1) StartWrite(&writes_.front());
}

void SessionStream::Close(const Result<void>& reason) {
  const std::lock_guard lock(writes_mutex_);
  if (finished_ || closing_) return;
  closing_ = reason ? grpc::Status::OK : runtime::ToStatus(reason.error());
  if (writes_.empty()) FinishNow();
}

// Requires: writes_mutex_ is held.
void SessionStream::FinishNow() {
  finished_ = true;
  Finish(*closing_);
}

void SessionStream::OnWriteDone(bool ok) {
  const std::lock_guard lock(writes_mutex_);
  if (ok) {
    writes_.pop_front();
  } else {
    writes_.clear();  // The peer is gone; the reads notice it too.
  }
  if (!writes_.empty()) {
    StartWrite(&writes_.front());
  } else if (closing_ && !finished_) {
    FinishNow();
  }
}

void SessionStream::OnReadDone(bool ok) {
  if (!ok) {
    // The agent has ended its side, or the call was cancelled.
    if (place_) place_->cluster->Disconnect(Speaker());
    Close({});
    return;
  }
  if (const auto handled = Handle(); !handled) {
    if (place_) place_->cluster->Disconnect(Speaker());
    Close(handled);
    return;
  }
  request_.Clear();
  StartRead(&request_);
}

void SessionStream::OnDone() {
  // The cluster may end with its last session. Its thread must not be the one that waits for it,
  // and that thread may hold this object longer than gRPC does.
  place_.reset();
  const std::shared_ptr<SessionStream> last = std::move(self_);
}

ClusterThread::Speaker SessionStream::Speaker() {
  return {.job = place_->job, .server = server_, .outlet = self_};
}

void SessionStream::Submit(ClusterThread::Work work) {
  place_->cluster->Submit(Speaker(), std::move(work));
}

Result<void> SessionStream::Greet(const v1::SessionRequest& request) {
  if (!request.has_hello()) {
    return Fail(ErrorCode::kInvalidArgument, "a session's first message is Hello");
  }
  auto place = find_job_(request.hello().job());
  if (!place) return std::unexpected(place.error());
  place_ = std::move(*place);
  server_ = request.hello().server();
  place_->cluster->Connect(Speaker());
  return {};
}

Result<void> SessionStream::HandleJoin(const v1::Join& join) {
  auto arrival = FromProto(join);
  if (!arrival) return std::unexpected(arrival.error());
  Submit([job = place_->job, server = server_, id = join.unique_id(), size = join.size(),
          arrival = std::move(*arrival)](Simulation& simulation) mutable {
    return simulation.Join(job, server, id, size, std::move(arrival));
  });
  return {};
}

Result<void> SessionStream::Handle() {
  if (!place_) return Greet(request_);
  const std::uint64_t job = place_->job;
  const std::uint32_t server = server_;
  switch (request_.message_case()) {
    case v1::SessionRequest::kJoin:
      return HandleJoin(request_.join());
    case v1::SessionRequest::kSplit:
      Submit([=, parent = request_.split().parent(),
              arrival = FromProto(request_.split())](Simulation& simulation) mutable {
        return simulation.Split(job, server, parent, std::move(arrival));
      });
      return {};
    case v1::SessionRequest::kIssue: {
      auto call = FromProto(std::move(*request_.mutable_issue()));
      if (!call) return std::unexpected(call.error());
      Submit([=, call = std::move(*call)](Simulation& simulation) mutable {
        return simulation.Issue(job, server, std::move(call));
      });
      return {};
    }
    case v1::SessionRequest::kPost:
      Submit([=, call = FromProto(request_.post())](Simulation& simulation) {
        return simulation.Post(job, server, call);
      });
      return {};
    case v1::SessionRequest::kHorizon:
      Submit([=, promise = FromProto(request_.horizon())](Simulation& simulation) {
        return simulation.Keep(job, server, promise);
      });
      return {};
    case v1::SessionRequest::kLeave:
      Submit([=, id = request_.leave().communicator(), rank = request_.leave().rank()](
                 Simulation& simulation) { return simulation.Leave(job, server, id, rank); });
      return {};
    case v1::SessionRequest::kHello:
      return Fail(ErrorCode::kInvalidArgument, "a session says Hello once");
    case v1::SessionRequest::MESSAGE_NOT_SET:
      break;
  }
  return Fail(ErrorCode::kInvalidArgument, "a session message without content");
}

}  // namespace eidolon::network
