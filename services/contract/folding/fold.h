// Divides the ranks of a job into those that run as processes and those that are mirrored from them
// (folding). Ranks of one class behave alike; of each class a few are live, the others are mirrored
// ranks: they have a place in the cluster and load the network, but no process.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/base/error.h"

namespace eidolon::folding {

// One way to tell classes apart: by a rank's position `rank / stride % size` in a dimension of the
// program's mesh, such as the stages of a pipeline.
struct Dimension {
  std::uint32_t stride = 1;
  std::uint32_t size = 1;
  std::uint32_t PositionOf(std::uint32_t rank) const { return rank / stride % size; }
  auto operator<=>(const Dimension&) const = default;
};

struct FoldOptions {
  std::uint32_t ranks = 0;            // Of the job.
  std::vector<Dimension> dimensions;  // That tell classes apart; none: all ranks are one class.
  std::uint32_t live_per_class = 2;   // At most; the first and the last ones.
  std::vector<std::uint32_t> live;    // Ranks that are live besides, in any order.
};

// Immutable. Rank 0 is always live, and so is at least one rank of each class. Takes
// O(live + classes) memory, whatever the number of ranks.
class Fold {
 public:
  // No mirrored ranks: every rank runs.
  Fold() = default;
  // Fails on ranks outside of the job, and on dimensions that are not a part of its ranks.
  static base::Result<Fold> Make(FoldOptions options);

  // False: every rank runs.
  bool is_folded() const { return ranks_ > 0; }
  std::uint32_t ranks() const { return ranks_; }
  // Ascending; empty when every rank runs.
  const std::vector<std::uint32_t>& live() const { return live_; }
  // Requires for all below: is_folded.
  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  std::uint64_t mirrored_ranks() const { return ranks_ - live_.size(); }
  bool IsLive(std::uint32_t rank) const;
  // From 0 to classes() - 1; ranks of a class have the same positions in all dimensions.
  std::uint32_t ClassOf(std::uint32_t rank) const;
  std::uint32_t classes() const { return classes_; }
  // The live ranks of `server`, with `per_server` ranks on each, ascending.
  std::vector<std::uint32_t> LiveOn(std::uint32_t server, std::uint32_t per_server) const;
  // Servers with a live rank, ascending.
  std::vector<std::uint32_t> LiveServers(std::uint32_t per_server) const;

  // "1024 ranks: 2 live (0, 1023), 1022 mirrored".
  std::string Describe() const;

 private:
  std::uint32_t ranks_ = 0;
  std::uint32_t classes_ = 1;
  std::vector<Dimension> dimensions_;
  std::vector<std::uint32_t> live_;
};

}  // namespace eidolon::folding
