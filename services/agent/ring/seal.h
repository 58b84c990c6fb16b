// File seals on shared memory: what the agent maps, no other process can cut, which would end the
// agent at its next look, or enlarge.
#pragma once

#include "services/base/error.h"

namespace eidolon::agent::ring {

enum class Sealed {
  kSize,           // Everybody who gets the descriptor may write.
  kSizeAndWriting  // Only mappings that exist already may write, where the kernel knows how (5.1).
};

// Requires: `memory_file` comes from memfd_create with MFD_ALLOW_SEALING and has its final size.
base::Result<void> Seal(int memory_file, Sealed what);

}  // namespace eidolon::agent::ring
