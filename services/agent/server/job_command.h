// The user's command as an assignment wants it: its arguments, its environment with the shim.
#pragma once

#include <memory>
#include <string>

#include "services/agent/launch/command.h"
#include "services/base/error.h"

namespace eidolon::controller::v1 {
class Assignment;
}

namespace eidolon::agent::server {

// `library_folder`: where libeidolon_shim.so and eidolon/ are. `observer` outlives the command. The
// job's own variables win over the rendezvous, ours over everything.
base::Result<std::unique_ptr<launch::Command>> StartCommand(
    const controller::v1::Assignment& assignment, const std::string& library_folder,
    launch::CommandObserver* observer);

}  // namespace eidolon::agent::server
