#include "services/agent/server/job_command.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "eidolon/controller/v1/controller.pb.h"
#include "services/agent/launch/environment.h"
#include "services/base/text.h"

namespace eidolon::agent::server {

base::Result<std::unique_ptr<launch::Command>> StartCommand(
    const controller::v1::Assignment& assignment, const std::string& library_folder,
    launch::CommandObserver* observer) {
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
  return launch::Command::Start(
      {.command = {assignment.command().begin(), assignment.command().end()},
       .environment = std::move(environment),
       .working_directory = assignment.working_directory()},
      observer);
}

}  // namespace eidolon::agent::server
