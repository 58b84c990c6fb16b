// The analysis of the code makes the result sound, and the runs on made-up values make it small.
// Runs see only some inputs, so no conclusion rests on them alone: where the code lets values move
// or decide a store, or where two runs disagree in a way that neither contains the other, the
// answer widens from a range to the whole buffer, and from there to everything. A change here may
// widen an answer but must never narrow it, because bytes that are wrongly left known are computed
// with later.
//
// Each pointer has a window of 2^36 bytes of its own, so the upper bits of an address tell through
// which pointer a store went.
#include "shim/value/compute/footprint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "services/base/check.h"
#include "services/base/text.h"
#include "shim/value/compute/machine_code.h"
#include "shim/value/compute/made_up_memory.h"
#include "shim/value/compute/page_bits.h"
#include "shim/value/compute/reachable_stores.h"
#include "shim/value/compute/sample_blocks.h"
#include "shim/value/compute/store_watch.h"

namespace eidolon::shim::compute {
namespace {

using interpret::kPageBytes;
using interpret::Page;
using interpret::Stop;

constexpr std::size_t kMostPointers = 1000;
constexpr std::size_t kMostWrites = 64;
// Limits of a whole launch, of one of many blocks, and of those that are run of many.
constexpr interpret::Limits kWholeLimits{.warp_steps = 400'000};
constexpr interpret::Limits kBlockLimits{.warp_steps = 300'000};
constexpr interpret::Limits kSampleLimits{.warp_steps = 3'000'000};

// Bytes that one run touched behind one pointer.
struct Touched {
  struct Range {
    std::int64_t begin;
    std::int64_t end;
  };
  std::vector<Range> written;
  bool read_before_write = false;

  Range Hull() const {
    return written.empty() ? Range{0, 0} : Range{written.front().begin, written.back().end};
  }
};

struct Observation {
  bool complete = false;
  bool strays = false;  // Wrote where no pointer leads.
  std::uint64_t lane_steps = 0;
  std::vector<Touched> touched;
  std::vector<Arena::Range> variables;  // That it wrote.
};

void AddWritten(Touched& touched, std::int64_t begin, std::int64_t end) {
  if (!touched.written.empty() && touched.written.back().end == begin) {
    touched.written.back().end = end;
  } else {
    touched.written.push_back({begin, end});
  }
}

Observation Observe(const interpret::Program& program, const interpret::Launch& launch,
                    std::size_t pointers, MadeUpMemory memory) {
  const std::size_t blocks = launch.blocks.size();
  const interpret::Limits& limits = blocks == 0   ? kWholeLimits
                                    : blocks == 1 ? kBlockLimits
                                                  : kSampleLimits;
  const interpret::Outcome outcome = interpret::Run(program, launch, memory, limits);
  Observation result;
  result.complete = outcome.stop == Stop::kNone;
  result.lane_steps = outcome.lane_steps;
  result.touched.resize(pointers);
  memory.ForEachPage([&](std::uint64_t address, const Page& page) {
    const std::uint64_t window = address >> kWindowBits;
    const bool inside = window >= 1 && window <= pointers;
    Touched* touched = inside ? &result.touched[window - 1] : nullptr;
    const auto offset = static_cast<std::int64_t>(address - (inside ? WindowBase(window - 1) : 0));
    ForEachRun(page.written, [&](std::size_t begin, std::size_t end) {
      if (address >= kModuleBegin && address < kModuleEnd) {
        result.variables.emplace_back(address + begin, address + end);
      } else if (touched == nullptr) {
        result.strays = true;
      } else {
        AddWritten(*touched, offset + static_cast<std::int64_t>(begin),
                   offset + static_cast<std::int64_t>(end));
      }
    });
    if (touched == nullptr) return;
    for (std::size_t i = 0; i < page.read.size(); ++i) {
      touched->read_before_write =
          touched->read_before_write || (page.read[i] & page.written[i]) != 0;
    }
  });
  return result;
}

// One of the two hulls lies inside the other one.
bool AreNested(Touched::Range a, Touched::Range b) {
  if (a.begin == a.end || b.begin == b.end) return true;
  return (a.begin <= b.begin && b.end <= a.end) || (b.begin <= a.begin && a.end <= b.end);
}

// A bit for a pointer in StoreSite::pointers.
std::uint64_t BitOf(std::size_t pointer) {
  return std::uint64_t{1} << std::min<std::size_t>(pointer, 63);
}

Footprint Everything(const Learning& learning) {
  return {.writes = {},
          .buffers = {},
          .variables = {learning.variables.begin(), learning.variables.end()},
          .everything = true};
}

bool MayGoThroughSeveral(const interpret::StoreSite& site) {
  return std::popcount(site.pointers) > 1 || (site.pointers & BitOf(63)) != 0;
}

std::uint64_t WrittenPointerBits(const Stores& stores) {
  std::uint64_t bits = 0;
  for (const interpret::StoreSite& site : stores) bits |= site.pointers;
  return bits;
}

class Learner {
 public:
  Learner(const Learning& learning, const value::Store& store)
      : learning_(learning),
        store_(store),
        count_(learning.pointers.list.size()),
        watch_(learning.program, learning.stores),
        parameters_(MadeUpParameters(learning)) {}

  // False when all blocks would take too many steps, going by the first one.
  bool MayRunWhole() {
    constexpr std::uint64_t kFewer = 4;  // That others may take than the first.
    const Observation one = See({0}, 0);
    return one.complete && one.lane_steps / interpret::kLanes * learning_.launch.grid.volume() <
                               kFewer * kWholeLimits.warp_steps;
  }

  // Nothing when the launch did not come to its end.
  std::optional<Footprint> Learn() {
    std::vector<std::uint64_t> patterns = {0, 1, 0x0101010101010101, ~std::uint64_t{0}};
    std::ranges::copy(CounterPatterns(learning_), std::back_inserter(patterns));
    const bool by_values = std::ranges::any_of(
        learning_.stores, [](const auto& site) { return site.moves || site.depends; });
    // Made-up indices lead out of every window; the code says where such stores stay.
    const bool moves = std::ranges::any_of(learning_.stores, &interpret::StoreSite::moves);
    const std::vector<std::uint64_t> blocks = BlocksToRun();
    for (std::size_t i = 0; i < (by_values ? patterns.size() : 1); ++i) {
      Observation one = See(blocks, patterns[i]);
      if (one.strays && !moves) return Everything(learning_);
      if (one.complete) {
        seen_.push_back(std::move(one));
      } else if (i < 2) {
        return std::nullopt;
      }
    }
    std::vector<Observation> others;
    for (const std::uint64_t pattern : PatternsOfChecks()) {
      others.push_back(See(CheckBlocks(learning_.launch.grid), pattern));
      if (!others.back().complete) return std::nullopt;
    }
    Footprint result;
    AddVariables(by_values, result);
    for (std::uint32_t i = 0; i < count_; ++i) {
      const bool as_the_code = Conclude(i, others, result);
      if (!as_the_code && !moves) return Everything(learning_);
    }
    return result;
  }

 private:
  // None for whole launches.
  std::vector<std::uint64_t> PatternsOfChecks() const {
    if (learning_.whole) return {};
    std::vector<std::uint64_t> patterns = {0};
    if (std::ranges::any_of(learning_.stores, &interpret::StoreSite::barred)) {
      std::ranges::copy(CounterPatterns(learning_), std::back_inserter(patterns));
    }
    return patterns;
  }

  // None: all of them.
  std::vector<std::uint64_t> BlocksToRun() {
    if (learning_.whole) return {};
    // A block that goes on for long is not worth many of them.
    if (!See({0}, 0).complete) return {0};
    std::vector<std::uint64_t> blocks = SampleBlocks(learning_.launch.grid);
    for (const std::uint64_t row : OuterRows(learning_.launch.grid)) {
      blocks.push_back(FarthestOfRow(row));
    }
    MakeUnique(blocks);
    return blocks;
  }

  // The block of a row, which is outer, that writes farthest. Often its last; but a row may have
  // less to do than there are blocks, and blocks that go on at a grid's distance may find nothing
  // there from some block on: where less is written than by the first one.
  std::uint64_t FarthestOfRow(std::uint64_t row) {
    std::uint64_t farthest = row;
    std::uint64_t behind = row + learning_.launch.grid.x;
    const Observation first = See({row}, 0);
    const auto is_as_far = [&](std::uint64_t block) {
      const Observation one = See({block}, 0);
      for (std::size_t i = 0; i < count_; ++i) {
        const Touched::Range from = first.touched[i].Hull();
        const Touched::Range range = one.touched[i].Hull();
        if (from.begin == from.end) continue;
        if (range.begin == range.end || range.end < from.end) return false;
      }
      return true;
    };
    if (is_as_far(behind - 1)) return behind - 1;
    while (behind - farthest > 1) {
      const std::uint64_t middle = farthest + (behind - farthest) / 2;
      (is_as_far(middle) ? farthest : behind) = middle;
    }
    return farthest;
  }

  Observation See(const std::vector<std::uint64_t>& blocks, std::uint64_t pattern) {
    interpret::Launch moved = learning_.launch;
    moved.parameters = parameters_;
    moved.blocks = blocks;
    std::vector<std::uint8_t> read;
    moved.words_read = &read;
    Observation result = Observe(watch_.program(), moved, count_,
                                 MadeUpMemory(store_, pattern, learning_.saw_variables));
    NoteWordsRead(learning_, read);
    for (std::size_t i = 0; i < count_; ++i) {
      // Relative to the pointer itself, not to its window's page.
      const auto low = static_cast<std::int64_t>(learning_.pointers.list[i].address & kKeptLowBits);
      for (Touched::Range& range : result.touched[i].written) {
        range.begin -= low;
        range.end -= low;
      }
    }
    return result;
  }

  void AddVariables(bool by_values, Footprint& result) const {
    if (!WritesVariables(learning_.stores)) return;
    if (by_values || !learning_.whole) {
      result.variables.assign(learning_.variables.begin(), learning_.variables.end());
    } else {
      result.variables = seen_.front().variables;
    }
  }

  // Values move a store through this pointer, or decide one that did not happen here, or blocks
  // that were not run may choose this pointer among others.
  bool MayBeElsewhere(std::uint32_t pointer) const {
    return std::ranges::any_of(learning_.stores, [&](const interpret::StoreSite& site) {
      if ((site.pointers & BitOf(pointer)) == 0) return false;
      const bool chosen = !learning_.whole && MayGoThroughSeveral(site);
      const bool may_yet = site.depends && !site.barred && !watch_.happened(site.step);
      return chosen || site.moves || may_yet;
    });
  }

  // Every store through this pointer happens, and where it does, whatever the values are.
  bool IsFixed(std::uint32_t pointer) const {
    return std::ranges::none_of(learning_.stores, [&](const interpret::StoreSite& site) {
      return (site.pointers & BitOf(pointer)) != 0 && (site.moves || site.depends);
    });
  }

  // False when a launch wrote where its code does not.
  bool Conclude(std::uint32_t pointer, std::span<const Observation> others,
                Footprint& result) const {
    Touched::Range hull{0, 0};
    bool read_before_write = false;
    bool nested = true;
    for (const Observation& one : seen_) {
      const Touched::Range range = one.touched[pointer].Hull();
      read_before_write = read_before_write || one.touched[pointer].read_before_write;
      nested = nested && AreNested(hull, range);
      if (range.begin == range.end) continue;
      hull = hull.begin == hull.end
                 ? range
                 : Touched::Range{std::min(hull.begin, range.begin), std::max(hull.end, range.end)};
    }
    const bool written = hull.begin != hull.end;
    if ((WrittenPointerBits(learning_.stores) & BitOf(pointer)) == 0) return !written;
    bool whole_buffer = !nested || MayBeElsewhere(pointer);
    for (const Observation& other : others) {
      const Touched::Range check = other.touched[pointer].Hull();
      const bool inside =
          check.begin == check.end || (hull.begin <= check.begin && check.end <= hull.end);
      whole_buffer = whole_buffer || !inside || !written;
    }
    if (whole_buffer) {
      result.buffers.push_back(pointer);
      return true;
    }
    if (!written) return true;
    const Touched& first = seen_.front().touched[pointer];
    const bool certain = learning_.whole && IsFixed(pointer) && !read_before_write;
    if (certain && first.written.size() <= kMostWrites) {
      for (const Touched::Range& range : first.written) {
        result.writes.push_back({pointer, range.begin, range.end, true});
      }
    } else {
      result.writes.push_back({pointer, hull.begin, hull.end, false});
    }
    return true;
  }

  const Learning& learning_;
  const value::Store& store_;
  const std::size_t count_;
  StoreWatch watch_;
  std::vector<std::byte> parameters_;
  std::vector<Observation> seen_;  // Of all patterns that ran to their end.
};

}  // namespace

std::string Describe(const Footprint& footprint) {
  if (footprint.everything) return "may write anywhere";
  const auto certain = std::ranges::count_if(footprint.writes, &Footprint::Write::is_certain);
  return base::StrCat("writes ", certain, " ranges, perhaps ",
                      static_cast<std::ptrdiff_t>(footprint.writes.size()) - certain,
                      ", anywhere in ", footprint.buffers.size(), " buffers");
}

bool WritesVariables(const Stores& stores) {
  return std::ranges::any_of(stores, &interpret::StoreSite::no_pointer);
}

bool AreBounded(const Stores& stores) {
  return std::ranges::none_of(stores, &interpret::StoreSite::escapes);
}

Footprint CautiousFootprint(const Learning& learning) {
  if (!AreBounded(learning.stores)) return Everything(learning);
  Footprint result;
  const std::uint64_t written = WrittenPointerBits(learning.stores);
  for (std::uint32_t i = 0; i < learning.pointers.list.size(); ++i) {
    if ((written & BitOf(i)) != 0) result.buffers.push_back(i);
  }
  if (WritesVariables(learning.stores)) {
    result.variables.assign(learning.variables.begin(), learning.variables.end());
  }
  return result;
}

namespace {

// Only a whole launch shows what is written for certain, so it comes first, then a sample of its
// blocks, and at last the code alone.
Footprint LearnWays(const Learning& learning, const value::Store& store) {
  const bool may_sample = !learning.launch.cooperative;
  Learning sampled = learning;
  sampled.whole = false;
  const bool try_whole = !may_sample || Learner(sampled, store).MayRunWhole();
  if (learning.whole && try_whole) {
    if (auto footprint = Learner(learning, store).Learn()) return *std::move(footprint);
  }
  if (may_sample) {
    if (auto footprint = Learner(sampled, store).Learn()) return *std::move(footprint);
  }
  return CautiousFootprint(learning);
}

}  // namespace

Footprint LearnFootprint(const Learning& learning, const value::Store& store) {
  if (learning.pointers.list.size() > kMostPointers) return CautiousFootprint(learning);
  const bool vague = std::ranges::any_of(learning.stores, [](const interpret::StoreSite& site) {
    return site.escapes || site.moves || site.depends || MayGoThroughSeveral(site);
  });
  if (!vague) return LearnWays(learning, store);
  const Stores reachable = ReachableStores(learning, store);
  if (!AreBounded(reachable)) return Everything(learning);
  const Learning reached{.program = learning.program,
                         .launch = learning.launch,
                         .pointers = learning.pointers,
                         .stores = reachable,
                         .variables = learning.variables,
                         .whole = learning.whole,
                         .steady = learning.steady,
                         .words_read = learning.words_read,
                         .saw_variables = learning.saw_variables};
  return LearnWays(reached, store);
}

void Apply(const Footprint& footprint, const LaunchPointers& pointers, const Arena& arena,
           value::Store& store) {
  for (const auto& [begin, end] : footprint.variables) store.MakeStale(begin, end);
  if (footprint.everything) return store.MakeStale(0, kModuleBegin);
  std::optional<Arena::Range> last;  // Neighbours are often of one buffer.
  for (const std::uint32_t i : footprint.buffers) {
    CHECK(i < pointers.list.size());
    const std::uint64_t address = pointers.list[i].address;
    if (last && last->first <= address && address < last->second) continue;
    const auto buffer = arena.find_buffer(address);
    // Freed since, so nobody knows any more how long it was.
    if (!buffer) return store.MakeStale(0, kModuleBegin);
    store.MakeStale(buffer->first, buffer->second);
    last = buffer;
  }
  for (const Footprint::Write& write : footprint.writes) {
    CHECK(write.pointer < pointers.list.size());
    const std::uint64_t address = pointers.list[write.pointer].address;
    const std::uint64_t begin = address + static_cast<std::uint64_t>(write.begin);
    const std::uint64_t end = address + static_cast<std::uint64_t>(write.end);
    if (write.is_certain) {
      store.Forget(begin, end - begin);
    } else {
      store.MakeStale(begin, end);
    }
  }
}

bool MayChange(const Footprint& footprint, const LaunchPointers& pointers, const Arena& arena,
               const Arena::Range& range) {
  const auto meets = [&](const Arena::Range& other) {
    return other.first < range.second && range.first < other.second;
  };
  const auto buffer_meets = [&](std::uint32_t pointer) {
    const auto buffer = arena.find_buffer(pointers.list[pointer].address);
    return !buffer || meets(*buffer);
  };
  const auto write_meets = [&](const Footprint::Write& write) {
    const std::uint64_t address = pointers.list[write.pointer].address;
    return meets({address + static_cast<std::uint64_t>(write.begin),
                  address + static_cast<std::uint64_t>(write.end)});
  };
  return footprint.everything || std::ranges::any_of(footprint.variables, meets) ||
         std::ranges::any_of(footprint.buffers, buffer_meets) ||
         std::ranges::any_of(footprint.writes, write_meets);
}

std::vector<std::uint32_t> WrittenPointers(const Stores& stores, std::size_t count) {
  const std::uint64_t bits = WrittenPointerBits(stores);
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < count; ++i) {
    if ((bits & BitOf(i)) != 0) numbers.push_back(i);
  }
  return numbers;
}

bool BarrenBuffers::IsBarren(std::uint64_t address, const Arena& arena, const value::Store& store) {
  Entry& entry = entries_[Slot(address)];
  const std::uint64_t arena_version = arena.version();
  const std::uint64_t known_version = store.known_version();
  if (entry.arena_version != arena_version || address - entry.begin >= entry.size) {
    const auto buffer = arena.find_buffer(address);
    if (!buffer) return false;
    entry = {buffer->first, buffer->second - buffer->first, arena_version, 0};
  }
  if (entry.known_version == known_version) return true;
  if (store.HasKnown(entry.begin, entry.begin + entry.size)) return false;
  entry.known_version = known_version;
  return true;
}

bool HasKnownNear(std::span<const std::uint32_t> written, const LaunchPointers& pointers,
                  const Arena& arena, const value::Store& store, BarrenBuffers& barren) {
  return std::ranges::any_of(written, [&](std::uint32_t i) {
    CHECK(i < pointers.list.size());
    return !barren.IsBarren(pointers.list[i].address, arena, store);
  });
}

}  // namespace eidolon::shim::compute
