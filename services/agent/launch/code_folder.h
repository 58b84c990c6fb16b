// The folder in which processes of this user's jobs keep what they learned from GPU code: indices
// of modules (services/machine_code/cubin/image.h) and footprints of kernels
// (shim/value/compute/kept_footprints.h). Everything in it can be made again, so that anything may
// be removed at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace eidolon::agent::launch {

inline constexpr std::uint64_t kMostKeptBytes = std::uint64_t{256} << 20;

struct CodeFolder {
  std::string path;
  std::size_t removed = 0;  // Files, the oldest first, because there were too many bytes.
  std::size_t refused = 0;  // Files that a process found damaged or foreign; they are removed.
};

// Makes `wanted`, for this user alone, and keeps it below `bytes_max`. Where it cannot be made, or
// is another user's, and where `wanted` is empty: `instead`, which is made likewise.
CodeFolder PrepareCodeFolder(const std::string& wanted, const std::string& instead,
                             std::uint64_t bytes_max = kMostKeptBytes);

}  // namespace eidolon::agent::launch
