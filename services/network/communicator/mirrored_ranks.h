// The members of a communicator that have no process, because their job is folded: whom they
// mirror, and what they would have put into a collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "services/base/error.h"
#include "services/contract/folding/fold.h"
#include "services/contract/folding/twins.h"
#include "services/network/communicator/operation.h"
#include "services/network/communicator/payload.h"

namespace eidolon::network::communicator {

// Immutable. Ranks are those of the communicator unless they are called global.
class MirroredRanks {
 public:
  // Every member is live.
  MirroredRanks() = default;
  // `members`: their global ranks, in the communicator's order. Fails, naming a rank that should be
  // live, when no live member is of a mirrored rank's class.
  static base::Result<MirroredRanks> Of(const folding::Fold& fold,
                                        std::span<const std::uint32_t> members);

  std::size_t count() const { return twins_.count(); }
  // Returns the members of a communicator with mirrored ranks, and those of them that are live,
  // ascending.
  std::size_t size() const { return twins_.size(); }
  const std::vector<std::int32_t>& live() const { return twins_.live(); }
  // The live member that a mirrored rank mirrors, the next one of its class below it, or else
  // above; -1 for a member that is live.
  std::int32_t TwinOf(std::int32_t rank) const { return count() > 0 ? twins_.at(rank).live : -1; }
  bool IsMirrored(std::int32_t rank) const { return twins_.IsMirrored(rank); }

  // Fills in what mirrored ranks give to a collective, from the members that they mirror: the same
  // bytes; or, where two live members of the class differ, integers that go on in equal steps from
  // rank to rank. What fits neither is mirrored from one and counted; the answer is that count of
  // mirrored ranks.
  std::size_t Mirror(const Operation& operation, std::vector<Payload>* inputs) const;
  // Returns what a mirrored rank broadcasts, from what live members broadcast in the same group;
  // nothing when those that it mirrors do not. Adds to `guessed` when it follows from no rule.
  // Requires: the root is a mirrored rank.
  Payload GivenBy(const Operation& broadcast, const std::map<std::int32_t, Payload>& by_root,
                  std::size_t* guessed) const;

 private:
  // Returns what the mirrored rank `rank` gives where its twin gives `live` and the other one
  // `other` (null: none).
  static Payload Follow(std::uint32_t type, std::int32_t rank, const folding::Twin& twin,
                        const Payload& live, const Payload* other, std::size_t* guessed);

  folding::Twins twins_;
};

}  // namespace eidolon::network::communicator
