#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "services/base/log.h"
#include "services/cli/commands.h"
#include "services/cli/embedded.h"
#include "services/process/confinement.h"
#include "services/runtime/signal_waiter.h"

namespace eidolon::cli {
namespace {

struct UpFlags {
  EmbeddedOptions embedded;
  std::string address_file;
};

// Where commands look for the address of a server, in its data folder.
constexpr char kAddressFile[] = "/address";

// What is printed into files and pipes may end where other users read it: a link that opens the
// page goes to a terminal alone.
void PrintAddress(Embedded* embedded, const std::string& folder) {
  if (embedded->token().empty()) {
    std::printf("Eidolon is up: %s  (jobs are kept in %s)\n", embedded->MakeLink().c_str(),
                folder.c_str());
  } else if (isatty(STDOUT_FILENO) == 1) {
    std::printf(
        "Eidolon is up: %s\n  This link works once and expires soon; 'eidolon link' prints "
        "another. Jobs are kept in %s\n",
        embedded->MakeLink().c_str(), folder.c_str());
  } else {
    std::printf(
        "Eidolon is up: http://%s/  ('eidolon link' prints a link that opens it; jobs are kept in "
        "%s)\n",
        embedded->address().c_str(), folder.c_str());
  }
  std::fflush(stdout);
}

// Complete or absent: readers poll for the file.
bool WriteAddress(const std::string& path, const std::string& address) {
  const std::string temporary = path + ".new";
  std::ofstream file(temporary);
  file << address << "\n";
  file.close();
  if (!file) return false;
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  return !error;
}

int Up(const UpFlags& wanted) {
  UpFlags flags = wanted;
  process::RenounceNewPrivileges();
  if (flags.embedded.controller.rest_address.empty()) {
    return PrintFailure({base::ErrorCode::kInvalidArgument,
                         "--listen has no address; write host:port, such as 127.0.0.1:8080"});
  }
  runtime::SignalWaiter signals;
  flags.embedded.controller.job_umask = umask(077);
  auto embedded = Embedded::Start(flags.embedded);
  if (!embedded) return PrintFailure(embedded.error());
  const std::string& address = (*embedded)->address();
  const std::string& folder = flags.embedded.controller.data_directory;
  if (!WriteAddress(folder + kAddressFile, address)) {
    base::Log(base::Level::kWarning, "address_not_written", {{"folder", folder}});
  }
  if (!flags.address_file.empty() && !WriteAddress(flags.address_file, address)) {
    return PrintFailure({base::ErrorCode::kInternal, "cannot write " + flags.address_file});
  }
  if (!flags.embedded.controller.authenticate) {
    std::fprintf(stderr,
                 "eidolon: --no-auth: every user and program that reaches http://%s runs commands "
                 "as you\n",
                 address.c_str());
  }
  PrintAddress(embedded->get(), folder);
  signals.Wait();
  base::Log(base::Level::kInfo, "stopping");
  if (const auto stopped = (*embedded)->Stop(); !stopped) return PrintFailure(stopped.error());
  return 0;
}

}  // namespace

void AddUpCommand(CLI::App* app, Action* action) {
  auto flags = std::make_shared<UpFlags>();
  controller::embedded::ControllerHostOptions& options = flags->embedded.controller;
  options.data_directory = controller::embedded::DefaultDataDirectory();
  CLI::App* up = app->add_subcommand("up", "start controller, timing and network services here");
  up->add_option("--listen", options.rest_address, "host:port of the REST interface")
      ->capture_default_str();
  up->add_option("--data-dir", options.data_directory, "where jobs are kept")
      ->envname("EIDOLON_DATA_DIR")
      ->capture_default_str();
  up->add_flag("!--no-auth,!--no-authentication", options.authenticate,
               "ask nobody for the token: whoever reaches the address runs commands as you");
  up->add_flag("--rotate-token", options.rotate_token,
               "begin with a new token; scripts must read the file again");
  up->add_flag("--open-metrics", options.open_metrics, "serve /metrics without the token");
  up->add_option("--address-file", flags->address_file, "write the REST address here when ready");
  up->add_option("--jobs", options.concurrent_jobs, "jobs that may run at a time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  up->add_option("--gpu-models", flags->embedded.gpu_models,
                 "folder with GPU model files of your own")
      ->envname("EIDOLON_GPU_MODELS");
  up->add_option("--profile", flags->embedded.profile, "SQLite file of measured durations")
      ->envname("EIDOLON_PROFILE");
  timing::AddGpuFlags(up, &flags->embedded.own_gpu);
  timing::AddCountFlags(up, &flags->embedded.counting);
  up->add_option("--run-root", options.run_root, "where sockets and shared memory of runs live");
  up->add_option("--agent", options.agent, "path of eidolon-agent; default: beside this program");
  up->add_flag("--keep-run-directories", options.keep_run_directories,
               "leave the files of runs for inspection");
  up->callback([flags, action] { *action = [flags] { return Up(*flags); }; });
}

}  // namespace eidolon::cli
