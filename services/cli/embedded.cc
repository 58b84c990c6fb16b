// All services run in this process and meet over gRPC on Unix sockets in a folder of this user, the
// same way as they meet in a cluster: there is one code path, and agents need no port. Jobs run as
// the same user and could open the sockets, so every call carries a token, and a job's token gives
// access to its own job only. Parts start in the order in which they need each other's addresses
// and are destroyed in reverse. Threads are checked first, so that a limit that is too low is an
// error here and not a failure later.
#include "services/cli/embedded.h"

#include <optional>

#include "services/base/clock.h"
#include "services/controller/embedded/socket_folder.h"
#include "services/network/serving/network_service.h"
#include "services/runtime/grpc_server.h"
#include "services/runtime/metrics_page.h"
#include "services/runtime/open_files.h"
#include "services/runtime/threads.h"
#include "services/timing/timing_service.h"

namespace eidolon::cli {

using base::Result;

// Threads of the services on a machine of some dozen processors, before they serve any request.
constexpr int kThreads = 64;

// Parts in the order of construction; destroyed in reverse.
struct Embedded::Parts {
  base::SystemClock clock;
  runtime::MetricsPage page;
  std::unique_ptr<timing::TimingService> timing;
  std::unique_ptr<network::serving::NetworkService> network;
  std::optional<controller::embedded::SocketFolder> sockets;
  std::optional<runtime::GrpcServer> simulators;
  std::unique_ptr<controller::embedded::ControllerHost> controller;

  Result<void> Start(EmbeddedOptions options) {
    runtime::ExitWhenThreadsRunOut();
    if (auto threads = runtime::CheckThreads(kThreads); !threads) return threads;
    options.controller.job_open_files = runtime::RaiseOpenFiles();
    auto folder = controller::embedded::SocketFolder::Make(options.controller.run_root);
    if (!folder) return std::unexpected(folder.error());
    sockets.emplace(std::move(*folder));
    options.controller.grpc_address = sockets->AddressOf("agents");
    options.controller.spare_socket = sockets->PathOf("rest");
    options.controller.temporary_folders.push_back(sockets->path());
    // Jobs of this user reach the sockets too, but get tokens of their own.
    options.controller.token_issuer = runtime::TokenIssuer::Generate();
    auto gate = runtime::TokenGate::Make(options.controller.token_issuer->public_key(), clock);
    if (!gate) return std::unexpected(gate.error());
    auto made =
        timing::TimingService::Create({.gpu_model_directory = options.gpu_models,
                                       .profile_file = options.profile,
                                       .counting = timing::CountingOf(options.counting),
                                       .count_folder = options.counting.folder,
                                       .gpu = {.worker = timing::WorkerCommand(options.own_gpu)},
                                       .gate = *gate},
                                      page.registry(), clock);
    if (!made) return std::unexpected(made.error());
    timing = std::move(*made);
    network = std::make_unique<network::serving::NetworkService>(page.registry(), clock,
                                                                 std::move(*gate));
    auto server = runtime::GrpcServer::Start({.address = sockets->AddressOf("services")},
                                             {timing.get(), network.get()});
    if (!server) return std::unexpected(server.error());
    simulators.emplace(std::move(*server));
    options.controller.timing_address = simulators->address();
    options.controller.network_address = simulators->address();
    auto host = controller::embedded::ControllerHost::Start(
        options.controller, clock, &page.registry(), [this] { return page.Text(); });
    if (!host) return std::unexpected(host.error());
    controller = std::move(*host);
    return {};
  }
};

Result<std::unique_ptr<Embedded>> Embedded::Start(const EmbeddedOptions& options) {
  auto parts = std::make_unique<Parts>();
  if (auto started = parts->Start(options); !started) return std::unexpected(started.error());
  return std::unique_ptr<Embedded>(new Embedded(std::move(parts)));
}

Embedded::Embedded(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Embedded::~Embedded() { (void)Stop(); }

const std::string& Embedded::address() const { return parts_->controller->address(); }

Target Embedded::target() const {
  const std::string& socket = parts_->controller->socket();
  if (!socket.empty()) return {.server = "unix://" + socket, .socket = socket, .token = ""};
  return {.server = address(), .socket = "", .token = token()};
}

const std::string& Embedded::token() const { return parts_->controller->token(); }

std::string Embedded::MakeLink() { return parts_->controller->MakeLink(); }

bool Embedded::owns_gpu() const { return parts_->timing->owns_gpu(); }

Result<void> Embedded::Stop(const std::function<void()>& before_rest_ends) {
  auto stopped = parts_->controller->Stop(before_rest_ends);
  parts_->simulators->Shutdown();
  return stopped;
}

}  // namespace eidolon::cli
