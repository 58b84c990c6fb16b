// A launch goes through ever dearer questions until one settles it: is it too large, was an input
// that is known to be missing missing again, did an equal launch read equal bytes before, can its
// results wait, and only then is it interpreted. A run has no effect until it has come to its end
// (PageMemory), so a launch that fails in the middle is as if it had not been tried, and everything
// that it may have written becomes unknown instead, but for what a second run (tracked_launch.h)
// shows not to depend on unknown bytes. Foresee and MayChange predict Perform: they may be vague,
// but Foresee must not deny that bytes may become known (of second runs: once one had any), and
// MayChange must not deny a change. Statics of member functions are used under Pending's lock only.
#include "shim/value/compute/launch.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/contract/ring/layout.h"
#include "shim/core/session.h"
#include "shim/value/compute/experience.h"
#include "shim/value/compute/kept_footprints.h"
#include "shim/value/compute/known_results.h"
#include "shim/value/compute/machine_code.h"
#include "shim/value/compute/page_memory.h"
#include "shim/value/compute/piece_pool.h"
#include "shim/value/compute/read_only_parameters.h"
#include "shim/value/compute/trace.h"
#include "shim/value/compute/tracked_launch.h"
#include "shim/value/compute/unread_launch.h"
#include "shim/value/pending.h"
#include "shim/value/plausible.h"

namespace eidolon::shim::compute {
namespace {

using interpret::Stop;

constexpr interpret::Limits kLaunchLimits{.warp_steps = 3'000'000,
                                          .foretold_warp_steps = 24'000'000};
// Of kernels that join tensors, up to 128 of them: nearly all of their warps find nothing to do.
constexpr interpret::Limits kJoinLimits{.warp_steps = 24'000'000};
// Declared vectors that one launch may read.
constexpr int kMostProvided = 8;
// An address this far behind a pointer still counts as part of its buffer.
constexpr std::uint64_t kReach = std::uint64_t{1} << 32;

interpret::Workspace& TheWorkspace() {  // Under Pending's lock.
  static auto* const workspace = new interpret::Workspace;
  return *workspace;
}

PiecePool& ThePieces() {
  static auto* const pool = new PiecePool;
  return *pool;
}

class RecordedLaunch : public value::Deferred {
 public:
  // One piece of memory: pointers and numbers follow the object, then the block when it is copied.
  static std::unique_ptr<RecordedLaunch> Make(const RecordedKernel& kernel,
                                              const RecordedShape& shape, std::uint32_t work,
                                              const RecordedParameters& parameters,
                                              const Arena& arena) {
    const auto& [block, pointers, numbers, block_stays] = parameters;
    const std::size_t copied = block_stays ? 0 : block.size();
    void* const memory = ThePieces().Take(sizeof(RecordedLaunch) + pointers.size_bytes() +
                                          numbers.size_bytes() + copied);
    auto* behind = static_cast<std::byte*>(memory) + sizeof(RecordedLaunch);
    RecordedParameters kept = parameters;
    kept.pointers = Put(pointers, behind);
    kept.numbers = Put(numbers, behind);
    if (!block_stays) kept.block = Put(block, behind);
    return std::unique_ptr<RecordedLaunch>(::new (memory)
                                               RecordedLaunch(kernel, shape, work, kept, arena));
  }
  static void operator delete(void* memory) { ThePieces().Give(memory); }

  void Perform(value::Store& store) override {
    WorkExperience& experience = FindExperience(store);
    if (Compute(experience, store)) return;
    Disturb(experience, store);
    NotePlausible(experience);
  }

  // Predicts by the kernel's stores and by what earlier launches of the shape showed.
  value::Lookahead Foresee(value::Store& store, std::uint64_t address, std::size_t size,
                           const Before& before) override {
    using value::Lookahead;
    WorkExperience& experience = FindExperience(store);
    const bool may_leave_a_guess = experience.kernel->plausible != PlausibleKind::kNone;
    const bool leads_there = std::ranges::any_of(
        pointers_.list, [&](const PointerWord& pointer) { return pointer.address == address; });
    if (may_leave_a_guess && leads_there) return Lookahead::kMay;
    const bool may_be_small = IsToBeTried(experience);
    if (!may_be_small && !leads_there) return Lookahead::kNothing;
    const Footprint* const footprint = FootprintOf(experience, store);
    const bool is_open = footprint == nullptr || footprint->everything;
    if (!is_open && !compute::MayChange(*footprint, pointers_, arena_, {address, address + size})) {
      return Lookahead::kNothing;
    }
    const bool may_be_known = MayMeetKnown(experience, before) || experience.shape->yields_in_part;
    if (may_be_small && may_be_known) return Lookahead::kMay;
    return is_open ? Lookahead::kNothing : Lookahead::kUnknown;
  }

