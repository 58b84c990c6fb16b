// eidolon-controller: the controller as a process of its own.
#include <sys/stat.h>

#include <CLI/CLI.hpp>

#include "services/base/log.h"
#include "services/controller/embedded/controller_host.h"
#include "services/controller/embedded/retention_flags.h"
#include "services/runtime/metrics_page.h"
#include "services/runtime/open_files.h"
#include "services/runtime/process/confinement.h"
#include "services/runtime/signal_waiter.h"

namespace {

using eidolon::base::Level;
using eidolon::base::Log;

int Serve(eidolon::controller::embedded::ControllerHostOptions options) {
  eidolon::runtime::SignalWaiter signals;
  options.job_umask = umask(077);
  options.job_open_files = eidolon::runtime::RaiseOpenFiles();
  const eidolon::base::SystemClock clock;
  eidolon::runtime::MetricsPage page;
  auto host = eidolon::controller::embedded::ControllerHost::Start(options, clock, &page.registry(),
                                                                   [&page] { return page.Text(); });
  if (!host) {
    Log(Level::kError, "controller_failed", {{"reason", host.error().message}});
    return 1;
  }
  Log(Level::kInfo, "controller_started", {{"address", (*host)->address()}});
  signals.Wait();
  if (auto stopped = (*host)->Stop(); !stopped) {
    Log(Level::kError, "controller_stopped", {{"reason", stopped.error().message}});
    return 1;
  }
  Log(Level::kInfo, "controller_stopped");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Eidolon's controller: takes jobs over REST and runs their agents");
  eidolon::controller::embedded::ControllerHostOptions options;
  options.data_directory = eidolon::controller::embedded::DefaultDataDirectory();
  options.timing_address = "127.0.0.1:7402";
  options.network_address = "127.0.0.1:7403";
  app.add_option("--listen", options.rest_address, "host:port of REST")->capture_default_str();
  app.add_option("--agents-listen", options.grpc_address,
                 "host:port of gRPC, for agents; default: a Unix socket of this user");
  app.add_option("--timing", options.timing_address, "host:port or unix:PATH of the timing service")
      ->capture_default_str();
  app.add_option("--network", options.network_address,
                 "host:port or unix:PATH of the network service")
      ->capture_default_str();
  app.add_option("--data-dir", options.data_directory, "where jobs are kept")
      ->capture_default_str();
  app.add_flag("!--no-auth", options.authenticate,
               "ask nobody for the token: whoever reaches the address runs commands as this user");
  app.add_flag("--open-metrics", options.open_metrics, "serve /metrics without the token");
  app.add_option("--run-root", options.run_root, "where sockets and shared memory of runs live");
  app.add_option("--agent", options.agent, "path of eidolon-agent; default: beside this program");
  app.add_option("--jobs", options.concurrent_jobs, "jobs that may run at a time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  eidolon::controller::embedded::AddRetentionFlags(&app, &options.retention);
  app.add_flag("--keep-run-directories", options.keep_run_directories,
               "leave the files of runs for inspection");
  CLI11_PARSE(app, argc, argv);
  eidolon::process::RenounceNewPrivileges();
  return Serve(options);
}
