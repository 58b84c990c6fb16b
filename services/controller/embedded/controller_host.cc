// The data folder is locked before anything in it is read, so that of two controllers one fails
// before it has replaced the token or touched a run. The controller starts last, because it needs
// the address of the gRPC server for agents; until then jobs that come in wait, and /readyz fails.
// Parts are declared in this order: the servers, which call into the controller, are destroyed
// before it. A Unix socket's path has at most 107 bytes, so a deep data folder gets the spare
// socket or none; the token still works over TCP.
#include "services/controller/embedded/controller_host.h"

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/controller/agents/controller_service.h"
#include "services/controller/embedded/controller.h"
#include "services/controller/embedded/socket_folder.h"
#include "services/controller/http/listener.h"
#include "services/controller/place/local_placement.h"
#include "services/controller/place/run_directory.h"
#include "services/controller/rest/rest_server.h"
#include "services/controller/rest/token_authorizer.h"
#include "services/controller/simulators/simulator_clients.h"
#include "services/controller/store/access_token.h"
#include "services/runtime/grpc_server.h"

namespace eidolon::controller::embedded {

using base::Result;

namespace {

// Describes the repair of a file whose pages are damaged, not only records of it.
base::Error WithRepair(base::Error error, const std::string& folder) {
  if (error.code == base::ErrorCode::kCorrupt) {
    error.message += base::StrCat("; 'eidolon doctor --store ", folder,
                                  " --repair' saves what can be read of it");
  }
  return error;
}

}  // namespace

// Parts in the order of construction; destroyed in reverse.
struct ControllerHost::Parts {
  Parts(const ControllerHostOptions& options, const base::RealClock& clock,
        prometheus::Registry* registry)
      : simulators(options.timing_address, options.network_address, options.token_issuer, clock),
        metrics(registry),
        placement(options.agent.empty() ? ProgramDirectory() + "/eidolon-agent" : options.agent,
                  {.umask = options.job_umask, .open_files = options.job_open_files}) {}

  simulators::SimulatorClients simulators;
  metrics::Metrics metrics;
  place::LocalPlacement placement;
  std::unique_ptr<Controller> controller;
  std::unique_ptr<agents::ControllerService> service;
  std::optional<SocketFolder> sockets;  // None: the options say where agents connect.
  std::optional<runtime::GrpcServer> grpc;
  std::string token, socket_path;
  std::unique_ptr<rest::TokenAuthorizer> authorizer;
  std::unique_ptr<rest::RestServer> rest;

  Result<void> Open(const ControllerHostOptions& options, const base::RealClock& clock,
                    std::function<std::string()> metrics_text) {
    auto directory = store::DataDirectory::Open(options.data_directory);
    if (!directory) return std::unexpected(directory.error());
    if (auto open = LoadToken(options, *directory, clock); !open) return open;
    const std::string run_root =
        options.run_root.empty() ? place::RunDirectory::DefaultRoot() : options.run_root;
    if (auto ready = place::RunDirectory::PrepareRoot(run_root); !ready) return ready;
    std::vector<std::string> temporary_folders = options.temporary_folders;
    if (options.grpc_address.empty()) {
      auto made = SocketFolder::Make(run_root);
      if (!made) return std::unexpected(made.error());
      sockets.emplace(std::move(*made));
      temporary_folders.push_back(sockets->path());
    }
    auto store = store::JobStore::Open(directory->database_path());
    if (!store) return std::unexpected(WithRepair(store.error(), options.data_directory));
    auto opened = Controller::Open({.run_root = run_root,
                                    .concurrent_jobs = options.concurrent_jobs,
                                    .keep_run_directories = options.keep_run_directories,
                                    .retention = options.retention,
                                    .temporary_folders = std::move(temporary_folders)},
                                   {.clock = clock,
                                    .placement = placement,
                                    .simulators = simulators,
                                    .metrics = metrics,
                                    .metrics_text = std::move(metrics_text)},
                                   std::move(*directory), std::move(*store));
    if (!opened) return std::unexpected(WithRepair(opened.error(), options.data_directory));
    controller = std::move(*opened);
    return {};
  }

  Result<void> LoadToken(const ControllerHostOptions& options,
                         const store::DataDirectory& directory, const base::RealClock& clock) {
    socket_path = directory.socket_path();
    if (socket_path.size() > http::kUnixPathBytesMax && !options.spare_socket.empty()) {
      socket_path = options.spare_socket;
    } else if (socket_path.size() > http::kUnixPathBytesMax) {
      base::Log(base::Level::kWarning, "command_socket_left_out",
                {{"reason", "the path of the data folder is too long for a Unix socket in it"},
                 {"path", socket_path}});
      socket_path.clear();
    }
    if (!options.authenticate) {
      base::Log(base::Level::kWarning, "rest_without_authentication",
                {{"meaning", "whoever reaches the address runs commands as this user"}});
      return {};
    }
    const std::string path = directory.token_path();
    auto loaded =
        options.rotate_token ? store::RotateAccessToken(path) : store::LoadAccessToken(path);
    if (!loaded) return std::unexpected(loaded.error());
    if (loaded->was_exposed) {
      base::Log(base::Level::kWarning, "token_replaced",
                {{"path", path}, {"reason", "other users could read the one before"}});
    }
    token = std::move(loaded->text);
    authorizer = std::make_unique<rest::TokenAuthorizer>(token, directory.token_path(), clock);
    return {};
  }

  Result<void> Serve(const ControllerHostOptions& options) {
    service = std::make_unique<agents::ControllerService>(&controller->agents());
    const std::string address = sockets ? sockets->AddressOf("agents") : options.grpc_address;
    auto server = runtime::GrpcServer::Start({.address = address}, {service.get()});
    if (!server) return std::unexpected(server.error());
    grpc.emplace(std::move(*server));
    auto http = rest::RestServer::Start({.address = options.rest_address,
                                         .unix_socket = socket_path,
                                         .open_metrics = options.open_metrics},
                                        &controller->api(), authorizer.get());
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

ControllerHost::~ControllerHost() { (void)Stop(); }

const std::string& ControllerHost::address() const { return parts_->rest->address(); }

const std::string& ControllerHost::socket() const { return parts_->socket_path; }

const std::string& ControllerHost::token() const { return parts_->token; }

std::string ControllerHost::MakeLink() {
  // The code stands behind '#', so that the browser keeps it to itself: in no request line, log or
  // Referer.
  const std::string page = "http://" + address() + "/";
  if (parts_->authorizer == nullptr) return page;
  return page + "#login=" + parts_->authorizer->logins()->MakeCode();
}

Result<void> ControllerHost::Stop(const std::function<void()>& before_rest_ends) {
  // Agents end over their sessions, so the controller stops before its gRPC server; users' streams
  // end when the controller says that it stops.
  auto stopped = parts_->controller->Stop();
  if (before_rest_ends) before_rest_ends();
  parts_->rest->Stop();
  parts_->grpc->Shutdown();
  return stopped;
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

}  // namespace eidolon::controller::embedded
