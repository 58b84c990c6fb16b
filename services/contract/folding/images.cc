#include "services/contract/folding/images.h"

#include <algorithm>
#include <set>

namespace eidolon::folding {

std::uint32_t OriginOf(std::uint32_t rank, std::span<const Dimension> dimensions) {
  std::uint32_t origin = rank;
  for (const Dimension& dimension : dimensions) {
    origin -= dimension.PositionOf(rank) * dimension.stride;
  }
  return origin;
}

std::uint32_t PlaceIn(std::uint32_t rank, std::span<const Dimension> dimensions) {
  std::uint32_t place = 0;
  std::uint32_t inner = 1;
  for (const Dimension& dimension : dimensions) {
    place += dimension.PositionOf(rank) * inner;
    inner *= dimension.size;
  }
  return place;
}

bool FillsJob(const Lattice& group, std::uint32_t ranks) {
  // Each dimension's steps fit into the next one's.
  std::uint64_t inner = 1;
  for (const Dimension& dimension : group.dimensions) {
    if (dimension.stride % inner != 0) return false;
    inner = std::uint64_t{dimension.stride} * dimension.size;
  }
  return ranks % inner == 0 && OriginOf(group.origin, group.dimensions) == group.origin;
}

std::optional<Lattice> LatticeOf(std::span<const std::uint32_t> ranks) {
  if (ranks.empty()) return std::nullopt;
  Lattice lattice{.origin = ranks[0]};
  // Each dimension is the longest run of steps between the blocks that the inner ones make.
  for (std::size_t block = 1; block < ranks.size();) {
    const std::uint32_t stride = ranks[block] - ranks[0];
    std::size_t count = 1;
    while ((count + 1) * block <= ranks.size() &&
           ranks[count * block] - ranks[(count - 1) * block] == stride) {
      ++count;
    }
    if (count < 2 || ranks.size() % (block * count) != 0) return std::nullopt;
    lattice.dimensions.push_back({.stride = stride, .size = static_cast<std::uint32_t>(count)});
    block *= count;
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::uint32_t expected = lattice.origin;
    std::size_t rest = i;
    for (const Dimension& dimension : lattice.dimensions) {
      expected += static_cast<std::uint32_t>(rest % dimension.size) * dimension.stride;
      rest /= dimension.size;
    }
    if (ranks[i] != expected) return std::nullopt;
  }
  return lattice;
}

std::vector<std::uint32_t> ImagesOf(const Fold& fold, const Lattice& group) {
  std::vector<std::uint32_t> images;
  if (!fold.is_folded() || !FillsJob(group, fold.ranks())) return images;
  const std::uint32_t own_class = fold.ClassOf(group.origin);
  std::set<std::uint32_t> live;
  for (const std::uint32_t rank : fold.live()) {
    const std::uint32_t origin = OriginOf(rank, group.dimensions);
    if (fold.ClassOf(origin) == own_class) live.insert(origin);
  }
  if (live.empty() || *live.begin() != group.origin) return images;
  for (std::uint32_t rank = 0; rank < fold.ranks(); ++rank) {
    if (OriginOf(rank, group.dimensions) != rank || fold.ClassOf(rank) != own_class) continue;
    if (!live.contains(rank)) images.push_back(rank);
  }
  return images;
}

}  // namespace eidolon::folding
