// One agent's conversation: reads its messages into the queue of its cluster's thread, writes that
// thread's notices back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <google/protobuf/arena.h>
#include <grpcpp/support/server_callback.h>

#include "eidolon/network/v1/network.pb.h"
#include "services/base/error.h"
#include "services/network/serving/cluster_thread.h"
#include "services/network/serving/translate.h"
#include "services/runtime/token.h"

namespace eidolon::network::serving {

// Simulation of a job.
struct JobPlace {
  std::shared_ptr<ClusterThread> cluster;
  std::uint64_t job = 0;
};

// Lives until gRPC has ended the call and the cluster's thread has let go of it. gRPC calls the
// reactions, one at a time for reads and one at a time for writes; the cluster's thread calls Send
// and Close.
class SessionStream final : public grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>,
                            public Outlet {
 public:
  using FindJob = std::function<base::Result<JobPlace>(const std::string&)>;

  // The reactor of a new call; it keeps itself alive. The caller may join jobs it may speak for.
  static SessionStream* Begin(runtime::Caller caller, FindJob find_job);
  // The reactor of a call that ends at once.
  static SessionStream* Refuse(const grpc::Status& reason);

  void Send(const communicator::Notice& notice) override;
  void Flush() override;
  void Close(const base::Result<void>& reason) override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  SessionStream(runtime::Caller caller, FindJob find_job)
      : caller_(std::move(caller)), find_job_(std::move(find_job)) {}

  // What is not OK ends the call.
  grpc::Status Greet(const v1::SessionRequest& request);
  grpc::Status Handle();
  void Read();
  void WriteNext();
  void CloseWith(const grpc::Status& status);
  ClusterThread::Speaker Speaker();
  void FinishNow();

  const runtime::Caller caller_;
  FindJob find_job_;
  std::shared_ptr<SessionStream> self_;

  // A message and the memory of all its parts, which a batch has many of.
  template <typename Message>
  struct ArenaMessage {
    google::protobuf::Arena arena{kMessageMemory};
    Message* message = google::protobuf::Arena::CreateMessage<Message>(&arena);
  };
  static const google::protobuf::ArenaOptions kMessageMemory;

  // Used by the read reactions.
  std::unique_ptr<ArenaMessage<v1::SessionRequest>> read_;
  std::optional<JobPlace> place_;
  std::uint32_t server_ = 0;
  Spending spending_ = Spending::kLeftOut;  // Settled before the cluster sends anything.

  std::mutex writes_mutex_;
  std::unique_ptr<ArenaMessage<v1::SessionResponse>> waiting_;  // A batch, or nothing yet.
  std::unique_ptr<ArenaMessage<v1::SessionResponse>> writing_;  // gRPC's until it is written.
  std::optional<grpc::Status> closing_;  // Finish with this after the last write.
  bool finished_ = false;
};

// Says no more about the job than that: the same words whether it exists or not.
grpc::Status NotTheirJob();

}  // namespace eidolon::network::serving
