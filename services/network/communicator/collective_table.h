// The collectives of one communicator that are not finished: who has called them, with what, and
// whose stream has reached them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/base/sim_time.h"
#include "services/network/communicator/mirrored_ranks.h"
#include "services/network/communicator/operation.h"
#include "services/network/communicator/payload.h"

namespace eidolon::network::communicator {

// Numbers seen once each, roughly in ascending order: a floor and the exceptions above it.
class NumberSet {
 public:
  // False when the number is already there.
  bool Insert(std::uint64_t number);
  bool Contains(std::uint64_t number) const { return number < floor_ || above_.contains(number); }

 private:
  std::uint64_t floor_ = 0;  // Everything below is in the set.
  std::set<std::uint64_t> above_;
};

// Collectives that one NCCL group made: torch gathers lists of tensors by a broadcast from each
// rank, all in one group.
struct CallGroup {
  std::uint64_t first = 0;  // Sequence.
  std::uint32_t size = 0;   // 0 or 1: the collective is alone.
};

// This class is not thread-safe. Ranks are those of the communicator; callers have checked them.
class CollectiveTable {
 public:
  // Mirrored ranks call nothing; the others do for them.
  explicit CollectiveTable(std::int32_t size,
                           std::shared_ptr<const MirroredRanks> mirrored_ranks = {});

  // The values of one collective for callers(), in their order.
  struct Values {
    std::uint64_t sequence = 0;
    std::vector<Payload> results;
    std::size_t guessed =
        0;             // Mirrored ranks whose part follows from no rule and was taken from another.
    std::string site;  // Where the program calls it, where something was guessed.
  };
  struct Ready {
    std::uint64_t sequence = 0;
    base::SimTime start;
    Operation operation;
  };

  // The ranks that call: those that are not mirrored ranks, ascending.
  const std::vector<std::int32_t>& callers() const { return callers_; }

  // Yields the values once the last member has called; where a mirrored rank is the root of a
  // broadcast, once the whole group was called, because others of the group tell what it gives.
  // Fails on a repeated call or a mismatch between members; `name_of` names ranks for the sentence.
  using NameRanks = std::function<std::string(const std::vector<std::int32_t>&)>;
  base::Result<std::vector<Values>> Issue(std::uint64_t sequence, std::int32_t rank,
                                          const Operation& operation, Payload input,
                                          const NameRanks& name_of, const CallGroup& group = {});
  // Yields the start once the last member's stream has come. Fails when the rank has not called it,
  // or posts twice.
  base::Result<std::optional<Ready>> Post(std::uint64_t sequence, std::int32_t rank,
                                          base::SimTime ready);

  // One that some member still has to reach.
  struct Incomplete {
    std::uint64_t sequence = 0;
    const Operation* operation = nullptr;
    std::vector<std::int32_t> waiting;  // Their streams have come.
    std::vector<std::int32_t> behind;   // Called; their streams have not come.
    std::vector<std::int32_t> missing;  // Not called.
  };
  std::vector<Incomplete> Unfinished() const;
  // True when a collective with calls lacks this rank's call.
  bool Misses(std::int32_t rank) const;
  // True when a collective with calls lacks this rank's call, or its arrival.
  bool Needs(std::int32_t rank) const;
  bool Idle() const { return entries_.empty(); }

 private:
  enum class Stage : std::uint8_t { kAbsent, kIssued, kPosted };
  bool IsBefore(std::int32_t rank, Stage stage) const;
  struct Entry {
    Operation operation;          // As the first member called it.
    std::vector<Stage> stages;    // By caller.
    std::vector<Payload> inputs;  // By caller; emptied once the values are out.
    std::size_t issued = 0;
    std::size_t posted = 0;
    base::SimTime ready;
  };
  base::Error Mismatch(const Entry& entry, std::uint64_t sequence, std::int32_t rank,
                       const Operation& operation, const NameRanks& name_of) const;
  // The values of a collective that all have called.
  std::vector<Values> Complete(std::uint64_t sequence, Entry* entry, const CallGroup& group);
  // Returns what all ranks put into a collective, mirrored ranks included; adds to `guessed`.
  std::vector<Payload> TakeInputs(Entry* entry, std::size_t* guessed) const;
  std::vector<std::int32_t> RanksAt(const Entry& entry, Stage stage) const;
  // The rank's place among the callers; nothing for a mirrored rank.
  std::optional<std::size_t> PlaceOf(std::int32_t rank) const;

  bool IsMirrored(std::size_t rank) const {
    return mirrored_ranks_ != nullptr &&
           mirrored_ranks_->IsMirrored(static_cast<std::int32_t>(rank));
  }

  std::int32_t size_;
  std::shared_ptr<const MirroredRanks> mirrored_ranks_;  // Null: none.
  std::vector<std::int32_t> callers_;
  std::map<std::uint64_t, Entry> entries_;
  NumberSet done_;
  // Broadcasts of groups that are not wholly called yet, by the group's first sequence.
  struct OpenGroup {
    std::uint32_t called = 0;
    std::map<std::int32_t, Payload> given;  // By live root: what it broadcasts.
    std::vector<std::pair<std::uint64_t, Operation>> of_mirrored_ranks;
  };
  std::map<std::uint64_t, OpenGroup> groups_;
};

}  // namespace eidolon::network::communicator
