// Where a kernel writes when what it reads is not known, or when it is too large to be run: learned
// once for all launches of one work by running it (or some of its blocks) on made-up values, with
// every pointer in a window of its own.
//
// Three runs: all bytes zero, all words of eight bytes one, all bytes one. What they write is taken
// for what any values make it write, unless the runs show that values move the writes, that
// pointers come from memory, or that blocks wait for each other: then whole buffers, or everything,
// counts as changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "services/interpret/run.h"
#include "shim/value/store.h"

namespace eidolon::shim::compute {

// Emulated memory as this folder sees it.
struct Arena {
  using Range = std::pair<std::uint64_t, std::uint64_t>;  // [begin, end)
  // True when an address may lie in it.
  bool (*holds)(std::uint64_t address) = nullptr;
  // The live allocation around an address, mapped neighbours included.
  std::optional<Range> (*find_buffer)(std::uint64_t address) = nullptr;
};

// A launch as data: its words that may be pointers are found by their values.
struct LaunchPointers {
  struct Pointer {
    std::uint32_t at;  // Offset in the parameter block.
    std::uint64_t address;
  };
  std::vector<Pointer> list;

  LaunchPointers(std::span<const std::byte> parameters, const Arena& arena);
};

// What a launch changes, for all launches that differ in pointers only.
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

// The most cautious answer for a kernel that nobody can run.
Footprint AllBuffers(const LaunchPointers& pointers);

// `whole`: the launch is small enough for all of its blocks to be run. `launch.parameters` hold the
// pointers. `store`: the module's variables are read from there.
Footprint LearnFootprint(const interpret::Program& program, const interpret::Launch& launch,
                         const LaunchPointers& pointers, bool whole, const value::Store& store);

// Marks in the store what a launch with these pointers changed.
void Apply(const Footprint& footprint, const LaunchPointers& pointers, const Arena& arena,
           value::Store& store);

// True when anything is known in a buffer that one of the pointers leads to: else there is nothing
// to mark.
bool HasKnownNear(const LaunchPointers& pointers, const Arena& arena, const value::Store& store);

}  // namespace eidolon::shim::compute
