// Stores what launches show about later ones: which of their inputs were unknown, and what they
// change.
//
// A memo holds for launches of the same kernel and shape whose parameters agree in the words that
// were read when it was learned. Blocks of parameters hold bytes that no instruction looks at,
// stack garbage among them, and scalars that change from step to step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/value/compute/condition.h"
#include "shim/value/compute/footprint.h"
#include "shim/value/compute/kept_footprints.h"
#include "shim/value/compute/machine_code.h"
#include "shim/value/compute/plausible_results.h"
#include "shim/value/compute/writer.h"

namespace eidolon::shim::compute {

// A place that a launch found unknown: behind one of its pointers.
struct UnknownInput {
  std::uint32_t pointer = 0;  // Its place in the parameter block.
  std::uint64_t distance = 0;

  // Returns the address behind a launch's pointer; 0 when it has none there.
  std::uint64_t AddressIn(const LaunchPointers& pointers) const;
  bool operator==(const UnknownInput&) const = default;
};

// State of launches of one kernel, shape and set of pointers.
struct ShapeExperience {
  std::size_t pointers = 0;            // How many.
  const Stores* stores = nullptr;      // Null: not sought yet, or not to be had.
  bool bounded = false;                // They are; once there are any.
  bool writes_variables = false;       // They do, of the kernel's module.
  std::vector<std::uint32_t> written;  // Pointers that the stores may go through, by number.
  std::vector<std::pair<Condition, UnknownInput>> unknown_inputs;
  interpret::IdleWarps idle;
  std::deque<std::pair<Condition, Footprint>> footprints;  // Stay where they are.
  // Footprints that other processes learned; nothing: not searched for yet.
  std::optional<std::vector<KeptFootprint>> kept;
  bool yields_in_part = false;       // The last run on unknown inputs (tracked_launch.h) did.
  std::uint32_t fruitless_runs = 0;  // Of these since one that did.
};

struct ShapeKey {
  std::array<std::uint32_t, 7> dims{};  // Grid, block, dynamic shared memory.
  std::vector<std::uint32_t> places;    // Of pointers.
  auto operator<=>(const ShapeKey&) const = default;
};

// State of all launches of one kernel.
struct KernelExperience {
  const MachineCode* code = nullptr;  // Null until somebody asked.
  Writer writer;                      // Who its results are by.
  // The fewest threads with which a launch went on for too long.
  std::uint64_t threads_too_many = ~std::uint64_t{0};
  // Stores by the places of pointers among its parameters; nothing when its code cannot be read.
  std::map<std::vector<std::uint32_t>, std::optional<Stores>> stores;
  std::map<ShapeKey, ShapeExperience> shapes;
  std::optional<std::vector<std::uint32_t>> steady;  // Branches; nothing: not sought yet.
  std::uint32_t footprints = 0;                      // That were learned.
  PlausibleKind plausible = PlausibleKind::kNone;
  std::uint32_t fruitless_runs = 0;  // On unknown inputs, since one that left something known.
  bool may_read_memory = false;      // Global memory: its launches are not put off any more.
  // Places of pointers that it does not write through; nothing: not asked yet.
  std::optional<std::vector<std::uint32_t>> read_only;
};

// State of one work: launches that differ in pointers and numbers only (launch.h).
struct WorkExperience {
  bool small = false;    // Few threads.
  bool refused = false;  // Not to be run any more.
  const ShownVariables* shown = nullptr;
  KernelExperience* kernel = nullptr;
  ShapeExperience* shape = nullptr;
  const Footprint* footprint = nullptr;  // Null: not learned yet.
  std::optional<UnknownInput> unknown;   // Where a value was missing last.
};

// Whoever calls holds the lock of value::Pending.
// The name stays where it is; with other variables it is another kernel.
KernelExperience& ExperienceOf(std::string_view kernel, const ShownVariables* shown);
// Empty the first time: kernel is null.
WorkExperience& ExperienceOf(std::uint32_t work);

// Returns where an unknown input of such a launch is unknown again, if anywhere. Pointers among
// `parameters` may be blanked, here and below: conditions look at their lowest bytes only.
std::optional<UnknownInput> FindUnknown(const ShapeExperience& shape,
                                        std::span<const std::byte> parameters,
                                        const LaunchPointers& pointers, const value::Store& store);
void RememberUnknown(ShapeExperience& shape, Condition condition, const UnknownInput& input);

// A footprint that was learned from such a launch; null when there is none.
const Footprint* FindFootprint(const ShapeExperience& shape, std::span<const std::byte> parameters);
// Takes what another process has learned, or learns one, or, when the kernel taught enough or
// cannot be run, takes all that it may write. `learning.words_read` is not used.
const Footprint* AddFootprint(KernelExperience& kernel, ShapeExperience& shape, Learning learning,
                              const value::Store& store, const KeptFootprints& kept);

// Footprints that are learned of one kernel: each takes milliseconds, and steps whose shapes or
// scalars never come again would pay for one each time.
inline constexpr std::uint32_t kMostFootprints = 128;

}  // namespace eidolon::shim::compute
