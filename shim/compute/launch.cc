#include "shim/compute/launch.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "services/ring/layout.h"
#include "shim/compute/machine_code.h"
#include "shim/compute/page_memory.h"
#include "shim/compute/trace.h"
#include "shim/core/session.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

using interpret::Stop;

constexpr std::uint64_t kMostThreads = 1 << 19;
constexpr interpret::Limits kLimits{.warp_steps = 3'000'000};
// How far behind a pointer an address still counts as of its buffer.
constexpr std::uint64_t kReach = std::uint64_t{1} << 32;

// What is known of all launches of one work.
struct Experience {
  bool refused = false;  // Not to be run any more.
  // Where an unknown value was met first: an offset behind a parameter that is a pointer.
  std::optional<std::pair<std::uint32_t, std::uint64_t>> unknown;
  std::optional<Footprint> footprint;
};

// What is known of all launches of one kernel.
struct KernelExperience {
  std::uint64_t threads_too_many =
      ~std::uint64_t{0};  // The fewest with which a launch went on for too long.
  // By the places of pointers among its parameters; nothing when its code cannot be read.
  std::map<std::vector<std::uint32_t>, std::optional<Stores>> stores;
};

// By the kernel's name, which stays where it is; under Pending's lock.
KernelExperience& ExperienceOf(std::string_view kernel) {
  static auto* const experiences = new std::unordered_map<const char*, KernelExperience>;
  return (*experiences)[kernel.data()];
}

// By work; under Pending's lock.
std::unordered_map<std::uint64_t, Experience>& Experiences() {
  static auto* const experiences = new std::unordered_map<std::uint64_t, Experience>;
  return *experiences;
}

interpret::Workspace& TheWorkspace() {  // Under Pending's lock.
  static auto* const workspace = new interpret::Workspace;
  return *workspace;
}

class RecordedLaunch : public value::Deferred {
 public:
  RecordedLaunch(const RecordedKernel& kernel, const RecordedShape& shape, std::uint32_t work,
                 std::vector<std::byte> parameters, const Arena& arena)
      : kernel_(kernel),
        shape_(shape),
        work_(work),
        parameters_(std::move(parameters)),
        arena_(arena) {}

  void Perform(value::Store& store) override {
    Experience& experience = Experiences()[work_];
    if (!IsSmall(shape_) || experience.refused || MeetsUnknown(experience, store) ||
        Threads() >= ExperienceOf(kernel_.name).threads_too_many) {
      return Disturb(experience, store);
    }
    const interpret::Program* program = FindProgram(store);
    if (program == nullptr) {
      experience.refused = true;
      return Disturb(experience, store);
    }
    PageMemory memory(store, arena_);
    const interpret::Outcome outcome =
        interpret::Run(*program, Shape(), memory, kLimits, TheWorkspace());
    Trace(kernel_.name, outcome);
    if (outcome.stop == Stop::kNone) return memory.Commit(store);
    if (outcome.stop == Stop::kUnknownRead) RememberUnknown(experience, outcome.address);
    if (outcome.stop == Stop::kLimit) {
      experience.refused = true;
      std::uint64_t& most = ExperienceOf(kernel_.name).threads_too_many;
      most = std::min(most, Threads());
    }
    Disturb(experience, store);
  }

 private:
  interpret::Launch Shape() const {
    return {.grid = shape_.grid,
            .block = shape_.block,
            .dynamic_shared_bytes = shape_.dynamic_shared_bytes,
            .parameters = parameters_,
            .cooperative = shape_.cooperative};
  }

  std::uint64_t Threads() const { return shape_.grid.volume() * shape_.block.volume(); }

  // Null when the kernel cannot be run.
  const interpret::Program* FindProgram(value::Store& store) const {
    const MachineCode& code = FindMachineCode(kernel_.image, kernel_.name, store);
    if (code.program == nullptr) {
      Trace(kernel_.name, code.refusal);
    } else if (code.reads_variables && kernel_.variables_set) {
      Trace(kernel_.name, "its variables were set");
    } else {
      return code.program.get();
    }
    return nullptr;
  }

