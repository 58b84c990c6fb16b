// Values that mirrored ranks broadcast in groups of a folded job. The groups of a parallel program
// are rows of its mesh, and alike: where the root of a broadcast is a mirrored rank, it gives what
// a live rank at the same place of another row of its class gives in the broadcast of the same
// number. DDP's check of parameters in each data-parallel group is such a broadcast.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "services/contract/folding/fold.h"
#include "services/contract/folding/images.h"
#include "services/network/communicator/payload.h"

namespace eidolon::network::communicator {

// This class is not thread-safe. Results do not depend on which of the rows calls first.
class RowBroadcasts {
 public:
  // Properties that a communicator shares with those of other rows.
  struct Row {
    std::vector<folding::Dimension> dimensions;
    std::uint32_t row_class = 0;  // Of the row's first rank.
    std::uint32_t ordinal = 0;    // Of the communicator among those of these members.
    auto operator<=>(const Row&) const = default;
  };
  // Somebody who is told later.
  struct Waiter {
    std::uint64_t communicator = 0;
    std::uint64_t sequence = 0;
    bool operator==(const Waiter&) const = default;
  };
  enum class Answer {
    kNobodyKnows,  // No live rank is at that place of a row.
    kGiven,
    kLater,
  };

  explicit RowBroadcasts(folding::Fold fold) : fold_(std::move(fold)) {}

  // Enters a new communicator of these ranks; returns nothing for one that is not a row, or that is
  // the whole job.
  std::optional<Row> Enter(std::span<const std::uint32_t> ranks);
  // A live rank gives this as the root of broadcast `sequence` of its row. Answers who waits for
  // it.
  std::vector<Waiter> Give(const Row& row, std::int32_t root, std::uint64_t sequence,
                           const Payload& payload);
  // Returns what the mirrored rank `root` gives: in `given` when that is known; else the waiter is
  // told by Give.
  Answer Ask(const Row& row, std::int32_t root, std::uint64_t sequence, Waiter waiter,
             Payload* given);

  // Those that have not been told, and the live rank that they wait for.
  std::vector<std::pair<Waiter, std::uint32_t>> Waiting() const;

 private:
  struct Key {
    Row row;
    std::int32_t root = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Entries {
    std::map<std::uint64_t, Payload> given;  // By sequence; the latest ones.
    std::map<std::uint64_t, std::vector<Waiter>> waiting;
  };

  // The first live rank at this place of a row of the class.
  std::optional<std::uint32_t> GiverOf(const Key& key) const;

  folding::Fold fold_;
  std::map<std::pair<std::vector<folding::Dimension>, std::uint32_t>, std::uint32_t> entered_;
  std::map<Key, Entries> tables_;
};

}  // namespace eidolon::network::communicator
