// The forward passes of language models, from the lookup of tokens in a table (their embedding) to
// the GEMM that turns rows into scores of the table's entries, as far as a rank can tell from what
// it asks of its GPU: what they multiply, and whether other ranks look up the same tokens (tensor
// parallelism, unlike data and context parallelism).
//
// Where several ranks hold a part of an embedding's table each, or of the layers behind it, they
// look up the same indices, and what they find or compute is added up over their communicator
// before the next layer reads it: a sum as large as all rows that were looked up. In a forward pass
// (which in a stage of a pipeline that is not the last ends with the sending of rows to the next
// one) nothing else sums as much: gradients are reduced behind it.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "services/agent/iteration/split.h"
#include "services/contract/ring/record.h"

namespace eidolon::agent::session {

// Passes of one process. Main loop only.
class TokenPasses {
 public:
  // Called in the order of the program: a launch with its place in it, ...
  void NoteWork(std::uint64_t sequence, const iteration::WorkCounts& counts);
  // Called likewise with the calls of a communicator of `size` ranks.
  void NoteCalls(std::uint32_t size, std::span<const ::eidolon::ring::CommunicationOp> ops);

  // Tables that are scored, or that this rank may not look up alone. Forward passes: those that end
  // at the places [begin, end), which grow from call to call.
  std::vector<iteration::TableUse> Take(std::uint64_t begin, std::uint64_t end);

 private:
  struct Pass {
    std::uint64_t end = 0;
    std::uint64_t matrix_flops = 0;
  };
  struct Table {
    iteration::Lookups latest;
    bool is_open = true;             // Its rows are on their way through the layers.
    std::uint64_t matrix_flops = 0;  // Since it was looked up.
    std::deque<Pass> passes;         // Or parts of one, where rows are scored in parts.
    bool is_clear = true;
    std::uint32_t sharers = 1;
  };
  static void NoteSum(std::uint32_t size, std::uint64_t elements, Table* table);

  std::vector<Table> tables_;  // Those that were looked up first; further ones are left out.
};

}  // namespace eidolon::agent::session
