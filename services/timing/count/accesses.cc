// Memory works in sectors of 32 bytes and lines of 128, so what counts is how many different ones a
// warp's lanes name, not how many bytes they take. The first-level cache is a set of sectors that
// is emptied as a whole when the block's share is full: no order of use is kept, which makes an
// access cheap. It holds loads alone; stores and atomics always go on to L2. Sectors carry the
// number of misses when they were last touched (Stamp), from which the distance between two reads
// follows. Every miss gets device memory's latency of an idle GPU; what L2 holds, and what a busy
// memory adds, is known only for the whole launch (bounds.cc). Classes of operations are ranges of
// sass::Operation: a new one must stand in its group.
#include "services/timing/count/accesses.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "services/contract/machine/machine.h"
#include "services/timing/count/launch_memory.h"
#include "services/timing/count/pipes.h"

namespace eidolon::timing::count {
namespace {

using interpret::GlobalAddress;
using interpret::NearAddress;
using interpret::Step;
using interpret::Warp;
using sass::Operation;

constexpr unsigned kSectorBits = std::countr_zero(static_cast<unsigned>(machine::kSectorBytes));
constexpr unsigned kLineBits = std::countr_zero(static_cast<unsigned>(machine::kLineBytes));

// Returns the bytes by the size field of loads and stores.
unsigned BytesOf(const Step& step) {
  constexpr std::array<unsigned, 8> kBytes = {1, 1, 2, 2, 4, 8, 16, 4};
  constexpr unsigned kWide = 32;
  if (step.operation == Operation::kLdgWide || step.operation == Operation::kStgWide) return kWide;
  return kBytes[step.word.Bits(73, 3)];
}

bool Stores(Operation operation) {
  return operation == Operation::kSts || operation == Operation::kStl ||
         operation == Operation::kStg || operation == Operation::kSt ||
         operation == Operation::kStgWide;
}

bool IsAtomic(Operation operation) {
  return operation >= Operation::kAtom && operation <= Operation::kRedFloat;
}

bool IsShared(Operation operation) {
  switch (operation) {
    case Operation::kLds:
    case Operation::kSts:
    case Operation::kLdsm:
    case Operation::kStsm:
    case Operation::kAtoms:
    case Operation::kAtomsCas:
    case Operation::kAtomsPopcInc:
      return true;
    default:
      return false;
  }
}

template <typename Address>
void Collect(const Address& address, std::uint32_t mask, auto& lanes) {
  for (unsigned lane = 0; lane < interpret::kLanes; ++lane) {
    if ((mask >> lane & 1) != 0) lanes.addresses[lanes.count++] = address[lane];
  }
}

struct Meeting {
  double colliding = 0;  // Lanes whose words are another lane's, too.
  double rounds = 0;     // Lanes of the busiest word of each line, summed.
};

Meeting MeetingOf(std::span<const std::uint64_t> addresses) {
  std::array<std::uint64_t, interpret::kLanes> words;
  std::ranges::copy(addresses, words.begin());
  const std::span all(words.data(), addresses.size());
  std::ranges::sort(all);
  Meeting meeting;
  double same = 0, busiest = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_met = i > 0 && all[i] == all[i - 1];
    if (is_met) ++meeting.colliding;
    if (i > 0 && all[i] >> kLineBits != all[i - 1] >> kLineBits) {
      meeting.rounds += busiest;
      busiest = 0;
    }
    same = is_met ? same + 1 : 1;
    busiest = std::max(busiest, same);
  }
  meeting.rounds += busiest;
  return meeting;
}

}  // namespace

bool AccessesMemory(Operation operation) {
  return operation >= Operation::kLdg && operation <= Operation::kRedFloat;
}

void Accesses::Begin(std::map<RegionUse, RegionTouched>* regions, SectorSet* together) {
  regions_ = regions;
  together_ = together;
  cached_.Clear();
  read_.Clear();
  written_.Clear();
}