  bool MayChange(value::Store& store, std::uint64_t address, std::size_t size) override {
    WorkExperience& experience = FindExperience(store);
    const Footprint* const footprint = FootprintOf(experience, store);
    return footprint == nullptr ||
           compute::MayChange(*footprint, pointers_, arena_, {address, address + size});
  }

 private:
  // False: it is too large, or cannot be run.
  bool IsToBeTried(const WorkExperience& experience) const {
    return experience.small && !experience.refused &&
           Threads() < experience.kernel->threads_too_many;
  }

  // False: what was unknown to an earlier launch surely is again.
  bool MayMeetKnown(const WorkExperience& experience, const Before& before) const {
    if (!experience.unknown) return true;
    const std::uint64_t input = experience.unknown->AddressIn(pointers_);
    return input == 0 || before(input, 1);
  }

  // True when it was run, and the store holds what it wrote.
  bool Compute(WorkExperience& experience, value::Store& store) {
    if (!IsToBeTried(experience)) return false;
    if (MeetsUnknown(experience, store)) return ComputeInPart(experience, store);
    const interpret::Program* program = FindProgram(*experience.kernel);
    if (program == nullptr) {
      experience.refused = true;
      return false;
    }
    static auto* const read = new std::vector<std::uint8_t>;  // Under Pending's lock.
    static auto* const stock = new PageStock;                 // The same.
    static auto* const results = new KnownResults;            // The same.
    interpret::Launch launch = WholeLaunch();
    // What was learned of a launch holds for others with the same parameters and constants.
    const bool learns = experience.kernel->code->constants.empty();
    if (!learns && !SetConstants(*experience.kernel->code, store)) return false;
    if (learns && results->Repeat(*program, launch, store)) return true;
    if (learns && IsPutOff(experience, *program, launch, store)) return true;
    launch.words_read = read;
    if (learns) launch.idle = &experience.shape->idle;
    interpret::Outcome outcome;
    for (int provided = 0; provided <= kMostProvided; ++provided) {
      PageMemory memory(store, arena_, *stock);
      const interpret::Limits& limits = kernel_.joins_tensors ? kJoinLimits : kLaunchLimits;
      outcome = interpret::Run(*program, launch, memory, limits, TheWorkspace());
      Trace(kernel_.name, outcome);
      if (outcome.stop == Stop::kNone) {
        if (learns && provided == 0 && outcome.lane_steps >= KnownResults::kFewestLaneSteps) {
          results->Note(*program, launch, memory, store);
        }
        memory.Commit(store);
        return true;
      }
      if (outcome.stop != Stop::kUnknownRead || !Provide(store, outcome.address)) break;
    }
    if (outcome.stop == Stop::kUnknownRead) {
      NoteUnknown(experience, outcome.address, *read);
      return ComputeInPart(experience, store);
    }
    if (outcome.stop == Stop::kLimit) {
      experience.refused = true;
      std::uint64_t& most = experience.kernel->threads_too_many;
      most = std::min(most, Threads());
    }
    return false;
  }

  // Runs it though it reads an unknown byte. True when some of what it wrote is known now.
  bool ComputeInPart(WorkExperience& experience, value::Store& store) {
    KernelExperience& kernel = *experience.kernel;
    const std::uint64_t threads = kernel_.joins_tensors ? 0 : Threads();
    if (!IsWorthTracking(kernel, *experience.shape, threads, pointers_, store)) return false;
    const interpret::Program* const program = FindProgram(kernel);
    if (kernel_.writes_its_buffers_only || program == nullptr) return false;
    if (!SetConstants(*kernel.code, store)) return false;
    const auto unknown =
        RunInPart(*program, WholeLaunch(), {kernel_.name, kernel_.joins_tensors}, arena_, store);
    NoteTracked(unknown.has_value(), kernel, *experience.shape);
    if (!unknown) return false;
    NoteAuthor(NamedPointers(experience, FindStores(experience)), pointers_, kernel.writer, store,
               &*unknown);
    return true;
  }

  bool IsPutOff(WorkExperience& experience, const interpret::Program& program,
                const interpret::Launch& launch, value::Store& store) const {
    if (kernel_.joins_tensors || experience.kernel->may_read_memory) return false;
    const Stores* const stores = FindStores(experience);
    if (stores == nullptr || experience.shape->pointers != pointers_.list.size()) return false;
    return PutOff({.program = program,
                   .launch = launch,
                   .pointers = pointers_,
                   .stores = *stores,
                   .variables = experience.kernel->code->variables},
                  kernel_.name, arena_, kLaunchLimits, *experience.kernel, store);
  }

