#include "shim/compute/launch.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "services/ring/layout.h"
#include "shim/compute/experience.h"
#include "shim/compute/machine_code.h"
#include "shim/compute/page_memory.h"
#include "shim/compute/trace.h"
#include "shim/core/session.h"
#include "shim/value/declared.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

using interpret::Stop;

constexpr std::uint64_t kMostThreads = 1 << 19;
constexpr interpret::Limits kLimits{.warp_steps = 3'000'000};
// Declared vectors that one launch may read.
constexpr int kMostProvided = 8;
// How far behind a pointer an address still counts as of its buffer.
constexpr std::uint64_t kReach = std::uint64_t{1} << 32;

interpret::Workspace& TheWorkspace() {  // Under Pending's lock.
  static auto* const workspace = new interpret::Workspace;
  return *workspace;
}

class RecordedLaunch : public value::Deferred {
 public:
  // One allocation: the parameters follow the object.
  static std::unique_ptr<RecordedLaunch> Make(std::span<const std::byte> parameters) {
    void* const memory = ::operator new(sizeof(RecordedLaunch) + parameters.size());
    auto* const behind = static_cast<std::byte*>(memory) + sizeof(RecordedLaunch);
    std::ranges::copy(parameters, behind);
    return std::unique_ptr<RecordedLaunch>(::new (memory)
                                               RecordedLaunch({behind, parameters.size()}));
  }
  static void operator delete(void* memory) { ::operator delete(memory); }

  void Set(const RecordedKernel& kernel, const RecordedShape& shape, std::uint32_t work,
           const Arena& arena) {
    kernel_ = kernel;
    shape_ = shape;
    work_ = work;
    arena_ = &arena;
  }

  void Perform(value::Store& store) override {
    WorkExperience& experience = ExperienceOf(work_);
    if (experience.kernel == nullptr) Begin(experience, store);
    if (!experience.small || experience.refused || MeetsUnknown(experience, store) ||
        Threads() >= experience.kernel->threads_too_many) {
      return Disturb(experience, store);
    }
    const interpret::Program* program = FindProgram(*experience.kernel);
    if (program == nullptr) {
      experience.refused = true;
      return Disturb(experience, store);
    }
    static auto* const read = new std::vector<std::uint8_t>;  // Under Pending's lock.
    static auto* const stock = new PageStock;                 // The same.
    interpret::Launch launch = Shape();
    launch.words_read = read;
    interpret::Outcome outcome;
    for (int provided = 0; provided <= kMostProvided; ++provided) {
      PageMemory memory(store, *arena_, *stock);
      outcome = interpret::Run(*program, launch, memory, kLimits, TheWorkspace());
      Trace(kernel_.name, outcome);
      if (outcome.stop == Stop::kNone) return memory.Commit(store);
      if (outcome.stop != Stop::kUnknownRead || !Provide(store, outcome.address)) break;
    }
    if (outcome.stop == Stop::kUnknownRead) NoteUnknown(experience, outcome.address, *read);
    if (outcome.stop == Stop::kLimit) {
      experience.refused = true;
      std::uint64_t& most = experience.kernel->threads_too_many;
      most = std::min(most, Threads());
    }
    Disturb(experience, store);
  }

 private:
  explicit RecordedLaunch(std::span<const std::byte> parameters) : parameters_(parameters) {}

  void Begin(WorkExperience& experience, value::Store& store) const {
    experience.kernel = &ExperienceOf(kernel_.name);
    if (experience.kernel->code == nullptr) {
      experience.kernel->code =
          &FindMachineCode(kernel_.image, kernel_.name, kernel_.device, store);
      // PyTorch's topk sorts what it chose, in place.
      experience.kernel->writer = {value::InternAuthor(kernel_.name),
                                   kernel_.name.find("SortKVInPlace") != std::string_view::npos};
    }
    experience.small = IsSmall(shape_);
    experience.places = LaunchPointers(parameters_, *arena_).Places();
    const interpret::Dims& grid = shape_.grid;
    const interpret::Dims& block = shape_.block;
    const ShapeKey key{
        {grid.x, grid.y, grid.z, block.x, block.y, block.z, shape_.dynamic_shared_bytes},
        experience.places};
    experience.shape = &experience.kernel->shapes[key];
  }

  interpret::Launch Shape() const {
    return {.grid = shape_.grid,
            .block = shape_.block,
            .dynamic_shared_bytes = shape_.dynamic_shared_bytes,
            .parameters = parameters_,
            .cooperative = shape_.cooperative};
  }

  std::uint64_t Threads() const { return shape_.grid.volume() * shape_.block.volume(); }

  // Null when the kernel cannot be run.
  const interpret::Program* FindProgram(const KernelExperience& experience) const {
    const MachineCode& code = *experience.code;
    if (code.program == nullptr) {
      Trace(kernel_.name, code.refusal);
    } else if (code.reads_variables && kernel_.variables_set) {
      Trace(kernel_.name, "its variables were set");
    } else {
      return code.program.get();
    }
    return nullptr;
  }

