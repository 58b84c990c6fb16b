// An agent with fake services, for tests of whole agents.
#pragma once

#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "services/agent/server/agent.h"
#include "services/agent/server/fake_rank.h"
#include "services/agent/server/fake_services.h"
#include "services/base/clock.h"
#include "services/runtime/grpc_server.h"

namespace eidolon::agent::server {

inline constexpr std::uint64_t kMicrosecond = 1'000'000;

// One agent with its services and a run directory. The command waits for a file named "done", whose
// content is its exit status.
class AgentFixture : public ::testing::Test {
 protected:
  AgentFixture() {
    char path[] = "/tmp/eidolon-agent-XXXXXX";
    directory_ = mkdtemp(path);
    // Any real libraries will do for the command of a test.
    const std::string some_library = "/lib/x86_64-linux-gnu/libm.so.6";
    std::filesystem::create_directories(directory_ + "/lib/eidolon/triton");
    std::filesystem::create_symlink(some_library, directory_ + "/lib/libeidolon_shim.so");
    std::filesystem::create_symlink(some_library, directory_ + "/lib/eidolon/nccl.so");
    std::filesystem::create_symlink(some_library, directory_ + "/lib/eidolon/triton/libcuda.so.1");
    assignment_.set_job("job-1");
    assignment_.set_servers(1);
    assignment_.set_ranks_per_server(1);
    for (const char* word : {"sh", "-c",
                             "echo started; while [ ! -e done ]; do sleep 0.01; done; "
                             "cat complaint >&2 2>/dev/null; exit $(cat done)"}) {
      assignment_.add_command(word);
    }
    assignment_.set_working_directory(directory_);
    assignment_.set_run_directory(directory_);
    assignment_.mutable_cluster()->set_gpus_per_server(2);
    assignment_.mutable_cluster()->set_gpu("H100-SXM5-80GB");
    assignment_.mutable_host_model()->set_kind(controller::v1::HostModel::FIXED);
    assignment_.set_write_event_log(true);
  }
  ~AgentFixture() override {
    if (runner_.joinable()) {
      EndCommand(0);
      runner_.join();
    }
    std::filesystem::remove_all(directory_);
  }

  // Starts services of its own where the assignment of the first start names none.
  void Start() {
    own_timing_ = own_timing_ || assignment_.timing_address().empty();
    if (own_timing_) {
      timing_server_.emplace(*runtime::GrpcServer::Start({}, {&timing_}));
      assignment_.set_timing_address(timing_server_->address());
    }
    own_network_ = own_network_ || assignment_.network_address().empty();
    if (own_network_) {
      network_server_.emplace(*runtime::GrpcServer::Start({}, {&network_}));
      assignment_.set_network_address(network_server_->address());
    }
    controller_ = std::make_unique<FakeController>(assignment_);
    controller_server_.emplace(*runtime::GrpcServer::Start({}, {controller_.get()}));
    agent_ =
        std::make_unique<Agent>(Agent::Options{.controller_address = controller_server_->address(),
                                               .token = "secret",
                                               .library_folder = directory_ + "/lib",
                                               .patience = patience_},
                                &metrics_, &clock_);
    runner_ = std::thread([this] { status_ = agent_->Run(); });
  }
  void StartAndWaitForCommand() {
    Start();
    controller_->WaitFor([](const auto& reports) {
      return std::any_of(reports.begin(), reports.end(), [](const auto& report) {
        return report.has_log() && report.log().text() == "started";
      });
    });
  }
  void EndCommand(int status) {
    std::ofstream(directory_ + "/done.new") << status;
    std::filesystem::rename(directory_ + "/done.new", directory_ + "/done");
  }
  controller::v1::Outcome WaitForOutcome() {
    runner_.join();
    return controller_->outcome();
  }
  std::string EventLog() const {
    std::ifstream file(directory_ + "/events.log");
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
  }
  // A training step: forward and backward, an all-reduce on its own stream, Adam, loss.item().
  static void Step(FakeRank& rank, std::uint64_t sequence) {
    for (int i = 0; i < 40; ++i) {
      rank.Work(5 * kMicrosecond);
      rank.writer().Launch(0, 100);
    }
    rank.writer().Append(::eidolon::ring::RecordKind::kEventRecord,
                         ::eidolon::ring::EventRecord{{}, 0, 300});
    rank.writer().Append(::eidolon::ring::RecordKind::kStreamWaitEvent,
                         ::eidolon::ring::EventRecord{{}, 200, 300});
    rank.AllReduce(200, 400, sequence);
    rank.writer().Append(::eidolon::ring::RecordKind::kEventRecord,
                         ::eidolon::ring::EventRecord{{}, 200, 301});
    rank.writer().Append(::eidolon::ring::RecordKind::kStreamWaitEvent,
                         ::eidolon::ring::EventRecord{{}, 0, 301});
    rank.Work(5 * kMicrosecond);
    rank.writer().Launch(0, 101);
    rank.Ask(::eidolon::ring::RecordKind::kSynchronizeStream, 0);
  }
  static void Prepare(FakeRank& rank) {
    rank.writer().DefineKernel(100, "vectorized_elementwise_kernel");
    rank.writer().DefineKernel(101, "FusedAdamMathFunctor");
    rank.writer().Append(::eidolon::ring::RecordKind::kStreamCreate,
                         ::eidolon::ring::StreamRecord{{}, 200, 1, 0, 0});
    rank.writer().Append(::eidolon::ring::RecordKind::kEventCreate,
                         ::eidolon::ring::EventRecord{{}, 0, 300});
    rank.writer().Append(::eidolon::ring::RecordKind::kEventCreate,
                         ::eidolon::ring::EventRecord{{}, 0, 301});
  }
  static void Train(FakeRank& rank, int ranks, int index, int steps) {
    Prepare(rank);
    rank.Join(400, "world", ranks, index);
    for (int step = 0; step < steps; ++step) Step(rank, static_cast<std::uint64_t>(step));
  }

  std::string directory_;
  controller::v1::Assignment assignment_;
  std::chrono::milliseconds patience_{1'000};
  bool own_timing_ = false;
  bool own_network_ = false;
  FakeTiming timing_;
  FakeNetwork network_{1};
  std::unique_ptr<FakeController> controller_;
  std::optional<runtime::GrpcServer> timing_server_, network_server_, controller_server_;
  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  base::SystemClock clock_;
  std::unique_ptr<Agent> agent_;
  std::thread runner_;
  int status_ = -1;
};

}  // namespace eidolon::agent::server
