#include "shim/compute/experience.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace eidolon::shim::compute {
namespace {

constexpr std::size_t kMostUnknownInputs = 8;  // Of a shape.
constexpr std::size_t kMostOfShape = 32;       // Footprints.

std::uint32_t WordAt(std::span<const std::byte> parameters, std::size_t at) {
  std::uint32_t word = 0;
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
    return word.at < parameters.size() && (WordAt(parameters, word.at) & word.mask) == word.value;
  });
}

std::uint64_t UnknownInput::AddressIn(std::span<const std::byte> parameters) const {
  std::uint64_t address = 0;
  if (pointer + sizeof(address) <= parameters.size()) {
    std::memcpy(&address, parameters.data() + pointer, sizeof(address));
  }
  return address + distance;
}

KernelExperience& ExperienceOf(std::string_view kernel) {
  static auto* const experiences = new std::unordered_map<const char*, KernelExperience>;
  return (*experiences)[kernel.data()];
}

WorkExperience& ExperienceOf(std::uint32_t work) {
  static auto* const experiences = new std::unordered_map<std::uint32_t, WorkExperience>;
  return (*experiences)[work];
}

std::optional<UnknownInput> FindUnknown(const ShapeExperience& shape,
                                        std::span<const std::byte> parameters,
                                        const value::Store& store) {
  for (const auto& [condition, input] : shape.unknown_inputs) {
    if (!store.IsKnown(input.AddressIn(parameters), 1) && condition.Holds(parameters)) return input;
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
      shape.footprints, [&](const auto& lesson) { return lesson.first.Holds(parameters); });
  return found == shape.footprints.end() ? nullptr : &found->second;
}

const Footprint* AddFootprint(KernelExperience& kernel, ShapeExperience& shape, Learning learning,
                              const value::Store& store) {
  std::vector<std::uint8_t> read;
  learning.words_read = &read;
  const bool learns = kernel.footprints < kMostFootprints && shape.footprints.size() < kMostOfShape;
  Footprint footprint = learns ? LearnFootprint(learning, store) : CautiousFootprint(learning);
  if (learns) ++kernel.footprints;
  const std::vector<std::uint32_t> places = learning.pointers.Places();
  // What is taken without a look holds for whatever the other words are.
  shape.footprints.emplace_back(Condition(learning.launch.parameters, read, places),
                                std::move(footprint));
  return &shape.footprints.back().second;
}

}  // namespace eidolon::shim::compute
