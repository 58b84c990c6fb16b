// Determines where a kernel writes when its inputs are unknown, or when it is too large to be run.
//
// First its code is looked at (interpret/stores.h): which stores there are, which pointers of the
// launch they go through, and whether values in memory move or decide them. An address that was
// itself read from memory may be anywhere: then everything counts as changed. Where values move a
// store, the whole buffer does.
//
// What is left depends on the launch alone, or on values only for whether it happens. It is learned
// once for all launches of one work, by running the launch on made-up values with every pointer in
// a window of its own: all bytes zero, all words of eight bytes one, all bytes one, all bits one,
// and, for kernels whose blocks count each other, all words what the last block of a row finds.
// A store that values decide counts as bounded by what it did there, and by its whole buffer when
// it did not happen, unless no value kept it from that (interpret/bars.h). Of a launch that is too
// large some blocks are run; others must lie between what its corners write, or the whole buffer
// counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shim/value/compute/launch_pointers.h"
#include "shim/value/compute/learning.h"
#include "shim/value/store.h"

namespace eidolon::shim::compute {

// Changes of a launch, for all launches that differ in pointers only.
struct Footprint {
  // Bytes relative to a pointer of the launch.
  struct Write {
    std::uint32_t pointer;  // Index in the launch's pointers.
    std::int64_t begin;
    std::int64_t end;
    bool is_certain;  // Surely written, and not read before: the old value is gone.
  };
  std::vector<Write> writes;
  std::vector<std::uint32_t> buffers;   // Pointers whose whole buffers may be changed.
  std::vector<Arena::Range> variables;  // Of the kernel's module.
  bool everything = false;              // Memory that no pointer leads to, too.
};

// Describes the footprint for people who look for what became unknown.
std::string Describe(const Footprint& footprint);

// True when every store goes through one of the launch's pointers or to a variable.
bool AreBounded(const Stores& stores);

Footprint LearnFootprint(const Learning& learning, const value::Store& store);

// The same without a look: everything that the stores may reach.
Footprint CautiousFootprint(const Learning& learning);

// Marks in the store what a launch with these pointers changed.
void Apply(const Footprint& footprint, const LaunchPointers& pointers, const Arena& arena,
           value::Store& store);

// True when such a launch may change a byte of the range.
bool MayChange(const Footprint& footprint, const LaunchPointers& pointers, const Arena& arena,
               const Arena::Range& range);

// Returns which of so many pointers the stores may go through.
std::vector<std::uint32_t> WrittenPointers(const Stores& stores, std::size_t count);
bool WritesVariables(const Stores& stores);

// Buffers in which nothing was known, so that the many launches on a large tensor need not ask for
// each of its pointers. Not thread safe.
class BarrenBuffers {
 public:
  // True when nothing is known in the buffer that the address lies in.
  bool IsBarren(std::uint64_t address, const Arena& arena, const value::Store& store);

 private:
  struct Entry {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    std::uint64_t arena_version = 0;  // When these were its bounds,
    std::uint64_t known_version = 0;  // and nothing was known in it.
  };
  static constexpr unsigned kIndexBits = 12;  // A step of a large model has some hundred buffers.

  // Large allocations begin at multiples of 2 MiB, often at distances of a power of two.
  static std::size_t Slot(std::uint64_t address) {
    return ((address >> 21) * 0x9e3779b97f4a7c15u) >> (64 - kIndexBits);
  }

  std::array<Entry, std::size_t{1} << kIndexBits> entries_{};
};

// True when anything is known in buffers that the pointers of these numbers lead to: else there is
// nothing to mark there.
bool HasKnownNear(std::span<const std::uint32_t> written, const LaunchPointers& pointers,
                  const Arena& arena, const value::Store& store, BarrenBuffers& barren);

}  // namespace eidolon::shim::compute
