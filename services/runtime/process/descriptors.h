// Controls which descriptors a child inherits.
#pragma once

namespace eidolon::process {

// Every open descriptor from `first` on is closed by the next exec. May be called between fork and
// exec.
void CloseOnExecFrom(int first);

}  // namespace eidolon::process
