// What a program gives to its models and takes from its data loaders, as the Python side of PyTorch
// shows it (shim/pytorch/torch_inputs): by this the agent counts samples and tokens. Such records
// cost the program nothing.
#pragma once

#include <cstdint>

#include "services/contract/ring/record_header.h"

namespace eidolon::ring {

enum class InputKind : std::uint32_t {
  kCall,     // The program calls a module, outside of any other, whose work will be trained.
  kCallEnd,  // That call has ended.
  kBatch,    // A data loader was asked for a batch.
  kSharedSequences,  // From now on several ranks may work on one sequence (context parallelism).
  kCount
};

struct InputsRecord {
  RecordHeader header;
  std::uint64_t source;   // The module or the loader, by a number that no other one has meanwhile.
  std::uint64_t samples;  // 0: not known.
  std::uint64_t tokens;   // 0: the input is not known to be tokens.
  InputKind kind;
  std::uint32_t reserved;
};

}  // namespace eidolon::ring
