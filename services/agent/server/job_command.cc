// Variables have an order of strength: the shim's own ones cannot be replaced by a job, or nothing
// would be simulated; the job's win over the rendezvous, since a user who sets them means it. A
// folded job replaces the launcher by ours. The launcher's own process is then not emulated, so
// LD_PRELOAD moves from its environment into that of the ranks. Numbers of ranks in the command are
// compared with the job: a difference would only show as a hang.
#include "services/agent/server/job_command.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "eidolon/controller/v1/controller.pb.h"
#include "services/agent/launch/code_folder.h"
#include "services/agent/launch/environment.h"
#include "services/agent/launch/launcher_command.h"
#include "services/agent/launch/own_command.h"
#include "services/agent/launch/rank_launcher.h"
#include "services/base/cache_folder.h"
#include "services/base/log.h"
#include "services/base/text.h"

namespace eidolon::agent::server {

namespace {

// Fails when the launcher is told another number of ranks than the job has.
base::Result<void> CheckRanks(const std::string& given, std::uint32_t ranks, const char* what) {
  const auto number = base::ParseInteger(given);
  if (!number.has_value() || *number == ranks) return {};
  return base::Fail(
      base::ErrorCode::kInvalidArgument,
      base::StrCat("the command starts ", *number, " ranks ", what, ", and the job has ", ranks,
                   "; change one of them (--servers and --ranks-per-server of the job)"));
}

// What processes learn from GPU code is kept there for later jobs.
std::string FolderOfCode() {
  const std::string cache = base::CacheFolder();
  return cache.empty() ? "" : cache + "/code";
}

std::string ListOf(const std::vector<std::uint32_t>& ranks) {
  std::string list;
  for (const std::uint32_t rank : ranks) list += base::StrCat(list.empty() ? "" : ",", rank);
  return list;
}

// "16 4:2": the job's ranks and its dimensions.
std::string TextOf(const folding::Fold& fold) {
  std::string text = std::to_string(fold.ranks());
  for (const folding::Dimension& dimension : fold.dimensions()) {
    text += base::StrCat(" ", dimension.stride, ":", dimension.size);
  }
  return text;
}

// Puts the launcher of live ranks in the place of the user's.
base::Result<void> StartLiveRanks(const JobParts& job, const launch::ShimLibraries& shim,
                                  launch::CommandOptions* options) {
  const auto read = launch::ReadLauncher(options->command);
  if (!read) return std::unexpected(read.error());
  const std::uint32_t per_server = job.assignment.ranks_per_server();
  if (auto fits = CheckRanks(read->ranks_per_server, per_server, "on a server"); !fits) return fits;
  if (auto fits = CheckRanks(read->ranks, job.fold.ranks(), "in all"); !fits) return fits;
  std::string path;
  if (read->is_python) {
    launch::CommandOptions launcher = *options;
    launcher.command = {read->launcher};
    auto found = launch::FindProgram(launcher);
    if (!found) return std::unexpected(found.error());
    path = std::move(*found);
  }
  auto rank_command = launch::RankCommand(*read, path);
  if (!rank_command) return std::unexpected(rank_command.error());
  launch::RankLaunch launch{.ranks = job.fold.ranks(),
                            .ranks_per_server = per_server,
                            .live = job.fold.LiveOn(job.assignment.server(), per_server),
                            .style = read->variables,
                            .preload = {},
                            .environment = read->environment,
                            .command = std::move(*rank_command)};
  launch.environment.emplace_back("EIDOLON_LIVE_RANKS", ListOf(job.fold.live()));
  launch.environment.emplace_back("EIDOLON_FOLD", TextOf(job.fold));
  // The launcher itself is not emulated.
  for (auto& [name, value] : options->environment) {
    if (name == "LD_PRELOAD") launch.preload = std::exchange(value, {});
    // A launcher that starts ours would put the store of its own in the place of the job's.
    if (name == "MASTER_ADDR" || name == "MASTER_PORT")
      launch.environment.emplace_back(name, value);
  }
  for (const std::string& library : shim.folded) launch.preload += ":" + library;
  const auto own = launch::OwnCommand();
  if (!own) return std::unexpected(own.error());
  options->command = read->wrapper;
  options->command.insert(options->command.end(), own->begin(), own->end());
  options->command.emplace_back("start-ranks");
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
  // Without a folder every process learns by itself.
  const launch::CodeFolder code_folder =
      launch::PrepareCodeFolder(FolderOfCode(), base::StrCat(assignment.run_directory(), "/index"));
  if (code_folder.refused > 0) {
    base::Log(base::Level::kWarning, "kept_code_refused",
              {{"folder", code_folder.path}, {"files", base::StrCat(code_folder.refused)}});
  }
  launch::Variables environment =
      launch::ServerEnvironment(*shim,
                                {.run_directory = assignment.run_directory(),
                                 .index_directory = code_folder.path,
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
                      name == "EIDOLON_INDEX_DIR" || name == "EIDOLON_LIVE_RANKS" ||
                      name == "EIDOLON_FOLD" || name == "TRITON_LIBCUDA_PATH";
    if (!ours) environment.emplace_back(name, value);
  }
  launch::CommandOptions options{
      .command = {assignment.command().begin(), assignment.command().end()},
      .environment = std::move(environment),
      .working_directory = assignment.working_directory()};
  if (!job.fold.is_folded()) {
    auto meet = launch::CheckServersMeet(options.command, assignment.servers());
    if (!meet) return std::unexpected(meet.error());
  } else if (auto folded = StartLiveRanks(job, *shim, &options); !folded) {
    return std::unexpected(folded.error());
  }
  return launch::Command::Start(options, observer);
}

}  // namespace eidolon::agent::server