  // The result of such a kernel stands at the beginning of memory that it writes.
  void NotePlausible(const WorkExperience& experience) const {
    const PlausibleKind kind = experience.kernel->plausible;
    if (kind == PlausibleKind::kNone || kernel_.writes_its_buffers_only) return;
    if (IsOfOneThread(kind) && Threads() != 1) return;
    const auto result = PlausibleResultOf(kind, kernel_.name, WholeLaunch().parameters);
    if (!result) return;
    const value::Author author = experience.kernel->writer.author;
    value::Plausible& plausible = value::ProcessPlausible();
    if (kind == PlausibleKind::kClassLoss) {  // Its first parameter leads to the loss.
      if (pointers_.list.empty() || pointers_.list[0].at != 0) return;
      return plausible.Note(pointers_.list[0].address, author, *result);
    }
    for (const std::uint32_t written : experience.shape->written) {
      if (written >= pointers_.list.size()) continue;
      plausible.Note(pointers_.list[written].address, author, *result);
    }
  }

  RecordedLaunch(const RecordedKernel& kernel, const RecordedShape& shape, std::uint32_t work,
                 const RecordedParameters& parameters, const Arena& arena)
      : kernel_(kernel),
        shape_(shape),
        work_(work),
        block_(parameters.block),
        pointers_(parameters.pointers),
        numbers_(parameters.numbers),
        arena_(arena) {}

  WorkExperience& FindExperience(value::Store& store) const {
    WorkExperience& experience = ExperienceOf(work_);
    const bool is_new = experience.kernel == nullptr;
    if (!is_new && experience.shown == kernel_.shown) return experience;
    experience = {.shown = kernel_.shown};
    Begin(experience, store);
    return experience;
  }

  void Begin(WorkExperience& experience, value::Store& store) const {
    experience.kernel = &ExperienceOf(kernel_.name, kernel_.shown);
    if (experience.kernel->code == nullptr) {
      experience.kernel->code =
          &FindMachineCode(kernel_.image, kernel_.name, kernel_.device, store, kernel_.shown);
      // PyTorch's topk sorts what it chose, in place.
      experience.kernel->writer = {value::InternAuthor(kernel_.name),
                                   kernel_.name.find("SortKVInPlace") != std::string_view::npos};
      if (value::GivesPlausible()) experience.kernel->plausible = PlausibleKindOf(kernel_.name);
    }
    experience.small = IsSmall(kernel_.joins_tensors ? OneRow(shape_) : shape_);
    const interpret::Dims& grid = shape_.grid;
    const interpret::Dims& block = shape_.block;
    static auto* const key = new ShapeKey;  // Under Pending's lock.
    key->dims = {grid.x, grid.y, grid.z, block.x, block.y, block.z, shape_.dynamic_shared_bytes};
    key->places.clear();
    for (const PointerWord& pointer : pointers_.list) key->places.push_back(pointer.at);
    experience.shape = &experience.kernel->shapes[*key];
    experience.shape->pointers = pointers_.list.size();
  }

  // Copies items to a place in new memory, which moves behind them.
  template <typename Item>
  static std::span<const Item> Put(std::span<const Item> items, std::byte*& place) {
    const std::span to(reinterpret_cast<Item*>(place), items.size());
    std::ranges::uninitialized_copy(items, to);
    place += items.size_bytes();
    return to;
  }

  // Returns a launch with all parameters, which stay where they are until the next call.
  interpret::Launch WholeLaunch() const {
    static auto* const parameters = new std::vector<std::byte>;  // Under Pending's lock.
    parameters->assign((block_.size() + 7) / 8 * 8, std::byte{});
    std::ranges::copy(block_, parameters->begin());
    for (const PointerWord& pointer : pointers_.list) {
      CHECK(pointer.at + sizeof(pointer.address) <= parameters->size());
      std::memcpy(parameters->data() + pointer.at, &pointer.address, sizeof(pointer.address));
    }
    for (const NumberWord& number : numbers_) {
      CHECK(number.at + sizeof(number.value) <= parameters->size());
      std::memcpy(parameters->data() + number.at, &number.value, sizeof(number.value));
    }
    return {.grid = shape_.grid,
            .block = shape_.block,
            .dynamic_shared_bytes = shape_.dynamic_shared_bytes,
            .parameters = *parameters,
            .cooperative = shape_.cooperative};
  }

