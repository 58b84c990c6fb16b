// `up` serves until a signal comes. Its address goes to a file of the data folder, where other
// commands look for it; the file is renamed into place, so a reader that polls never sees half of
// an address. The link that opens the page holds a code that logs in once, so it is printed on a
// terminal only: output in a file may be readable by others. The umask protects what this process
// writes, and jobs get the user's own one back. no_new_privs is set first, as a job's program that
// gained another user's rights could not be ended.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>

#include "services/base/log.h"
#include "services/base/standard_output.h"
#include "services/base/text.h"
#include "services/base/write_file.h"
#include "services/cli/commands.h"
#include "services/cli/embedded.h"
#include "services/controller/embedded/retention_flags.h"
#include "services/runtime/process/confinement.h"
#include "services/runtime/signal_waiter.h"

namespace eidolon::cli {
namespace {

struct UpFlags {
  EmbeddedOptions embedded;
  std::string address_file;
};

// Commands look for the address of a server in this file of its data folder.
constexpr char kAddressFile[] = "/address";

// Standard output that is a file or a pipe may be read by other users: a link that opens the page
// is printed on a terminal only.
void PrintAddress(Embedded* embedded, const std::string& folder) {
  if (embedded->token().empty()) {
    base::Print(base::StrCat("Eidolon is up: ", embedded->MakeLink(), "  (jobs are kept in ",
                             folder, ")\n"));
  } else if (isatty(STDOUT_FILENO) == 1) {
    base::Print(base::StrCat("Eidolon is up: ", embedded->MakeLink(),
                             "\n  This link works once and expires soon; 'eidolon link' prints "
                             "another. Jobs are kept in ",
                             folder, "\n"));
  } else {
    base::Print(base::StrCat("Eidolon is up: http://", embedded->address(),
                             "/  ('eidolon link' prints a link that opens it; jobs are kept in ",
                             folder, ")\n"));
  }
}

// Complete or absent: readers poll for the file.
base::Result<void> WriteAddress(const std::string& path, const std::string& address) {
  const std::string temporary = path + ".new";
  if (auto written = base::WriteFile(temporary, address + "\n"); !written) return written;
  if (std::rename(temporary.c_str(), path.c_str()) == 0) return {};
  return std::unexpected(base::CannotWrite(path, errno));
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
  if (const auto written = WriteAddress(folder + kAddressFile, address); !written) {
    base::Log(base::Level::kWarning, "address_not_written", {{"reason", written.error().message}});
  }
  if (!flags.address_file.empty()) {
    const auto written = WriteAddress(flags.address_file, address);
    if (!written) return PrintFailure(written.error());
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
  controller::embedded::AddRetentionFlags(up, &options.retention);
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
