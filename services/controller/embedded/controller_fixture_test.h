// A controller with its gRPC server and agents as threads, in a folder of its own; shared by the
// controller's tests.
#pragma once

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "services/base/clock.h"
#include "services/controller/agents/controller_service.h"
#include "services/controller/embedded/controller.h"
#include "services/controller/embedded/fakes_test.h"
#include "services/runtime/grpc_server.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::embedded {

inline nlohmann::json Job(const std::string& name) {
  return {{"apiVersion", "eidolon.dev/v1alpha1"},
          {"kind", "SimulationJob"},
          {"metadata", {{"name", name}}},
          {"spec",
           {{"cluster",
             {{"servers", 2}, {"server", {{"gpu", "H100-SXM5-80GB"}, {"gpusPerServer", 2}}}}},
            {"command", {"python", "train.py"}},
            {"iterations", {{"warmup", 1}, {"measure", 2}, {"tokens", 1000}}}}}};
}

// A test may close and open it again.
class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest() { Open(); }
  ~ControllerTest() override {
    if (controller_) (void)Close();
  }

  std::string data_path() const { return root_ / "data"; }
  void Open() {
    auto directory = store::DataDirectory::Open(data_path());
    auto store = store::JobStore::Open(directory->database_path());
    auto opened = Controller::Open({.run_root = root_ / "r", .retention = retention_},
                                   {.clock = clock_,
                                    .placement = placement_,
                                    .simulators = simulators_,
                                    .metrics = metrics_,
                                    .metrics_text = [this] { return MetricsText(); }},
                                   std::move(*directory), std::move(*store));
    controller_ = std::move(*opened);
    service_ = std::make_unique<agents::ControllerService>(&controller_->agents());
    server_.emplace(std::move(*runtime::GrpcServer::Start({}, {service_.get()})));
    placement_.SetScript(IterateAndStop);
    controller_->Start(server_->address());
  }
  // Answers how the controller stopped.
  base::Result<void> Close() {
    auto stopped = controller_->Stop();
    server_->Shutdown();
    controller_.reset();
    return stopped;
  }
  // Returns the metrics as a scrape gets them.
  std::string MetricsOf() { return controller_->api().MetricsText(); }
  std::string MetricsText() { return prometheus::TextSerializer().Serialize(registry_->Collect()); }

  void Create(const nlohmann::json& document) {
    const auto created = controller_->api().CreateJob("default", document, std::nullopt);
    ASSERT_TRUE(created) << created.error().message;
  }
  // The job once `done` holds for it.
  nlohmann::json Await(const std::string& name,
                       const std::function<bool(const nlohmann::json&, bool over)>& done) {
    std::int64_t version = 0;
    for (int i = 0; i < 100; ++i) {
      const auto change =
          controller_->api().AwaitChange({"default", name}, version, std::chrono::seconds(1));
      if (!change) return {{"gone", change.error().message}};
      if (done(change->object, change->over)) return change->object;
      version = change->version;
    }
    return {{"gone", "it takes too long"}};
  }
  nlohmann::json AwaitEnd(const std::string& name) {
    return Await(name, [](const nlohmann::json&, bool over) { return over; });
  }
  nlohmann::json RunWith(AgentScript script) {
    placement_.SetScript(std::move(script));
    Create(Job("job"));
    return AwaitEnd("job");
  }
  static nlohmann::json LastCondition(const nlohmann::json& job) {
    return job["status"]["conditions"].back();
  }

  testing::TemporaryDirectory root_;
  RetentionOptions retention_;  // Of the next Open.
  base::SystemClock clock_;
  std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  metrics::Metrics metrics_{registry_.get()};
  FakeSimulators simulators_;
  FakePlacement placement_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<agents::ControllerService> service_;
  std::optional<runtime::GrpcServer> server_;
};

}  // namespace eidolon::controller::embedded
