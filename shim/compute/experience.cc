#include "shim/compute/experience.h"

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

std::uint32_t WordAt(std::span<const std::byte> parameters, std::size_t at) {
  std::uint32_t word = 0;
  if (at >= parameters.size()) return word;
  std::memcpy(&word, parameters.data() + at, std::min<std::size_t>(4, parameters.size() - at));
  return word;
}

}  // namespace

Condition::Condition(std::span<const std::byte> parameters, std::span<const std::uint8_t> read,
                     std::span<const std::uint32_t> places) {
  auto place = places.begin();
  for (std::uint32_t at = 0; at < parameters.size(); at += 4) {
    while (place != places.end() && *place + 8 <= at) ++place;
    const bool in_pointer = place != places.end() && *place <= at;
    if (in_pointer) {
      if (*place == at) words_.push_back({at, 0xff, WordAt(parameters, at) & 0xff});
    } else if (at / 4 < read.size() && read[at / 4] != 0) {
      words_.push_back({at, ~0u, WordAt(parameters, at)});
    }
  }
}

bool Condition::Holds(std::span<const std::byte> parameters) const {
  return std::ranges::all_of(words_, [&](const Word& word) {
    return (WordAt(parameters, word.at) & word.mask) == word.value;
  });
}

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
  // In pieces that stay where they are: most works of a step follow each other.
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

const Footprint* AddFootprint(KernelExperience& kernel, ShapeExperience& shape, Learning learning,
                              const value::Store& store) {
  std::vector<std::uint8_t> read;
  learning.words_read = &read;
  const bool learns = kernel.footprints < kMostFootprints && shape.footprints.size() < kMostOfShape;
  if (learns && !kernel.steady) kernel.steady = interpret::FindSteadyBranches(learning.program);
  learning.steady = kernel.steady ? &*kernel.steady : nullptr;
  Footprint footprint = learns ? LearnFootprint(learning, store) : CautiousFootprint(learning);
  if (learns) ++kernel.footprints;
  const std::vector<std::uint32_t> places = learning.pointers.Places();
  // What is taken without a look holds for whatever the other words are.
  shape.footprints.emplace_back(Condition(learning.launch.parameters, read, places),
                                std::move(footprint));
  return &shape.footprints.back().second;
}

}  // namespace eidolon::shim::compute
