// One call of a rank as its members compare it, and the words that describe it to a person.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/contract/collective/values.h"
#include "services/network/collective/kind.h"
#include "services/network/collective/shape.h"
#include "services/network/collective/traffic.h"

namespace eidolon::network::communicator {

using collective::Kind;

using ::eidolon::collective::kValueBytesLimit;

// A send or receive within a group.
struct TransferCall {
  bool send = false;
  std::int32_t peer = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sequence = 0;  // Among those of the same pair and direction.
  bool operator==(const TransferCall&) const = default;
};

struct Operation {
  Kind kind = Kind::kAllReduce;
  std::uint32_t data_type = 0;  // ncclDataType_t.
  std::uint32_t reduction = 0;  // ncclRedOp_t.
  std::int32_t root = -1;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;              // Of the large buffer.
  std::vector<TransferCall> transfers;  // Point to point.
  // Where the program calls it, for people; members are not compared by it. Empty: not known.
  std::string site;
};

// Returns the size of the buffer, per rank, of an operation that carries values.
std::uint64_t ValueBytesMax(const Operation& operation);

// Returns what a member sends or receives, whichever is more.
std::uint64_t BytesOf(const Operation& operation);

// Returns what its kernel reads and writes in the memory of a member's GPU.
std::uint64_t MemoryBytesOf(const Operation& operation, const collective::Shape& shape);

// Returns what links carry of a collective between members of this shape.
collective::Load LoadOf(const Operation& operation, const collective::Shape& shape);

// Refuses ranks and numbers outside of their ranges, naming them.
base::Result<void> Check(const Operation& operation, std::int32_t size);

// True when two members' calls belong together.
bool Matches(const Operation& a, const Operation& b);

// "all_reduce (sum) of 1024 float32", "broadcast from 3 of 16 int64", "3 sends and 2 receives";
// with its line, where that is known: "all_reduce (sum) of 1024 float32 at train.py:40".
std::string Describe(const Operation& operation);

// "0-3, 5": ascending numbers, runs joined. Requires: ascending.
std::string Ranges(const std::vector<std::int64_t>& numbers);

}  // namespace eidolon::network::communicator
