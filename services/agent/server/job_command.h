// The user's command as an assignment wants it: its arguments, its environment with the shim.
#pragma once

#include <memory>
#include <string>

#include "services/agent/launch/command.h"
#include "services/agent/server/job_parts.h"
#include "services/base/error.h"

namespace eidolon::agent::server {

// `library_folder`: where libeidolon_shim.so and eidolon/ are. `observer` outlives the command. The
// job's own variables win over the rendezvous, ours over everything. Of a folded job the server's
// live ranks are started instead, from what the command says of them.
base::Result<std::unique_ptr<launch::Command>> StartCommand(const JobParts& job,
                                                            const std::string& library_folder,
                                                            launch::CommandObserver* observer);

}  // namespace eidolon::agent::server
