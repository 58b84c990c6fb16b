// Training repeats its launches in every step, and what one of them may write or cannot know takes
// milliseconds to find out. The answers are therefore kept at three levels: by kernel (code,
// readable name), by shape and set of pointers (stores, footprints), and by work, the quick way to
// both for launches that differ in pointers and numbers only. An answer names pointers by their
// place in the parameter block and not by address, so that it survives the allocator giving other
// buffers. It is valid while the words of the block that were read when it was learned are the same
// (Condition).
//
// WorkExperience points into the shape's footprints, so these live in a deque and are never
// removed.
#include "shim/value/compute/experience.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

namespace eidolon::shim::compute {
namespace {

constexpr std::size_t kMostUnknownInputs = 8;  // Of a shape.
constexpr std::size_t kMostOfShape = 32;       // Footprints.

}  // namespace

std::uint64_t UnknownInput::AddressIn(const LaunchPointers& pointers) const {
  const auto found = std::ranges::lower_bound(pointers.list, pointer, {}, &PointerWord::at);
  const bool is_there = found != pointers.list.end() && found->at == pointer;
  return is_there ? found->address + distance : 0;
}

KernelExperience& ExperienceOf(std::string_view kernel, const ShownVariables* shown) {
  static auto* const experiences =
      new std::map<std::pair<const char*, const ShownVariables*>, KernelExperience>;
  return (*experiences)[{kernel.data(), shown}];
}

WorkExperience& ExperienceOf(std::uint32_t work) {
  // Works are stored in pieces that stay where they are: most works of a step follow each other.
  constexpr std::uint32_t kPiece = 64;
  using Piece = std::array<WorkExperience, kPiece>;
  static auto* const pieces = new std::vector<std::unique_ptr<Piece>>;
  const std::size_t number = work / kPiece;
  if (number >= pieces->size()) pieces->resize(number + 1);
  std::unique_ptr<Piece>& piece = (*pieces)[number];
  if (piece == nullptr) piece = std::make_unique<Piece>();
  return (*piece)[work % kPiece];
}

std::optional<UnknownInput> FindUnknown(const ShapeExperience& shape,
                                        std::span<const std::byte> parameters,
                                        const LaunchPointers& pointers, const value::Store& store) {
  for (const auto& [condition, input] : shape.unknown_inputs) {
    if (!store.IsKnown(input.AddressIn(pointers), 1) && condition.Holds(parameters)) return input;
  }
  return std::nullopt;
}

void RememberUnknown(ShapeExperience& shape, Condition condition, const UnknownInput& input) {
  auto& inputs = shape.unknown_inputs;
  if (inputs.size() >= kMostUnknownInputs) inputs.erase(inputs.begin());
  inputs.emplace_back(std::move(condition), input);
}

const Footprint* FindFootprint(const ShapeExperience& shape,
                               std::span<const std::byte> parameters) {
  const auto found = std::ranges::find_if(
      shape.footprints, [&](const auto& memo) { return memo.first.Holds(parameters); });
  return found == shape.footprints.end() ? nullptr : &found->second;
}

namespace {

// Footprints that are kept of launches of this shape.
struct KeptOfShape {
  base::Digest key;
  ShapeExperience& shape;
  const Learning& learning;
  const KeptFootprints& kept;

  bool Find() const {
    if (!shape.kept) shape.kept = kept.Load(key, learning.pointers.list.size());
    const auto found = std::ranges::find_if(*shape.kept, [&](const KeptFootprint& one) {
      return one.condition.Holds(learning.launch.parameters);
    });
    if (found == shape.kept->end()) return false;
    Footprint footprint = found->footprint;
    if (found->all_variables) {
      footprint.variables.assign(learning.variables.begin(), learning.variables.end());
    }
    shape.footprints.emplace_back(found->condition, std::move(footprint));
    return true;
  }

  void Add(const Condition& condition, const Footprint& footprint) const {
    const bool all_variables =
        !footprint.variables.empty() && std::ranges::equal(footprint.variables, learning.variables);
    if (!footprint.variables.empty() && !all_variables) return;
    KeptFootprint one{.condition = condition, .footprint = footprint};
    one.footprint.variables.clear();
    one.all_variables = all_variables;
    kept.Add(key, learning.pointers.list.size(), std::move(one));
  }
};

}  // namespace

const Footprint* AddFootprint(KernelExperience& kernel, ShapeExperience& shape, Learning learning,
                              const value::Store& store, const KeptFootprints& kept) {
  std::vector<std::uint8_t> read;
  learning.words_read = &read;
  bool saw_variables = false;
  learning.saw_variables = &saw_variables;
  const bool runs = kernel.code == nullptr || kernel.code->program != nullptr;
  const bool learns =
      runs && kernel.footprints < kMostFootprints && shape.footprints.size() < kMostOfShape;
  const bool may_be_kept =
      learns && kernel.code != nullptr && kernel.code->content != base::Digest{};
  const KeptOfShape of_shape{
      .key = may_be_kept ? KeyOf(kernel.code->content, learning.program.name, learning)
                         : base::Digest{},
      .shape = shape,
      .learning = learning,
      .kept = kept};
  if (may_be_kept && of_shape.Find()) {
    ++kernel.footprints;
    return &shape.footprints.back().second;
  }
  if (learns && !kernel.steady) kernel.steady = interpret::FindSteadyBranches(learning.program);
  learning.steady = kernel.steady ? &*kernel.steady : nullptr;
  Footprint footprint = learns ? LearnFootprint(learning, store) : CautiousFootprint(learning);
  if (learns) ++kernel.footprints;
  const std::vector<std::uint32_t> places = learning.pointers.Places();
  // What is taken without a look holds for whatever the other words are.
  shape.footprints.emplace_back(Condition(learning.launch.parameters, read, places),
                                std::move(footprint));
  const auto& [condition, added] = shape.footprints.back();
  if (may_be_kept && !saw_variables) of_shape.Add(condition, added);
  return &added;
}

}  // namespace eidolon::shim::compute
