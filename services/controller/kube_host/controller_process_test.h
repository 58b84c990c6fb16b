// One process of the controller, with simulators and links of agents that tests see through.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <future>
#include <thread>

#include "services/base/text.h"
#include "services/controller/kube_host/fake_cluster_test.h"
#include "services/controller/kube_host/kube_controller.h"
#include "services/controller/kube_host/object_text.h"
#include "services/controller/reconcile/plan.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::kube_host {

using base::ErrorCode;
using base::Result;
using base::StrCat;
using nlohmann::json;
using ::testing::HasSubstr;

inline constexpr std::chrono::seconds kPatience(20);
inline constexpr std::uint64_t kTenMs = 10'000'000'000;
inline const kube::ObjectKey kJob = {"team", "train"};

class FakeSimulators final : public simulators::Simulators {
 public:
  explicit FakeSimulators(std::string network) : network_(std::move(network)) {}
  Result<std::vector<std::string>> ListGpus() override {
    return std::vector<std::string>{"H100-SXM5-80GB"};
  }
  Result<double> FindPeakFlops(const std::string&) override { return 1e15; }
  Result<void> RegisterJob(const std::string&, const job::ResolvedJob&) override { return {}; }
  void RemoveJob(const std::string&) override {}
  std::string timing_address() const override { return "timing:1"; }
  std::string network_address() const override { return network_; }

 private:
  const std::string network_;
};

class FakeLink final : public agents::AgentLink {
 public:
  void SendStop(const std::string& reason) override { stopped_.set_value(reason); }
  std::string AwaitStop() {
    auto reason = stopped_.get_future();
    return reason.wait_for(kPatience) == std::future_status::ready ? reason.get() : "never";
  }

 private:
  std::promise<std::string> stopped_;
};

template <typename Test>
bool Eventually(const Test& test) {
  const base::SystemClock clock;
  const std::int64_t begin_ns = clock.MonotonicNs();
  while (clock.MonotonicNs() - begin_ns < std::chrono::nanoseconds(kPatience).count()) {
    if (test()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// One controller process: what main.cc makes.
struct Process {
  explicit Process(const FakeCluster& cluster)
      : client({.url = cluster.url(), .ca_file = {}, .token_file = {}}, clock),
        reviews(&client, clock),
        metrics(&registry),
        controller({.settings = {.services_image = "services:1",
                                 .injection_image = "injection:1",
                                 .agents_address = "10.0.0.1:7401"},
                    .name_space = "",
                    .jobs_max = 2,
                    .rest_address = "10.0.0.1:8080"},
                   {.clock = clock,
                    .client = client,
                    .reviews = reviews,
                    .metrics = metrics,
                    .find_simulators =
                        [](const std::string& network) {
                          return std::make_shared<FakeSimulators>(network);
                        },
                    .outputs = outputs}) {
    controller.Start();
  }

  const base::SystemClock clock;
  kube::Client client;
  kube::Reviews reviews;
  prometheus::Registry registry;
  metrics::Metrics metrics;
  const testing::TemporaryDirectory folder;
  outputs::OutputStore outputs{{.folder = folder.path(), .bytes_max = 40'000}};
  KubeController controller;
};

}  // namespace eidolon::controller::kube_host
