#include "services/controller/controller_host.h"

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "services/controller/controller.h"
#include "services/controller/controller_service.h"
#include "services/controller/place/local_placement.h"
#include "services/controller/place/run_directory.h"
#include "services/controller/rest/rest_server.h"
#include "services/controller/simulator_clients.h"
#include "services/runtime/grpc_server.h"

namespace eidolon::controller {

using base::Result;

// In the order of construction; destroyed in reverse.
struct ControllerHost::Parts {
  Parts(const ControllerHostOptions& options, const base::RealClock& clock,
        prometheus::Registry* registry)
      : simulators(options.timing_address, options.network_address, options.pass_issuer, clock),
        metrics(registry),
        placement(options.agent.empty() ? ProgramDirectory() + "/eidolon-agent" : options.agent) {}

  SimulatorClients simulators;
  Metrics metrics;
  place::LocalPlacement placement;
  std::unique_ptr<Controller> controller;
  std::unique_ptr<ControllerService> service;
  std::optional<runtime::GrpcServer> grpc;
  std::unique_ptr<rest::RestServer> rest;

  Result<void> Open(const ControllerHostOptions& options, const base::RealClock& clock,
                    std::function<std::string()> metrics_text) {
    auto directory = store::DataDirectory::Open(options.data_directory);
    if (!directory) return std::unexpected(directory.error());
    auto store = store::JobStore::Open(directory->database_path());
    if (!store) return std::unexpected(store.error());
    auto opened =
        Controller::Open({.run_root = options.run_root.empty() ? place::RunDirectory::DefaultRoot()
                                                               : options.run_root,
                          .concurrent_jobs = options.concurrent_jobs,
                          .keep_run_directories = options.keep_run_directories,
                          .temporary_directory = options.temporary_directory},
                         {.clock = clock,
                          .placement = placement,
                          .simulators = simulators,
                          .metrics = metrics,
                          .metrics_text = std::move(metrics_text)},
                         std::move(*directory), std::move(*store));
    if (!opened) return std::unexpected(opened.error());
    controller = std::move(*opened);
    return {};
  }

  Result<void> Serve(const ControllerHostOptions& options) {
    service = std::make_unique<ControllerService>(controller.get());
    auto server = runtime::GrpcServer::Start({.address = options.grpc_address}, {service.get()});
    if (!server) return std::unexpected(server.error());
    grpc.emplace(std::move(*server));
    auto http = rest::RestServer::Start({.address = options.rest_address}, controller.get());
    if (!http) return std::unexpected(http.error());
    rest = std::move(*http);
    controller->Start(grpc->address());
    return {};
  }
};

Result<std::unique_ptr<ControllerHost>> ControllerHost::Start(
    const ControllerHostOptions& options, const base::RealClock& clock,
    prometheus::Registry* registry, std::function<std::string()> metrics_text) {
  auto parts = std::make_unique<Parts>(options, clock, registry);
  if (auto opened = parts->Open(options, clock, std::move(metrics_text)); !opened) {
    return std::unexpected(opened.error());
  }
  if (auto serving = parts->Serve(options); !serving) return std::unexpected(serving.error());
  return std::unique_ptr<ControllerHost>(new ControllerHost(std::move(parts)));
}

ControllerHost::ControllerHost(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

ControllerHost::~ControllerHost() { Stop(); }

const std::string& ControllerHost::address() const { return parts_->rest->address(); }

void ControllerHost::Stop() {
  // Agents end over their sessions, so the controller stops before its gRPC server; users' streams
  // end when the controller says that it stops.
  parts_->controller->Stop();
  parts_->rest->Stop();
  parts_->grpc->Shutdown();
}

std::string DefaultDataDirectory() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data != '\0') return std::string(data) + "/eidolon";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return std::string(home) + "/.local/share/eidolon";
  return "/var/lib/eidolon";
}

std::string ProgramDirectory() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
}

}  // namespace eidolon::controller