  // True when the place where an earlier launch met an unknown value is unknown again.
  bool MeetsUnknown(const Experience& experience, const value::Store& store) const {
    if (!experience.unknown || experience.unknown->first + 8 > parameters_.size()) return false;
    std::uint64_t pointer;
    std::memcpy(&pointer, parameters_.data() + experience.unknown->first, 8);
    return !store.IsKnown(pointer + experience.unknown->second, 1);
  }

  // The address as the distance from the closest pointer before it.
  void RememberUnknown(Experience& experience, std::uint64_t address) const {
    experience.unknown.reset();
    for (const LaunchPointers::Pointer& pointer : LaunchPointers(parameters_, arena_).list) {
      const std::uint64_t distance = address - pointer.address;
      if (distance >= kReach) continue;
      if (experience.unknown && distance >= experience.unknown->second) continue;
      experience.unknown.emplace(pointer.at, distance);
    }
  }

  // The kernel's stores with these pointers; null when nobody can tell.
  const Stores* FindStores(const LaunchPointers& pointers, value::Store& store) const {
    // Pointers may have been put into its constants.
    if (kernel_.variables_set && FindProgram(store) == nullptr) return nullptr;
    KernelExperience& kernel = ExperienceOf(kernel_.name);
    std::vector<std::uint32_t> places = pointers.Places();
    const auto found = kernel.stores.find(places);
    if (found != kernel.stores.end()) return found->second ? &*found->second : nullptr;
    std::optional<Stores>& stores = kernel.stores[places];
    if (const interpret::Program* program = FindProgram(store)) {
      stores = interpret::FindStores(*program, places);
    }
    if (!stores || !AreBounded(*stores)) Trace(kernel_.name, "it may write anywhere");
    return stores ? &*stores : nullptr;
  }

  // Nobody knows what the kernel computes: what it may have written is unknown now.
  void Disturb(Experience& experience, value::Store& store) const {
    const LaunchPointers pointers(parameters_, arena_);
    const Stores* const stores = FindStores(pointers, store);
    const MachineCode& code = FindMachineCode(kernel_.image, kernel_.name, store);
    if (stores == nullptr || !AreBounded(*stores)) {
      for (const auto& [begin, end] : code.variables) store.MakeStale(begin, end);
      return store.MakeStale(0, kModuleBegin);
    }
    const bool writes_known =
        WritesVariables(*stores) && std::ranges::any_of(code.variables, [&](const auto& range) {
          return store.HasKnown(range.first, range.second);
        });
    if (!writes_known && !HasKnownNear(*stores, pointers, arena_, store)) return;
    if (!experience.footprint) {
      experience.footprint = LearnFootprint({.program = *code.program,
                                             .launch = Shape(),
                                             .pointers = pointers,
                                             .stores = *stores,
                                             .variables = code.variables,
                                             .whole = IsSmall(shape_)},
                                            store);
      Trace(kernel_.name, base::StrCat("not run: ", Describe(*experience.footprint)));
    }
    Apply(*experience.footprint, pointers, arena_, store);
  }

  const RecordedKernel kernel_;
  const RecordedShape shape_;
  const std::uint32_t work_;
  const std::vector<std::byte> parameters_;
  const Arena& arena_;
};

}  // namespace

bool IsOn() noexcept {
  const core::Session* session = core::Session::Existing();
  return session != nullptr && (session->header().unknown_reads & ring::kComputeValues) != 0;
}

bool IsSmall(const RecordedShape& shape) noexcept {
  // One by one: their product may be more than fits.
  std::uint64_t threads = 1;
  for (const interpret::Dims& dims : {shape.grid, shape.block}) {
    for (const std::uint32_t size : {dims.x, dims.y, dims.z}) {
      threads *= size;
      if (threads > kMostThreads) return false;
    }
  }
  return true;
}

void Record(const RecordedKernel& kernel, const RecordedShape& shape, std::uint32_t work,
            std::vector<std::byte> parameters, const Arena& arena) {
  value::ProcessPending().Defer(
      std::make_unique<RecordedLaunch>(kernel, shape, work, std::move(parameters), arena));
}

}  // namespace eidolon::shim::compute
