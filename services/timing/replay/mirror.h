// Memory of the emulated rank on the real GPU: each range lies at its emulated address where the
// driver gives that address, and somewhere else where it does not (the shim's own arena, another
// program's mapping): then pointers must be moved, see Translate. All bytes are zero before each
// replay, so that indices read from memory stay inside.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "services/base/error.h"
#include "services/timing/replay/driver.h"

namespace eidolon::timing::replay {

// Emulated device memory: [begin, begin + bytes).
struct MemoryRange {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

// This class is not thread-safe. The driver outlives it; the device's context is current in every
// call.
class Mirror {
 public:
  // `granularity`: of physical memory, a power of two.
  Mirror(const Driver& driver, CUdevice device, std::uint64_t granularity)
      : driver_(driver), device_(device), granularity_(granularity) {}
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  // Maps the ranges, none of them empty, and fills them with zeros on `stream`. What was mapped for
  // an earlier replay stays while there is memory for it. Refused when the GPU's free memory does
  // not hold them: two ranges in one piece of memory would be a smaller footprint than the rank's.
  base::Result<void> Require(const std::vector<MemoryRange>& ranges, CUstream stream);

  // Returns where an emulated address lies on the GPU. Requires: it is in a required range.
  std::uint64_t Translate(std::uint64_t address) const;
  // Some required range is not at its emulated address.
  bool moved() const { return moved_; }

 private:
  struct Piece {
    std::uint64_t bytes = 0;
    std::uint64_t real = 0;  // Its begin on the GPU.
    bool required = false;
  };
  using Pieces = std::map<std::uint64_t, Piece>;  // By emulated begin; they never overlap.

  base::Result<void> MapPiece(std::uint64_t begin, std::uint64_t bytes);
  base::Result<void> Fill(std::uint64_t real, std::uint64_t bytes);
  Pieces::iterator Drop(Pieces::iterator piece);
  void DropIdle();

  const Driver& driver_;
  const CUdevice device_;
  const std::uint64_t granularity_;
  Pieces pieces_;
  bool moved_ = false;
};

}  // namespace eidolon::timing::replay
