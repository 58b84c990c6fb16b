// Which ranks compute with the same tokens, as far as one of them can tell from what it asks of its
// GPU: tensor parallelism, unlike data and context parallelism.
//
// Where several ranks hold a part of an embedding's table each, or of the layers behind it, they
// look up the same indices, and what they find or compute is added up over their communicator
// before the next layer reads it: a sum as large as all rows that were looked up. Between a lookup
// and the GEMM that turns rows into scores of the table's entries (or, in a stage of a pipeline
// that is not the last, the sending of rows to the next one) nothing else sums as much: gradients
// are reduced behind it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/agent/iteration/split.h"
#include "services/ring/record.h"

namespace eidolon::agent::session {

// Of one process. Main loop only.
class TokenSharing {
 public:
  // In the order of the program: a launch that counts lookups or the rows of a GEMM, ...
  void NoteWork(const iteration::WorkCounts& counts);
  // ... and the calls of a communicator of `size` ranks.
  void NoteCalls(std::uint32_t size, std::span<const ::eidolon::ring::CommunicationOp> ops);

  // Tables that this rank does not look up alone, or where it is not clear.
  std::vector<iteration::SharedTable> Shared() const;

 private:
  struct Table {
    iteration::Lookups latest;
    bool is_open = true;  // Its rows are on their way through the layers.
    bool is_clear = true;
    std::uint32_t sharers = 1;
  };
  static void NoteSum(std::uint32_t size, std::uint64_t elements, Table* table);

  std::vector<Table> tables_;  // Those that were looked up first; further ones tell nothing.
};

}  // namespace eidolon::agent::session
