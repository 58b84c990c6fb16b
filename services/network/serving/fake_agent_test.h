// An agent that speaks to a network service, for its tests.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "eidolon/network/v1/network.grpc.pb.h"
#include "services/runtime/token.h"

namespace eidolon::network::serving {

// An agent of one rank, as the service sees it. Reads block until the message is there.
class FakeAgent {
 public:
  FakeAgent(v1::NetworkService::Stub& stub, const std::string& job, std::uint32_t server,
            const std::string& token = "", bool keep_link_loads = false)
      : server_(server) {
    runtime::AttachToken(token, &context_);
    stream_ = stub.Session(&context_);
    v1::SessionRequest hello;
    hello.mutable_hello()->set_job(job);
    hello.mutable_hello()->set_server(server);
    hello.mutable_hello()->set_keep_link_loads(keep_link_loads);
    stream_->Write(hello);
  }
  ~FakeAgent() { Leave(); }

  void Write(const v1::SessionRequest& request) {
    if (gathers_) {
      *gathered_.mutable_batch()->add_requests() = request;
    } else {
      stream_->Write(request);
    }
  }

  // What is said from now on goes out in one message with Flush.
  void Gather() { gathers_ = true; }
  void Flush() {
    stream_->Write(gathered_);
    gathered_.Clear();
    gathers_ = false;
  }

  void Join(std::int32_t size) {
    v1::SessionRequest request;
    auto& join = *request.mutable_join();
    join.set_request(7);
    join.set_unique_id("id");
    join.set_size(size);
    join.set_rank(static_cast<std::int32_t>(server_));
    join.mutable_member()->set_global_rank(static_cast<std::int32_t>(server_) * 10);
    join.mutable_member()->set_server(server_);
    join.set_name("dp");
    Write(request);
  }

  // Waits until everyone has joined.
  void AwaitJoined() {
    const v1::SessionResponse response = Read();
    ASSERT_TRUE(response.has_joined()) << response.ShortDebugString();
    communicator_ = response.joined().communicator();
    ++processed_;
  }

  void Issue(std::uint64_t sequence, std::uint64_t count, const std::string& payload = "") {
    v1::SessionRequest request;
    auto& issue = *request.mutable_issue();
    issue.set_communicator(communicator_);
    issue.set_sequence(sequence);
    issue.set_rank(static_cast<std::int32_t>(server_));
    auto& operation = *issue.mutable_operation();
    operation.set_kind(v1::COLLECTIVE_KIND_ALL_REDUCE);
    operation.set_data_type(1);
    operation.set_root(-1);
    operation.set_count(count);
    operation.set_size_bytes(count);
    issue.set_payload(payload);
    issue.set_has_payload(!payload.empty());
    Write(request);
  }

  void Post(std::uint64_t sequence, std::uint64_t ready) {
    v1::SessionRequest request;
    request.mutable_post()->set_communicator(communicator_);
    request.mutable_post()->set_sequence(sequence);
    request.mutable_post()->set_rank(static_cast<std::int32_t>(server_));
    request.mutable_post()->set_ready_picoseconds(ready);
    Write(request);
  }

  void Promise(std::uint64_t bound, bool quiescent = false) {
    v1::SessionRequest request;
    request.mutable_horizon()->set_lower_bound_picoseconds(bound);
    request.mutable_horizon()->set_processed(processed_);
    request.mutable_horizon()->set_quiescent(quiescent);
    Write(request);
  }

  // The next message, those of a batch one by one.
  v1::SessionResponse Read() {
    while (unread_.responses().empty()) {
      v1::SessionResponse response;
      if (!stream_->Read(&response)) {
        ADD_FAILURE() << "the session has ended";
        return {};
      }
      if (response.has_batch()) {
        ++batches_;
        unread_ = std::move(*response.mutable_batch());
        std::reverse(unread_.mutable_responses()->begin(), unread_.mutable_responses()->end());
      } else {
        *unread_.add_responses() = std::move(response);
      }
    }
    v1::SessionResponse next = std::move(*unread_.mutable_responses(unread_.responses_size() - 1));
    unread_.mutable_responses()->RemoveLast();
    if (next.has_committed()) ++processed_;
    return next;
  }

  // The end of the session, once everything was read.
  grpc::Status Status() {
    v1::SessionResponse response;
    while (stream_->Read(&response)) {
    }
    finished_ = true;
    return stream_->Finish();
  }

  void Leave() {
    if (finished_) return;
    stream_->WritesDone();
    Status();
  }

  std::uint64_t communicator() const { return communicator_; }
  int batches() const { return batches_; }  // Read.

 private:
  std::uint32_t server_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>> stream_;
  bool gathers_ = false;
  v1::SessionRequest gathered_;
  v1::ResponseBatch unread_;  // The next one last.
  int batches_ = 0;
  std::uint64_t communicator_ = 0;
  std::uint64_t processed_ = 0;
  bool finished_ = false;
};

}  // namespace eidolon::network::serving
