// The object must live until gRPC has called OnDone and the cluster has dropped its outlet, in
// either order, so it holds itself (`self_`) until OnDone. gRPC allows one write at a time: notices
// collect in `waiting_` while `writing_` is on its way, and leave together as one batch. An agent
// that does not read is cut off at a bound, because notices of a job have no other limit. Messages
// live in arenas, because a batch has many small parts.
#include "services/network/serving/session_stream.h"

#include <utility>

#include "services/network/serving/session_work.h"
#include "services/network/serving/translate.h"
#include "services/runtime/grpc_status.h"

namespace eidolon::network::serving {
namespace {

// An agent that does not read so many messages is not coming back.
constexpr int kWaitingMax = 1 << 17;

}  // namespace

using base::Result;

const google::protobuf::ArenaOptions SessionStream::kMessageMemory = [] {
  google::protobuf::ArenaOptions options;
  options.start_block_size = 1 << 10;
  options.max_block_size = 1 << 15;
  return options;
}();

SessionStream* SessionStream::Begin(runtime::Caller caller, FindJob find_job) {
  std::shared_ptr<SessionStream> stream(new SessionStream(std::move(caller), std::move(find_job)));
  stream->self_ = stream;
  stream->Read();
  return stream.get();
}

SessionStream* SessionStream::Refuse(const grpc::Status& reason) {
  std::shared_ptr<SessionStream> stream(new SessionStream({}, nullptr));
  stream->self_ = stream;
  stream->CloseWith(reason);
  return stream.get();
}

void SessionStream::Read() {
  read_ = std::make_unique<ArenaMessage<v1::SessionRequest>>();
  StartRead(read_->message);
}

void SessionStream::Send(const communicator::Notice& notice) {
  const std::lock_guard lock(writes_mutex_);
  if (finished_ || closing_) return;
  if (!waiting_) waiting_ = std::make_unique<ArenaMessage<v1::SessionResponse>>();
  v1::ResponseBatch& batch = *waiting_->message->mutable_batch();
  if (batch.responses_size() >= kWaitingMax) {
    waiting_.reset();
    closing_ = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                            "the agent does not read its session's messages");
    return;
  }
  ToProto(notice, spending_, *batch.add_responses());
}

void SessionStream::Flush() {
  const std::lock_guard lock(writes_mutex_);
  if (!writing_ && !finished_) WriteNext();
}

// Requires: writes_mutex_ is held, nothing is being written, and the call is not finished.
void SessionStream::WriteNext() {
  if (!waiting_) {
    if (closing_) FinishNow();
    return;
  }
  writing_ = std::move(waiting_);
  const v1::SessionResponse& all = *writing_->message;
  StartWrite(all.batch().responses_size() == 1 ? &all.batch().responses(0) : &all);
}

void SessionStream::Close(const Result<void>& reason) {
  CloseWith(reason ? grpc::Status::OK : runtime::ToStatus(reason.error()));
}

void SessionStream::CloseWith(const grpc::Status& status) {
  const std::lock_guard lock(writes_mutex_);
  if (finished_ || closing_) return;
  closing_ = status;
  if (!writing_) WriteNext();
}

// Requires: writes_mutex_ is held.
void SessionStream::FinishNow() {
  finished_ = true;
  Finish(*closing_);
}

void SessionStream::OnWriteDone(bool ok) {
  const std::lock_guard lock(writes_mutex_);
  writing_.reset();
  if (!ok) waiting_.reset();  // The peer is gone; the reads notice it too.
  if (!finished_) WriteNext();
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
  Read();
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
  ClusterThread::Speaker speaker = Speaker();
  speaker.keeps_loads = request.hello().keep_link_loads();
  if (speaker.keeps_loads) spending_ = Spending::kTold;
  place_->cluster->Connect(std::move(speaker));
  return grpc::Status::OK;
}

grpc::Status SessionStream::Handle() {
  if (!place_) return Greet(*read_->message);
  place_->cluster->Submit(Speaker(), [task = std::move(read_), job = place_->job,
                                      server = server_](simulation::Simulation& simulation) {
    return Do(*task->message, job, server, simulation);
  });
  return grpc::Status::OK;
}

grpc::Status NotTheirJob() {
  return {grpc::StatusCode::PERMISSION_DENIED, "the token is another job's"};
}

}  // namespace eidolon::network::serving
