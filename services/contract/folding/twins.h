// Maps the members of a group that have no process to the ranks that they mirror, and derives what
// they would have put into a collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/contract/folding/fold.h"

namespace eidolon::folding {

// Rank that a mirrored rank mirrors. `live`: the next live member of its class below it, or else
// above; -1 for a member that is live itself. `other`: another live member of its class, -1 without
// one.
struct Twin {
  std::int32_t live = -1;
  std::int32_t other = -1;
};

// Twins of one group. Immutable. Ranks are those of the group unless they are called global.
class Twins {
 public:
  // Every member is live.
  Twins() = default;
  // `members`: their global ranks, in the group's order. Fails, naming a rank that should be live,
  // when no live member is of a mirrored rank's class.
  static base::Result<Twins> Of(const Fold& fold, std::span<const std::uint32_t> members);

  // Returns the number of mirrored ranks.
  std::size_t count() const { return count_; }
  // Returns, for a group with mirrored ranks, its members, and those of them that are live,
  // ascending.
  std::size_t size() const { return twins_.size(); }
  const std::vector<std::int32_t>& live() const { return live_; }
  // Requires: the group has mirrored ranks.
  const Twin& at(std::int32_t rank) const { return twins_[static_cast<std::size_t>(rank)]; }
  bool IsMirrored(std::int32_t rank) const { return count_ > 0 && at(rank).live >= 0; }

 private:
  // Live members of one class: by global rank, the rank in the group.
  using LiveOfClass = std::map<std::uint32_t, std::int32_t>;
  // `rank`: global, of a mirrored rank. Requires: there is a live member.
  static Twin TwinAmong(const LiveOfClass& live, std::uint32_t rank);

  std::vector<Twin> twins_;  // By rank; empty without mirrored ranks.
  std::vector<std::int32_t> live_;
  std::size_t count_ = 0;
};

// The value of `rank` on the line through (a, at_a) and (b, at_b); nothing when its steps are not
// whole numbers.
std::optional<std::int64_t> OnLine(std::int64_t at_a, std::int64_t at_b, std::int32_t a,
                                   std::int32_t b, std::int32_t rank);

// Value of a live member.
struct LiveValue {
  std::int32_t rank = 0;
  const std::string& bytes;
};

// What `rank` gives when the integers of its class, of `width` bytes (4 or 8), go on in equal steps
// from rank to rank; nothing when their steps are not whole numbers, or the two lengths differ.
std::optional<std::string> GoOnInSteps(std::size_t width, const LiveValue& a, const LiveValue& b,
                                       std::int32_t rank);

}  // namespace eidolon::folding
