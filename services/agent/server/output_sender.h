// Sends what the agent has written of its timeline and its recording to a controller that cannot
// read its run directory.
#pragma once

#include <string>

#include "services/agent/client/controller_client.h"

namespace eidolon::agent::server {

// The timeline and the traces of its ranks, then the recording, as far as the job wants them, each
// as parts of at most 1 MiB. A file that is missing or too large is told as such; `not_recorded`:
// why there is no recording, empty: there is one. Nothing when the controller reads the directory.
// Requires: the files are written.
void SendOutputs(const controller::v1::Assignment& assignment, const std::string& not_recorded,
                 client::ControllerClient* controller);

}  // namespace eidolon::agent::server
