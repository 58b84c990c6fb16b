// Timing, network and controller services of one test, in this process: small, and they work.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "eidolon/controller/v1/controller.grpc.pb.h"
#include "eidolon/network/v1/network.grpc.pb.h"
#include "eidolon/timing/v1/timing.grpc.pb.h"
#include "services/runtime/grpc_server.h"

namespace eidolon::agent::server {

// An H100-like GPU on which every kernel takes 10 us and every copy 5 us.
class FakeTiming final : public timing::v1::TimingService::Service {
 public:
  grpc::Status DescribeGpu(grpc::ServerContext*, const timing::v1::DescribeGpuRequest* request,
                           timing::v1::DescribeGpuResponse* response) override;
  grpc::Status Estimate(grpc::ServerContext*, const timing::v1::EstimateRequest* request,
                        timing::v1::EstimateResponse* response) override;
  // Every answer about work comes so late from now on.
  void AnswerAfter(std::chrono::milliseconds delay) { delay_ = delay; }
  // Kernels do so many operations on tensor cores from now on.
  void CountMatrixFlops(std::uint64_t flops) { matrix_flops_ = flops; }

 private:
  std::atomic<std::chrono::milliseconds> delay_ = std::chrono::milliseconds(0);
  std::atomic<std::uint64_t> matrix_flops_ = 0;
};

// Commits a collective when all members posted it, 100 us after the last is ready, as soon as every
// server's bound has reached its end, or, once it foresees, when the bounds of all GPUs that
// communicate have. One server or more.
class FakeNetwork final : public network::v1::NetworkService::Service {
 public:
  explicit FakeNetwork(int servers) : servers_(servers) {}
  grpc::Status Session(grpc::ServerContext* context,
                       grpc::ServerReaderWriter<network::v1::SessionResponse,
                                                network::v1::SessionRequest>* stream) override;
  grpc::Status EstimateCollective(grpc::ServerContext*,
                                  const network::v1::EstimateCollectiveRequest*,
                                  network::v1::EstimateCollectiveResponse* response) override;
  // From now on the earliest wanted moment passes when every agent is quiescent.
  void ReleaseWhenQuiescent() { releases_ = true; }
  void Foresee() { foresees_ = true; }
  int foreseen() const { return foreseen_; }
  int joins() const { return joins_; }  // Of ranks that have asked to join a communicator.
  // Returns what the newest horizon of any agent claims.
  bool claims_quiescence() const { return claims_quiescence_; }
  // Sets the source of the times of collectives, from now on.
  void SetSource(common::v1::EstimateSource source) { source_ = source; }
  // Says to every agent that there is a deadlock.
  void DeclareDeadlock(const std::string& report);

 private:
  using Stream =
      grpc::ServerReaderWriter<network::v1::SessionResponse, network::v1::SessionRequest>;
  struct Agent {
    Stream* stream = nullptr;
    std::uint64_t bound = 0;
    std::uint64_t own_bound = 0;  // The earliest of its GPUs'.
    std::uint64_t sent = 0;
    std::uint64_t processed = 0;
    std::uint64_t wanted = 0;
    std::uint64_t told = 0;
    bool quiescent = false;
  };
  struct Member {
    Agent* agent = nullptr;
    std::uint64_t request = 0;
    std::uint64_t ready = 0;
  };
  struct Meeting {
    std::uint64_t number = 0;
    int size = 0;
    std::map<int, Member> members;
  };
  struct Collective {
    std::map<int, std::uint64_t> ready;
    std::map<int, std::string> payloads;
    int issued = 0;
    bool committed = false;
  };
  void Handle(Agent* agent, const network::v1::SessionRequest& request);
  void HandleJoin(Agent* agent, const network::v1::Join& join);
  void HandleIssue(const network::v1::Issue& issue);
  void Advance();
  bool CommitNext();
  void Release();

  const int servers_;
  std::atomic<bool> releases_ = false;
  std::atomic<bool> foresees_ = false;
  std::atomic<int> foreseen_ = 0;
  std::atomic<int> joins_ = 0;
  std::atomic<bool> claims_quiescence_ = false;
  std::atomic<common::v1::EstimateSource> source_ = common::v1::ESTIMATE_SOURCE_MODELLED;
  std::mutex mutex_;  // Guards everything below.
  std::vector<std::unique_ptr<Agent>> agents_;
  std::map<std::string, Meeting> meetings_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Collective> collectives_;
};

// Hands out one assignment and keeps what it hears.
class FakeController final : public controller::v1::ControllerService::Service {
 public:
  explicit FakeController(controller::v1::Assignment assignment)
      : assignment_(std::move(assignment)) {}
  grpc::Status AgentSession(grpc::ServerContext* context,
                            grpc::ServerReaderWriter<controller::v1::ControllerCommand,
                                                     controller::v1::AgentReport>* stream) override;
  void SendStop(const std::string& reason);
  // Waits until `enough` says so of all reports so far.
  void WaitFor(const std::function<bool(const std::vector<controller::v1::AgentReport>&)>& enough);
  std::vector<controller::v1::AgentReport> reports();
  controller::v1::Outcome outcome();
  std::vector<controller::v1::Iteration> iterations();
  std::vector<std::string> lines();

 private:
  controller::v1::Assignment assignment_;
  std::mutex mutex_;  // Guards everything below.
  std::condition_variable heard_;
  std::vector<controller::v1::AgentReport> reports_;
  grpc::ServerReaderWriter<controller::v1::ControllerCommand, controller::v1::AgentReport>*
      stream_ = nullptr;
};

}  // namespace eidolon::agent::server