  std::uint64_t Threads() const { return shape_.grid.volume() * shape_.block.volume(); }

  // Null when the kernel cannot be run.
  const interpret::Program* FindProgram(const KernelExperience& experience) const {
    const MachineCode& code = *experience.code;
    if (code.program == nullptr) Trace(kernel_.name, code.refusal);
    return code.program.get();
  }

  // True when a place where an earlier launch met an unknown value is unknown again.
  bool MeetsUnknown(WorkExperience& experience, value::Store& store) const {
    const auto& unknown = experience.unknown;
    if (unknown && IsUnknown(store, unknown->AddressIn(pointers_))) return true;
    while (const auto other = FindUnknown(*experience.shape, block_, pointers_, store)) {
      experience.unknown = other;
      if (IsUnknown(store, other->AddressIn(pointers_))) return true;
    }
    return false;
  }

  static bool IsUnknown(value::Store& store, std::uint64_t address) {
    return !store.IsKnown(address, 1) && !Provide(store, address);
  }

  // Puts an unread, declared or plausible value there; false: there is none.
  static bool Provide(value::Store& store, std::uint64_t address) {
    if (store.ComputeUnread(address)) return store.IsKnown(address, 1);
    return value::ProvideInvented(store, address) && store.IsKnown(address, 1);
  }

  // The address as the distance from the closest pointer before it.
  void NoteUnknown(WorkExperience& experience, std::uint64_t address,
                   const std::vector<std::uint8_t>& read) const {
    experience.unknown.reset();
    for (const PointerWord& pointer : pointers_.list) {
      const std::uint64_t distance = address - pointer.address;
      if (distance >= kReach) continue;
      if (experience.unknown && distance >= experience.unknown->distance) continue;
      experience.unknown = {.pointer = pointer.at, .distance = distance};
    }
    if (!experience.unknown) return;
    RememberUnknown(*experience.shape, Condition(block_, read, pointers_.Places()),
                    *experience.unknown);
  }

  // The kernel's stores with these pointers; null when nobody can tell.
  const Stores* FindStores(WorkExperience& experience) const {
    // Pointers may have been put into its constants.
    if (!experience.kernel->code->constants.empty()) return nullptr;
    ShapeExperience& shape = *experience.shape;
    if (shape.stores != nullptr) return shape.stores;
    const std::vector<std::uint32_t> places = pointers_.Places();
    const auto [found, added] = experience.kernel->stores.try_emplace(places);
    std::optional<Stores>& stores = found->second;
    if (added) {
      FindProgram(*experience.kernel);  // Traces why it cannot be run.
      if (const interpret::Program* program = experience.kernel->code->followed()) {
        stores = interpret::FindStores(*program, places);
      }
      if (!stores) Trace(kernel_.name, "it may write anywhere");
    }
    if (!stores) return nullptr;
    shape.bounded = AreBounded(*stores);
    shape.writes_variables = WritesVariables(*stores);
    shape.written = WrittenPointers(*stores, places.size());
    return shape.stores = &*stores;
  }

  // Those of the pointers with these numbers that the kernel may write through, by its types.
  std::vector<std::uint32_t> OfThese(std::vector<std::uint32_t> numbers,
                                     KernelExperience& kernel) const {
    if (!kernel.read_only) kernel.read_only = ReadOnlyParameters(kernel_.name);
    std::erase_if(numbers, [&](std::uint32_t i) {
      return i < pointers_.list.size() &&
             std::ranges::find(*kernel.read_only, pointers_.list[i].at) != kernel.read_only->end();
    });
    return numbers;
  }

  std::vector<std::uint32_t> PerhapsWritten(KernelExperience& kernel) const {
    std::vector<std::uint32_t> all(pointers_.list.size());
    std::iota(all.begin(), all.end(), 0u);
    return OfThese(std::move(all), kernel);
  }

  // Nobody knows what the kernel computes: what it may have written is unknown now.
  void Disturb(WorkExperience& experience, value::Store& store) const {
    if (kernel_.writes_its_buffers_only) return DisturbAllBuffers(experience, store);
    const ShapeExperience& shape = *experience.shape;
    const Stores* const stores = FindStores(experience);
    // Other pointers than the work had: a word looked like one that was blanked.
    const bool known_shape = shape.pointers == pointers_.list.size();
    if (stores == nullptr || !known_shape) {
      for (const auto& [begin, end] : experience.kernel->code->variables) {
        store.MakeStale(begin, end);
      }
      store.MakeStale(0, kModuleBegin);
      return NoteAuthor(NamedPointers(experience, nullptr), pointers_, experience.kernel->writer,
                        store);
    }
    MarkWritten(experience, *stores, store);
    NoteAuthor(NamedPointers(experience, stores), pointers_, experience.kernel->writer, store);
  }

