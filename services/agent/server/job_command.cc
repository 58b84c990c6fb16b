#include "services/agent/server/job_command.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "eidolon/controller/v1/controller.pb.h"
#include "services/agent/launch/environment.h"
#include "services/agent/launch/rank_launcher.h"
#include "services/agent/launch/torchrun_command.h"
#include "services/base/text.h"

namespace eidolon::agent::server {

namespace {

// Puts the launcher of live ranks in the place of torchrun.
base::Result<void> StartLiveRanks(const JobParts& job, launch::CommandOptions* options) {
  const auto torchrun = launch::ReadTorchrun(options->command);
  if (!torchrun) return std::unexpected(torchrun.error());
  const std::uint32_t per_server = job.assignment.ranks_per_server();
  const auto given = base::ParseInteger(torchrun->ranks_per_server);
  if (given.has_value() && *given != per_server) {
    return base::Fail(
        base::ErrorCode::kInvalidArgument,
        base::StrCat("torchrun starts ", *given, " ranks on a server, and the job has ", per_server,
                     "; set --ranks-per-server to ", *given));
  }
  const auto path = launch::FindProgram(*options);
  if (!path) return std::unexpected(path.error());
  auto rank_command = launch::RankCommand(*torchrun, *path);
  if (!rank_command) return std::unexpected(rank_command.error());
  launch::RankLaunch launch{.ranks = job.fold.ranks(),
                            .ranks_per_server = per_server,
                            .live = job.fold.LiveOn(job.assignment.server(), per_server),
                            .command = std::move(*rank_command)};
  // The launcher itself is not emulated.
  for (auto& [name, value] : options->environment) {
    if (name == "LD_PRELOAD") launch.preload = std::exchange(value, {});
  }
  std::error_code failure;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) return base::Fail(base::ErrorCode::kInternal, failure.message());
  options->command = {self.string(), "start-ranks"};
  for (std::string& word : launch::LaunchArguments(launch)) {
    options->command.push_back(std::move(word));
  }
  return {};
}

}  // namespace

base::Result<std::unique_ptr<launch::Command>> StartCommand(const JobParts& job,
                                                            const std::string& library_folder,
                                                            launch::CommandObserver* observer) {
  const auto& assignment = job.assignment;
  const auto shim = launch::FindShim(library_folder);
  if (!shim) return std::unexpected(shim.error());
  const std::string index_directory = base::StrCat(assignment.run_directory(), "/index");
  std::error_code ignored;  // Without the folder every process makes its own indices.
  std::filesystem::create_directory(index_directory, ignored);
  launch::Variables environment =
      launch::ServerEnvironment(*shim,
                                {.run_directory = assignment.run_directory(),
                                 .index_directory = index_directory,
                                 .server = assignment.server(),
                                 .servers = assignment.servers(),
                                 .ranks_per_server = assignment.ranks_per_server(),
                                 .master_address = assignment.master_address(),
                                 .master_port = assignment.master_port()},
                                [&] {
                                  const auto own = assignment.environment().find("LD_PRELOAD");
                                  if (own != assignment.environment().end()) return own->second;
                                  const char* inherited = std::getenv("LD_PRELOAD");
                                  return std::string(inherited == nullptr ? "" : inherited);
                                }());
  for (const auto& [name, value] : assignment.environment()) {
    const bool ours = name == "LD_PRELOAD" || name == "EIDOLON_RUN_DIR" ||
                      name == "EIDOLON_INDEX_DIR" || name == "TRITON_LIBCUDA_PATH";
    if (!ours) environment.emplace_back(name, value);
  }
  launch::CommandOptions options{
      .command = {assignment.command().begin(), assignment.command().end()},
      .environment = std::move(environment),
      .working_directory = assignment.working_directory()};
  if (job.fold.is_folded()) {
    if (auto folded = StartLiveRanks(job, &options); !folded) {
      return std::unexpected(folded.error());
    }
  }
  return launch::Command::Start(options, observer);
}

}  // namespace eidolon::agent::server
