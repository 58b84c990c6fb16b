// Finds the line where the program calls a collective of Gloo. It runs on a thread of Gloo's, which
// has no Python frames; the program's thread passes by before.
#pragma once

#include <cstdint>
#include <string>

#include "shim/pytorch/gloo/options.h"

namespace eidolon::shim::gloo {

// The calling thread's line is that of the collective with this tag. The last ones are kept.
void KeepCallLine(const Context* context, std::uint32_t tag);

// Returns whether this function of PyTorch is among the innermost frames of the calling thread.
bool TorchRuns(const char* function);

struct CallLine {
  std::string text;              // "train.py:40"; empty: not known.
  bool gathers_objects = false;  // Inside of all_gather_object or gather_object.
};
// Empty when it is not kept any more.
CallLine CallLineOf(const Context* context, std::uint32_t tag);

}  // namespace eidolon::shim::gloo
