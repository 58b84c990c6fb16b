// Compares what the rows of a folded job's mesh call. Rows of one class are taken to be alike: what
// one of them calls, its mirrored ranks call too. Where two rows with live ranks differ, their
// ranks are not of one class.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/contract/folding/fold.h"
#include "services/network/communicator/operation.h"
#include "services/network/communicator/row_broadcasts.h"

namespace eidolon::network::communicator {

// This class is not thread-safe. Holds the latest calls of each kind of row; rows that are further
// apart than that are not compared.
class RowCalls {
 public:
  // Different call of the row of another live rank.
  struct Other {
    std::uint32_t rank = 0;
    Operation operation;
  };

  // Live rank `rank` calls collective `sequence` of its row. Answers what another row has called in
  // its place, when that is not the same kind of operation on as many bytes. Bytes of objects
  // (8-bit integers) may be more or fewer.
  std::optional<Other> Add(const RowBroadcasts::Row& row, std::uint32_t rank,
                           std::uint64_t sequence, const Operation& operation);

 private:
  std::map<RowBroadcasts::Row, std::map<std::uint64_t, Other>> called_;
};

// "rank 0 calls ...; rank 8 calls ...", the lower rank first.
std::string DescribeDifference(const RowCalls::Other& a, const RowCalls::Other& b);

// Returns by what the ranks of two different rows of these dimensions differ: by the block of ranks
// that a row spans, or, in the same block, by their place between its steps. Nothing for ranks of
// one row.
std::vector<folding::Dimension> DifferenceOfRows(std::span<const folding::Dimension> dimensions,
                                                 std::uint32_t a, std::uint32_t b,
                                                 std::uint32_t job_ranks);

}  // namespace eidolon::network::communicator
