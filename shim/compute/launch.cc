#include "shim/compute/launch.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "services/ring/layout.h"
#include "shim/compute/machine_code.h"
#include "shim/compute/page_memory.h"
#include "shim/compute/trace.h"
#include "shim/core/session.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

using interpret::Stop;

constexpr std::uint64_t kMostThreads = 1 << 17;
constexpr interpret::Limits kLimits{.warp_steps = 3'000'000};
// Only to learn where a kernel writes.
constexpr interpret::Limits kLearningLimits{.warp_steps = 300'000};
// How far behind a pointer an address still counts as of its buffer.
constexpr std::uint64_t kReach = std::uint64_t{1} << 32;
constexpr std::size_t kMostFootprint = 64;

// An address as the distance from a pointer among the parameters.
struct Relative {
  std::uint32_t parameter = 0;  // Offset of the pointer in the block.
  std::uint64_t distance = 0;
  std::uint64_t bytes = 0;
};

// What is known of all launches of one work.
struct Experience {
  bool refused = false;
  bool reads_unknown = false;  // `first` was unknown once, and `writes` is what it then wrote.
  bool has_footprint = false;
  Relative first;
  std::vector<Relative> writes;
};

// By work; under Pending's lock.
std::unordered_map<std::uint64_t, Experience>& Experiences() {
  static auto* const experiences = new std::unordered_map<std::uint64_t, Experience>;
  return *experiences;
}

class RecordedLaunch : public value::Deferred {
 public:
  RecordedLaunch(const RecordedKernel& kernel, const RecordedShape& shape, std::uint32_t work,
                 std::vector<std::byte> parameters, IsMemory is_memory)
      : kernel_(kernel),
        shape_(shape),
        work_(work),
        parameters_(std::move(parameters)),
        is_memory_(is_memory) {}

  void Perform(value::Store& store) override {
    if (!IsSmall(shape_)) return Disturb(store);
    Experience& experience = Experiences()[work_];
    if (experience.refused) return Disturb(store);
    if (experience.reads_unknown && !IsKnown(experience.first, store)) {
      return ForgetFootprint(experience, store);
    }
    const MachineCode& code = FindMachineCode(kernel_.image, kernel_.name, store);
    if (code.program == nullptr || (code.reads_variables && kernel_.variables_set)) {
      experience.refused = true;
      Trace(kernel_.name, code.program == nullptr ? code.refusal : "its variables were set");
      return Disturb(store);
    }
    PageMemory memory(store, is_memory_, false);
    const interpret::Outcome outcome = interpret::Run(*code.program, Shape(), memory, kLimits);
    Trace(kernel_.name, outcome);
    switch (outcome.stop) {
      case Stop::kNone:
        memory.Commit(store);
        return;
      case Stop::kUnknownRead:
        Learn(experience, *code.program, outcome.address, store);
        return ForgetFootprint(experience, store);
      case Stop::kLimit:
        experience.refused = true;
        return Disturb(store);
      default:
        return Disturb(store);
    }
  }

 private:
  interpret::Launch Shape() const {
    return {.grid = shape_.grid,
            .block = shape_.block,
            .dynamic_shared_bytes = shape_.dynamic_shared_bytes,
            .parameters = parameters_,
            .cooperative = shape_.cooperative};
  }

  std::uint64_t Word(std::size_t at) const {
    std::uint64_t word;
    std::memcpy(&word, parameters_.data() + at, 8);
    return word;
  }

  template <typename Body>
  void ForEachPointer(Body&& body) const {
    for (std::size_t at = 0; at + 8 <= parameters_.size(); at += 8) {
      const std::uint64_t word = Word(at);
      if (is_memory_(word)) body(static_cast<std::uint32_t>(at), word);
    }
  }

  // Nobody knows what the kernel did: all buffers it could reach may have changed.
  void Disturb(value::Store& store) const {
    ForEachPointer([&](std::uint32_t, std::uint64_t pointer) { store.NoteKernelPointer(pointer); });
  }

  // The closest pointer before an address.
  bool FindRelative(std::uint64_t address, Relative* result) const {
    bool found = false;
    ForEachPointer([&](std::uint32_t at, std::uint64_t pointer) {
      const std::uint64_t distance = address - pointer;
      if (distance >= kReach || (found && distance >= result->distance)) return;
      *result = {.parameter = at, .distance = distance};
      found = true;
    });
    return found;
  }

  bool IsKnown(const Relative& place, const value::Store& store) const {
    if (place.parameter + 8 > parameters_.size()) return true;
    return store.IsKnown(Word(place.parameter) + place.distance, 1);
  }

  // Runs the kernel on zeros to see where it writes.
  void Learn(Experience& experience, const interpret::Program& program, std::uint64_t address,
             value::Store& store) const {
    experience.reads_unknown = FindRelative(address, &experience.first);
    experience.has_footprint = false;
    experience.writes.clear();
    PageMemory memory(store, is_memory_, true);
    const interpret::Outcome outcome = interpret::Run(program, Shape(), memory, kLearningLimits);
    if (outcome.stop != Stop::kNone) return;
    for (const auto& [begin, end] : memory.Written()) {
      Relative write;
      if (!FindRelative(begin, &write)) return;
      write.bytes = end - begin;
      Relative* last = experience.writes.empty() ? nullptr : &experience.writes.back();
      if (last != nullptr && last->parameter == write.parameter &&
          last->distance + last->bytes == write.distance) {
        last->bytes += write.bytes;
      } else if (experience.writes.size() == kMostFootprint) {
        return;
      } else {
        experience.writes.push_back(write);
      }
    }
    experience.has_footprint = true;
  }

  // Where unknown values decide the addresses, the footprint is not the whole truth: buffers that
  // it touches count as changed from their beginning.
  void ForgetFootprint(const Experience& experience, value::Store& store) const {
    if (!experience.has_footprint) return Disturb(store);
    for (const Relative& write : experience.writes) {
      if (write.parameter + 8 > parameters_.size()) continue;
      const std::uint64_t pointer = Word(write.parameter);
      store.NoteKernelPointer(pointer);
      store.Forget(pointer + write.distance, write.bytes);
    }
  }

  const RecordedKernel kernel_;
  const RecordedShape shape_;
  const std::uint32_t work_;
  const std::vector<std::byte> parameters_;
  const IsMemory is_memory_;
};

}  // namespace

bool IsOn() noexcept {
  const core::Session* session = core::Session::Existing();
  return session != nullptr && (session->header().unknown_reads & ring::kComputeValues) != 0;
}

bool IsSmall(const RecordedShape& shape) noexcept {
  return shape.grid.volume() * shape.block.volume() <= kMostThreads;
}

void Record(const RecordedKernel& kernel, const RecordedShape& shape, std::uint32_t work,
            std::vector<std::byte> parameters, IsMemory is_memory) {
  value::ProcessPending().Defer(
      std::make_unique<RecordedLaunch>(kernel, shape, work, std::move(parameters), is_memory));
}

}  // namespace eidolon::shim::compute
