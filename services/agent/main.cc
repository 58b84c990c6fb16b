// eidolon-agent: one emulated server of one job. Started by the controller
// (proto/eidolon/controller).
#include <CLI/CLI.hpp>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "services/agent/launch/guardian.h"
#include "services/agent/launch/rank_launcher.h"
#include "services/agent/server/agent.h"
#include "services/agent/server/metrics.h"
#include "services/base/clock.h"
#include "services/base/log.h"
#include "services/base/regular_file.h"
#include "services/base/text.h"
#include "services/runtime/metrics_page.h"
#include "services/runtime/process/confinement.h"
#include "services/runtime/signal_waiter.h"
#include "services/runtime/threads.h"

namespace {

// Threads of clients of three services, and of readers of the job's lines.
constexpr int kThreads = 16;

// "<folder of this program>/../lib": so it is in the build tree and in an installation.
std::string LibrariesBesideProgram() {
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  return (program.parent_path().parent_path() / "lib").string();
}

// Takes a variable out of the environment: the job's processes must not see it.
std::string TakeVariable(const char* name) {
  const char* value = std::getenv(name);
  std::string taken = value == nullptr ? "" : value;
  unsetenv(name);
  return taken;
}

// A secret that Kubernetes keeps in a file.
std::string ReadSecret(const std::string& path) {
  std::string secret = eidolon::base::ReadRegularFile(path).value_or("");
  while (secret.ends_with('\n')) secret.pop_back();
  return secret;
}

// Copies shim and agent out of their image: that image has no shell.
int Install(const std::string& from, const std::string& to) {
  std::error_code failure;
  std::filesystem::copy(from, to,
                        std::filesystem::copy_options::recursive |
                            std::filesystem::copy_options::overwrite_existing |
                            std::filesystem::copy_options::copy_symlinks,
                        failure);
  if (!failure) return 0;
  eidolon::base::Log(eidolon::base::Level::kError, "not_installed",
                     {{"from", from}, {"to", to}, {"reason", failure.message()}});
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace eidolon;
  // Ourselves in torchrun's place, for the live ranks of a folded job.
  if (argc > 1 && std::string_view(argv[1]) == "start-ranks") {
    return agent::launch::RunRanks({argv + 2, argv + argc});
  }
  agent::server::Agent::Options options{
      .controller_address = TakeVariable("EIDOLON_CONTROLLER_ADDRESS"),
      .token = TakeVariable("EIDOLON_AGENT_TOKEN"),
      .library_folder = LibrariesBesideProgram(),
  };
  const std::string folders = TakeVariable("EIDOLON_RUN_FOLDERS");
  const std::string token_file = TakeVariable("EIDOLON_AGENT_TOKEN_FILE");
  if (options.token.empty() && !token_file.empty()) options.token = ReadSecret(token_file);
  std::string metrics_address, install_from = "/eidolon", install_to;
  CLI::App app(
      "Runs one emulated server of a simulation job. The controller starts it; its address and "
      "secret come by EIDOLON_CONTROLLER_ADDRESS and EIDOLON_AGENT_TOKEN.");
  app.add_option("--libraries", options.library_folder,
                 "folder of libeidolon_shim.so and eidolon/*.so");
  app.add_option("--metrics", metrics_address, "serve /metrics here, for example 127.0.0.1:9464");
  app.add_flag("--print-lines", options.print_lines, "also print what the command prints");
  app.add_option("--install", install_to, "copy shim and agent into this folder and end");
  app.add_option("--install-from", install_from, "where they are")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (!install_to.empty()) return Install(install_from, install_to);
  if (options.controller_address.empty() || options.token.empty()) {
    base::Log(base::Level::kError, "not_started_by_a_controller",
              {{"reason", "EIDOLON_CONTROLLER_ADDRESS and EIDOLON_AGENT_TOKEN must be set"}});
    return 2;
  }

  agent::launch::GuardOptions guard;
  for (const std::string_view folder : base::Split(folders, ':')) {
    if (!folder.empty()) guard.folders.emplace_back(folder);
  }
  process::RenounceNewPrivileges();
  const agent::launch::Guarded self = agent::launch::BecomeGuarded(guard);

  runtime::ExitWhenThreadsRunOut();
  runtime::SignalWaiter signals;
  if (const auto threads = runtime::CheckThreads(kThreads); !threads.has_value()) {
    base::Log(base::Level::kError, "no_threads", {{"reason", threads.error().message}});
    return 1;
  }
  runtime::MetricsPage page;
  agent::server::Metrics metrics(page.registry());
  if (!metrics_address.empty()) {
    if (const auto port = page.Expose(metrics_address); !port.has_value()) {
      base::Log(base::Level::kError, "no_metrics", {{"reason", port.error().message}});
      return 2;
    }
  }
  const base::SystemClock clock;
  agent::server::Agent agent(std::move(options), &metrics, &clock);
  std::thread waiter([&] {
    if (signals.Wait().has_value()) agent.RequestStop("the agent was asked to end");
  });
  const int status = agent.Run();
  signals.Stop();
  waiter.join();
  agent::launch::ResumeGuardianOfDeadController(self);
  return status;
}
