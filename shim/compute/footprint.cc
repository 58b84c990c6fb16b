#include "shim/compute/footprint.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>

#include "services/base/check.h"
#include "shim/compute/machine_code.h"
#include "shim/compute/page_bits.h"

namespace eidolon::shim::compute {
namespace {

using interpret::kPageBytes;
using interpret::Page;
using interpret::Stop;

// Windows of made-up addresses, one for each pointer; the pointer is in the middle of its own.
constexpr unsigned kWindowBits = 36;
constexpr std::size_t kMostPointers = 1000;
constexpr std::uint64_t kMiddle = std::uint64_t{1} << (kWindowBits - 1);
constexpr std::uint64_t kKeptLowBits = kPageBytes - 1;  // Kernels ask how pointers are aligned.
constexpr std::size_t kMostPages = 8192;
constexpr std::size_t kMostWrites = 64;
constexpr interpret::Limits kLimits{.warp_steps = 100'000};

std::uint64_t WindowBase(std::size_t pointer) {
  return ((std::uint64_t{pointer} + 1) << kWindowBits) + kMiddle;
}

// Memory that holds made-up values wherever a kernel looks.
class MadeUpMemory : public interpret::Memory {
 public:
  // `pattern`: eight bytes that repeat.
  MadeUpMemory(const value::Store& store, std::uint64_t pattern)
      : store_(store), pattern_(pattern) {}

  Page* FindPage(std::uint64_t number) override {
    std::unique_ptr<Page>& page = pages_[number];
    if (page != nullptr) return page.get();
    if (pages_.size() > kMostPages) return nullptr;
    page = std::make_unique_for_overwrite<Page>();
    const std::uint64_t address = number * kPageBytes;
    if (address >= kModuleBegin && address < kModuleEnd) {
      store_.ReadPage(number, page->bytes.data(), page->known);
    } else {
      for (std::size_t i = 0; i < kPageBytes; i += 8) {
        std::memcpy(page->bytes.data() + i, &pattern_, 8);
      }
    }
    page->known.fill(~std::uint64_t{0});
    page->read = {};
    page->written = {};
    return page.get();
  }

  // Calls body(page address, page) in order of addresses.
  template <typename Body>
  void ForEachPage(Body&& body) const {
    for (const auto& [number, page] : pages_) {
      if (page != nullptr) body(number * kPageBytes, *page);
    }
  }

 private:
  const value::Store& store_;
  const std::uint64_t pattern_;
  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

// What one run did behind one pointer.
struct Touched {
  struct Range {
    std::int64_t begin;
    std::int64_t end;
    bool operator==(const Range&) const = default;
  };
  std::vector<Range> written;
  bool read = false;
  bool read_before_write = false;

  Range Hull() const {
    return written.empty() ? Range{0, 0} : Range{written.front().begin, written.back().end};
  }
  bool operator==(const Touched& other) const { return written == other.written; }
};

struct Observation {
  bool complete = false;
  bool strays = false;  // Wrote where no pointer leads.
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
                    std::size_t pointers, const value::Store& store, std::uint64_t pattern) {
  MadeUpMemory memory(store, pattern);
  const interpret::Outcome outcome = interpret::Run(program, launch, memory, kLimits);
  Observation result;
  result.complete = outcome.stop == Stop::kNone;
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
      touched->read = touched->read || page.read[i] != 0;
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

// The blocks at the corners and some between them.
std::vector<std::uint64_t> SampleBlocks(const interpret::Dims& grid) {
  std::vector<std::uint64_t> blocks;
  const auto index = [&](std::uint64_t x, std::uint64_t y, std::uint64_t z) {
    return (z * grid.y + y) * grid.x + x;
  };
  for (const std::uint64_t z : {0u, grid.z - 1}) {
    for (const std::uint64_t y : {0u, grid.y - 1}) {
      for (const std::uint64_t x : {0u, grid.x / 3, grid.x - 1}) blocks.push_back(index(x, y, z));
    }
  }
  blocks.push_back(index(grid.x / 2, grid.y / 2, grid.z / 2));
  std::ranges::sort(blocks);
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

bool WaitsForOthers(const interpret::Program& program) {
  return std::ranges::any_of(program.steps, [](const interpret::Step& step) {
    return step.operation == sass::Operation::kAtom ||
           step.operation == sass::Operation::kAtomCas ||
           step.operation == sass::Operation::kAtomFloat;
  });
}

// What three observations say of one pointer; `third` may be unfinished.
void Conclude(std::uint32_t pointer, std::span<const Observation, 3> seen, bool whole,
              Footprint& result) {
  const Touched& zeros = seen[0].touched[pointer];
  const Touched& ones = seen[1].touched[pointer];
  const Touched& bytes = seen[2].complete ? seen[2].touched[pointer] : zeros;
  const bool same = zeros == ones && zeros == bytes;
  const bool nested = AreNested(zeros.Hull(), ones.Hull()) &&
                      AreNested(zeros.Hull(), bytes.Hull()) && AreNested(ones.Hull(), bytes.Hull());
  if (!nested || (!seen[2].complete && !same)) {
    result.buffers.push_back(pointer);
    return;
  }
  if (same && zeros.written.empty()) {
    // A block that was not looked at may do more with a pointer that no other block uses.
    if (!whole && !zeros.read) result.buffers.push_back(pointer);
    return;
  }
  const bool certain = same && whole && !zeros.read_before_write;
  if (certain && zeros.written.size() <= kMostWrites) {
    for (const Touched::Range& range : zeros.written) {
      result.writes.push_back({pointer, range.begin, range.end, true});
    }
    return;
  }
  Touched::Range hull{0, 0};
  for (const Touched* touched : {&zeros, &ones, &bytes}) {
    const Touched::Range one = touched->Hull();
    if (one.begin == one.end) continue;
    if (hull.begin == hull.end) hull = one;
    hull = {std::min(hull.begin, one.begin), std::max(hull.end, one.end)};
  }
  result.writes.push_back({pointer, hull.begin, hull.end, false});
}

}  // namespace

LaunchPointers::LaunchPointers(std::span<const std::byte> parameters, const Arena& arena) {
  for (std::uint32_t at = 0; at + 8 <= parameters.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, parameters.data() + at, 8);
    if (arena.holds(word)) list.push_back({at, word});
  }
}

Footprint AllBuffers(const LaunchPointers& pointers) {
  Footprint result;
  for (std::uint32_t i = 0; i < pointers.list.size(); ++i) result.buffers.push_back(i);
  return result;
}

Footprint LearnFootprint(const interpret::Program& program, const interpret::Launch& launch,
                         const LaunchPointers& pointers, bool whole, const value::Store& store) {
  const std::size_t count = pointers.list.size();
  if (count > kMostPointers || (!whole && (launch.cooperative || WaitsForOthers(program)))) {
    return AllBuffers(pointers);
  }
  std::vector<std::byte> parameters(launch.parameters.begin(), launch.parameters.end());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t made_up = WindowBase(i) | (pointers.list[i].address & kKeptLowBits);
    std::memcpy(parameters.data() + pointers.list[i].at, &made_up, 8);
  }
  interpret::Launch moved = launch;
  moved.parameters = parameters;
  const std::vector<std::uint64_t> blocks = SampleBlocks(launch.grid);
  if (!whole) moved.blocks = blocks;

  static constexpr std::array<std::uint64_t, 3> kPatterns = {0, 1, 0x0101010101010101};
  std::array<Observation, 3> seen;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    seen[i] = Observe(program, moved, count, store, kPatterns[i]);
    if (i == 0 && seen[0].strays) return {.everything = true};
    if (i < 2 && !seen[i].complete) return AllBuffers(pointers);
    for (std::size_t j = 0; j < count; ++j) {
      // Relative to the pointer itself, not to its window's page.
      const auto low = static_cast<std::int64_t>(pointers.list[j].address & kKeptLowBits);
      for (Touched::Range& range : seen[i].touched[j].written) {
        range.begin -= low;
        range.end -= low;
      }
    }
  }
  if (seen[1].strays) return {.everything = true};
  if (seen[2].strays) return AllBuffers(pointers);
  Footprint result;
  for (const Observation& one : seen) {
    result.variables.insert(result.variables.end(), one.variables.begin(), one.variables.end());
  }
  for (std::uint32_t i = 0; i < count; ++i) Conclude(i, seen, whole, result);
  return result;
}

void Apply(const Footprint& footprint, const LaunchPointers& pointers, const Arena& arena,
           value::Store& store) {
  if (footprint.everything) return store.MakeStale(0, kModuleBegin);
  for (const auto& [begin, end] : footprint.variables) store.MakeStale(begin, end);
  for (const std::uint32_t i : footprint.buffers) {
    CHECK(i < pointers.list.size());
    const auto buffer = arena.find_buffer(pointers.list[i].address);
    // Freed since, so nobody knows any more how long it was.
    if (!buffer) return store.MakeStale(0, kModuleBegin);
    store.MakeStale(buffer->first, buffer->second);
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

bool HasKnownNear(const LaunchPointers& pointers, const Arena& arena, const value::Store& store) {
  return std::ranges::any_of(pointers.list, [&](const LaunchPointers::Pointer& pointer) {
    const auto buffer = arena.find_buffer(pointer.address);
    return !buffer || store.HasKnown(buffer->first, buffer->second);
  });
}

}  // namespace eidolon::shim::compute
