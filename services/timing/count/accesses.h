// Counts the memory accesses of one block: wavefronts of shared memory, lines and sectors of device
// memory, and what of it the multiprocessor's own cache holds.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "services/contract/machine/machine.h"
#include "services/machine_code/interpret/access.h"
#include "services/machine_code/interpret/warp.h"
#include "services/timing/count/counts.h"
#include "services/timing/count/sector_set.h"

namespace eidolon::timing::count {

// A region of a launch (launch_memory.h) and whether it was written.
using RegionUse = std::pair<std::uint64_t, bool>;

struct RegionTouched {
  double sectors = 0;                       // Different ones, of each block by itself.
  std::uint64_t least = ~std::uint64_t{0};  // Number of a sector.
  std::uint64_t most = 0;
  bool atomic = false;  // By atomics, among others.
  bool operator==(const RegionTouched&) const = default;
};

// Accesses of one thread.
class Accesses {
 public:
  // `cached_bytes`: of the multiprocessor's cache, for one block.
  explicit Accesses(double cached_bytes) : cached_sectors_(cached_bytes / machine::kSectorBytes) {}

  // A block begins; its regions are added to, and where `together` is given its sectors, twice the
  // number and one more for those that are written.
  void Begin(std::map<RegionUse, RegionTouched>* regions, SectorSet* together);
  // An access of the warp's lanes: adds to the block's counts. Returns the latency of its result in
  // clocks. Requires: the step accesses memory, and the mask is not empty.
  double Count(interpret::Warp& warp, const interpret::Step& step, std::uint32_t mask,
               BlockCounts& counts);

 private:
  struct Lanes {
    std::array<std::uint64_t, interpret::kLanes> addresses;
    unsigned count = 0;
    unsigned bytes = 4;  // Of each.
  };
  enum class Kind : std::uint8_t { kLoad, kStore, kAtomic };

  double Global(const Lanes& lanes, Kind kind, BlockCounts& counts);
  static double Shared(const Lanes& lanes, BlockCounts& counts);
  double Generic(interpret::Warp& warp, const interpret::Step& step, std::uint32_t mask, Kind kind,
                 BlockCounts& counts);
  double AsyncCopy(interpret::Warp& warp, const interpret::Step& step, std::uint32_t mask,
                   BlockCounts& counts);

  const double cached_sectors_;
  SectorSet cached_;
  SectorSet read_;
  SectorSet written_;
  std::map<RegionUse, RegionTouched>* regions_ = nullptr;
  SectorSet* together_ = nullptr;
};

// True when Count() may be asked.
bool AccessesMemory(sass::Operation operation);

}  // namespace eidolon::timing::count
