#include "services/network/session_stream.h"

#include <utility>

#include "services/network/session_work.h"
#include "services/network/translate.h"
#include "services/runtime/grpc_status.h"

namespace eidolon::network {
namespace {

// An agent that does not read so many messages is not coming back.
constexpr std::size_t kWritesMax = 1 << 17;

}  // namespace

using base::Result;

SessionStream* SessionStream::Begin(runtime::Caller caller, FindJob find_job) {
  std::shared_ptr<SessionStream> stream(new SessionStream(std::move(caller), std::move(find_job)));
  stream->self_ = stream;
  stream->StartRead(&stream->request_);
  return stream.get();
}

SessionStream* SessionStream::Refuse(const grpc::Status& reason) {
  std::shared_ptr<SessionStream> stream(new SessionStream({}, nullptr));
  stream->self_ = stream;
  stream->CloseWith(reason);
  return stream.get();
}

void SessionStream::Send(const communicator::Notice& notice) {
  v1::SessionResponse response = ToProto(notice);
  const std::lock_guard lock(writes_mutex_);
  if (finished_ || closing_) return;
  if (writes_.size() >= kWritesMax) {
    closing_ = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                            "the agent does not read its session's messages");
    return;
  }
  writes_.push_back(std::move(response));
  if (writes_.size() == 1) StartWrite(&writes_.front());
}

void SessionStream::Close(const Result<void>& reason) {
  CloseWith(reason ? grpc::Status::OK : runtime::ToStatus(reason.error()));
}

void SessionStream::CloseWith(const grpc::Status& status) {
  const std::lock_guard lock(writes_mutex_);
  if (finished_ || closing_) return;
  closing_ = status;
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
  if (const auto handled = Handle(); !handled.ok()) {
    if (place_) place_->cluster->Disconnect(Speaker());
    CloseWith(handled);
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

grpc::Status SessionStream::Greet(const v1::SessionRequest& request) {
  if (!request.has_hello()) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "a session's first message is Hello"};
  }
  if (!caller_.MaySpeakFor(request.hello().job())) return NotTheirJob();
  auto place = find_job_(request.hello().job());
  if (!place) return runtime::ToStatus(place.error());
  place_ = std::move(*place);
  server_ = request.hello().server();
  place_->cluster->Connect(Speaker());
  return grpc::Status::OK;
}

grpc::Status SessionStream::Handle() {
  if (!place_) return Greet(request_);
  auto work = WorkOf(request_, place_->job, server_);
  if (!work) return runtime::ToStatus(work.error());
  place_->cluster->Submit(Speaker(), std::move(*work));
  return grpc::Status::OK;
}

grpc::Status NotTheirJob() {
  return {grpc::StatusCode::PERMISSION_DENIED, "the pass is another job's"};
}

}  // namespace eidolon::network