// Returns the latency; each further line that misses comes two clocks later.
double Accesses::Global(const Lanes& lanes, Kind kind, BlockCounts& counts) {
  if (lanes.count == 0) return 0;
  // Sectors of all lanes, each once.
  std::array<std::uint64_t, interpret::kLanes * 2> sectors;
  unsigned count = 0;
  for (unsigned i = 0; i < lanes.count; ++i) {
    sectors[count++] = lanes.addresses[i] >> kSectorBits;
  }
  std::ranges::sort(sectors.begin(), sectors.begin() + count);
  count = static_cast<unsigned>(std::unique(sectors.begin(), sectors.begin() + count) -
                                sectors.begin());
  const bool writes = kind != Kind::kLoad;
  RegionTouched& region = (*regions_)[{RegionOf(lanes.addresses[0]), writes}];
  region.least = std::min(region.least, sectors[0]);
  region.most = std::max(region.most, sectors[count - 1]);
  region.atomic = region.atomic || kind == Kind::kAtomic;
  double lines = 0;
  double missed_lines = 0;
  std::uint64_t line = ~std::uint64_t{0};
  std::uint64_t missed_line = ~std::uint64_t{0};
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t here = sectors[i] >> (kLineBits - kSectorBits);
    if (here != line) ++lines;
    line = here;
    const auto now = static_cast<std::uint64_t>(counts.missed_sectors);
    const auto before = (writes ? written_ : read_).Stamp(sectors[i], now);
    if (!before) {
      ++region.sectors;
      if (together_ != nullptr) together_->Add(sectors[i] << 1 | std::uint64_t{writes});
    }
    if (!writes && !cached_.Add(sectors[i])) continue;
    if (!writes && before) {
      ++counts.again_sectors;
      counts.again_distance += static_cast<double>(now - *before);
    }
    ++counts.missed_sectors;
    if (here != missed_line) ++missed_lines;
    missed_line = here;
  }
  if (static_cast<double>(cached_.size()) > cached_sectors_) cached_.Clear();
  // A line takes the cache one clock; 16 bytes a lane lie in four lines.
  counts.line_requests += lines;
  counts.missed_lines += missed_lines;
  if (kind == Kind::kAtomic) {
    counts.atomics += lanes.count;
    const auto [colliding, rounds] = MeetingOf({lanes.addresses.data(), lanes.count});
    counts.colliding_atomics += colliding;
    counts.atomic_rounds += rounds;
  }
  return missed_lines > 0 ? machine::kDeviceMemoryLatency + 2 * (missed_lines - 1)
                          : machine::kNearCacheLatency + lines - 1;
}

double Accesses::Shared(const Lanes& lanes, BlockCounts& counts) {
  // Lanes whose bytes fill a wavefront share it.
  constexpr unsigned kWord = machine::kSharedWordBytes;
  constexpr unsigned kWavefrontBytes = machine::kSharedBanks * kWord;
  const unsigned together =
      std::min(interpret::kLanes, kWavefrontBytes / std::max(lanes.bytes, kWord));
  double wavefronts = 0;
  for (unsigned first = 0; first < lanes.count; first += together) {
    std::array<std::uint64_t, interpret::kLanes * 4> words;
    unsigned count = 0;
    for (unsigned i = first; i < std::min(lanes.count, first + together); ++i) {
      for (unsigned at = 0; at < std::max(lanes.bytes, kWord); at += kWord) {
        words[count++] = (lanes.addresses[i] + at) / kWord;
      }
    }
    std::ranges::sort(words.begin(), words.begin() + count);
    const auto end = std::unique(words.begin(), words.begin() + count);
    std::array<unsigned, machine::kSharedBanks> banks{};
    unsigned most = 0;
    for (auto word = words.begin(); word != end; ++word) {
      most = std::max(most, ++banks[*word % machine::kSharedBanks]);
    }
    wavefronts += most;
  }
  counts.shared_wavefronts += wavefronts;
  return machine::kSharedLatency + wavefronts - 1;
}

