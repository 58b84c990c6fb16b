// Finds the operations of other ranks with which one takes part in communication.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "services/contract/critical_path/trace.h"

namespace eidolon::critical_path {

// An operation of one of the traces, by their places.
struct OperationPlace {
  std::uint32_t trace = 0;
  std::uint32_t operation = 0;

  bool operator==(const OperationPlace&) const = default;
};

// Immutable. The traces outlive it.
class Partners {
 public:
  explicit Partners(std::span<const RankTrace> traces);

  // Null where the trace knows of none.
  const Communication* Find(const OperationPlace& place) const;
  // Of a collective all its members in the traces, itself included; of a group itself and the other
  // sides of its transfers, as far as the traces have them. In no particular order.
  void List(const OperationPlace& place, std::vector<OperationPlace>* partners) const;

 private:
  // A collective has no sides; a transfer has two.
  struct Name {
    std::uint64_t communicator = 0;
    std::uint64_t sequence = 0;
    std::uint64_t pair = 0;  // Sender and receiver; kCollective: a collective.
    std::uint64_t side = 0;

    auto operator<=>(const Name&) const = default;
  };
  struct Entry {
    Name name;
    OperationPlace place;
  };

  static Name NameOf(const Communication& communication);
  static Name NameOf(const Communication& communication, const Transfer& transfer);
  std::span<const Entry> AllOf(const Name& name) const;

  std::span<const RankTrace> traces_;
  std::vector<Entry> entries_;  // Sorted.
};

}  // namespace eidolon::critical_path
