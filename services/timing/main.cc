// eidolon-timing: the timing service as a process of its own.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include "services/base/clock.h"
#include "services/base/log.h"
#include "services/runtime/grpc_server.h"
#include "services/runtime/metrics_page.h"
#include "services/runtime/open_files.h"
#include "services/runtime/process/confinement.h"
#include "services/runtime/signal_waiter.h"
#include "services/timing/count_flags.h"
#include "services/timing/gpu_flags.h"
#include "services/timing/timing_service.h"

namespace {

struct Flags {
  std::string listen = "127.0.0.1:7402";
  std::string metrics;
  std::string token_key_file;
  eidolon::timing::TimingOptions options;
  eidolon::timing::GpuFlags gpu;
  eidolon::timing::CountFlags count;
};

int Fail(const eidolon::base::Error& error) {
  eidolon::base::Log(eidolon::base::Level::kError, "timing_failed", {{"reason", error.message}});
  return 1;
}

int Serve(Flags flags) {
  using eidolon::base::Level;
  eidolon::runtime::SignalWaiter signals;
  eidolon::runtime::RaiseOpenFiles();
  const eidolon::base::SystemClock clock;
  eidolon::runtime::MetricsPage page;
  if (!flags.token_key_file.empty()) {
    std::ifstream file(flags.token_key_file);
    std::string key;
    file >> key;
    auto gate = eidolon::runtime::TokenGate::Make(key, clock);
    if (!gate) return Fail(gate.error());
    flags.options.gate = std::move(*gate);
  }
  flags.options.gpu.worker = eidolon::timing::WorkerCommand(flags.gpu);
  flags.options.counting = eidolon::timing::CountingOf(flags.count);
  flags.options.count_folder = flags.count.folder;
  auto service = eidolon::timing::TimingService::Create(flags.options, page.registry(), clock);
  if (!service) return Fail(service.error());
  if (!flags.metrics.empty()) {
    if (auto port = page.Expose(flags.metrics); !port) return Fail(port.error());
  }
  auto server = eidolon::runtime::GrpcServer::Start(
      {.address = flags.listen, .registry = &page.registry()}, {service->get()});
  if (!server) return Fail(server.error());
  eidolon::base::Log(Level::kInfo, "timing_started", {{"address", server->address()}});
  signals.Wait();
  server->Shutdown(std::chrono::seconds(2));
  eidolon::base::Log(Level::kInfo, "timing_stopped");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Eidolon's timing service: how long kernels last on an emulated GPU");
  Flags flags;
  app.add_option("--listen", flags.listen, "host:port or unix:PATH to serve gRPC on")
      ->capture_default_str();
  app.add_option("--metrics", flags.metrics, "host:port of the Prometheus page; none when empty");
  app.add_option("--gpu-models", flags.options.gpu_model_directory,
                 "folder with GPU model files of your own")
      ->envname("EIDOLON_GPU_MODELS");
  app.add_option("--profile", flags.options.profile_file, "SQLite file of measured durations")
      ->envname("EIDOLON_PROFILE");
  app.add_option("--cache-entries", flags.options.cache_entries_max, "answers kept in memory")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 32))
      ->capture_default_str();
  eidolon::timing::AddGpuFlags(&app, &flags.gpu);
  eidolon::timing::AddCountFlags(&app, &flags.count);
  app.add_option("--pass-key-file", flags.token_key_file,
                 "file with the public key of the controller's passes; none: answer everybody");
  CLI11_PARSE(app, argc, argv);
  eidolon::process::RenounceNewPrivileges();
  return Serve(std::move(flags));
}
