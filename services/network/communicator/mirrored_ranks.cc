#include "services/network/communicator/mirrored_ranks.h"

#include <optional>
#include <string>
#include <utility>

#include "services/network/communicator/element.h"

namespace eidolon::network::communicator {

namespace {

// Numbers that may count ranks; bytes are more likely text.
bool IsInteger(std::uint32_t type) {
  return type == kInt32 || type == kUint32 || type == kInt64 || type == kUint64;
}

}  // namespace

base::Result<MirroredRanks> MirroredRanks::Of(const folding::Fold& fold,
                                              std::span<const std::uint32_t> members) {
  auto twins = folding::Twins::Of(fold, members);
  if (!twins) return std::unexpected(twins.error());
  MirroredRanks mirrored_ranks;
  mirrored_ranks.twins_ = std::move(*twins);
  return mirrored_ranks;
}

std::size_t MirroredRanks::Mirror(const Operation& operation, std::vector<Payload>* inputs) const {
  std::size_t guessed = 0;
  for (std::size_t rank = 0; rank < twins_.size(); ++rank) {
    const folding::Twin& twin = twins_.at(static_cast<std::int32_t>(rank));
    if (twin.live < 0) continue;
    const Payload& live = (*inputs)[static_cast<std::size_t>(twin.live)];
    const Payload* other =
        twin.other < 0 ? nullptr : &(*inputs)[static_cast<std::size_t>(twin.other)];
    (*inputs)[rank] =
        Follow(operation.data_type, static_cast<std::int32_t>(rank), twin, live, other, &guessed);
  }
  return guessed;
}

Payload MirroredRanks::GivenBy(const Operation& broadcast,
                               const std::map<std::int32_t, Payload>& by_root,
                               std::size_t* guessed) const {
  const folding::Twin& twin = twins_.at(broadcast.root);
  const auto live = by_root.find(twin.live);
  if (live == by_root.end()) return std::nullopt;
  const auto other = by_root.find(twin.other);
  return Follow(broadcast.data_type, broadcast.root, twin, live->second,
                other == by_root.end() ? nullptr : &other->second, guessed);
}

Payload MirroredRanks::Follow(std::uint32_t type, std::int32_t rank, const folding::Twin& twin,
                              const Payload& live, const Payload* other, std::size_t* guessed) {
  if (!live || other == nullptr || !*other || **other == *live) return live;
  if (IsInteger(type)) {
    auto value =
        folding::GoOnInSteps(ElementBytes(type), {twin.live, *live}, {twin.other, **other}, rank);
    if (value) return value;
  }
  ++*guessed;
  return live;
}

}  // namespace eidolon::network::communicator
