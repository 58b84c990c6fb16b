// Sends what the agent has written of its timeline to a controller that cannot read its run
// directory.
#pragma once

#include "services/agent/client/controller_client.h"

namespace eidolon::agent::server {

// The timeline, then the traces of its ranks, each as parts of at most 1 MiB. A file that is
// missing or too large is told as such. Nothing when the controller reads the directory. Requires:
// the files are written, the job wants a timeline.
void SendOutputs(const controller::v1::Assignment& assignment,
                 client::ControllerClient* controller);

}  // namespace eidolon::agent::server