  // The pointers that it is said to have written through, by number.
  std::vector<std::uint32_t> NamedPointers(const WorkExperience& experience,
                                           const Stores* stores) const {
    const ShapeExperience& shape = *experience.shape;
    const bool is_bounded =
        experience.footprint == nullptr ? shape.bounded : !experience.footprint->everything;
    const bool is_known = stores != nullptr && shape.pointers == pointers_.list.size();
    KernelExperience& kernel = *experience.kernel;
    return is_known && is_bounded ? OfThese(shape.written, kernel) : PerhapsWritten(kernel);
  }

  // Marks the targets of its pointers as unknown, as for every launch that is not recorded.
  void DisturbAllBuffers(const WorkExperience& experience, value::Store& store) const {
    const value::Author author = experience.kernel->writer.author;
    value::Origin origin{.author = author, .call = store.authors().NextCall(author)};
    for (const PointerWord& pointer : pointers_.list) {
      store.NoteKernelPointer(pointer.address);
      if (origin.pointer != 0 && kernel_.writes_first_only) continue;
      origin.begin = pointer.address;
      store.authors().Note(origin);
      ++origin.pointer;
    }
  }

  // False when nothing is known where the stores may go.
  bool MayChangeKnown(const WorkExperience& experience, const value::Store& store) const {
    static auto* const barren = new BarrenBuffers;  // Under Pending's lock.
    const ShapeExperience& shape = *experience.shape;
    const auto has_known = [&](const auto& range) {
      return store.HasKnown(range.first, range.second);
    };
    return !shape.bounded || HasKnownNear(shape.written, pointers_, arena_, store, *barren) ||
           (shape.writes_variables &&
            std::ranges::any_of(experience.kernel->code->variables, has_known));
  }

  void MarkWritten(WorkExperience& experience, const Stores& stores, value::Store& store) const {
    const Footprint* const footprint = experience.footprint;
    const bool anywhere = footprint != nullptr && footprint->everything;
    if (!anywhere && !MayChangeKnown(experience, store)) return;
    Apply(FindOrLearnFootprint(experience, stores, store), pointers_, arena_, store);
  }

  const Footprint& FindOrLearnFootprint(WorkExperience& experience, const Stores& stores,
                                        const value::Store& store) const {
    const MachineCode& code = *experience.kernel->code;
    const Footprint*& footprint = experience.footprint;
    if (footprint == nullptr) footprint = FindFootprint(*experience.shape, block_);
    if (footprint == nullptr) {
      footprint = AddFootprint(*experience.kernel, *experience.shape,
                               {.program = *code.followed(),
                                .launch = WholeLaunch(),
                                .pointers = pointers_,
                                .stores = stores,
                                .variables = code.variables,
                                .whole = IsSmall(shape_)},
                               store, ProcessKeptFootprints());
      Trace(kernel_.name, base::StrCat("changes: ", Describe(*footprint)));
    }
    return *footprint;
  }

  // Null: nobody can tell what it writes.
  const Footprint* FootprintOf(WorkExperience& experience, const value::Store& store) const {
    const Stores* const stores = FindStores(experience);
    // Other pointers than the work had: a word looked like one that was blanked.
    if (stores == nullptr || experience.shape->pointers != pointers_.list.size()) return nullptr;
    return &FindOrLearnFootprint(experience, *stores, store);
  }

  const RecordedKernel kernel_;
  const RecordedShape shape_;
  const std::uint32_t work_;
  const std::span<const std::byte> block_;
  const LaunchPointers pointers_;
  const std::span<const NumberWord> numbers_;
  const Arena& arena_;
};

}  // namespace

bool IsOn() noexcept {
  const core::Session* session = core::Session::Existing();
  return session != nullptr && (session->header().unknown_reads & ring::kComputeValues) != 0;
}

void Record(const RecordedKernel& kernel, const RecordedShape& shape, std::uint32_t work,
            const RecordedParameters& parameters, const Arena& arena) {
  value::ProcessPending().Defer(AsDeferred(kernel, shape, work, parameters, arena));
}

std::unique_ptr<value::Deferred> AsDeferred(const RecordedKernel& kernel,
                                            const RecordedShape& shape, std::uint32_t work,
                                            const RecordedParameters& parameters,
                                            const Arena& arena) {
  return RecordedLaunch::Make(kernel, shape, work, parameters, arena);
}

}  // namespace eidolon::shim::compute
