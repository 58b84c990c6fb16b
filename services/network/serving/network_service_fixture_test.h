// A network service behind gRPC, for its tests.
#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/network/serving/fake_agent_test.h"
#include "services/network/serving/network_service.h"
#include "services/runtime/grpc_server.h"
#include "services/runtime/metrics_page.h"
#include "services/runtime/token.h"

namespace eidolon::network::serving {

using ::testing::HasSubstr;

// Time that a test winds on.
class WoundClock final : public base::RealClock {
 public:
  std::int64_t MonotonicNs() const override { return now_; }
  std::int64_t UnixNs() const override { return now_; }
  void Wind(std::int64_t ns) { now_ += ns; }

 private:
  std::atomic<std::int64_t> now_ = 1;
};

inline constexpr std::uint64_t kNever = ~std::uint64_t{0};

class NetworkServiceTest : public ::testing::Test {
 protected:
  NetworkServiceTest() : NetworkServiceTest(runtime::TokenGate()) {}

  explicit NetworkServiceTest(runtime::TokenGate gate)
      : service_(page_.registry(), clock_, std::move(gate)) {
    auto server = runtime::GrpcServer::Start({}, {&service_});
    EXPECT_TRUE(server.has_value());
    server_ = std::make_unique<runtime::GrpcServer>(std::move(*server));
    stub_ = v1::NetworkService::NewStub(
        grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  }

  static v1::RegisterJobRequest JobRequest() {
    v1::RegisterJobRequest request;
    request.set_job("job");
    auto& cluster = *request.mutable_cluster();
    cluster.set_name("c");
    cluster.set_servers(2);
    cluster.set_gpus_per_server(4);
    cluster.set_gpu("H100-SXM5-80GB");
    cluster.mutable_nvlink()->set_generation(4);
    cluster.mutable_nvlink()->set_switched(true);
    cluster.mutable_nics()->set_count(4);
    cluster.mutable_nics()->set_gigabits_per_second(400);
    cluster.mutable_fabric()->set_preset("rail-optimised");
    request.add_placement(0);
    request.add_placement(1);
    return request;
  }

  grpc::Status Register(const v1::RegisterJobRequest& request, const std::string& token = "") {
    grpc::ClientContext context;
    runtime::AttachToken(token, &context);
    v1::RegisterJobResponse response;
    return stub_->RegisterJob(&context, request, &response);
  }

  grpc::Status Remove(const std::string& job, const std::string& token = "") {
    grpc::ClientContext context;
    runtime::AttachToken(token, &context);
    v1::RemoveJobRequest request;
    request.set_job(job);
    v1::RemoveJobResponse response;
    return stub_->RemoveJob(&context, request, &response);
  }

  // Two agents with one communicator.
  void Start() {
    ASSERT_TRUE(Register(JobRequest()).ok());
    for (std::uint32_t server : {0u, 1u}) {
      agents_.push_back(std::make_unique<FakeAgent>(*stub_, "job", server));
      agents_.back()->Join(2);
    }
    for (auto& agent : agents_) agent->AwaitJoined();
  }

  // The cluster's thread sends notices before it counts.
  void AwaitMetric(const std::string& what) {
    for (int look = 0; look < 500 && page_.Text().find(what) == std::string::npos; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_THAT(page_.Text(), HasSubstr(what));
  }

  runtime::MetricsPage page_;
  WoundClock clock_;
  NetworkService service_;
  std::unique_ptr<runtime::GrpcServer> server_;
  std::unique_ptr<v1::NetworkService::Stub> stub_;
  std::vector<std::unique_ptr<FakeAgent>> agents_;
};

}  // namespace eidolon::network::serving
