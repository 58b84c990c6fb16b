#include "services/cli/embedded.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "services/base/clock.h"
#include "services/controller/controller.h"
#include "services/controller/controller_service.h"
#include "services/controller/place/local_placement.h"
#include "services/controller/place/run_directory.h"
#include "services/controller/rest/rest_server.h"
#include "services/controller/simulator_clients.h"
#include "services/network/network_service.h"
#include "services/runtime/grpc_server.h"
#include "services/runtime/metrics_page.h"
#include "services/timing/timing_service.h"

namespace eidolon::cli {
namespace {

using base::Result;
namespace fs = std::filesystem;

constexpr char kLoopback[] = "127.0.0.1:0";

}  // namespace

// In the order of construction; destroyed in reverse.
struct Embedded::Parts {
  base::SystemClock clock;
  runtime::MetricsPage page;
  std::unique_ptr<timing::TimingService> timing;
  std::unique_ptr<network::NetworkService> network;
  std::optional<runtime::GrpcServer> simulators_server;
  std::unique_ptr<controller::SimulatorClients> simulators;
  std::unique_ptr<controller::Metrics> metrics;
  std::unique_ptr<controller::place::LocalPlacement> placement;
  std::unique_ptr<controller::Controller> controller;
  std::unique_ptr<controller::ControllerService> controller_service;
  std::optional<runtime::GrpcServer> controller_server;
  std::unique_ptr<controller::rest::RestServer> rest;

  Result<void> StartSimulators(const EmbeddedOptions& options) {
    auto made = timing::TimingService::Create(
        {.gpu_model_directory = options.gpu_models, .profile_file = options.profile},
        page.registry(), clock);
    if (!made) return std::unexpected(made.error());
    timing = std::move(*made);
    network = std::make_unique<network::NetworkService>(page.registry(), clock);
    auto server = runtime::GrpcServer::Start({.address = kLoopback}, {timing.get(), network.get()});
    if (!server) return std::unexpected(server.error());
    simulators_server.emplace(std::move(*server));
    const std::string& address = simulators_server->address();
    simulators = std::make_unique<controller::SimulatorClients>(address, address);
    return {};
  }

  Result<void> StartController(const EmbeddedOptions& options) {
    auto directory = controller::store::DataDirectory::Open(options.data_directory);
    if (!directory) return std::unexpected(directory.error());
    auto store = controller::store::JobStore::Open(directory->database_path());
    if (!store) return std::unexpected(store.error());
    metrics = std::make_unique<controller::Metrics>(&page.registry());
    placement = std::make_unique<controller::place::LocalPlacement>(
        options.agent.empty() ? PathBeside("eidolon-agent") : options.agent);
    const std::string run_root = options.run_root.empty()
                                     ? controller::place::RunDirectory::DefaultRoot()
                                     : options.run_root;
    auto opened =
        controller::Controller::Open({.run_root = run_root,
                                      .concurrent_jobs = options.concurrent_jobs,
                                      .keep_run_directories = options.keep_run_directories},
                                     {.clock = clock,
                                      .placement = *placement,
                                      .simulators = *simulators,
                                      .metrics = *metrics,
                                      .metrics_text = [this] { return page.Text(); }},
                                     std::move(*directory), std::move(*store));
    if (!opened) return std::unexpected(opened.error());
    controller = std::move(*opened);
    controller_service = std::make_unique<controller::ControllerService>(controller.get());
    auto server = runtime::GrpcServer::Start({.address = kLoopback}, {controller_service.get()});
    if (!server) return std::unexpected(server.error());
    controller_server.emplace(std::move(*server));
    auto http = controller::rest::RestServer::Start({.address = options.listen}, controller.get());
    if (!http) return std::unexpected(http.error());
    rest = std::move(*http);
    controller->Start(controller_server->address());
    return {};
  }
};

Result<std::unique_ptr<Embedded>> Embedded::Start(const EmbeddedOptions& options) {
  auto parts = std::make_unique<Parts>();
  if (auto started = parts->StartSimulators(options); !started) {
    return std::unexpected(started.error());
  }
  if (auto started = parts->StartController(options); !started) {
    return std::unexpected(started.error());
  }
  return std::unique_ptr<Embedded>(new Embedded(std::move(parts)));
}

Embedded::Embedded(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Embedded::~Embedded() { Stop(); }

const std::string& Embedded::address() const { return parts_->rest->address(); }

void Embedded::Stop() {
  // Agents end over their sessions, so the controller stops before its gRPC server; users' streams
  // end when the controller says that it stops.
  parts_->controller->Stop();
  parts_->rest->Stop();
  parts_->controller_server->Shutdown();
  parts_->simulators_server->Shutdown();
}

std::string DefaultDataDirectory() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data != '\0') return std::string(data) + "/eidolon";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return std::string(home) + "/.local/share/eidolon";
  return "/var/lib/eidolon";
}

std::string PathBeside(const std::string& program) {
  std::error_code ignored;
  return (fs::read_symlink("/proc/self/exe", ignored).parent_path() / program).string();
}

}  // namespace eidolon::cli