  // True when a place where an earlier launch met an unknown value is unknown again.
  bool MeetsUnknown(WorkExperience& experience, value::Store& store) const {
    const auto& unknown = experience.unknown;
    if (unknown && IsUnknown(store, unknown->AddressIn(parameters_))) return true;
    while (const auto other = FindUnknown(*experience.shape, parameters_, store)) {
      experience.unknown = other;
      if (IsUnknown(store, other->AddressIn(parameters_))) return true;
    }
    return false;
  }

  static bool IsUnknown(value::Store& store, std::uint64_t address) {
    return !store.IsKnown(address, 1) && !Provide(store, address);
  }

  // Puts a declared value there; false: nothing is declared.
  static bool Provide(value::Store& store, std::uint64_t address) {
    return value::ProcessDeclared().Provide(store, address) && store.IsKnown(address, 1);
  }

  // The address as the distance from the closest pointer before it.
  void NoteUnknown(WorkExperience& experience, std::uint64_t address,
                   const std::vector<std::uint8_t>& read) const {
    experience.unknown.reset();
    for (const auto& pointer : LaunchPointers(parameters_, experience.places).list) {
      const std::uint64_t distance = address - pointer.address;
      if (distance >= kReach) continue;
      if (experience.unknown && distance >= experience.unknown->distance) continue;
      experience.unknown = {.pointer = pointer.at, .distance = distance};
    }
    if (!experience.unknown) return;
    RememberUnknown(*experience.shape, Condition(parameters_, read, experience.places),
                    *experience.unknown);
  }

  // The kernel's stores with these pointers; null when nobody can tell.
  const Stores* FindStores(WorkExperience& experience) const {
    // Pointers may have been put into its constants.
    if (kernel_.variables_set && FindProgram(*experience.kernel) == nullptr) return nullptr;
    if (experience.stores != nullptr) return experience.stores;
    const auto [found, added] = experience.kernel->stores.try_emplace(experience.places);
    std::optional<Stores>& stores = found->second;
    if (added) {
      if (const interpret::Program* program = FindProgram(*experience.kernel)) {
        stores = interpret::FindStores(*program, experience.places);
      }
      if (!stores || !AreBounded(*stores)) Trace(kernel_.name, "it may write anywhere");
    }
    if (!stores) return nullptr;
    experience.bounded = AreBounded(*stores);
    return experience.stores = &*stores;
  }

  // Nobody knows what the kernel computes: what it may have written is unknown now.
  void Disturb(WorkExperience& experience, value::Store& store) const {
    const Stores* const stores = FindStores(experience);
    const LaunchPointers pointers(parameters_, experience.places);
    MarkWritten(experience, stores, pointers, store);
    NoteAuthor(experience.bounded ? stores : nullptr, pointers, experience.kernel->writer, store);
  }

  void MarkWritten(WorkExperience& experience, const Stores* stores, const LaunchPointers& pointers,
                   value::Store& store) const {
    const MachineCode& code = *experience.kernel->code;
    if (stores == nullptr || !experience.bounded) {
      for (const auto& [begin, end] : code.variables) store.MakeStale(begin, end);
      return store.MakeStale(0, kModuleBegin);
    }
    if (experience.footprint == nullptr) {
      const bool writes_known =
          WritesVariables(*stores) && std::ranges::any_of(code.variables, [&](const auto& range) {
            return store.HasKnown(range.first, range.second);
          });
      if (!writes_known && !HasKnownNear(*stores, pointers, *arena_, store)) return;
      experience.footprint = FindFootprint(*experience.shape, parameters_);
    }
    if (experience.footprint == nullptr) {
      experience.footprint = AddFootprint(*experience.kernel, *experience.shape,
                                          {.program = *code.program,
                                           .launch = Shape(),
                                           .pointers = pointers,
                                           .stores = *stores,
                                           .variables = code.variables,
                                           .whole = experience.small},
                                          store);
      Trace(kernel_.name, base::StrCat("not run: ", Describe(*experience.footprint)));
    }
    Apply(*experience.footprint, pointers, *arena_, store);
  }

  const std::span<const std::byte> parameters_;
  RecordedKernel kernel_;
  RecordedShape shape_;
  std::uint32_t work_ = 0;
  const Arena* arena_ = nullptr;
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

std::unique_ptr<value::Deferred> KeepParameters(std::span<const std::byte> parameters) {
  return RecordedLaunch::Make(parameters);
}

void Record(const RecordedKernel& kernel, const RecordedShape& shape, std::uint32_t work,
            std::unique_ptr<value::Deferred> kept, const Arena& arena) {
  static_cast<RecordedLaunch&>(*kept).Set(kernel, shape, work, arena);
  value::ProcessPending().Defer(std::move(kept));
}

}  // namespace eidolon::shim::compute
