// Groups of mirrored ranks that do what a group with a live rank does. The groups of a parallel
// program are the rows of a grid of ranks in one of its dimensions or several; where one row has a
// live rank, the others are its images: they carry the same traffic at the same time between other
// GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/contract/folding/fold.h"

namespace eidolon::folding {

// origin + i * stride + j * stride' + ..., with i below size, j below size', ..., innermost first.
struct Lattice {
  std::uint32_t origin = 0;
  std::vector<Dimension> dimensions;
  bool operator==(const Lattice&) const = default;
};

// The grid that ascending ranks are; nothing for ranks that are none.
std::optional<Lattice> LatticeOf(std::span<const std::uint32_t> ranks);

// The first rank of the row of these dimensions that a rank is in, and the rank's place in it.
std::uint32_t OriginOf(std::uint32_t rank, std::span<const Dimension> dimensions);
std::uint32_t PlaceIn(std::uint32_t rank, std::span<const Dimension> dimensions);
// Returns whether rows of this kind, one of them the group, hold every rank of the job once.
bool FillsJob(const Lattice& group, std::uint32_t ranks);

// The origins of a group's images that have no live rank: all rows of the same classes, which is
// what ranks of those classes have in common. Of several rows with live ranks only the first one
// has images, so that no row is told twice. Empty for a group whose rows do not fill the job.
std::vector<std::uint32_t> ImagesOf(const Fold& fold, const Lattice& group);

}  // namespace eidolon::folding
