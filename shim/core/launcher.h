// torchrun, which starts a server's ranks and computes nothing itself.
#pragma once

#include <optional>

namespace eidolon::shim::core {

// Returns whether this process is torchrun in a simulated job, by its command line: `torchrun`, or
// `-m torch.distributed.run`. A rank that it has started is not.
bool IsTorchrun() noexcept;

// The server's GPUs, which is all that torchrun wants to know of them, without a session. Nothing
// in other processes, and once there was a session.
std::optional<int> DeviceCountOfTorchrun() noexcept;

}  // namespace eidolon::shim::core
