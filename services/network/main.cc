// eidolon-network: the network service as a process of its own.
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "services/base/clock.h"
#include "services/base/log.h"
#include "services/network/serving/network_service.h"
#include "services/runtime/grpc_server.h"
#include "services/runtime/metrics_page.h"
#include "services/runtime/open_files.h"
#include "services/runtime/process/confinement.h"
#include "services/runtime/signal_waiter.h"

int main(int argc, char** argv) {
  using eidolon::base::Level;
  std::string address = "127.0.0.1:7403";
  std::string metrics_address;
  CLI::App app("Simulates the collectives of GPU clusters for Eidolon's agents.");
  app.add_option("--listen", address, "host:port or unix:PATH to serve gRPC on")
      ->capture_default_str();
  app.add_option("--metrics", metrics_address, "host:port of the Prometheus page; none when empty");
  std::string token_key;
  app.add_option("--pass-key", token_key,
                 "public key of the controller's passes; none: answer everybody");
  CLI11_PARSE(app, argc, argv);
  eidolon::process::RenounceNewPrivileges();

  eidolon::runtime::SignalWaiter signals;
  eidolon::runtime::RaiseOpenFiles();
  eidolon::runtime::MetricsPage page;
  const eidolon::base::SystemClock clock;
  eidolon::runtime::TokenGate gate;
  if (!token_key.empty()) {
    auto made = eidolon::runtime::TokenGate::Make(token_key, clock);
    if (!made) {
      std::fprintf(stderr, "eidolon-network: %s\n", made.error().message.c_str());
      return 1;
    }
    gate = std::move(*made);
  }
  eidolon::network::serving::NetworkService service(page.registry(), clock, std::move(gate));
  if (!metrics_address.empty()) {
    if (const auto port = page.Expose(metrics_address); !port) {
      std::fprintf(stderr, "eidolon-network: %s\n", port.error().message.c_str());
      return 1;
    }
  }
  auto server = eidolon::runtime::GrpcServer::Start(
      {.address = address, .registry = &page.registry()}, {&service});
  if (!server) {
    std::fprintf(stderr, "eidolon-network: %s\n", server.error().message.c_str());
    return 1;
  }
  eidolon::base::Log(Level::kInfo, "network_started", {{"address", server->address()}});
  signals.Wait();
  server->Shutdown(std::chrono::milliseconds(500));
  eidolon::base::Log(Level::kInfo, "network_stopped");
  return 0;
}