// Each lane may lead to another memory.
double Accesses::Generic(Warp& warp, const Step& step, std::uint32_t mask, Kind kind,
                         BlockCounts& counts) {
  const GlobalAddress address(warp, step, kind == Kind::kLoad ? 32 : 64);
  Lanes global{.addresses = {}, .count = 0, .bytes = BytesOf(step)};
  Lanes shared = global;
  for (unsigned lane = 0; lane < interpret::kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const interpret::Place place = interpret::PlaceOfGeneric(address[lane]);
    if (place.space == interpret::Space::kLocal) continue;  // The cache holds it.
    Lanes& lanes = place.space == interpret::Space::kShared ? shared : global;
    lanes.addresses[lanes.count++] = place.address;
  }
  double latency = machine::kNearCacheLatency;
  if (shared.count > 0) latency = std::max(latency, Shared(shared, counts));
  if (global.count > 0) latency = std::max(latency, Global(global, kind, counts));
  return latency;
}

double Accesses::AsyncCopy(Warp& warp, const Step& step, std::uint32_t mask, BlockCounts& counts) {
  const sass::Word& word = step.word;
  const std::uint32_t real = interpret::ReadPredicate(warp, word, 87) & mask;
  const unsigned row = interpret::SourceRow(word.Bits(24, 8));
  const std::uint32_t* low = warp.Row(row);
  const std::uint32_t* high = warp.Row(row == interpret::kZeroRow ? row : row + 1);
  const std::uint32_t* to = warp.Row(interpret::SourceRow(word.Bits(16, 8)));
  Lanes global{.addresses = {}, .count = 0, .bytes = BytesOf(step)};
  Lanes shared = global;
  for (unsigned lane = 0; lane < interpret::kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    shared.addresses[shared.count++] = to[lane] + static_cast<std::uint32_t>(word.Signed(44, 20));
    if ((real >> lane & 1) == 0) continue;
    global.addresses[global.count++] = (std::uint64_t{high[lane]} << 32 | low[lane]) +
                                       static_cast<std::uint64_t>(word.Signed(32, 12));
  }
  const double latency = Shared(shared, counts);
  return std::max(latency, Global(global, Kind::kLoad, counts));
}

double Accesses::Count(Warp& warp, const Step& step, std::uint32_t mask, BlockCounts& counts) {
  const Operation operation = step.operation;
  if (operation == Operation::kLdgsts) return AsyncCopy(warp, step, mask, counts);
  const bool stores = Stores(operation) || operation == Operation::kStsm;
  const Kind kind = IsAtomic(operation) ? Kind::kAtomic : stores ? Kind::kStore : Kind::kLoad;
  const unsigned uniform_at = kind == Kind::kLoad ? 32 : 64;
  Lanes lanes{.addresses = {}, .count = 0, .bytes = BytesOf(step)};
  if (IsShared(operation)) {
    const bool matrix = operation == Operation::kLdsm || operation == Operation::kStsm;
    std::uint32_t rows = mask;
    if (matrix) {
      // Lanes 8i to 8i + 7 hold the rows of matrix i, of 16 bytes each.
      lanes.bytes = 16;
      const unsigned count = 8u << step.word.Bits(72, 2);
      rows = count >= interpret::kLanes ? ~0u : (1u << count) - 1;
    } else if (IsAtomic(operation)) {
      lanes.bytes = 4;
      counts.atomics += std::popcount(mask);
    }
    const bool scaled = !matrix && operation != Operation::kAtomsCas;
    Collect(NearAddress(warp, step, uniform_at, scaled), rows, lanes);
    return Shared(lanes, counts);
  }
  if (operation == Operation::kLdl || operation == Operation::kStl) {
    counts.line_requests += std::max(1u, lanes.bytes / 4);  // Lanes' words lie side by side.
    return machine::kNearCacheLatency;
  }
  if (operation == Operation::kLd || operation == Operation::kSt) {
    return Generic(warp, step, mask, kind, counts);
  }
  Collect(GlobalAddress(warp, step, uniform_at), mask, lanes);
  return Global(lanes, kind, counts);
}

}  // namespace eidolon::timing::count
