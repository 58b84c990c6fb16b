// torchrun, which starts a server's ranks and computes nothing itself.
#pragma once

namespace eidolon::shim::core {

// Whether this process is torchrun in a simulated job, by its command line: `torchrun`, or
// `-m torch.distributed.run`. A rank that it has started is not.
bool IsTorchrun() noexcept;

}  // namespace eidolon::shim::core
